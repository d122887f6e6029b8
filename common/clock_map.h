/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_MAP_H
#define RKT_COMMON_CLOCK_MAP_H

/*
 * clock_map - one source's stamps of any clock to its rank time, and to job time.
 *
 * Rank time is local time of one chosen clock per source (that of its GPU records,
 * else MONOTONIC_RAW): everything within a rank is computed in it, exactly. Other
 * clocks of the same source are mapped into it by the recorded pairs (clock_line.h). Job time adds
 * the source's offset to the reference (align_at.h).
 *
 * Threads: read only after build. Memory: its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/status.h"

struct rkt_clock_map;

/*
 * `pairs`: CLOCK_PAIR events of the source's node by start_ns. `align`: NULL where there
 * is none. Without pairs a clock other than rank_clock cannot be mapped.
 */
enum rkt_status rkt_clock_map_create(enum rkt_clock_id rank_clock, const struct rkt_event *pairs,
                                     size_t pair_count, const struct rkt_align_info *align,
                                     struct rkt_clock_map **map_out, struct rkt_error *err);
void rkt_clock_map_destroy(struct rkt_clock_map *map); /* NULL is fine */

enum rkt_clock_id rkt_clock_map_rank_clock(const struct rkt_clock_map *map);
enum rkt_align_state rkt_clock_map_state(const struct rkt_clock_map *map);
uint32_t rkt_clock_map_flags(
    const struct rkt_clock_map *map); /* of the alignment: enum rkt_clock_flag */

/* False: this clock cannot be mapped. *error_ns_out (may be NULL): the mapping's own bound. */
bool rkt_clock_map_to_rank(const struct rkt_clock_map *map, enum rkt_clock_id clock_id,
                           struct rkt_local_time local, int64_t *rank_ns_out,
                           int64_t *error_ns_out);

/* Rank time to MONOTONIC_RAW, which alignments are in (an import's own clock stays), and what that
 * may be wrong by. */
bool rkt_clock_map_to_raw(const struct rkt_clock_map *map, int64_t rank_ns, int64_t *raw_ns_out,
                          int64_t *error_ns_out);

/* Rank time to job time; *bound_ns_out (may be NULL) is the guaranteed ±, -1 unknown. */
struct rkt_job_time rkt_clock_map_to_job(const struct rkt_clock_map *map, int64_t rank_ns,
                                         int64_t *bound_ns_out);

/* The likely ± there; -1 unknown. */
int64_t rkt_clock_map_likely_at(const struct rkt_clock_map *map, int64_t rank_ns);

/* The widest bounds to job time over [start, end] of rank time; -1 unknown. */
int64_t rkt_clock_map_worst_bound(const struct rkt_clock_map *map, int64_t start_ns, int64_t end_ns,
                                  int64_t *likely_ns_out);

#endif
