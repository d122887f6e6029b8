/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_nccl.h"

#include <string.h>

#include "agent/capture/nccl_source.h"
#include "common/clock.h"

#define CALL_BYTES 64u

static bool has(const struct rkt_nvtx_fields *fields, enum rkt_nvtx_field field)
{
    return fields->has >> field & 1;
}

static uint64_t value_or(const struct rkt_nvtx_fields *fields, enum rkt_nvtx_field field,
                         uint64_t otherwise)
{
    return has(fields, field) ? fields->value[field] : otherwise;
}

/* A root, a peer or a rank; -1: not said. */
static int32_t rank_or_none(const struct rkt_nvtx_fields *fields, enum rkt_nvtx_field field)
{
    uint64_t value = value_or(fields, field, UINT64_MAX);

    return value <= INT32_MAX ? (int32_t)value : -1;
}

/* "AllReduce" of "ncclAllReduce"; false for any other name. */
static bool read_call(const struct rkt_capture *capture, uint32_t name_id, char call[CALL_BYTES])
{
    static const char prefix[] = "nccl";
    const size_t skipped = sizeof(prefix) - 1;
    const char *name;
    size_t len_bytes;

    if (!rkt_region_name(capture->region, name_id, &name, &len_bytes) || len_bytes < skipped ||
        len_bytes - skipped >= CALL_BYTES || memcmp(name, prefix, skipped) != 0)
        return false;
    memcpy(call, name + skipped, len_bytes - skipped);
    call[len_bytes - skipped] = '\0';
    return true;
}

static uint8_t kind_of(const char *call, uint8_t func)
{
    if (strcmp(call, "GroupStart") == 0)
        return RKT_NVTX_OPERATION_GROUP_START;
    if (strcmp(call, "GroupEnd") == 0)
        return RKT_NVTX_OPERATION_GROUP_END;
    if (func == RKT_NCCL_FUNC_SEND || func == RKT_NCCL_FUNC_RECV)
        return RKT_NVTX_OPERATION_P2P;
    return func == RKT_NCCL_FUNC_UNKNOWN ? RKT_NVTX_OPERATION_NONE : RKT_NVTX_OPERATION_COLL;
}

/* The user asked for NCCL, the window is open, and NCCL did not load our plugin. */
static bool must_stand_in(const struct rkt_capture *capture)
{
    return capture->config.mask & RKT_CAPTURE_NCCL && rkt_nccl_source_needs_nvtx(capture->nccl);
}

struct rkt_nvtx_operation rkt_nvtx_nccl_operation(const struct rkt_capture *capture,
                                                  uint32_t name_id,
                                                  const struct rkt_nvtx_fields *fields)
{
    struct rkt_nvtx_operation operation = {.peer = -1};
    char call[CALL_BYTES];

    if (!must_stand_in(capture) || !read_call(capture, name_id, call))
        return operation;
    operation.func = (uint8_t)rkt_nccl_func_parse(call);
    operation.kind = kind_of(call, operation.func);
    operation.comm_id = value_or(fields, RKT_NVTX_FIELD_COMM, 0);
    operation.bytes = value_or(fields, RKT_NVTX_FIELD_BYTES, UINT64_MAX);
    operation.peer = rank_or_none(fields, has(fields, RKT_NVTX_FIELD_PEER) ? RKT_NVTX_FIELD_PEER
                                                                           : RKT_NVTX_FIELD_ROOT);
    return operation;
}

static void push_event(struct rkt_thread *thread, enum rkt_nccl_type type, uint8_t flags,
                       uint64_t start_ns, uint64_t end_ns,
                       const struct rkt_nvtx_operation *operation)
{
    bool has_bytes = operation && operation->bytes != UINT64_MAX;
    struct rkt_event event = {
        .kind = RKT_EVENT_NCCL,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)type,
        .flags = RKT_FLAG_BY_NVTX | flags,
        .start_ns = start_ns,
        .end_ns = end_ns,
        .thread_id = thread->thread_id,
        .nccl = {.comm_id = operation ? operation->comm_id : 0,
                 .seq = UINT64_MAX,
                 .count = has_bytes ? operation->bytes : UINT64_MAX,
                 .peer = operation ? operation->peer : -1,
                 .func = operation ? operation->func : RKT_NCCL_FUNC_UNKNOWN,
                 .datatype = has_bytes ? RKT_DATATYPE_BYTE_COUNT : RKT_DATATYPE_UNKNOWN},
    };

    (void)rkt_ring_push(thread->ring, &event);
}

static void push_call(struct rkt_thread *thread, enum rkt_nccl_type type,
                      const struct rkt_nvtx_range *range, uint64_t end_ns)
{
    if (thread->nvtx.group_depth == 0) /* a group of one call */
        push_event(thread, RKT_NCCL_GROUP_API, RKT_FLAG_IMPLICIT_GROUP, range->start_ns, end_ns,
                   NULL);
    push_event(thread, type, 0, range->start_ns, end_ns, &range->operation);
}

static void end_group(struct rkt_thread *thread, uint64_t end_ns)
{
    if (thread->nvtx.group_depth == 0)
        return; /* its start was not seen */
    if (--thread->nvtx.group_depth == 0)
        push_event(thread, RKT_NCCL_GROUP_API, 0, thread->nvtx.group_start_ns, end_ns, NULL);
}

static void push_comm(struct rkt_capture *capture, const struct rkt_thread *thread,
                      const struct rkt_nvtx_fields *fields, uint64_t now_ns)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_COMM,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .flags = RKT_FLAG_BY_NVTX,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .thread_id = thread->thread_id,
        .comm = {.comm_id = fields->value[RKT_NVTX_FIELD_COMM],
                 .rank = rank_or_none(fields, RKT_NVTX_FIELD_RANK),
                 .rank_count = (uint32_t)fields->value[RKT_NVTX_FIELD_RANK_COUNT]},
    };

    if (must_stand_in(capture) && event.comm.comm_id != 0)
        (void)rkt_ring_push(thread->ring, &event);
}

void rkt_nvtx_nccl_popped(struct rkt_capture *capture, struct rkt_thread *thread,
                          const struct rkt_nvtx_range *range, const struct rkt_nvtx_fields *fields,
                          uint64_t end_ns)
{
    switch ((enum rkt_nvtx_operation_kind)range->operation.kind) {
    case RKT_NVTX_OPERATION_COLL:
        push_call(thread, RKT_NCCL_COLL_API, range, end_ns);
        return;
    case RKT_NVTX_OPERATION_P2P:
        push_call(thread, RKT_NCCL_P2P_API, range, end_ns);
        return;
    case RKT_NVTX_OPERATION_GROUP_START:
        if (thread->nvtx.group_depth++ == 0)
            thread->nvtx.group_start_ns = range->start_ns;
        return;
    case RKT_NVTX_OPERATION_GROUP_END:
        end_group(thread, end_ns);
        return;
    case RKT_NVTX_OPERATION_NONE:
        break;
    }
    if (has(fields, RKT_NVTX_FIELD_COMM) && has(fields, RKT_NVTX_FIELD_RANK_COUNT))
        push_comm(capture, thread, fields, end_ns);
}
