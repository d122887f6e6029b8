/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_BENCH_BENCH_H
#define RKT_TESTS_BENCH_BENCH_H

/*
 * bench - best of N rounds, one logfmt line per number. Machines are noisy: compare two builds in
 * one run, as a ratio; nothing here passes or fails.
 */

#include <stdint.h>
#include <stdio.h>

#include "common/clock.h"

#define BENCH_ROUNDS 7

/* Runs `prepare` and `call` BENCH_ROUNDS times; *best_ns is the fastest `call`. */
#define BENCH_BEST(best_ns, prepare, call)                      \
    do {                                                        \
        *(best_ns) = UINT64_MAX;                                \
        for (int round_ = 0; round_ < BENCH_ROUNDS; round_++) { \
            uint64_t start_, took_;                             \
            prepare;                                            \
            start_ = rkt_now_raw_ns();                          \
            call;                                               \
            took_ = rkt_now_raw_ns() - start_;                  \
            if (took_ < *(best_ns))                             \
                *(best_ns) = took_;                             \
        }                                                       \
    } while (0)

#endif
