/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/export/lanes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void rkt_lanes_init(struct rkt_lanes *lanes)
{
    memset(lanes, 0, sizeof(*lanes));
}

void rkt_lanes_release(struct rkt_lanes *lanes)
{
    for (size_t i = 0; i < lanes->cap; i++)
        free(lanes->items[i].ends);
    free(lanes->items);
    memset(lanes, 0, sizeof(*lanes));
}

void rkt_lanes_reset(struct rkt_lanes *lanes)
{
    lanes->count = 0;
}

static bool fits(struct rkt_lane *lane, int64_t start_ns, int64_t end_ns)
{
    while (lane->depth > 0 && lane->ends[lane->depth - 1] <= start_ns)
        lane->depth--;
    return lane->depth == 0 || lane->ends[lane->depth - 1] >= end_ns;
}

/* One more row, with the memory of an earlier track where there is some. */
static bool add_lane(struct rkt_lanes *lanes)
{
    size_t cap = lanes->cap;

    if (lanes->count == cap) {
        if (!rkt_array_reserve((void **)&lanes->items, &lanes->cap, cap + 1, sizeof(*lanes->items)))
            return false;
        memset(lanes->items + cap, 0, (lanes->cap - cap) * sizeof(*lanes->items));
    }
    lanes->items[lanes->count++].depth = 0;
    return true;
}

size_t rkt_lanes_place(struct rkt_lanes *lanes, int64_t start_ns, int64_t end_ns)
{
    struct rkt_lane *lane;
    size_t i = 0;

    while (i < lanes->count && !fits(&lanes->items[i], start_ns, end_ns))
        i++;
    if (i == lanes->count && !add_lane(lanes))
        return RKT_LANE_NONE;
    lane = &lanes->items[i];
    if (!rkt_array_reserve((void **)&lane->ends, &lane->cap, lane->depth + 1, sizeof(*lane->ends)))
        return RKT_LANE_NONE;
    lane->ends[lane->depth++] = end_ns;
    return i;
}
