/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nccl_event.h"

#include "agent/capture/nccl_parts.h"
#include "common/clock.h"

struct rkt_event rkt_nccl_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_NCCL,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)type,
        .nccl = {.comm_id = atomic_load_explicit(&comm->comm_id, memory_order_relaxed),
                 .seq = UINT64_MAX,
                 .count = UINT64_MAX,
                 .peer = -1,
                 .datatype = RKT_DATATYPE_UNKNOWN},
    };
}

bool rkt_nccl_is_own_process(pid_t pid)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);

    return capture && (pid == 0 || pid == capture->nccl->pid);
}

bool rkt_nccl_event_is_wanted(uint64_t type)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);

    return capture && ((uint64_t)capture->nccl->wanted & type) != 0 &&
           atomic_load_explicit(&capture->nccl->is_open, memory_order_relaxed);
}

/* ---- parents ---- */

static bool is_operation(uint8_t type)
{
    return type == RKT_NCCL_COLL || type == RKT_NCCL_P2P;
}

static bool is_network(uint8_t type)
{
    return type == RKT_NCCL_PROXY_OP || type == RKT_NCCL_PROXY_STEP;
}

void rkt_nccl_event_adopt(struct rkt_event *event, const void *parent)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    struct rkt_event found;

    if (!capture || (!rkt_nccl_slots_peek(capture->nccl->operations, parent, &found) &&
                     !rkt_nccl_slots_peek(capture->nccl->events, parent, &found)))
        return;
    event->nccl.func = found.nccl.func;
    event->nccl.seq = found.nccl.seq;
    event->nccl.proto = found.nccl.proto;
    if (is_network(found.type)) { /* see wire-format.md for what their columns hold */
        event->nccl.peer = found.nccl.peer;
        event->nccl.datatype = found.nccl.datatype;
        event->flags |= found.flags & RKT_FLAG_SEND;
    } else if (event->type == RKT_NCCL_KERNEL_CH) {
        event->nccl.count = found.nccl.count;
        event->nccl.datatype = found.nccl.datatype;
        event->nccl.algo = found.nccl.algo;
    }
}

/* ---- start ---- */

/*
 * Kernels of a channel follow one another, so their starts do. A step back means that one of the
 * two is another operation's: NCCL keeps the stamps of 64 operations and then writes over them.
 */
static bool is_channel_start_possible(struct rkt_nccl_comm *comm, const struct rkt_event *event)
{
    _Atomic uint64_t *last =
        &comm->channel_start_ns[(uint32_t)event->nccl.peer % RKT_NCCL_CHANNELS_MAX];
    uint64_t last_ns;

    if (event->start_ns == 0 || event->start_ns > RKT_TIME_MAX_NS)
        return false;
    last_ns = atomic_exchange_explicit(last, event->start_ns, memory_order_relaxed);
    return event->start_ns >= last_ns;
}

/* NCCL never ended it, or has too many open: its slot is needed. */
static void push_without_end(struct rkt_capture *capture, struct rkt_event *event)
{
    event->flags |= RKT_FLAG_NO_END;
    event->end_ns = event->start_ns;
    (void)rkt_threads_push(capture->threads, event);
}

static void push_loss(struct rkt_capture *capture, enum rkt_loss_reason reason)
{
    rkt_threads_push_loss(capture->threads, reason, RKT_EVENT_NCCL, 1, 0);
}

void *rkt_nccl_event_start(struct rkt_nccl_comm *comm, const struct rkt_event *event)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    const struct rkt_thread *thread;
    struct rkt_event begun = *event;
    struct rkt_event old;
    void *handle;

    if (!capture)
        return NULL;
    if (!atomic_load_explicit(&comm->is_announced, memory_order_relaxed))
        rkt_nccl_comm_announce(capture, comm);
    if (event->type != RKT_NCCL_KERNEL_CH) {
        begun.start_ns = rkt_now_raw_ns();
    } else if (!is_channel_start_possible(comm, event)) {
        push_loss(capture, RKT_LOSS_BAD_STAMP);
        return NULL;
    }
    thread = rkt_threads_get(capture->threads);
    begun.thread_id = thread ? thread->thread_id : 0;
    handle = rkt_nccl_slots_put(is_operation(event->type) ? capture->nccl->operations
                                                          : capture->nccl->events,
                                &begun, &old);
    if (old.kind != RKT_EVENT_NONE)
        push_without_end(capture, &old);
    if (!handle)
        push_loss(capture, RKT_LOSS_TOO_MANY_OPEN);
    return handle;
}

/* ---- states ---- */

/* A step's time in one state is an event of its own. */
static void next_step_state(struct rkt_capture *capture, struct rkt_event *step, int state,
                            uint64_t bytes)
{
    uint64_t now_ns = rkt_now_raw_ns();

    step->end_ns = now_ns;
    if (step->nccl.algo != 0)
        (void)rkt_threads_push(capture->threads, step);
    step->start_ns = now_ns;
    step->end_ns = 0;
    step->nccl.algo = (uint8_t)state;
    step->nccl.count = bytes;
}

static bool is_step_state(int state)
{
    return (state >= RKT_NCCL_STATE_STEP_FIRST && state <= RKT_NCCL_STATE_STEP_LAST) ||
           state == RKT_NCCL_STATE_STEP_SEND_PEER_WAIT;
}

static bool is_control_state(int state)
{
    return state >= RKT_NCCL_STATE_CTRL_FIRST && state <= RKT_NCCL_STATE_CTRL_LAST;
}

static bool is_state_of_interest(int state)
{
    return state == RKT_NCCL_STATE_KERNEL_CH_STOP || is_step_state(state) ||
           is_control_state(state);
}

void rkt_nccl_event_state(void *handle, int state, uint64_t argument)
{
    struct rkt_capture *capture;
    struct rkt_nccl_slot *slot;
    struct rkt_event event;

    if (!handle || !is_state_of_interest(state))
        return;
    capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    slot = capture ? rkt_nccl_slots_hold(capture->nccl->events, handle, &event) : NULL;
    if (!slot)
        return;
    if (event.type == RKT_NCCL_KERNEL_CH && state == RKT_NCCL_STATE_KERNEL_CH_STOP)
        event.end_ns = argument;
    else if (event.type == RKT_NCCL_PROXY_STEP && is_step_state(state))
        next_step_state(capture, &event, state, argument);
    else if (event.type == RKT_NCCL_PROXY_CTRL && is_control_state(state) && event.nccl.algo == 0)
        event.nccl.algo = (uint8_t)state; /* asleep until it wakes up, and the like */
    rkt_nccl_slots_give(slot, &event);
}

/* ---- stop ---- */

/* NCCL may stop a channel without having seen, or with a wrong, end. */
static void stop_channel(struct rkt_capture *capture, struct rkt_event *event)
{
    if (event->end_ns == 0)
        push_without_end(capture, event);
    else if (event->end_ns < event->start_ns || event->end_ns > RKT_TIME_MAX_NS)
        push_loss(capture, RKT_LOSS_BAD_STAMP);
    else
        (void)rkt_threads_push(capture->threads, event);
}

void rkt_nccl_event_stop(void *handle)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    struct rkt_event event;

    if (!capture || !handle)
        return;
    if (!rkt_nccl_slots_take(capture->nccl->events, handle, &event) &&
        !rkt_nccl_slots_take(capture->nccl->operations, handle, &event))
        return;
    if (event.type == RKT_NCCL_KERNEL_CH) {
        stop_channel(capture, &event);
        return;
    }
    if (event.type == RKT_NCCL_PROXY_CTRL && event.nccl.algo == 0)
        return; /* nothing happened */
    event.end_ns = rkt_now_raw_ns();
    (void)rkt_threads_push(capture->threads, &event);
}
