/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/line.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock_burst.h"

#define ENDS_BURSTS ((size_t)3)

/* The middle of the narrowest of `count` bursts. */
static void middle_of_best(const struct rkt_clock_burst *bursts, size_t count, double *local_ns,
                           double *offset_ns)
{
    const struct rkt_clock_burst *best = &bursts[0];

    for (size_t i = 1; i < count; i++) {
        if (bursts[i].upper_ns - bursts[i].lower_ns < best->upper_ns - best->lower_ns)
            best = &bursts[i];
    }
    *local_ns = (double)best->local_ns;
    *offset_ns = ((double)best->lower_ns + (double)best->upper_ns) / 2;
}

bool sim_line_make(const struct rkt_event *exchanges, size_t exchange_count,
                   struct sim_line *line_out)
{
    struct rkt_clock_bursts bursts;
    struct rkt_arena arena;
    bool is_made;

    rkt_arena_init(&arena, (size_t)64 << 20);
    if (rkt_clock_bursts_make(exchanges, exchange_count, 0, &arena, &bursts, NULL) != RKT_OK)
        abort();
    is_made = bursts.count >= 2 * ENDS_BURSTS;
    for (size_t end = 0; is_made && end < 2; end++)
        middle_of_best(bursts.items + end * (bursts.count - ENDS_BURSTS), ENDS_BURSTS,
                       &line_out->local_ns[end], &line_out->offset_ns[end]);
    rkt_arena_release(&arena);
    return is_made;
}
