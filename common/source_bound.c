/* SPDX-License-Identifier: Apache-2.0 */
#include "common/source_bound.h"

#include "common/clock.h"
#include "common/clock_map.h"
#include "common/event.h"

/* Further than this from what aligns it is no stamp: it is damage. */
#define RECORD_NS_MAX (INT64_C(100) * 86400 * 1000000000)

struct span {
    int64_t start_ns;
    int64_t end_ns;
};

struct finding {
    enum rkt_clock_id clock_id; /* of the alignment */
    struct span knots;
    struct span gpu; /* this and the next: reversed where there is none */
    struct span all;
};

static bool is_gpu_work(uint8_t kind)
{
    return kind == RKT_EVENT_KERNEL || kind == RKT_EVENT_MEMCPY || kind == RKT_EVENT_MEMSET ||
           kind == RKT_EVENT_GRAPH;
}

/* What describes others has no place in time, or one before all work. */
static bool is_description(uint8_t kind)
{
    return kind == RKT_EVENT_NAME || kind == RKT_EVENT_COMM || kind == RKT_EVENT_SHAPE ||
           kind == RKT_EVENT_DEVICE || kind == RKT_EVENT_LOSS;
}

static bool is_near(const struct finding *finding, uint64_t time_ns)
{
    return time_ns <= RKT_TIME_MAX_NS &&
           (int64_t)time_ns >= finding->knots.start_ns - RECORD_NS_MAX &&
           (int64_t)time_ns <= finding->knots.end_ns + RECORD_NS_MAX;
}

static bool is_of_the_clock(const struct finding *finding, uint8_t kind, uint8_t clock_id)
{
    return clock_id == finding->clock_id && !is_description(kind);
}

static void extend(struct span *span, uint64_t start_ns, uint64_t end_ns)
{
    span->start_ns = (int64_t)start_ns < span->start_ns ? (int64_t)start_ns : span->start_ns;
    span->end_ns = (int64_t)end_ns > span->end_ns ? (int64_t)end_ns : span->end_ns;
}

/* False: these are no times of this source. */
static bool take(struct finding *finding, uint8_t kind, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns == 0 || end_ns < start_ns || !is_near(finding, start_ns) ||
        !is_near(finding, end_ns))
        return false;
    extend(&finding->all, start_ns, end_ns);
    if (is_gpu_work(kind))
        extend(&finding->gpu, start_ns, end_ns);
    return true;
}

/* Only one that holds a stamp that is none has to be looked at: for the others. */
static bool is_wanted(void *ctx, const struct rkt_batch_span *span)
{
    struct finding *finding = ctx;

    return span->clock_id == RKT_CLOCK_UNKNOWN ||
           (is_of_the_clock(finding, span->kind, span->clock_id) &&
            !take(finding, span->kind, span->first_ns, span->last_ns));
}

static enum rkt_status take_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    struct finding *finding = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (is_of_the_clock(finding, events[i].kind, events[i].clock_id))
            (void)take(finding, events[i].kind, events[i].start_ns, events[i].end_ns);
    }
    return RKT_OK;
}

/* They are in order of time; a store may say anything. */
static struct span span_of_knots(const struct rkt_align_info *align)
{
    struct span span = {0, 0};
    size_t count = 0;

    while (count < align->knot_count && align->knots[count].local_ns <= RKT_TIME_MAX_NS)
        count++;
    if (count > 0)
        span = (struct span){(int64_t)align->knots[0].local_ns,
                             (int64_t)align->knots[count - 1].local_ns};
    return span;
}

static enum rkt_status find_span(struct rkt_store_reader *reader, uint32_t source,
                                 struct finding *finding, struct span *span_out,
                                 struct rkt_error *err)
{
    const struct rkt_store_part part = {is_wanted, take_events, finding};
    enum rkt_status status = rkt_store_reader_walk_part(reader, source, NULL, &part, err);

    *span_out = finding->gpu.start_ns <= finding->gpu.end_ns   ? finding->gpu
                : finding->all.start_ns <= finding->all.end_ns ? finding->all
                                                               : finding->knots;
    return status;
}

enum rkt_status rkt_source_bound_find(struct rkt_store_reader *reader,
                                      const struct rkt_source_info *info,
                                      const struct rkt_align_info *align,
                                      struct rkt_source_bound *bound_out, struct rkt_error *err)
{
    struct finding finding = {
        .clock_id = info->gpu_clock == RKT_CLOCK_TRACE ? RKT_CLOCK_TRACE : RKT_CLOCK_MONOTONIC_RAW,
        .knots = span_of_knots(align),
        .gpu = {INT64_MAX, INT64_MIN},
        .all = {INT64_MAX, INT64_MIN},
    };
    struct span span = finding.knots;
    struct rkt_clock_map *map;
    enum rkt_status status = RKT_OK;

    if (align->state == RKT_ALIGN_MEASURED || align->state == RKT_ALIGN_COLLECTIVES)
        status = find_span(reader, info->source, &finding, &span, err);
    if (status == RKT_OK)
        status = rkt_clock_map_create(finding.clock_id, NULL, 0, align, &map, err);
    if (status != RKT_OK)
        return status;
    bound_out->bound_ns =
        rkt_clock_map_worst_bound(map, span.start_ns, span.end_ns, &bound_out->likely_ns);
    rkt_clock_map_destroy(map);
    return RKT_OK;
}
