/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/arrival.h"

#include <stdlib.h>

#include "analysis/key_index.h"
#include "analysis/time_sort.h"

/* Without a launch record: a start so soon after the one before was waiting for it. */
#define QUEUED_GAP_NS 10000

struct launch {
    int64_t launch_start_ns;
    int64_t end_ns; /* of the work */
    uint64_t stream;
    uint32_t thread_id;
};

struct launches {
    struct launch *items;            /* by launch_start_ns */
    struct rkt_key_index *by_thread; /* then in order of items */
    struct rkt_key_index *by_stream; /* likewise */
    size_t count;
};

static void launches_release(struct launches *launches)
{
    free(launches->items);
    free(launches->by_thread);
    free(launches->by_stream);
}

/* Of all work but comm. On failure as on success, release is the caller's. */
static enum rkt_status launches_init(struct launches *launches, const struct rkt_rank_trace *trace)
{
    *launches = (struct launches){0};
    launches->items = calloc(trace->work_count + 1, sizeof(*launches->items));
    launches->by_thread = calloc(trace->work_count + 1, sizeof(*launches->by_thread));
    launches->by_stream = calloc(trace->work_count + 1, sizeof(*launches->by_stream));
    if (!launches->items || !launches->by_thread || !launches->by_stream)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class == RKT_WORK_COMM || work->launch_start_ns == RKT_TIME_UNKNOWN)
            continue;
        launches->items[launches->count++] =
            (struct launch){.launch_start_ns = work->launch_start_ns,
                            .end_ns = work->end_ns,
                            .stream = (uint64_t)work->device_id << 32 | work->stream_id,
                            .thread_id = work->launch_thread_id};
    }
    if (rkt_time_sort(launches->items, launches->count, sizeof(*launches->items), RKT_BY_START) !=
        RKT_OK)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < launches->count; i++) {
        launches->by_thread[i] = (struct rkt_key_index){launches->items[i].thread_id, (uint32_t)i};
        launches->by_stream[i] = (struct rkt_key_index){launches->items[i].stream, (uint32_t)i};
    }
    return rkt_key_index_sort(launches->by_thread, launches->count) == RKT_OK
               ? rkt_key_index_sort(launches->by_stream, launches->count)
               : RKT_ERR_NOMEM;
}

/* The last of this thread, or stream, before `before_ns`; NULL for none. */
static const struct launch *last_before(const struct launches *launches,
                                        const struct rkt_key_index *by_key, uint64_t key,
                                        int64_t before_ns)
{
    size_t first = rkt_key_index_find(by_key, launches->count, key);
    size_t low = first;
    size_t high =
        key == UINT64_MAX ? launches->count : rkt_key_index_find(by_key, launches->count, key + 1);

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (launches->items[by_key[middle].index].launch_start_ns < before_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > first ? &launches->items[by_key[low - 1].index] : NULL;
}

/* The stream that the thread gave work last is the one that the collective waits for, whoever gave it
 * more: an exchange of the main thread follows the backward that autograd's thread launched. */
static int64_t ready_of(const struct rkt_work *work, const struct launches *launches)
{
    const struct launch *last;
    int64_t ready_ns = RKT_NA;

    if (work->launch_end_ns == RKT_TIME_UNKNOWN)
        return RKT_NA;
    last =
        last_before(launches, launches->by_thread, work->launch_thread_id, work->launch_start_ns);
    if (last)
        ready_ns =
            last_before(launches, launches->by_stream, last->stream, work->launch_start_ns)->end_ns;
    ready_ns = ready_ns > work->launch_end_ns ? ready_ns : work->launch_end_ns;
    return ready_ns < work->start_ns ? ready_ns : work->start_ns;
}

/*
 * Fills ready_ns by work. A collective is ready no earlier than those that the rank launched before
 * it, on whatever thread, unless it had started by then: a receive that autograd's thread launches
 * follows the forward that the main thread launched.
 */
static enum rkt_status find_ready(const struct rkt_rank_trace *trace,
                                  const struct launches *launches, int64_t *ready_ns)
{
    struct rkt_key_index *comms = calloc(trace->work_count + 1, sizeof(*comms));
    enum rkt_status status = RKT_ERR_NOMEM;
    int64_t before_ns = INT64_MIN;
    size_t count = 0;

    for (size_t i = 0; comms && i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class != RKT_WORK_COMM)
            continue;
        ready_ns[i] = ready_of(work, launches);
        if (ready_ns[i] != RKT_NA)
            comms[count++] =
                (struct rkt_key_index){rkt_key_of_time(work->launch_start_ns), (uint32_t)i};
    }
    if (comms)
        status = rkt_key_index_sort(comms, count);
    for (size_t i = 0; status == RKT_OK && i < count; i++) {
        int64_t *own_ns = &ready_ns[comms[i].index];
        int64_t start_ns = trace->works[comms[i].index].start_ns;

        if (*own_ns < before_ns && before_ns <= start_ns)
            *own_ns = before_ns;
        before_ns = *own_ns > before_ns ? *own_ns : before_ns;
    }
    free(comms);
    return status;
}

/* The last comm seen on each stream. Few streams carry comm: a list is enough. */
struct stream_end {
    uint32_t device_id;
    uint32_t stream_id;
    int64_t end_ns;
};

#define STREAMS_MAX 256u

/* Room for the stream's last end, RKT_NA at first; NULL past the limit. */
static int64_t *end_of_stream(struct stream_end *streams, size_t *count,
                              const struct rkt_work *work)
{
    for (size_t i = 0; i < *count; i++) {
        if (streams[i].stream_id == work->stream_id && streams[i].device_id == work->device_id)
            return &streams[i].end_ns;
    }
    if (*count == STREAMS_MAX)
        return NULL;
    streams[*count] = (struct stream_end){work->device_id, work->stream_id, RKT_NA};
    return &streams[(*count)++].end_ns;
}

static uint32_t likely_ns_at(const struct rkt_rank_trace *trace, int64_t rank_ns)
{
    int64_t likely_ns = trace->clock ? rkt_clock_map_likely_at(trace->clock, rank_ns) : -1;

    return likely_ns < 0 || likely_ns >= RKT_LIKELY_UNKNOWN ? RKT_LIKELY_UNKNOWN
                                                            : (uint32_t)likely_ns;
}

static struct rkt_comm_arrival arrival_of(const struct rkt_rank_trace *trace,
                                          const struct rkt_work *work, int64_t ready_ns,
                                          int64_t previous_end_ns)
{
    struct rkt_comm_arrival arrival = {.job_start_ns = rkt_rank_trace_job_ns(trace, work->start_ns),
                                       .job_end_ns = rkt_rank_trace_job_ns(trace, work->end_ns),
                                       .ready_ns = ready_ns,
                                       .late_ns = RKT_NA,
                                       .likely_ns = likely_ns_at(trace, work->start_ns)};

    if (previous_end_ns == RKT_NA)
        return arrival;
    arrival.late_ns = work->start_ns - previous_end_ns;
    arrival.is_queued =
        ready_ns == RKT_NA ? arrival.late_ns < QUEUED_GAP_NS : previous_end_ns > ready_ns;
    return arrival;
}

enum rkt_status rkt_find_arrivals(struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct stream_end streams[STREAMS_MAX];
    size_t stream_count = 0;
    struct launches launches;
    struct rkt_comm_arrival *arrivals = calloc(trace->work_count + 1, sizeof(*arrivals));
    int64_t *ready_ns = calloc(trace->work_count + 1, sizeof(*ready_ns));

    if (launches_init(&launches, trace) != RKT_OK || arrivals == NULL || ready_ns == NULL ||
        find_ready(trace, &launches, ready_ns) != RKT_OK) {
        launches_release(&launches);
        free(arrivals);
        free(ready_ns);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the arrivals of %zu works",
                        trace->work_count);
    }
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        int64_t *stream_end_ns;

        if (work->work_class != RKT_WORK_COMM)
            continue;
        stream_end_ns = end_of_stream(streams, &stream_count, work);
        arrivals[i] =
            arrival_of(trace, work, ready_ns[i], stream_end_ns == NULL ? RKT_NA : *stream_end_ns);
        if (stream_end_ns != NULL)
            *stream_end_ns = work->end_ns;
    }
    for (size_t i = 0; i < trace->bucket_count; i++) {
        trace->buckets[i].job_start_ns = rkt_rank_trace_job_ns(trace, trace->buckets[i].start_ns);
        trace->buckets[i].job_end_ns = rkt_rank_trace_job_ns(trace, trace->buckets[i].end_ns);
    }
    launches_release(&launches);
    free(ready_ns);
    free(trace->arrivals);
    trace->arrivals = arrivals;
    return RKT_OK;
}
