/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_BENCH_BENCH_WALK_H
#define RKT_TESTS_BENCH_BENCH_WALK_H

/*
 * bench_walk - what reading a trace costs at the least: simdjson over the whole text at once, every
 * value of every event looked at, or all but those in args, and nothing made of them.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events seen; 0 on any error. `text` has 64 readable bytes behind its end. */
size_t rkt_bench_walk(const char *text, size_t len, bool enters_args);

#ifdef __cplusplus
}
#endif

#endif
