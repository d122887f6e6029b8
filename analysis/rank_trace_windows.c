/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_trace_parts.h"
#include "analysis/time_sort.h"

struct edge {
    int64_t start_ns; /* start_ns and end_ns lead: time_sort */
    int64_t end_ns;
    uint8_t type; /* enum rkt_window_edge */
};

/* `spans` has room for one more than there are edges. Returns how many there are. */
static size_t make_spans(const struct edge *edges, size_t count, struct rkt_open_span *spans)
{
    uint8_t state = edges[0].type == RKT_WINDOW_CLOSED ? RKT_WINDOW_OPENED : RKT_WINDOW_CLOSED;
    int64_t traced_from_ns = INT64_MIN;
    size_t span_count = 0;

    if (state == RKT_WINDOW_OPENED)
        spans[span_count++] = (struct rkt_open_span){INT64_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        const struct edge *edge = &edges[i];

        if (state == RKT_WINDOW_CLOSED && edge->type != RKT_WINDOW_CLOSED)
            traced_from_ns = edge->start_ns;
        if (state == RKT_WINDOW_OPENED && edge->type != RKT_WINDOW_OPENED)
            spans[span_count - 1].end_ns = edge->start_ns;
        if (state != RKT_WINDOW_OPENED && edge->type == RKT_WINDOW_OPENED)
            spans[span_count++] = (struct rkt_open_span){edge->start_ns, INT64_MAX, traced_from_ns};
        state = edge->type;
    }
    return span_count;
}

enum rkt_status rkt_rank_trace_find_windows(struct rkt_rank_trace *trace,
                                            const struct rkt_raw_events *events,
                                            struct rkt_error *err)
{
    struct edge *edges = calloc(events->count + 1, sizeof(*edges));
    struct rkt_open_span *spans = calloc(events->count + 1, sizeof(*spans));
    size_t count = 0;

    if (!edges || !spans)
        goto no_memory;
    for (size_t i = 0; i < events->count; i++) {
        struct edge *edge = &edges[count];

        edge->type = rkt_raw_event(events, i)->type;
        count += edge->type <= RKT_WINDOW_WARMUP &&
                 rkt_rank_trace_times(trace, rkt_raw_event(events, i), &edge->start_ns,
                                      &edge->end_ns, NULL);
    }
    if (rkt_time_sort(edges, count, sizeof(*edges), RKT_BY_START) != RKT_OK)
        goto no_memory;
    trace->has_windows = count > 0;
    trace->open_spans = spans;
    if (count > 0)
        trace->open_count = make_spans(edges, count, spans);
    free(edges);
    return RKT_OK;

no_memory:
    free(edges);
    free(spans);
    return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu edges of capture windows",
                    events->count);
}

/* ---- gaps ---- */

/* `spans` has room for one more. Returns how many there are then. */
static size_t cut(struct rkt_open_span *spans, size_t count, int64_t start_ns, int64_t end_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct rkt_open_span span = spans[i];

        if (start_ns > span.start_ns && end_ns < span.end_ns) { /* no other span meets it */
            memmove(&spans[i + 2], &spans[i + 1], (count - i - 1) * sizeof(span));
            spans[i].end_ns = start_ns;
            spans[i + 1] = (struct rkt_open_span){end_ns, span.end_ns, end_ns};
            return count + 1;
        }
        if (start_ns <= span.start_ns && end_ns > span.start_ns) {
            span.start_ns = end_ns;
            span.traced_from_ns = end_ns;
        } else if (start_ns < span.end_ns && end_ns >= span.end_ns) {
            span.end_ns = start_ns;
        }
        if (span.start_ns < span.end_ns)
            spans[kept++] = span;
    }
    return kept;
}

enum rkt_status rkt_rank_trace_cut_gaps(struct rkt_rank_trace *trace,
                                        const struct rkt_raw_events *losses, struct rkt_error *err)
{
    size_t room = (trace->has_windows ? trace->open_count : 1) + losses->count;
    struct rkt_open_span *spans;
    int64_t start_ns;
    int64_t end_ns;

    if (!trace->has_gpu || trace->capture_off_ns == 0)
        return RKT_OK;
    spans = realloc(trace->open_spans, room * sizeof(*spans));
    if (!spans)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu gaps", losses->count);
    trace->open_spans = spans;
    if (!trace->has_windows) {
        spans[0] = (struct rkt_open_span){INT64_MIN, INT64_MAX, INT64_MIN};
        trace->open_count = 1;
        trace->has_windows = true;
    }
    for (size_t i = 0; i < losses->count; i++) {
        const struct rkt_event *loss = rkt_raw_event(losses, i);

        if (loss->type == RKT_LOSS_CAPTURE_OFF && loss->end_ns > loss->start_ns &&
            rkt_rank_trace_times(trace, loss, &start_ns, &end_ns, NULL))
            trace->open_count = cut(spans, trace->open_count, start_ns, end_ns);
    }
    return RKT_OK;
}

const struct rkt_open_span *rkt_open_span_find(const struct rkt_open_span *spans, size_t count,
                                               int64_t start_ns, int64_t end_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (start_ns >= spans[i].start_ns && end_ns <= spans[i].end_ns)
            return &spans[i];
    }
    return NULL;
}
