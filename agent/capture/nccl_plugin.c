/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_plugin - the tables by which NCCL finds and calls us (NCCL_PROFILER_PLUGIN).
 *
 * Every call returns 0: before 2.30 a plugin that says "no" stays active all the same, and
 * an error from it is no help to a training job. Off means that the mask is 0.
 */
#include <string.h>

#include "agent/capture/nccl_api/profiler.h"
#include "agent/capture/nccl_event.h"
#include "agent/capture/nccl_words.h"
#include "common/clock.h"

#define API __attribute__((visibility("default")))

/* The events that each version of the table has. Those of v3 stop at the usual ones: it has no
 * device times. */
#define EVENTS_V3 (RKT_NCCL_MASK_BASIC & 0xff)
#define EVENTS_ALL RKT_NCCL_MASK_PROXY

static void set_operation(struct rkt_event *event, const char *func, const char *datatype,
                          size_t count)
{
    event->nccl.func = rkt_nccl_func_of(func);
    event->nccl.datatype = rkt_nccl_datatype_of(datatype);
    event->nccl.count = count;
}

/* ---- communicators ---- */

static int init_v3(void **context, int *mask)
{
    *context = rkt_nccl_comm_open(&(struct rkt_nccl_comm_info){
        .mask = mask, .known = EVENTS_V3, .is_unknown = true, .rank = -1});
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): NCCL's signature */
static int init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_id,
                   int node_count, int rank_count, int rank, rkt_nccl_log_fn log)
{
    (void)log;
    *context = rkt_nccl_comm_open(&(struct rkt_nccl_comm_info){.mask = mask,
                                                               .known = EVENTS_ALL,
                                                               .comm_id = comm_id,
                                                               .name = comm_name,
                                                               .node_count = node_count,
                                                               .rank_count = rank_count,
                                                               .rank = rank});
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): NCCL's signature */
static int init_v5(void **context, uint64_t comm_id, int *mask, const char *comm_name,
                   int node_count, int rank_count, int rank, rkt_nccl_log_fn log)
{
    return init_v4(context, mask, comm_name, comm_id, node_count, rank_count, rank, log);
}

/* What is in the rings is the sidecar's. */
static int finalize(void *context)
{
    rkt_nccl_comm_close(context);
    return 0;
}

/* ---- events ---- */

static struct rkt_event coll_event(const struct rkt_nccl_comm *comm,
                                   const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_COLL);

    set_operation(&event, descr->coll.func, descr->coll.datatype, descr->coll.count);
    event.nccl.seq = descr->coll.seq;
    event.nccl.peer = descr->coll.root;
    event.nccl.algo = rkt_nccl_algo_of(descr->coll.algo);
    event.nccl.proto = rkt_nccl_proto_of(descr->coll.proto);
    return event;
}

static struct rkt_event p2p_event(const struct rkt_nccl_comm *comm,
                                  const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_P2P);

    set_operation(&event, descr->p2p.func, descr->p2p.datatype, descr->p2p.count);
    event.nccl.peer = descr->p2p.peer;
    return event;
}

static struct rkt_event group_api_event(const struct rkt_nccl_comm *comm,
                                        const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_GROUP_API);

    if (descr->group_api.is_captured)
        event.flags |= RKT_FLAG_GRAPH;
    if (descr->group_api.depth == 1)
        event.flags |= RKT_FLAG_IMPLICIT_GROUP;
    return event;
}

static struct rkt_event coll_api_event(const struct rkt_nccl_comm *comm,
                                       const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_COLL_API);

    set_operation(&event, descr->coll_api.func, descr->coll_api.datatype, descr->coll_api.count);
    event.nccl.peer = descr->coll_api.root;
    if (descr->coll_api.is_captured)
        event.flags |= RKT_FLAG_GRAPH;
    return event;
}

static struct rkt_event p2p_api_event(const struct rkt_nccl_comm *comm,
                                      const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_P2P_API);

    set_operation(&event, descr->p2p_api.func, descr->p2p_api.datatype, descr->p2p_api.count);
    if (descr->p2p_api.is_captured)
        event.flags |= RKT_FLAG_GRAPH;
    return event;
}

static struct rkt_event ce_coll_event(const struct rkt_nccl_comm *comm,
                                      const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_CE_COLL);

    set_operation(&event, descr->ce_coll.func, descr->ce_coll.datatype, descr->ce_coll.count);
    event.nccl.seq = descr->ce_coll.seq;
    event.nccl.peer = descr->ce_coll.root;
    return event;
}

static struct rkt_event ce_part_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type,
                                      const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, type);

    rkt_nccl_event_adopt(&event, descr->parent);
    if (type == RKT_NCCL_CE_BATCH)
        event.nccl.count = descr->ce_batch.bytes;
    return event;
}

/* By the device's own clock, at both ends. */
static struct rkt_event kernel_ch_event(const struct rkt_nccl_comm *comm,
                                        const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_KERNEL_CH);

    rkt_nccl_event_adopt(&event, descr->parent);
    event.clock_id = RKT_CLOCK_GLOBALTIMER;
    event.start_ns = descr->kernel_ch.timer_ns;
    event.nccl.peer = descr->kernel_ch.channel_id;
    return event;
}

static struct rkt_event proxy_op_event(const struct rkt_nccl_comm *comm,
                                       const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_PROXY_OP);

    if (rkt_nccl_is_own_process(descr->proxy_op.pid)) /* else `parent` is another's address */
        rkt_nccl_event_adopt(&event, descr->parent);
    if (descr->proxy_op.is_send)
        event.flags |= RKT_FLAG_SEND;
    event.nccl.peer = descr->proxy_op.peer;
    event.nccl.datatype = descr->proxy_op.channel_id;
    if (descr->proxy_op.step_count >= 0 && descr->proxy_op.chunk_bytes >= 0)
        event.nccl.count =
            (uint64_t)descr->proxy_op.step_count * (uint64_t)descr->proxy_op.chunk_bytes;
    return event;
}

static struct rkt_event net_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type,
                                  const struct rkt_nccl_descr *descr)
{
    struct rkt_event event = rkt_nccl_event(comm, type);

    rkt_nccl_event_adopt(&event, descr->parent);
    if (type == RKT_NCCL_NET_PLUGIN)
        event.nccl.count = (uint64_t)descr->net_plugin.id;
    return event;
}

/* False: not an event that is recorded. Phases of kernels are among those: see RKT_NCCL_MASK_*. */
static bool read_host_event(const struct rkt_nccl_comm *comm, uint64_t type,
                            const struct rkt_nccl_descr *descr, struct rkt_event *event)
{
    switch (type) {
    case RKT_NCCL_EVENT_COLL:
        *event = coll_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_P2P:
        *event = p2p_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_GROUP_API:
        *event = group_api_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_COLL_API:
        *event = coll_api_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_P2P_API:
        *event = p2p_api_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_KERNEL_LAUNCH:
        *event = rkt_nccl_event(comm, RKT_NCCL_KERNEL_LAUNCH);
        return true;
    case RKT_NCCL_EVENT_CE_COLL:
        *event = ce_coll_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_CE_SYNC:
        *event = ce_part_event(comm, RKT_NCCL_CE_SYNC, descr);
        return true;
    case RKT_NCCL_EVENT_CE_BATCH:
        *event = ce_part_event(comm, RKT_NCCL_CE_BATCH, descr);
        return true;
    default:
        return false;
    }
}

/* What the progress thread tells. */
static bool read_progress_event(const struct rkt_nccl_comm *comm, uint64_t type,
                                const struct rkt_nccl_descr *descr, struct rkt_event *event)
{
    switch (type) {
    case RKT_NCCL_EVENT_KERNEL_CH:
        *event = kernel_ch_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_PROXY_OP:
        *event = proxy_op_event(comm, descr);
        return true;
    case RKT_NCCL_EVENT_PROXY_STEP:
        *event = net_event(comm, RKT_NCCL_PROXY_STEP, descr);
        return true;
    case RKT_NCCL_EVENT_NET_PLUGIN:
        *event = net_event(comm, RKT_NCCL_NET_PLUGIN, descr);
        return true;
    case RKT_NCCL_EVENT_PROXY_CTRL:
        *event = rkt_nccl_event(comm, RKT_NCCL_PROXY_CTRL);
        return true;
    default:
        return false;
    }
}

/* v4 to v7: the parts that are read here are the same. */
static int start_typed(void *context, void **handle, uint64_t type,
                       const struct rkt_nccl_descr *descr)
{
    struct rkt_nccl_comm *comm = context;
    struct rkt_event event;

    *handle = NULL;
    if (comm && rkt_nccl_event_is_wanted(type) &&
        (read_host_event(comm, type, descr, &event) ||
         read_progress_event(comm, type, descr, &event)))
        *handle = rkt_nccl_event_start(comm, &event);
    return 0;
}

/*
 * Up to NCCL 2.27 a group without a handle keeps NCCL from telling of the collectives in it. The
 * group itself is not recorded, so any pointer will do that is no handle.
 */
static void start_group(void *context, void **handle)
{
    *handle = rkt_nccl_event_is_wanted(RKT_NCCL_EVENT_COLL) ? context : NULL;
}

static int start_v4(void *context, void **handle, struct rkt_nccl_descr *descr)
{
    uint64_t type = rkt_nccl_descr_type_v4(descr);

    if (!context || type != RKT_NCCL_EVENT_GROUP)
        return start_typed(context, handle, type, descr);
    start_group(context, handle);
    return 0;
}

static int start_v5(void *context, void **handle, struct rkt_nccl_descr *descr)
{
    return start_typed(context, handle, descr->type, descr);
}

static struct rkt_event coll_event_v3(struct rkt_nccl_comm *comm,
                                      const struct rkt_nccl_descr_v3 *descr)
{
    struct rkt_event event;

    rkt_nccl_comm_identify(comm, descr->coll.comm_hash, descr->rank);
    event = rkt_nccl_event(comm, RKT_NCCL_COLL);
    set_operation(&event, descr->coll.func, descr->coll.datatype, descr->coll.count);
    event.nccl.seq = descr->coll.seq;
    event.nccl.peer = descr->coll.root;
    event.nccl.algo = rkt_nccl_algo_of(descr->coll.algo);
    event.nccl.proto = rkt_nccl_proto_of(descr->coll.proto);
    return event;
}

static struct rkt_event p2p_event_v3(struct rkt_nccl_comm *comm,
                                     const struct rkt_nccl_descr_v3 *descr)
{
    struct rkt_event event;

    rkt_nccl_comm_identify(comm, descr->p2p.comm_hash, descr->rank);
    event = rkt_nccl_event(comm, RKT_NCCL_P2P);
    set_operation(&event, descr->p2p.func, descr->p2p.datatype, descr->p2p.count);
    event.nccl.peer = descr->p2p.peer;
    return event;
}

static int start_v3(void *context, void **handle, struct rkt_nccl_descr_v3 *descr)
{
    struct rkt_nccl_comm *comm = context;
    struct rkt_event event;

    *handle = NULL;
    if (!comm)
        return 0;
    if (descr->type == RKT_NCCL_EVENT_GROUP) {
        start_group(context, handle);
        return 0;
    }
    if (!rkt_nccl_event_is_wanted(descr->type))
        return 0;
    if (descr->type == RKT_NCCL_EVENT_COLL)
        event = coll_event_v3(comm, descr);
    else if (descr->type == RKT_NCCL_EVENT_P2P)
        event = p2p_event_v3(comm, descr);
    else
        return 0; /* not asked for */
    *handle = rkt_nccl_event_start(comm, &event);
    return 0;
}

static int stop(void *handle)
{
    rkt_nccl_event_stop(handle);
    return 0;
}

static int record(void *handle, int state, union rkt_nccl_state_args *args)
{
    uint64_t argument = 0;

    if (args)
        argument =
            state == RKT_NCCL_STATE_KERNEL_CH_STOP ? args->timer_ns : args->transferred_bytes;
    rkt_nccl_event_state(handle, state, argument);
    return 0;
}

/* Only of network work, which is not recorded from v3. */
static int record_v3(void *handle, int state, void *args)
{
    (void)handle;
    (void)state;
    (void)args;
    return 0;
}

/* ---- what NCCL looks up; the newest that it knows ---- */

#define PLUGIN_NAME "ranktrace"

API extern const struct rkt_nccl_profiler_v3 ncclProfiler_v3;
API extern const struct rkt_nccl_profiler_v4 ncclProfiler_v4;
API extern const struct rkt_nccl_profiler_v5 ncclProfiler_v5;
API extern const struct rkt_nccl_profiler_v5 ncclProfiler_v6;
API extern const struct rkt_nccl_profiler_v5 ncclProfiler_v7;

const struct rkt_nccl_profiler_v3 ncclProfiler_v3 = {
    PLUGIN_NAME, init_v3, start_v3, stop, record_v3, finalize,
};

const struct rkt_nccl_profiler_v4 ncclProfiler_v4 = {
    PLUGIN_NAME, init_v4, start_v4, stop, record, finalize,
};

const struct rkt_nccl_profiler_v5 ncclProfiler_v5 = {
    PLUGIN_NAME, init_v5, start_v5, stop, record, finalize,
};

const struct rkt_nccl_profiler_v5 ncclProfiler_v6 = {
    PLUGIN_NAME, init_v5, start_v5, stop, record, finalize,
};

const struct rkt_nccl_profiler_v5 ncclProfiler_v7 = {
    PLUGIN_NAME, init_v5, start_v5, stop, record, finalize,
};
