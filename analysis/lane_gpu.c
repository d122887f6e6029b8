/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gap [e, x) of the lane, which work X ends:
 *
 *     lane   ====e              |x==X==       c ends at most 20 us before x, and X was launched
 *     comm     r   |-----c----|               before that: the lane waited for c, from when it had
 *     lane     own | waits    |own            nothing else to do and c could have begun
 *
 * A host that waits for c before it launches X holds the lane up likewise.
 */
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/idle.h"
#include "analysis/lane_parts.h"
#include "analysis/layer.h"
#include "analysis/time_find.h"
#include "common/array.h"

/* So long after the end of what it waited for work may begin, or a call return. */
#define AFTER_NS 20000
/* Streams with kernels that compute; more are rare, and their copies then stand beside the lane. */
#define STREAMS_MAX 256u
/* Calls before a launch among which one of its own thread is looked for. */
#define CALLS_MAX 8

struct stream {
    uint32_t device_id;
    uint32_t stream_id;
};

struct comm_end {
    int64_t end_ns;
    uint32_t work;
};

struct blocking {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t thread_id;
};

struct finder {
    const struct rkt_rank_trace *trace;
    struct rkt_lane_draft *draft;
    struct stream streams[STREAMS_MAX];
    size_t stream_count;
    struct comm_end *comms; /* by end */
    size_t comm_count;
    size_t comm_cap;
    struct blocking *calls; /* by end */
    size_t call_count;
    size_t call_cap;
};

static bool has_stream(const struct finder *finder, const struct rkt_work *work)
{
    for (size_t i = 0; i < finder->stream_count; i++) {
        if (finder->streams[i].stream_id == work->stream_id &&
            finder->streams[i].device_id == work->device_id)
            return true;
    }
    return false;
}

/* What the lane consists of: kernels, and the copies between them. */
static bool is_on_lane(const struct finder *finder, const struct rkt_work *work)
{
    if (work->end_ns <= work->start_ns)
        return false;
    return work->work_class == RKT_WORK_COMPUTE ||
           (work->work_class == RKT_WORK_COPY && has_stream(finder, work));
}

static int compare_comms(const void *a, const void *b)
{
    const struct comm_end *x = a;
    const struct comm_end *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static int compare_calls(const void *a, const void *b)
{
    const struct blocking *x = a;
    const struct blocking *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->thread_id > y->thread_id) - (x->thread_id < y->thread_id);
}

static enum rkt_status take_work(struct finder *finder, size_t index)
{
    const struct rkt_work *work = &finder->trace->works[index];

    if (work->work_class == RKT_WORK_COMPUTE && finder->stream_count < STREAMS_MAX &&
        !has_stream(finder, work))
        finder->streams[finder->stream_count++] = (struct stream){work->device_id, work->stream_id};
    if (work->work_class != RKT_WORK_COMM)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&finder->comms, &finder->comm_cap, finder->comm_count + 1,
                           sizeof(*finder->comms)))
        return RKT_ERR_NOMEM;
    finder->comms[finder->comm_count++] = (struct comm_end){work->end_ns, (uint32_t)index};
    return RKT_OK;
}

static enum rkt_status take_call(struct finder *finder, const struct rkt_call *call)
{
    if (call->call_class != RKT_CALL_BLOCKING)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&finder->calls, &finder->call_cap, finder->call_count + 1,
                           sizeof(*finder->calls)))
        return RKT_ERR_NOMEM;
    finder->calls[finder->call_count++] =
        (struct blocking){call->start_ns, call->end_ns, call->thread_id};
    return RKT_OK;
}

/* Streams, and the ends of comms and calls. */
static enum rkt_status take_all(struct finder *finder)
{
    const struct rkt_rank_trace *trace = finder->trace;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->work_count && status == RKT_OK; i++)
        status = take_work(finder, i);
    for (size_t i = 0; i < trace->call_count && status == RKT_OK; i++)
        status = take_call(finder, &trace->calls[i]);
    if (finder->comm_count > 1)
        qsort(finder->comms, finder->comm_count, sizeof(*finder->comms), compare_comms);
    if (finder->call_count > 1)
        qsort(finder->calls, finder->call_count, sizeof(*finder->calls), compare_calls);
    return status;
}

/* ---- pieces ---- */

static enum rkt_cause cause_of_idle(enum rkt_idle_cause cause)
{
    switch (cause) {
    case RKT_IDLE_SYNC:
        return RKT_CAUSE_SYNC;
    case RKT_IDLE_ALLOC:
        return RKT_CAUSE_ALLOC;
    case RKT_IDLE_INPUT:
        return RKT_CAUSE_INPUT;
    case RKT_IDLE_HOST:
        return RKT_CAUSE_HOST;
    case RKT_IDLE_LAUNCH:
        return RKT_CAUSE_LAUNCH;
    case RKT_IDLE_DEPENDENCY:
    case RKT_IDLE_DEVICE:
    case RKT_IDLE_UNKNOWN:
    case RKT_IDLE_CAUSE_COUNT:
        break;
    }
    return RKT_CAUSE_OTHER;
}

static enum rkt_status add_idle_piece(void *ctx, int64_t start_ns, int64_t end_ns,
                                      enum rkt_idle_cause cause)
{
    return rkt_lane_add_piece(ctx, start_ns, end_ns, cause_of_idle(cause));
}

/* The kernel or copy that starts at time_ns, which is no earlier than the last time: of several one
 * whose launch is known. */
static const struct rkt_work *next_work(const struct rkt_rank_trace *trace, size_t *at,
                                        int64_t time_ns)
{
    const struct rkt_work *found = NULL;

    while (*at < trace->work_count && trace->works[*at].start_ns < time_ns)
        (*at)++;
    for (size_t i = *at; i < trace->work_count && trace->works[i].start_ns == time_ns; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class != RKT_WORK_COMM && work->end_ns > work->start_ns &&
            (!found || found->launch_start_ns == RKT_TIME_UNKNOWN))
            found = work;
    }
    return found;
}

static enum rkt_status sweep(const struct finder *finder, struct rkt_layer layers[2],
                             struct rkt_idle *idle)
{
    const struct rkt_rank_trace *trace = finder->trace;
    enum rkt_status status = RKT_OK;
    int64_t end_ns = INT64_MIN;
    size_t at = 0;

    for (size_t i = 0; i < 2; i++) {
        const struct rkt_interval_set *set = layers[i].set;

        if (set->count > 0 && set->items[set->count - 1].end_ns > end_ns)
            end_ns = set->items[set->count - 1].end_ns;
    }
    for (int64_t time_ns = trace->works[0].start_ns, next_ns; time_ns < end_ns && status == RKT_OK;
         time_ns = next_ns) {
        uint32_t active;

        next_ns = end_ns;
        active = rkt_layers_active(layers, 2, time_ns, &next_ns);
        if (active & 1u)
            status = rkt_lane_add_piece(finder->draft, time_ns, next_ns, RKT_CAUSE_COMPUTE);
        else if (active & 2u)
            status = rkt_lane_add_piece(finder->draft, time_ns, next_ns, RKT_CAUSE_COPY);
        else
            status = rkt_idle_split(idle, time_ns, next_ns, next_work(trace, &at, next_ns),
                                    add_idle_piece, finder->draft);
    }
    return status;
}

/* Compute, else copies, else why the device had neither: communication is not of the lane. */
static enum rkt_status find_pieces(const struct finder *finder, const struct rkt_activity *activity)
{
    struct rkt_layer layers[2] = {{&activity->compute, 0}, {&activity->copy, 0}};

    if (finder->trace->work_count == 0)
        return RKT_OK;
    rkt_idle_rewind(activity->idle);
    return sweep(finder, layers, activity->idle);
}

/* ---- joins ---- */

/* The comm that ended last in (after_ns, by_ns]; NULL. */
static const struct comm_end *last_comm(const struct finder *finder, int64_t after_ns,
                                        int64_t by_ns)
{
    size_t past = finder->comm_count == 0
                      ? 0
                      : rkt_time_find_past(&finder->comms->end_ns, finder->comm_count,
                                           sizeof(*finder->comms), by_ns);

    return past > 0 && finder->comms[past - 1].end_ns > after_ns ? &finder->comms[past - 1] : NULL;
}

static int64_t ready_ns(const struct rkt_rank_trace *trace, uint32_t work)
{
    const struct rkt_comm_arrival *arrival = &trace->arrivals[work];

    return arrival->ready_ns == RKT_NA ? trace->works[work].start_ns : arrival->ready_ns;
}

/* The last blocking call inside which the thread that launches X was in the gap; NULL. */
static const struct blocking *last_call(const struct finder *finder, const struct rkt_work *next,
                                        int64_t gap_ns)
{
    size_t past = finder->call_count == 0
                      ? 0
                      : rkt_time_find_past(&finder->calls->end_ns, finder->call_count,
                                           sizeof(*finder->calls), next->launch_start_ns);

    for (size_t i = 0; i < CALLS_MAX && past > i; i++) {
        const struct blocking *call = &finder->calls[past - 1 - i];

        if (call->end_ns <= gap_ns)
            return NULL;
        if (call->thread_id == next->launch_thread_id || call->thread_id == 0 ||
            call->thread_id == finder->trace->main_thread_id)
            return call;
    }
    return NULL;
}

/* The comm that held up the lane, or the host that was to launch what comes next. */
static const struct comm_end *held_up_by(const struct finder *finder, int64_t gap_ns,
                                         const struct rkt_work *next)
{
    int64_t from_ns = next->start_ns - AFTER_NS;
    const struct comm_end *comm =
        last_comm(finder, from_ns > gap_ns ? from_ns : gap_ns, next->start_ns);
    const struct blocking *call;

    if (comm && (next->launch_start_ns == RKT_TIME_UNKNOWN || next->launch_start_ns < comm->end_ns))
        return comm;
    if (next->launch_start_ns == RKT_TIME_UNKNOWN)
        return NULL;
    call = last_call(finder, next, gap_ns);
    if (!call)
        return NULL;
    from_ns = call->end_ns - AFTER_NS;
    comm = last_comm(finder, from_ns > gap_ns ? from_ns : gap_ns, call->end_ns);
    return comm && call->start_ns < comm->end_ns ? comm : NULL;
}

static enum rkt_status join(const struct finder *finder, int64_t gap_ns,
                            const struct rkt_work *next)
{
    const struct comm_end *comm = held_up_by(finder, gap_ns, next);
    enum rkt_status status;
    int64_t begin_ns;

    if (!comm || next->step == RKT_INDEX_NONE)
        return RKT_OK;
    begin_ns = ready_ns(finder->trace, comm->work);
    status = rkt_lane_add_wait(finder->draft, begin_ns > gap_ns ? begin_ns : gap_ns, comm->end_ns);
    if (status != RKT_OK)
        return status;
    return rkt_lane_add_mark(finder->draft, (struct rkt_lane_mark){.at_ns = comm->end_ns,
                                                                   .step = next->step,
                                                                   .work = comm->work,
                                                                   .kind = RKT_REPLAY_JOIN});
}

/* ---- marks ---- */

static enum rkt_status add_launch(const struct finder *finder, int64_t busy_until_ns,
                                  const struct rkt_work *work)
{
    struct rkt_lane_launch launch = {
        .called_ns = work->launch_start_ns,
        .length_ns = work->launch_end_ns - work->launch_start_ns,
        .gap_start_ns = work->start_ns < busy_until_ns ? work->start_ns : busy_until_ns,
        .start_ns = work->start_ns,
    };

    return rkt_lane_add_launch(finder->draft, launch);
}

static enum rkt_status walk_works(const struct finder *finder, int64_t *ends_ns)
{
    const struct rkt_rank_trace *trace = finder->trace;
    enum rkt_status status = RKT_OK;
    int64_t busy_until_ns = finder->draft->start_ns;

    for (uint32_t i = 0; i < trace->work_count && status == RKT_OK; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class == RKT_WORK_COMM && work->step != RKT_INDEX_NONE)
            status = rkt_lane_add_mark(finder->draft,
                                       (struct rkt_lane_mark){.at_ns = ready_ns(trace, i),
                                                              .step = work->step,
                                                              .work = i,
                                                              .kind = RKT_REPLAY_POST,
                                                              .called_ns = work->launch_start_ns});
        if (work->work_class == RKT_WORK_COMPUTE && work->step != RKT_INDEX_NONE &&
            work->end_ns > ends_ns[work->step])
            ends_ns[work->step] = work->end_ns;
        if (!is_on_lane(finder, work))
            continue;
        if (work->start_ns > busy_until_ns)
            status = join(finder, busy_until_ns, work);
        if (work->launch_start_ns == RKT_TIME_UNKNOWN)
            finder->draft->has_unlaunched = true;
        else if (status == RKT_OK)
            status = add_launch(finder, busy_until_ns, work);
        if (work->end_ns > busy_until_ns)
            busy_until_ns = work->end_ns;
    }
    return status;
}

enum rkt_status rkt_lane_draft_gpu(const struct rkt_rank_trace *trace,
                                   const struct rkt_rank_result *rank, struct rkt_lane_draft *draft,
                                   int64_t *ends_ns)
{
    struct finder finder = {.trace = trace, .draft = draft};
    enum rkt_status status = take_all(&finder);

    if (status == RKT_OK)
        status = find_pieces(&finder, rank->activity);
    if (status == RKT_OK)
        status = walk_works(&finder, ends_ns);
    free(finder.comms);
    free(finder.calls);
    return status;
}
