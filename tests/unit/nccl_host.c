/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_host.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "capture_job.h"

const struct rkt_nccl_profiler_v5 *nccl_v5;

void nccl_must(int is_true)
{
    if (!is_true)
        abort();
}

const void *nccl_table(const char *name)
{
    void *handle = dlopen(RKT_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const void *address = handle ? dlsym(handle, name) : NULL;

    nccl_must(address != NULL);
    return address;
}

void *nccl_init(uint64_t comm_id, int *mask)
{
    void *comm = NULL;

    nccl_must(nccl_v5->init(&comm, comm_id, mask, NULL, 1, 4, 1, NULL) == 0);
    return comm;
}

static void fill(struct rkt_nccl_descr *descr)
{
    switch (descr->type) {
    case RKT_NCCL_EVENT_GROUP_API:
        descr->group_api.depth = 1;
        break;
    case RKT_NCCL_EVENT_COLL_API:
        descr->coll_api.func = "AllReduce";
        descr->coll_api.count = 1000;
        descr->coll_api.datatype = "ncclBfloat16";
        descr->coll_api.is_captured = true;
        break;
    case RKT_NCCL_EVENT_COLL:
        descr->coll.func = "AllReduce";
        descr->coll.seq = 41;
        descr->coll.count = 1000;
        descr->coll.datatype = "ncclBfloat16";
        descr->coll.algo = "NVLS_TREE";
        descr->coll.proto = "LL128";
        break;
    case RKT_NCCL_EVENT_P2P:
        descr->p2p.func = "Send";
        descr->p2p.count = 8;
        descr->p2p.datatype = "ncclInt8";
        descr->p2p.peer = 5;
        break;
    case RKT_NCCL_EVENT_PROXY_OP:
        descr->proxy_op.channel_id = 3;
        descr->proxy_op.peer = 2;
        descr->proxy_op.step_count = 4;
        descr->proxy_op.chunk_bytes = 1024;
        descr->proxy_op.is_send = 1;
        break;
    default:
        break;
    }
}

void *nccl_start_descr(void *comm, struct rkt_nccl_descr *descr)
{
    void *handle = descr; /* what a plugin does not set is garbage */

    nccl_must(nccl_v5->start(comm, &handle, descr) == 0);
    nccl_must(handle != descr);
    return handle;
}

void *nccl_start(void *comm, uint64_t type, void *parent)
{
    struct rkt_nccl_descr descr = {.type = type, .parent = parent, .rank = 1};

    fill(&descr);
    return nccl_start_descr(comm, &descr);
}

void nccl_stop(void *handle)
{
    nccl_must(nccl_v5->stop(handle) == 0);
}

void nccl_state(void *handle, int state, uint64_t argument)
{
    union rkt_nccl_state_args args = {.timer_ns = argument};

    nccl_must(nccl_v5->record(handle, state, &args) == 0);
}
