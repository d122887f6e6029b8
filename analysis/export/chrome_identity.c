/* SPDX-License-Identifier: Apache-2.0 */
/* What viewers need not know, but import does: which clock, communicators, streams and threads. */
#include <stdlib.h>

#include "analysis/export/chrome_state.h"

static void begin_metadata(struct rkt_chrome *chrome, const char *name, uint32_t tid)
{
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "ph", "M");
    rkt_json_text(json, "name", name);
    rkt_json_i64(json, "pid", rkt_chrome_pid(chrome));
    rkt_json_i64(json, "tid", tid);
    rkt_json_begin_object(json, "args");
}

static void end_metadata(struct rkt_json *json)
{
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_comm(struct rkt_chrome *chrome, const struct rkt_comm *comm)
{
    const struct rkt_strtab *names = chrome->trace->names;
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "comm", comm->comm_id);
    rkt_json_i64(json, "rank", comm->rank);
    rkt_json_u64(json, "rank_count", comm->rank_count);
    rkt_json_text(json, "name", rkt_strtab_get(names, comm->name_id, NULL));
    rkt_json_text(json, "members", rkt_strtab_get(names, comm->members_id, NULL));
    rkt_json_end(json);
}

/* Stamps of the rank's own clock are origin_ns - base_ns + ts. */
void rkt_chrome_put_rank_identity(struct rkt_chrome *chrome)
{
    const struct rkt_source_info *info = &chrome->trace->source.info;
    struct rkt_json *json = &chrome->json;

    begin_metadata(chrome, "ranktrace_rank", 0);
    rkt_json_u64(json, "rank", chrome->rank->rank);
    rkt_json_u64(json, "world_size", info->world_size);
    rkt_json_u64(json, "process", info->pid);
    rkt_json_text(json, "host", info->host);
    rkt_json_text(json, "program", info->program);
    rkt_json_i64(json, "origin_ns", chrome->origin_ns);
    rkt_json_i64(json, "base_ns", info->base_ns);
    rkt_json_begin_array(json, "comms");
    for (size_t i = 0; i < chrome->trace->comm_count; i++)
        put_comm(chrome, &chrome->trace->comms[i]);
    rkt_json_end(json);
    end_metadata(json);
}

static const char *group_name(enum rkt_track_group group)
{
    switch (group) {
    case RKT_TRACK_STREAM:
        return "stream";
    case RKT_TRACK_BUCKETS:
        return "buckets";
    case RKT_TRACK_GPU_ANNOTATIONS:
        return "gpu annotations";
    case RKT_TRACK_MAIN_THREAD:
    case RKT_TRACK_THREAD:
        return "thread";
    case RKT_TRACK_STEPS:
    case RKT_TRACK_COLLECTIVES:
        break;
    }
    return "derived";
}

void rkt_chrome_put_track_identity(struct rkt_chrome *chrome, const struct rkt_slice *slice,
                                   uint32_t tid)
{
    enum rkt_track_group group = (enum rkt_track_group)slice->group;
    struct rkt_json *json = &chrome->json;

    begin_metadata(chrome, "ranktrace_track", tid);
    rkt_json_text(json, "group", group_name(group));
    rkt_json_u64(json, "number", slice->id);
    rkt_json_u64(json, "device", slice->device);
    if (group == RKT_TRACK_MAIN_THREAD || group == RKT_TRACK_THREAD)
        rkt_json_text(json, "thread", rkt_rank_trace_thread_name(chrome->trace, slice->id));
    end_metadata(json);
}

static int by_shape_id(const void *key, const void *item)
{
    uint32_t id = *(const uint32_t *)key;
    const struct rkt_event_shape *shape = item;

    return (id > shape->shape_id) - (id < shape->shape_id);
}

static void put_shape(struct rkt_chrome *chrome, uint32_t shape_id)
{
    const struct rkt_rank_trace *trace = chrome->trace;
    const struct rkt_event_shape *shape = NULL;
    struct rkt_json *json = &chrome->json;

    if (trace->shape_count > 0)
        shape = bsearch(&shape_id, trace->shapes, trace->shape_count, sizeof(*trace->shapes),
                        by_shape_id);
    if (!shape)
        return;
    rkt_json_begin_array(json, "grid");
    rkt_json_u64(json, NULL, shape->grid_x);
    rkt_json_u64(json, NULL, shape->grid_y);
    rkt_json_u64(json, NULL, shape->grid_z);
    rkt_json_end(json);
    rkt_json_begin_array(json, "block");
    rkt_json_u64(json, NULL, shape->block_x);
    rkt_json_u64(json, NULL, shape->block_y);
    rkt_json_u64(json, NULL, shape->block_z);
    rkt_json_end(json);
    rkt_json_u64(json, "registers per thread", shape->registers);
    rkt_json_u64(json, "shared memory",
                 (uint64_t)shape->static_shared_bytes + shape->dynamic_shared_bytes);
}

static void put_op(struct rkt_json *json, const struct rkt_event_nccl *op)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "func", op->func);
    rkt_json_u64(json, "comm", op->comm_id);
    rkt_json_u64(json, "seq", op->seq);
    rkt_json_u64(json, "count", op->count);
    rkt_json_u64(json, "datatype", op->datatype);
    rkt_json_i64(json, "peer", op->peer);
    rkt_json_end(json);
}

void rkt_chrome_put_work_identity(struct rkt_chrome *chrome, const struct rkt_work *work)
{
    struct rkt_json *json = &chrome->json;

    if (work->from_graph)
        rkt_json_bool(json, "from_graph", true);
    if (work->work_class == RKT_WORK_COPY) {
        rkt_json_u64(json, "copy_kind", work->copy_kind);
        rkt_json_u64(json, "src_kind", work->src_kind);
        rkt_json_u64(json, "dst_kind", work->dst_kind);
        rkt_json_bool(json, "is_async", work->is_async);
        return;
    }
    put_shape(chrome, work->shape_id);
    if (work->op == RKT_INDEX_NONE || work->op_count == 0)
        return;
    rkt_json_begin_array(json, "ops");
    for (uint32_t i = 0; i < work->op_count; i++)
        put_op(json, &chrome->trace->ops[work->op + i].nccl);
    rkt_json_end(json);
}
