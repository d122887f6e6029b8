/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_plugin - the tables by which NCCL finds and calls us (NCCL_PROFILER_PLUGIN).
 *
 * Every call returns 0: before 2.30 a plugin that says "no" stays active all the same, and
 * an error from it is no help to a training job. Off means that the mask is 0.
 */
#include <string.h>

#include "agent/capture/nccl_api/profiler.h"
#include "agent/capture/nccl_source.h"

#define API __attribute__((visibility("default")))
#define V3_MASK (RKT_NCCL_MASK & 0xff) /* the events of v3 fit one byte */

/* Where the text is in the list; 0, unknown, when it is not. */
static uint8_t find_word(const char *const *words, size_t count, const char *text)
{
    for (size_t i = 1; text && i < count; i++) {
        if (strcmp(words[i], text) == 0)
            return (uint8_t)i;
    }
    return 0;
}

/* By enum rkt_nccl_algo */
static uint8_t algo_of(const char *text)
{
    static const char *const words[] = {
        "", "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
    };

    return find_word(words, sizeof(words) / sizeof(words[0]), text);
}

/* By enum rkt_nccl_proto */
static uint8_t proto_of(const char *text)
{
    static const char *const words[] = {"", "LL", "LL128", "SIMPLE"};

    return find_word(words, sizeof(words) / sizeof(words[0]), text);
}

static void set_operation(struct rkt_event *event, const char *func, const char *datatype,
                          size_t count)
{
    event->nccl.func = (uint8_t)(func ? rkt_nccl_func_parse(func) : RKT_NCCL_FUNC_UNKNOWN);
    event->nccl.datatype = datatype ? rkt_datatype_parse(datatype) : RKT_DATATYPE_UNKNOWN;
    event->nccl.count = count;
}

/* ---- communicators ---- */

static int init_v3(void **context, int *mask)
{
    *context = rkt_nccl_comm_open(&(struct rkt_nccl_comm_info){
        .mask = mask, .wanted = V3_MASK, .is_unknown = true, .rank = -1});
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): NCCL's signature */
static int init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_id,
                   int node_count, int rank_count, int rank, rkt_nccl_log_fn log)
{
    (void)log;
    *context = rkt_nccl_comm_open(&(struct rkt_nccl_comm_info){.mask = mask,
                                                               .wanted = RKT_NCCL_MASK,
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
    event.nccl.algo = algo_of(descr->coll.algo);
    event.nccl.proto = proto_of(descr->coll.proto);
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

/* v4 to v7: the parts that are read here are the same. */
static int start_typed(void *context, void **handle, uint64_t type,
                       const struct rkt_nccl_descr *descr)
{
    const struct rkt_nccl_comm *comm = context;
    struct rkt_event event;

    *handle = NULL;
    if (!comm)
        return 0;
    switch (type) {
    case RKT_NCCL_EVENT_GROUP:
        event = rkt_nccl_event(comm, RKT_NCCL_GROUP);
        break;
    case RKT_NCCL_EVENT_COLL:
        event = coll_event(comm, descr);
        break;
    case RKT_NCCL_EVENT_P2P:
        event = p2p_event(comm, descr);
        break;
    case RKT_NCCL_EVENT_GROUP_API:
        event = group_api_event(comm, descr);
        break;
    case RKT_NCCL_EVENT_COLL_API:
        event = coll_api_event(comm, descr);
        break;
    case RKT_NCCL_EVENT_P2P_API:
        event = p2p_api_event(comm, descr);
        break;
    case RKT_NCCL_EVENT_KERNEL_LAUNCH:
        event = rkt_nccl_event(comm, RKT_NCCL_KERNEL_LAUNCH);
        break;
    default:
        return 0; /* not asked for */
    }
    *handle = rkt_nccl_event_start(&event);
    return 0;
}

static int start_v4(void *context, void **handle, struct rkt_nccl_descr *descr)
{
    return start_typed(context, handle, rkt_nccl_descr_type_v4(descr), descr);
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
    event.nccl.algo = algo_of(descr->coll.algo);
    event.nccl.proto = proto_of(descr->coll.proto);
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
    if (descr->type == RKT_NCCL_EVENT_COLL)
        event = coll_event_v3(comm, descr);
    else if (descr->type == RKT_NCCL_EVENT_P2P)
        event = p2p_event_v3(comm, descr);
    else if (descr->type == RKT_NCCL_EVENT_GROUP)
        event = rkt_nccl_event(comm, RKT_NCCL_GROUP);
    else
        return 0; /* not asked for */
    *handle = rkt_nccl_event_start(&event);
    return 0;
}

static int stop(void *handle)
{
    rkt_nccl_event_stop(handle);
    return 0;
}

/* The states between start and stop are of channels, proxies and groups: not used. */
static int record(void *handle, int state, union rkt_nccl_state_args *args)
{
    (void)handle;
    (void)state;
    (void)args;
    return 0;
}

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
