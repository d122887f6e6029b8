/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/arrival.h"

#include <stdlib.h>

#include "analysis/key_index.h"
#include "common/array.h"

/* Without a launch record: a start so soon after the one before was waiting for it. */
#define QUEUED_GAP_NS 10000

/* Threads, or streams, each once and in order: with the last of launches.works so far, + 1; 0
 * none. */
struct key_set {
    struct rkt_key_index *items;
    size_t count;
    size_t found; /* the last that was found */
};

/* By launch. */
struct launches {
    struct rkt_key_index *works; /* all but comm: when it was launched, and its index */
    struct rkt_key_index *comms; /* likewise */
    size_t work_count;
    size_t comm_count;
    uint32_t *all_comms; /* those without a known launch, too: in order of works */
    size_t all_comm_count;
    struct key_set threads; /* that launched works */
    struct key_set streams; /* that works are on */
};

static void launches_release(struct launches *launches)
{
    free(launches->works);
    free(launches->comms);
    free(launches->all_comms);
    free(launches->threads.items);
    free(launches->streams.items);
}

static uint64_t stream_of(const struct rkt_work *work)
{
    return (uint64_t)work->device_id << 32 | work->stream_id;
}

/* Neighbours mostly have one key: what is left is soon sorted. */
static void add_key(struct key_set *set, uint64_t key)
{
    if (set->count == 0 || set->items[set->count - 1].key != key)
        set->items[set->count++] = (struct rkt_key_index){key, 0};
}

/* Of the keys added. */
static enum rkt_status make_set(struct key_set *set)
{
    size_t count = set->count;
    enum rkt_status status = rkt_key_index_sort(set->items, count);

    set->count = 0;
    for (size_t i = 0; i < count; i++)
        add_key(set, set->items[i].key);
    return status;
}

/* NULL: there is none. */
static struct rkt_key_index *find_key(struct key_set *set, uint64_t key)
{
    if (set->found < set->count && set->items[set->found].key == key)
        return &set->items[set->found];
    set->found = rkt_key_index_find(set->items, set->count, key);
    return set->found < set->count && set->items[set->found].key == key ? &set->items[set->found]
                                                                        : NULL;
}

static void fill_launches(struct launches *launches, const struct rkt_rank_trace *trace)
{
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        struct rkt_key_index launch = {rkt_key_of_time(work->launch_start_ns), (uint32_t)i};

        if (work->work_class == RKT_WORK_COMM)
            launches->all_comms[launches->all_comm_count++] = (uint32_t)i;
        if (work->launch_start_ns == RKT_TIME_UNKNOWN)
            continue;
        if (work->work_class == RKT_WORK_COMM) {
            launches->comms[launches->comm_count++] = launch;
            continue;
        }
        launches->works[launches->work_count++] = launch;
        add_key(&launches->threads, work->launch_thread_id);
        add_key(&launches->streams, stream_of(work));
    }
}

/* On failure as on success, release is the caller's. */
static enum rkt_status launches_init(struct launches *launches, const struct rkt_rank_trace *trace)
{
    size_t cap = trace->work_count + 1;

    *launches =
        (struct launches){.works = rkt_array_room(cap, sizeof(*launches->works)),
                          .comms = rkt_array_room(cap, sizeof(*launches->comms)),
                          .all_comms = rkt_array_room(cap, sizeof(*launches->all_comms)),
                          .threads.items = rkt_array_room(cap, sizeof(*launches->threads.items)),
                          .streams.items = rkt_array_room(cap, sizeof(*launches->streams.items))};
    if (!launches->works || !launches->comms || !launches->all_comms || !launches->threads.items ||
        !launches->streams.items)
        return RKT_ERR_NOMEM;
    fill_launches(launches, trace);
    if (rkt_key_index_sort(launches->works, launches->work_count) != RKT_OK ||
        rkt_key_index_sort(launches->comms, launches->comm_count) != RKT_OK ||
        make_set(&launches->threads) != RKT_OK)
        return RKT_ERR_NOMEM;
    return make_set(&launches->streams);
}

/* Launch `at` is the last one of its thread and of its stream. */
static void pass(struct launches *launches, const struct rkt_rank_trace *trace, size_t at)
{
    const struct rkt_work *work = &trace->works[launches->works[at].index];

    find_key(&launches->threads, work->launch_thread_id)->index = (uint32_t)at + 1;
    find_key(&launches->streams, stream_of(work))->index = (uint32_t)at + 1;
}

/* The work that was launched last by that thread, or to that stream, of those passed; NULL for
 * none. */
static const struct rkt_work *last_of(const struct launches *launches,
                                      const struct rkt_rank_trace *trace,
                                      const struct rkt_key_index *key)
{
    return key && key->index > 0 ? &trace->works[launches->works[key->index - 1].index] : NULL;
}

/* The stream that the thread gave work last is the one that the collective waits for, whoever gave
 * it more: an exchange of the main thread follows the backward that autograd's thread launched. */
static int64_t ready_of(struct launches *launches, const struct rkt_rank_trace *trace,
                        const struct rkt_work *comm)
{
    const struct rkt_work *last =
        last_of(launches, trace, find_key(&launches->threads, comm->launch_thread_id));
    int64_t ready_ns = comm->launch_end_ns;

    if (last)
        last = last_of(launches, trace, find_key(&launches->streams, stream_of(last)));
    if (last && last->end_ns > ready_ns)
        ready_ns = last->end_ns;
    return ready_ns < comm->start_ns ? ready_ns : comm->start_ns;
}

/*
 * Fills in ready_ns of collectives that were launched. One is ready no earlier than those that the
 * rank launched before it, on whatever thread, unless it had started by then: a receive that
 * autograd's thread launches follows the forward that the main thread launched.
 */
static void find_ready(struct launches *launches, const struct rkt_rank_trace *trace,
                       struct rkt_comm_arrival *arrivals)
{
    int64_t before_ns = INT64_MIN;
    size_t next = 0;

    for (size_t i = 0; i < launches->comm_count; i++) {
        const struct rkt_key_index *launch = &launches->comms[i];
        const struct rkt_work *comm = &trace->works[launch->index];
        int64_t *own_ns = &arrivals[launch->index].ready_ns;

        while (next < launches->work_count && launches->works[next].key < launch->key)
            pass(launches, trace, next++);
        *own_ns = ready_of(launches, trace, comm);
        if (*own_ns < before_ns && before_ns <= comm->start_ns)
            *own_ns = before_ns;
        before_ns = *own_ns > before_ns ? *own_ns : before_ns;
    }
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
    struct rkt_comm_arrival *arrivals = rkt_array_room(trace->work_count + 1, sizeof(*arrivals));

    if (launches_init(&launches, trace) != RKT_OK || arrivals == NULL) {
        launches_release(&launches);
        free(arrivals);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the arrivals of %zu works",
                        trace->work_count);
    }
    find_ready(&launches, trace, arrivals);
    for (size_t i = 0; i < launches.all_comm_count; i++) {
        const struct rkt_work *work = &trace->works[launches.all_comms[i]];
        struct rkt_comm_arrival *arrival = &arrivals[launches.all_comms[i]];
        int64_t *stream_end_ns = end_of_stream(streams, &stream_count, work);

        *arrival = arrival_of(
            trace, work, work->launch_start_ns == RKT_TIME_UNKNOWN ? RKT_NA : arrival->ready_ns,
            stream_end_ns == NULL ? RKT_NA : *stream_end_ns);
        if (stream_end_ns != NULL)
            *stream_end_ns = work->end_ns;
    }
    launches_release(&launches);
    for (size_t i = 0; i < trace->bucket_count; i++) {
        trace->buckets[i].job_start_ns = rkt_rank_trace_job_ns(trace, trace->buckets[i].start_ns);
        trace->buckets[i].job_end_ns = rkt_rank_trace_job_ns(trace, trace->buckets[i].end_ns);
    }
    free(trace->arrivals);
    trace->arrivals = arrivals;
    return RKT_OK;
}
