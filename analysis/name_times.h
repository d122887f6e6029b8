/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_NAME_TIMES_H
#define RKT_ANALYSIS_NAME_TIMES_H

/*
 * name_times - how long what a rank did took, by name and step: what naming a cause, or a line that
 * waits, asks of a rank when its records are gone.
 *
 * Which steps will be asked for is known only when all ranks have been compared, so a time is kept
 * for each name in each step:
 *
 *     backward_gemm   step 0: 8.1 ms   step 1: 8.2 ms   step 2: 8.1 ms ...
 *
 * Place:   rank_trace, step -> [name_times] -> cause, sync_lines.
 * Threads: read only after create. Memory: its own; some 6 bytes for a name in a step, of a
 *          kernel 10 for each of its launch shapes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/packed.h"
#include "analysis/result.h"
#include "common/status.h"

enum rkt_name_kind {
    RKT_NAMES_KERNELS,  /* that compute, by the step that launched them */
    RKT_NAMES_COPIES,   /* likewise */
    RKT_NAMES_BLOCKING, /* calls, by their start, likewise the next two */
    RKT_NAMES_ALLOCS,
    RKT_NAMES_LAUNCHES,
    RKT_NAMES_LINES,  /* of the program, by the start of their calls: what these waited */
    RKT_NAMES_RANGES, /* the program's own, but for those around a step */
    RKT_NAMES_KIND_COUNT
};

struct rkt_name_time {
    uint32_t name_id; /* of the rank's names; of a line its site */
    uint32_t
        variant; /* of a line the call's name; of a kernel what stands for its launch shape, alike
                            on all ranks; else 0 */
    uint32_t first_step; /* it lies in these steps of the rank, or between them */
    uint32_t last_step;
    int64_t sum_ns;
    uint64_t count; /* of kernels and lines; else 0 */
};

struct rkt_name_times {
    struct rkt_packed packed;
    size_t ends[RKT_NAMES_KIND_COUNT]; /* in `packed`, by kind */
};

/* From the whole trace of a rank whose steps are known. RKT_ERR_NOMEM only. */
enum rkt_status rkt_name_times_create(const struct rkt_rank_result *rank,
                                      struct rkt_name_times **times_out, struct rkt_error *err);
void rkt_name_times_destroy(struct rkt_name_times *times); /* NULL is fine */

struct rkt_name_walk {
    struct rkt_unpacking from;
    enum rkt_name_kind kind;
    uint32_t first_step; /* what is asked for */
    uint32_t last_step;
    struct rkt_name_time before; /* what the next is coded against */
};

/*
 * What lies within steps first to last of the rank, between them included:
 *
 *     rkt_name_walk_init(&walk, times, RKT_NAMES_KERNELS, first, last);
 *     while (rkt_name_walk_next(&walk, &time))
 *
 * A name comes first where its first record does, and may come several times.
 */
void rkt_name_walk_init(struct rkt_name_walk *walk, const struct rkt_name_times *times,
                        enum rkt_name_kind kind, uint32_t first_step, uint32_t last_step);
bool rkt_name_walk_next(struct rkt_name_walk *walk, struct rkt_name_time *time_out);

#endif
