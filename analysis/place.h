/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_PLACE_H
#define RKT_ANALYSIS_PLACE_H

/*
 * place - where a rank lost most at one time: what a finding shows (metrics.md, "Findings").
 *
 *     kind    idle time by cause, or a copy that nothing hides
 *     what    the call, range or copy that made it; of a launch gap the kernel that ends it
 *     line    of the program, "train.py:123", where Python's frames or the torch hook tell it
 *
 * Place:   activity -> [place] -> finding. Of each segment (segment.h) the longest few.
 * Threads: any, for different ranks. Memory: the arena's; texts too.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

#define RKT_PLACES_SHOWN ((size_t)3) /* of a kind, in a segment */

enum rkt_place_kind {
    RKT_PLACE_COPY = RKT_IDLE_CAUSE_COUNT, /* below: enum rkt_idle_cause */
    RKT_PLACE_KIND_COUNT
};

struct rkt_place {
    int64_t start_ns; /* rank time */
    int64_t end_ns;
    const char *what; /* "" not known */
    const char *line; /* likewise */
    uint8_t kind;
    uint8_t segment;
};

struct rkt_places {
    struct rkt_place *items; /* by start */
    size_t count;
};

/* `rank->trace` is whole and rank->activity is there (NULL: none). */
enum rkt_status rkt_find_places(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                const struct rkt_places **places_out, struct rkt_error *err);

/*
 * The line of the program that the innermost frame of `frame` names: "train.py:123" of
 * "train.py(123): step". False: it is a frame of a library, or none that has a line.
 */
bool rkt_line_of_frame(const char *frame, char *line, size_t line_bytes);

#endif
