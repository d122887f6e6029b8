/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_trace_parts.h"

#include <regex.h>
#include <stdlib.h>

#include "analysis/time_sort.h"
#include "common/array.h"

/* No capture lasts 100 days: a stamp further from the middle one is none, and sums over a
 * thousand ranks stay within 64 bits. */
#define CAPTURE_NS_MAX (100ll * 86400 * 1000000000)

/* Class of each name, looked up once: 0 not yet, else class + 1. */
struct name_classes {
    uint8_t *of_kernel;
    uint8_t *of_call;
    uint32_t count;
    regex_t comm_kernel;
    bool has_regex;
};

static void name_classes_release(struct name_classes *classes)
{
    if (classes->has_regex)
        regfree(&classes->comm_kernel);
    free(classes->of_kernel);
    free(classes->of_call);
}

/* On failure as on success, release is the caller's. */
static enum rkt_status name_classes_init(struct name_classes *classes,
                                         const struct rkt_rank_trace *trace,
                                         const struct rkt_work_rules *rules, struct rkt_error *err)
{
    int code;

    *classes = (struct name_classes){.count = rkt_strtab_count(trace->names)};
    classes->of_kernel = calloc((size_t)classes->count + 1, 1);
    classes->of_call = calloc((size_t)classes->count + 1, 1);
    if (!classes->of_kernel || !classes->of_call)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for classes of %u names", classes->count);
    if (!rules || !rules->comm_kernel_regex)
        return RKT_OK;
    code = regcomp(&classes->comm_kernel, rules->comm_kernel_regex, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];

        regerror(code, &classes->comm_kernel, why, sizeof(why));
        return rkt_fail(err, RKT_ERR_INVALID, "comm kernel pattern \"%s\": %s",
                        rules->comm_kernel_regex, why);
    }
    classes->has_regex = true;
    return RKT_OK;
}

static uint8_t kernel_class(struct name_classes *classes, const struct rkt_rank_trace *trace,
                            uint32_t name_id)
{
    uint8_t *known = &classes->of_kernel[name_id < classes->count ? name_id : 0];

    if (*known == 0) {
        const char *name = rkt_strtab_get(trace->names, name_id, NULL);
        enum rkt_work_class work_class = rkt_work_class_of_kernel(name);

        if (classes->has_regex && regexec(&classes->comm_kernel, name, 0, NULL, 0) == 0)
            work_class = RKT_WORK_COMM;
        *known = (uint8_t)(work_class + 1);
    }
    return (uint8_t)(*known - 1);
}

static uint8_t call_class(struct name_classes *classes, const struct rkt_rank_trace *trace,
                          uint32_t name_id)
{
    uint8_t *known = &classes->of_call[name_id < classes->count ? name_id : 0];

    if (*known == 0)
        *known = (uint8_t)(rkt_call_class_of_name(rkt_strtab_get(trace->names, name_id, NULL)) + 1);
    return (uint8_t)(*known - 1);
}

static bool is_near(const struct rkt_rank_trace *trace, int64_t time_ns)
{
    int64_t away_ns;

    return trace->middle_ns == RKT_TIME_UNKNOWN ||
           (!__builtin_sub_overflow(time_ns, trace->middle_ns, &away_ns) &&
            away_ns <= CAPTURE_NS_MAX && away_ns >= -CAPTURE_NS_MAX);
}

/* Of another clock than the rank's. False: it cannot be mapped. */
static bool map_times(const struct rkt_rank_trace *trace, const struct rkt_event *event,
                      int64_t *start_ns_out, int64_t *end_ns_out, int64_t *error_ns_out)
{
    enum rkt_clock_id clock_id = (enum rkt_clock_id)event->clock_id;
    int64_t end_error_ns;

    if (!rkt_clock_map_to_rank(trace->clock, clock_id, (struct rkt_local_time){event->start_ns},
                               start_ns_out, error_ns_out) ||
        !rkt_clock_map_to_rank(trace->clock, clock_id, (struct rkt_local_time){event->end_ns},
                               end_ns_out, &end_error_ns))
        return false;
    if (end_error_ns > *error_ns_out)
        *error_ns_out = end_error_ns;
    return true;
}

bool rkt_rank_trace_times(struct rkt_rank_trace *trace, const struct rkt_event *event,
                          int64_t *start_ns_out, int64_t *end_ns_out, int64_t *error_ns_out)
{
    int64_t error_ns = 0;

    if (event->start_ns == 0 || event->end_ns < event->start_ns ||
        event->end_ns > RKT_TIME_MAX_NS) {
        trace->left_out_count++;
        return false;
    }
    if (event->clock_id == trace->clock_id) { /* of most records */
        *start_ns_out = (int64_t)event->start_ns;
        *end_ns_out = (int64_t)event->end_ns;
    } else if (!map_times(trace, event, start_ns_out, end_ns_out, &error_ns)) {
        trace->unmapped_count++;
        return false;
    }
    if (!is_near(trace, *start_ns_out) || !is_near(trace, *end_ns_out)) {
        trace->left_out_count++;
        return false;
    }
    if (*end_ns_out < *start_ns_out) /* the rank's clock was set back in between */
        *end_ns_out = *start_ns_out;
    if (error_ns > trace->clock_error_ns)
        trace->clock_error_ns = error_ns;
    if (error_ns_out)
        *error_ns_out = error_ns;
    return true;
}

static void fill_kernel(struct rkt_work *work, const struct rkt_event *event, uint8_t work_class)
{
    work->device_id = event->kernel.device_id;
    work->stream_id = event->kernel.stream_id;
    work->shape_id = event->kernel.shape_id;
    work->work_class = work_class;
    work->from_graph = event->kernel.graph_id != 0 || event->kernel.graph_node_id != 0;
}

static void fill_memcpy(struct rkt_work *work, const struct rkt_event *event)
{
    work->device_id = event->memcpy.device_id;
    work->stream_id = event->memcpy.stream_id;
    work->bytes = event->memcpy.bytes;
    work->work_class = RKT_WORK_COPY;
    work->copy_kind = event->memcpy.copy_kind;
    work->src_kind = event->memcpy.src_kind;
    work->dst_kind = event->memcpy.dst_kind;
    work->from_graph = event->memcpy.graph_id != 0;
}

static void fill_memset(struct rkt_work *work, const struct rkt_event *event)
{
    work->device_id = event->memset.device_id;
    work->stream_id = event->memset.stream_id;
    work->bytes = event->memset.bytes;
    work->work_class = RKT_WORK_COPY;
    work->copy_kind = RKT_COPY_MEMSET;
    work->from_graph = event->memset.graph_id != 0;
}

static const char GRAPH_NAME[] = "CUDA graph";

static void fill_graph(struct rkt_work *work, const struct rkt_rank_trace *trace,
                       const struct rkt_event *event)
{
    work->name_id = rkt_strtab_intern(trace->names, GRAPH_NAME, sizeof(GRAPH_NAME) - 1);
    work->device_id = event->graph.device_id;
    work->stream_id = event->graph.stream_id;
    work->work_class = RKT_WORK_COMPUTE;
    work->from_graph = 1;
    work->is_whole_graph = 1;
}

static void add_work(struct rkt_rank_trace *trace, struct name_classes *classes,
                     const struct rkt_event *event)
{
    struct rkt_work work = {
        .launch_start_ns = RKT_TIME_UNKNOWN,
        .launch_end_ns = RKT_TIME_UNKNOWN,
        .name_id = event->name_id,
        .correlation_id = event->correlation_id,
        .op = RKT_INDEX_NONE,
        .step = RKT_INDEX_NONE,
        .collective = RKT_INDEX_NONE,
        .is_async = (event->flags & RKT_FLAG_ASYNC) != 0,
    };

    if (!rkt_rank_trace_times(trace, event, &work.start_ns, &work.end_ns, NULL))
        return;
    if (event->kind == RKT_EVENT_KERNEL)
        fill_kernel(&work, event, kernel_class(classes, trace, event->name_id));
    else if (event->kind == RKT_EVENT_MEMCPY)
        fill_memcpy(&work, event);
    else if (event->kind == RKT_EVENT_GRAPH)
        fill_graph(&work, trace, event);
    else
        fill_memset(&work, event);
    if (event->flags & RKT_FLAG_GRAPH)
        work.from_graph = 1;
    trace->works[trace->work_count++] = work;
}

static enum rkt_status build_works(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw,
                                   struct name_classes *classes, struct rkt_error *err)
{
    static const enum rkt_event_kind kinds[] = {RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY,
                                                RKT_EVENT_MEMSET, RKT_EVENT_GRAPH};
    const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);
    size_t count = 0;

    for (size_t k = 0; k < kind_count; k++)
        count += raw->by_kind[kinds[k]].count;
    if (count >= RKT_INDEX_NONE)
        return rkt_fail(err, RKT_ERR_RANGE, "%zu pieces of GPU work in one rank", count);
    trace->works = rkt_array_room(count + 1, sizeof(*trace->works));
    if (!trace->works)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu pieces of GPU work", count);
    for (size_t k = 0; k < kind_count; k++) {
        const struct rkt_raw_events *list = &raw->by_kind[kinds[k]];

        for (size_t i = 0; i < list->count; i++)
            add_work(trace, classes, rkt_raw_event(list, i));
    }
    return RKT_OK;
}

static enum rkt_status build_calls(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw,
                                   struct name_classes *classes, struct rkt_error *err)
{
    const struct rkt_raw_events *list = &raw->by_kind[RKT_EVENT_API];
    size_t sync_count = raw->by_kind[RKT_EVENT_SYNC].count; /* the join may add as many */

    if (list->count + sync_count >= RKT_INDEX_NONE)
        return rkt_fail(err, RKT_ERR_RANGE, "%zu API calls in one rank", list->count);
    trace->calls = rkt_array_room(list->count + sync_count + 1, sizeof(*trace->calls));
    if (!trace->calls)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu API calls", list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct rkt_event *event = rkt_raw_event(list, i);
        struct rkt_call *call = &trace->calls[trace->call_count];

        if (!rkt_rank_trace_times(trace, event, &call->start_ns, &call->end_ns, NULL))
            continue;
        call->thread_id = event->thread_id;
        call->name_id = event->name_id;
        call->correlation_id = event->correlation_id;
        call->call_class = call_class(classes, trace, event->name_id);
        trace->call_count++;
    }
    return RKT_OK;
}

enum rkt_status rkt_rank_trace_build_ranges(struct rkt_rank_trace *trace,
                                            const struct rkt_raw_trace *raw, struct rkt_error *err)
{
    const struct rkt_raw_events *list = &raw->by_kind[RKT_EVENT_RANGE];

    trace->ranges = calloc(list->count + 1, sizeof(*trace->ranges));
    if (!trace->ranges)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranges", list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct rkt_event *event = rkt_raw_event(list, i);
        struct rkt_range *range = &trace->ranges[trace->range_count];

        if (!rkt_rank_trace_times(trace, event, &range->start_ns, &range->end_ns, NULL))
            continue;
        range->value = event->range.value;
        range->thread_id = event->thread_id;
        range->name_id = event->name_id;
        range->domain_id =
            event->type == RKT_RANGE_CPU_OP ? event->range.inputs_id : event->range.domain_id;
        range->type = event->type;
        trace->range_count++;
    }
    if (rkt_time_sort(trace->ranges, trace->range_count, sizeof(*trace->ranges), RKT_BY_START) !=
        RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to sort %zu ranges", trace->range_count);
    return RKT_OK;
}

static enum rkt_status build_buckets(struct rkt_rank_trace *trace,
                                     const struct rkt_raw_events *list, struct rkt_error *err)
{
    trace->buckets = calloc(list->count + 1, sizeof(*trace->buckets));
    if (!trace->buckets)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu buckets", list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct rkt_event *event = rkt_raw_event(list, i);
        struct rkt_bucket *bucket = &trace->buckets[trace->bucket_count];

        if (!rkt_rank_trace_times(trace, event, &bucket->start_ns, &bucket->end_ns, NULL))
            continue;
        bucket->bytes = event->bucket.bytes;
        bucket->step = event->bucket.step;
        bucket->index = event->bucket.index;
        bucket->thread_id = event->thread_id;
        trace->bucket_count++;
    }
    return RKT_OK;
}

static int compare_shapes(const void *a, const void *b)
{
    const struct rkt_event_shape *x = a;
    const struct rkt_event_shape *y = b;

    return (x->shape_id > y->shape_id) - (x->shape_id < y->shape_id);
}

/* What describes others: communicators, names of threads and streams, kernel shapes. */
static enum rkt_status build_tables(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw,
                                    struct rkt_error *err)
{
    const struct rkt_raw_events *comms = &raw->by_kind[RKT_EVENT_COMM];
    const struct rkt_raw_events *names = &raw->by_kind[RKT_EVENT_NAME];
    const struct rkt_raw_events *shapes = &raw->by_kind[RKT_EVENT_SHAPE];

    trace->comms = calloc(comms->count + 1, sizeof(*trace->comms));
    trace->named = calloc(names->count + 1, sizeof(*trace->named));
    trace->shapes = calloc(shapes->count + 1, sizeof(*trace->shapes));
    if (!trace->comms || !trace->named || !trace->shapes)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu names", names->count);
    for (size_t i = 0; i < comms->count; i++) {
        const struct rkt_event *event = rkt_raw_event(comms, i);

        trace->comms[trace->comm_count++] = (struct rkt_comm){
            .comm_id = event->comm.comm_id,
            .rank = event->comm.rank,
            .rank_count = event->comm.rank_count,
            .name_id = event->name_id,
            .members_id = event->comm.members_id,
        };
    }
    for (size_t i = 0; i < names->count; i++) {
        const struct rkt_event *event = rkt_raw_event(names, i);

        trace->named[trace->named_count++] = (struct rkt_named){
            .object_id = event->name.object_id,
            .name_id = event->name_id,
            .sort_index = event->name.sort_index,
            .type = event->type,
        };
    }
    for (size_t i = 0; i < shapes->count; i++)
        trace->shapes[trace->shape_count++] = rkt_raw_event(shapes, i)->shape;
    qsort(trace->shapes, trace->shape_count, sizeof(*trace->shapes), compare_shapes);
    return RKT_OK;
}

/* 0 where its times are impossible, which is counted. */
static int64_t duration(struct rkt_rank_trace *trace, const struct rkt_event *event)
{
    int64_t start_ns;
    int64_t end_ns;

    return rkt_rank_trace_times(trace, event, &start_ns, &end_ns, NULL) ? end_ns - start_ns : 0;
}

static void count_losses(struct rkt_rank_trace *trace, const struct rkt_raw_events *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct rkt_event *event = rkt_raw_event(list, i);

        if (event->type < RKT_LOSS_REASONS_MAX)
            trace->losses[event->type] += event->loss.count;
        if (event->type == RKT_LOSS_CAPTURE_OFF)
            trace->capture_off_ns += duration(trace, event);
    }
}

static void sum_overheads(struct rkt_rank_trace *trace, const struct rkt_raw_events *list)
{
    for (size_t i = 0; i < list->count; i++)
        trace->overhead_ns += duration(trace, rkt_raw_event(list, i));
}

static enum rkt_status sort_arrays(struct rkt_rank_trace *trace, struct rkt_error *err)
{
    if (rkt_time_sort(trace->works, trace->work_count, sizeof(*trace->works), RKT_BY_START_END) !=
            RKT_OK ||
        rkt_time_sort(trace->calls, trace->call_count, sizeof(*trace->calls), RKT_BY_START) !=
            RKT_OK ||
        rkt_time_sort(trace->buckets, trace->bucket_count, sizeof(*trace->buckets), RKT_BY_START) !=
            RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to sort %zu pieces of GPU work",
                        trace->work_count);
    return RKT_OK;
}

enum rkt_status rkt_rank_trace_build(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw,
                                     const struct rkt_work_rules *rules, struct rkt_error *err)
{
    struct name_classes classes;
    enum rkt_status status = name_classes_init(&classes, trace, rules, err);

    if (status == RKT_OK)
        status = rkt_rank_trace_find_middle(trace, raw, err);
    if (status == RKT_OK)
        status = build_works(trace, raw, &classes, err);
    if (status == RKT_OK)
        status = build_calls(trace, raw, &classes, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_build_ranges(trace, raw, err);
    if (status == RKT_OK)
        status = build_buckets(trace, &raw->by_kind[RKT_EVENT_BUCKET], err);
    if (status == RKT_OK)
        status = build_tables(trace, raw, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_build_gpu(trace, raw, err);
    if (status == RKT_OK) {
        count_losses(trace, &raw->by_kind[RKT_EVENT_LOSS]);
        sum_overheads(trace, &raw->by_kind[RKT_EVENT_OVERHEAD]);
        rkt_rank_trace_leave_out_endless(trace);
        trace->has_gpu = trace->work_count > 0;
        status = sort_arrays(trace, err);
    }
    name_classes_release(&classes);
    return status;
}
