/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match_unit.h"

#include <string.h>

#define KERNEL_NAME_BYTES_MAX 256u
#define PEERS_MAX 65536 /* ranks of a communicator whose AllToAll is recognised */

const struct rkt_comm *rkt_match_find_comm(const struct rkt_rank_trace *trace, uint64_t comm_id)
{
    for (size_t i = 0; i < trace->comm_count && comm_id != 0; i++) {
        if (trace->comms[i].comm_id == comm_id)
            return &trace->comms[i];
    }
    return NULL;
}

enum rkt_nccl_func rkt_match_func_of_kernel(const char *name)
{
    char head[KERNEL_NAME_BYTES_MAX];
    size_t len_bytes = strcspn(name, "(");

    if (len_bytes >= sizeof(head))
        len_bytes = sizeof(head) - 1;
    memcpy(head, name, len_bytes);
    head[len_bytes] = '\0';
    if (strstr(head, "cross_device_reduce") != NULL)
        return RKT_NCCL_FUNC_ALLREDUCE;
    return rkt_nccl_func_parse(head);
}

static bool is_p2p(uint8_t func)
{
    return func == RKT_NCCL_FUNC_SEND || func == RKT_NCCL_FUNC_RECV;
}

/* Distinct peers other than `own_rank` of the operations of one func. */
static uint32_t count_others(const struct rkt_op *ops, uint32_t op_count, uint8_t func,
                             int32_t own_rank)
{
    uint64_t seen[PEERS_MAX / 64] = {0};
    uint32_t others = 0;

    for (uint32_t i = 0; i < op_count; i++) {
        int32_t peer = ops[i].nccl.peer;
        uint64_t bit = UINT64_C(1) << (peer & 63);

        if (ops[i].nccl.func != func || peer < 0 || peer >= PEERS_MAX || peer == own_rank)
            continue;
        others += (seen[peer / 64] & bit) == 0;
        seen[peer / 64] |= bit;
    }
    return others;
}

static bool has_own(const struct rkt_op *ops, uint32_t op_count, int32_t own_rank)
{
    for (uint32_t i = 0; i < op_count; i++) {
        if (ops[i].nccl.peer == own_rank)
            return true;
    }
    return false;
}

/* A group that sends to every other rank and receives from every other rank is an AllToAll. Of two
 * ranks that is what stages of a pipeline exchange, too: there its own part tells. */
static bool is_every_pair(const struct rkt_op *ops, uint32_t op_count, const struct rkt_comm *comm)
{
    if (comm == NULL || comm->rank_count < 2 || comm->rank < 0 ||
        (comm->rank_count == 2 && !has_own(ops, op_count, comm->rank)))
        return false;
    return count_others(ops, op_count, RKT_NCCL_FUNC_SEND, comm->rank) + 1 == comm->rank_count &&
           count_others(ops, op_count, RKT_NCCL_FUNC_RECV, comm->rank) + 1 == comm->rank_count;
}

static void init_from_op(const struct rkt_rank_trace *trace, const struct rkt_work *work,
                         struct rkt_match_unit *unit)
{
    const struct rkt_op *ops = &trace->ops[work->op];
    const struct rkt_comm *comm = rkt_match_find_comm(trace, ops->nccl.comm_id);

    unit->has_op = ops->nccl.func != RKT_NCCL_FUNC_UNKNOWN;
    unit->comm_id = ops->nccl.comm_id;
    unit->comm_size = comm == NULL ? 0 : comm->rank_count;
    if (!unit->has_op)
        return;
    unit->func = ops->nccl.func;
    unit->seq = ops->nccl.seq;
    unit->count = ops->nccl.count;
    unit->datatype = ops->nccl.datatype;
    if (is_p2p(unit->func) || (work->op_count > 1 && is_p2p(ops[work->op_count - 1].nccl.func))) {
        bool is_all = is_every_pair(ops, work->op_count, comm);

        unit->func = is_all ? RKT_NCCL_FUNC_ALLTOALL : RKT_NCCL_FUNC_SENDRECV;
        unit->seq = UINT64_MAX; /* NCCL gives none; where an import does, it is not per pair */
        unit->count = UINT64_MAX;
    }
}

static enum rkt_match_kind kind_of(const struct rkt_rank_trace *trace,
                                   const struct rkt_match_unit *unit)
{
    const struct rkt_comm *comm = rkt_match_find_comm(trace, unit->comm_id);

    if (unit->comm_id == 0)
        return RKT_MATCH_KIND_NAME;
    if (unit->has_op && unit->func == RKT_NCCL_FUNC_SENDRECV && comm != NULL && comm->rank >= 0)
        return RKT_MATCH_KIND_P2P;
    if (unit->has_op && unit->seq != UINT64_MAX)
        return RKT_MATCH_KIND_SEQ;
    return RKT_MATCH_KIND_ORDER;
}

void rkt_match_unit_init(const struct rkt_rank_trace *trace, uint32_t rank, uint32_t work,
                         struct rkt_strtab *names, struct rkt_match_unit *unit_out)
{
    const struct rkt_work *kernel = &trace->works[work];
    const char *name = rkt_strtab_get(trace->names, kernel->name_id, NULL);

    memset(unit_out, 0, sizeof(*unit_out));
    unit_out->rank = rank;
    unit_out->work = work;
    unit_out->stream_id = kernel->stream_id;
    unit_out->start_ns = trace->arrivals[work].job_start_ns;
    unit_out->end_ns = trace->arrivals[work].job_end_ns;
    unit_out->number = RKT_NUMBER_NONE;
    unit_out->seq = UINT64_MAX;
    unit_out->count = UINT64_MAX;
    unit_out->datatype = RKT_DATATYPE_UNKNOWN;
    unit_out->name_key = rkt_strtab_intern(names, name, strcspn(name, "("));
    unit_out->func = (uint8_t)rkt_match_func_of_kernel(name);
    if (kernel->is_all_to_all)
        unit_out->func = RKT_NCCL_FUNC_ALLTOALL;
    if (kernel->op != RKT_INDEX_NONE && kernel->op_count > 0)
        init_from_op(trace, kernel, unit_out);
    unit_out->kind = (uint8_t)kind_of(trace, unit_out);
}

/* The count of these may differ between the ranks of one collective. */
static bool is_uneven(uint8_t func)
{
    return func == RKT_NCCL_FUNC_ALLTOALL || func == RKT_NCCL_FUNC_SENDRECV ||
           func == RKT_NCCL_FUNC_GATHER || func == RKT_NCCL_FUNC_SCATTER;
}

bool rkt_match_units_fit(const struct rkt_match_unit *a, const struct rkt_match_unit *b)
{
    if (!a->has_op || !b->has_op)
        return a->name_key == b->name_key;
    if (a->func != b->func)
        return false;
    if (a->datatype != b->datatype && a->datatype != RKT_DATATYPE_UNKNOWN &&
        b->datatype != RKT_DATATYPE_UNKNOWN)
        return false;
    return a->count == b->count || is_uneven(a->func) || a->count == UINT64_MAX ||
           b->count == UINT64_MAX;
}
