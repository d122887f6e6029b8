/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_trace_parts.h"

/* Torch's range around what it hands to NCCL for an all_to_all, whose kernel is a SendRecv. */
#define RANGE_NAME "nccl:all_to_all"
#define KERNEL_NAME "SendRecv"

/* Where such a range is on a thread. */
struct place {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t thread_id;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->thread_id != q->thread_id)
        return p->thread_id < q->thread_id ? -1 : 1;
    return (p->start_ns > q->start_ns) - (p->start_ns < q->start_ns);
}

bool rkt_rank_trace_names_all_to_all(const struct rkt_rank_trace *trace)
{
    for (uint32_t id = 0; id < rkt_strtab_count(trace->names); id++) {
        if (strcmp(rkt_strtab_get(trace->names, id, NULL), RANGE_NAME) == 0)
            return true;
    }
    return false;
}

static size_t find_places(const struct rkt_rank_trace *trace, struct place *places)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (strcmp(rkt_strtab_get(trace->names, range->name_id, NULL), RANGE_NAME) == 0)
            places[count++] = (struct place){range->start_ns, range->end_ns, range->thread_id};
    }
    qsort(places, count, sizeof(*places), compare_places);
    return count;
}

/* They do not nest: the last that begins before the launch on its thread is the only one. */
static bool is_inside(const struct place *places, size_t count, const struct rkt_work *work)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct place launch = {.start_ns = work->launch_start_ns,
                               .thread_id = work->launch_thread_id};

        if (compare_places(&places[middle], &launch) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && places[low - 1].thread_id == work->launch_thread_id &&
           places[low - 1].end_ns >= work->launch_end_ns;
}

enum rkt_status rkt_rank_trace_find_all_to_alls(struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct place *places;
    size_t count;

    if (!rkt_rank_trace_names_all_to_all(trace))
        return RKT_OK;
    places = calloc(trace->range_count + 1, sizeof(*places));
    if (!places)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranges", trace->range_count);
    count = find_places(trace, places);
    for (size_t i = 0; i < trace->work_count; i++) {
        struct rkt_work *work = &trace->works[i];

        if (work->work_class == RKT_WORK_COMM && work->op == RKT_INDEX_NONE &&
            work->launch_start_ns != RKT_TIME_UNKNOWN &&
            strstr(rkt_strtab_get(trace->names, work->name_id, NULL), KERNEL_NAME))
            work->is_all_to_all = is_inside(places, count, work);
    }
    free(places);
    return RKT_OK;
}
