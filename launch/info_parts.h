/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_INFO_PARTS_H
#define RKT_LAUNCH_INFO_PARTS_H

/* info_parts - the two forms in which ranktrace info prints. Threads: main. */

#include <stdbool.h>
#include <stdio.h>

#include "launch/timeline_info.h"

/* 80 to 100 columns, for people. */
enum rkt_status rkt_info_text(const char *path, const struct rkt_store_reader *reader,
                              const struct rkt_timeline_info *info, FILE *out,
                              struct rkt_error *err);

/*
 * {"file", "run", "health", "shards", "totals", "sources"}: numbers as they are, times in ns;
 * fields are added, never changed.
 */
enum rkt_status rkt_info_json(const char *path, const struct rkt_store_reader *reader,
                              const struct rkt_timeline_info *info, FILE *out,
                              struct rkt_error *err);

/* Words that both use. */
/* The kernel told what steers REALTIME, and somebody did all along. */
bool rkt_info_is_steered(const struct rkt_source_totals *totals);
/* "exit 0", "signal 9", "lost", "no end"; into buf, which is returned. */
const char *rkt_info_end(const struct rkt_store_source *source, char *buf, size_t buf_bytes);
/* "2026-11-29 22:10:03 UTC"; "unknown" for 0. */
const char *rkt_info_date(uint64_t realtime_ns, char *buf, size_t buf_bytes);

#endif
