/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_pack.h"

#include <stdlib.h>

#include "analysis/lane.h"
#include "analysis/rank_pack_tables.h"

/* A member more, and its table must have it: what is not sent differs between processes. */
#define HOLDS_ALL_OF(type, bytes) \
    _Static_assert(sizeof(type) == (bytes), "a member of " #type " is in no table of rank_pack")

/* ---- records ---- */

HOLDS_ALL_OF(struct rkt_work, 96);
static const struct rkt_packed_member WORK[] = {
    RKT_PACKED(struct rkt_work, start_ns),
    RKT_PACKED(struct rkt_work, end_ns),
    RKT_PACKED(struct rkt_work, launch_start_ns),
    RKT_PACKED(struct rkt_work, launch_end_ns),
    RKT_PACKED(struct rkt_work, bytes),
    RKT_PACKED(struct rkt_work, name_id),
    RKT_PACKED(struct rkt_work, shape_id),
    RKT_PACKED(struct rkt_work, device_id),
    RKT_PACKED(struct rkt_work, stream_id),
    RKT_PACKED(struct rkt_work, correlation_id),
    RKT_PACKED(struct rkt_work, launch_thread_id),
    RKT_PACKED(struct rkt_work, op),
    RKT_PACKED(struct rkt_work, op_count),
    RKT_PACKED(struct rkt_work, step),
    RKT_PACKED(struct rkt_work, collective),
    RKT_PACKED(struct rkt_work, work_class),
    RKT_PACKED(struct rkt_work, copy_kind),
    RKT_PACKED(struct rkt_work, src_kind),
    RKT_PACKED(struct rkt_work, dst_kind),
    RKT_PACKED(struct rkt_work, is_async),
    RKT_PACKED(struct rkt_work, phase),
    RKT_PACKED(struct rkt_work, is_bucket),
    RKT_PACKED(struct rkt_work, from_graph),
    RKT_PACKED(struct rkt_work, is_all_to_all),
    RKT_PACKED(struct rkt_work, is_whole_graph),
};

HOLDS_ALL_OF(struct rkt_comm_arrival, 40);
static const struct rkt_packed_member ARRIVAL[] = {
    RKT_PACKED(struct rkt_comm_arrival, job_start_ns),
    RKT_PACKED(struct rkt_comm_arrival, job_end_ns),
    RKT_PACKED(struct rkt_comm_arrival, ready_ns),
    RKT_PACKED(struct rkt_comm_arrival, late_ns),
    RKT_PACKED(struct rkt_comm_arrival, is_queued),
    RKT_PACKED(struct rkt_comm_arrival, likely_ns),
};

HOLDS_ALL_OF(struct rkt_op, 64);
static const struct rkt_packed_member OP[] = {
    RKT_PACKED(struct rkt_op, start_ns),     RKT_PACKED(struct rkt_op, end_ns),
    RKT_PACKED(struct rkt_op, thread_id),    RKT_PACKED(struct rkt_op, correlation_id),
    RKT_PACKED(struct rkt_op, work),         RKT_PACKED(struct rkt_op, type),
    RKT_PACKED(struct rkt_op, is_graph),     RKT_PACKED(struct rkt_op, is_by_nvtx),
    RKT_PACKED(struct rkt_op, nccl.comm_id), RKT_PACKED(struct rkt_op, nccl.seq),
    RKT_PACKED(struct rkt_op, nccl.count),   RKT_PACKED(struct rkt_op, nccl.peer),
    RKT_PACKED(struct rkt_op, nccl.func),    RKT_PACKED(struct rkt_op, nccl.datatype),
    RKT_PACKED(struct rkt_op, nccl.algo),    RKT_PACKED(struct rkt_op, nccl.proto),
};

HOLDS_ALL_OF(struct rkt_bucket, 64);
static const struct rkt_packed_member BUCKET[] = {
    RKT_PACKED(struct rkt_bucket, start_ns),     RKT_PACKED(struct rkt_bucket, end_ns),
    RKT_PACKED(struct rkt_bucket, job_start_ns), RKT_PACKED(struct rkt_bucket, job_end_ns),
    RKT_PACKED(struct rkt_bucket, bytes),        RKT_PACKED(struct rkt_bucket, step),
    RKT_PACKED(struct rkt_bucket, index),        RKT_PACKED(struct rkt_bucket, thread_id),
    RKT_PACKED(struct rkt_bucket, collective),
};

HOLDS_ALL_OF(struct rkt_comm, 24);
static const struct rkt_packed_member COMM[] = {
    RKT_PACKED(struct rkt_comm, comm_id),    RKT_PACKED(struct rkt_comm, rank),
    RKT_PACKED(struct rkt_comm, rank_count), RKT_PACKED(struct rkt_comm, name_id),
    RKT_PACKED(struct rkt_comm, members_id),
};

HOLDS_ALL_OF(struct rkt_named, 24);
static const struct rkt_packed_member NAMED[] = {
    RKT_PACKED(struct rkt_named, object_id),
    RKT_PACKED(struct rkt_named, name_id),
    RKT_PACKED(struct rkt_named, sort_index),
    RKT_PACKED(struct rkt_named, type),
};

HOLDS_ALL_OF(struct rkt_open_span, 24);
static const struct rkt_packed_member OPEN_SPAN[] = {
    RKT_PACKED(struct rkt_open_span, start_ns),
    RKT_PACKED(struct rkt_open_span, end_ns),
    RKT_PACKED(struct rkt_open_span, traced_from_ns),
};

HOLDS_ALL_OF(struct rkt_counter_sample, 40);
static const struct rkt_packed_member COUNTER[] = {
    RKT_PACKED(struct rkt_counter_sample, start_ns),
    RKT_PACKED(struct rkt_counter_sample, end_ns),
    RKT_PACKED(struct rkt_counter_sample, value),
    RKT_PACKED(struct rkt_counter_sample, device_id),
    RKT_PACKED(struct rkt_counter_sample, name_id),
    RKT_PACKED(struct rkt_counter_sample, counter),
};

HOLDS_ALL_OF(struct rkt_event_device, 32);
static const struct rkt_packed_member DEVICE[] = {
    RKT_PACKED(struct rkt_event_device, uuid_high), RKT_PACKED(struct rkt_event_device, uuid_low),
    RKT_PACKED(struct rkt_event_device, device_id), RKT_PACKED(struct rkt_event_device, pci_domain),
    RKT_PACKED(struct rkt_event_device, pci_bus),   RKT_PACKED(struct rkt_event_device, pci_device),
};

HOLDS_ALL_OF(struct rkt_lane_item, 88);
static const struct rkt_packed_member LANE_ITEM[] = {
    RKT_PACKED_ARRAY(struct rkt_lane_item, own),
    RKT_PACKED(struct rkt_lane_item, work),
    RKT_PACKED(struct rkt_lane_item, kind),
    RKT_PACKED(struct rkt_lane_item, is_coarse),
    RKT_PACKED(struct rkt_lane_item, host.bound_ns),
    RKT_PACKED(struct rkt_lane_item, host.own_ns),
    RKT_PACKED(struct rkt_lane_item, host.lead_ns),
    RKT_PACKED(struct rkt_lane_item, host.wait_ns),
    RKT_PACKED(struct rkt_lane_item, host.wait_back),
    RKT_PACKED(struct rkt_lane_item, host_idle_ns),
};

HOLDS_ALL_OF(struct rkt_interval, 16);
static const struct rkt_packed_member INTERVAL[] = {
    RKT_PACKED(struct rkt_interval, start_ns),
    RKT_PACKED(struct rkt_interval, end_ns),
};

/* What a trace says of itself; its arrays come after. */
static const struct rkt_packed_member TRACE[] = {
    RKT_PACKED(struct rkt_rank_trace, gpu.longest_ns),
    RKT_PACKED_ARRAY(struct rkt_rank_trace, work_counts),
    RKT_PACKED(struct rkt_rank_trace, clock_id),
    RKT_PACKED(struct rkt_rank_trace, main_thread_id),
    RKT_PACKED(struct rkt_rank_trace, has_windows),
    RKT_PACKED(struct rkt_rank_trace, has_gpu),
    RKT_PACKED(struct rkt_rank_trace, middle_ns),
    RKT_PACKED(struct rkt_rank_trace, first_ns),
    RKT_PACKED(struct rkt_rank_trace, early_count),
    RKT_PACKED(struct rkt_rank_trace, hidden_count),
    RKT_PACKED(struct rkt_rank_trace, hidden_ns),
    RKT_PACKED(struct rkt_rank_trace, whole_graph_count),
    RKT_PACKED(struct rkt_rank_trace, has_sync_calls),
    RKT_PACKED(struct rkt_rank_trace, is_nccl_by_nvtx),
    RKT_PACKED(struct rkt_rank_trace, left_out_count),
    RKT_PACKED(struct rkt_rank_trace, unmapped_count),
    RKT_PACKED(struct rkt_rank_trace, clock_error_ns),
    RKT_PACKED_ARRAY(struct rkt_rank_trace, losses),
    RKT_PACKED(struct rkt_rank_trace, capture_off_ns),
    RKT_PACKED(struct rkt_rank_trace, overhead_ns),
    RKT_PACKED(struct rkt_rank_trace, sidecar_ns),
    RKT_PACKED(struct rkt_rank_trace, sidecar_cpu_ns),
};

static const struct rkt_packed_member LOADED[] = {
    RKT_PACKED(struct rkt_loaded_rank, source),
    RKT_PACKED(struct rkt_loaded_rank, event_count),
    RKT_PACKED(struct rkt_loaded_rank, damage.damaged_frames),
    RKT_PACKED(struct rkt_loaded_rank, damage.skipped_bytes),
    RKT_PACKED(struct rkt_loaded_rank, damage.unknown_frames),
    RKT_PACKED(struct rkt_loaded_rank, damage.unknown_keys),
};

/* ---- results ---- */

HOLDS_ALL_OF(struct rkt_partition, 168);
HOLDS_ALL_OF(struct rkt_host_partition, 48);
HOLDS_ALL_OF(struct rkt_window, 384);
static const struct rkt_packed_member WINDOW[] = {
    RKT_PACKED(struct rkt_window, start_ns),
    RKT_PACKED(struct rkt_window, end_ns),
    RKT_PACKED(struct rkt_window, is_host_view),
    RKT_PACKED_I64S(struct rkt_window, parts),
    RKT_PACKED_I64S(struct rkt_window, host),
    RKT_PACKED(struct rkt_window, compute_ns),
    RKT_PACKED(struct rkt_window, comm_ns),
    RKT_PACKED(struct rkt_window, copy_ns),
    RKT_PACKED_ARRAY(struct rkt_window, copy_by_kind_ns),
    RKT_PACKED(struct rkt_window, comm_share),
    RKT_PACKED(struct rkt_window, exposed_share),
    RKT_PACKED(struct rkt_window, overlap),
    RKT_PACKED(struct rkt_window, gpu_util),
    RKT_PACKED(struct rkt_window, compute_share),
    RKT_PACKED_ARRAY(struct rkt_window, kernel_counts),
};

/* Its window comes after. is_warmup is found when all ranks are there. */
HOLDS_ALL_OF(struct rkt_step_result, 640);
static const struct rkt_packed_member STEP[] = {
    RKT_PACKED(struct rkt_step_result, number),
    RKT_PACKED(struct rkt_step_result, host_start_ns),
    RKT_PACKED(struct rkt_step_result, host_end_ns),
    RKT_PACKED(struct rkt_step_result, is_unrecorded),
    RKT_PACKED(struct rkt_step_result, is_cut),
    RKT_PACKED(struct rkt_step_result, job_start_ns),
    RKT_PACKED_ARRAY(struct rkt_step_result, phase_ns),
    RKT_PACKED_ARRAY(struct rkt_step_result, asleep_ns),
    RKT_PACKED(struct rkt_step_result, backward.buckets_ns),
    RKT_PACKED(struct rkt_step_result, backward.overlapped_ns),
    RKT_PACKED(struct rkt_step_result, backward.tail_ns),
    RKT_PACKED(struct rkt_step_result, backward.start_ns),
    RKT_PACKED(struct rkt_step_result, backward.ratio),
    RKT_PACKED(struct rkt_step_result, backward.prefetch_ns),
    RKT_PACKED(struct rkt_step_result, backward.prefetch_ratio),
    RKT_PACKED(struct rkt_step_result, backward.bucket_count),
    RKT_PACKED(struct rkt_step_result, backward_launch_ns),
    RKT_PACKED(struct rkt_step_result, own_work_ns),
    RKT_PACKED_ARRAY(struct rkt_step_result, own_by_cause_ns),
};

/* Its windows come after. What stages of all ranks fill in is not there yet. */
static const struct rkt_packed_member RANK[] = {
    RKT_PACKED(struct rkt_rank_result, whole.step_count),
    RKT_PACKED(struct rkt_rank_result, whole.first_step),
    RKT_PACKED(struct rkt_rank_result, whole.last_step),
    RKT_PACKED(struct rkt_rank_result, whole.length_ns),
    RKT_PACKED(struct rkt_rank_result, whole.selected_count),
    RKT_PACKED(struct rkt_rank_result, step_source),
    RKT_PACKED(struct rkt_rank_result, lacks_step_range),
    RKT_PACKED(struct rkt_rank_result, phase_source),
    RKT_PACKED(struct rkt_rank_result, is_cut_short),
    RKT_PACKED(struct rkt_rank_result, align_state),
    RKT_PACKED(struct rkt_rank_result, align_flags),
    RKT_PACKED(struct rkt_rank_result, bound_ns),
    RKT_PACKED(struct rkt_rank_result, likely_ns),
    RKT_PACKED(struct rkt_rank_result, own_bound_ns),
};

static const struct rkt_packed_table WORKS = RKT_PACKED_TABLE(struct rkt_work, WORK);
static const struct rkt_packed_table ARRIVALS = RKT_PACKED_TABLE(struct rkt_comm_arrival, ARRIVAL);
static const struct rkt_packed_table OPS = RKT_PACKED_TABLE(struct rkt_op, OP);
static const struct rkt_packed_table BUCKETS = RKT_PACKED_TABLE(struct rkt_bucket, BUCKET);
static const struct rkt_packed_table COMMS = RKT_PACKED_TABLE(struct rkt_comm, COMM);
static const struct rkt_packed_table NAMEDS = RKT_PACKED_TABLE(struct rkt_named, NAMED);
static const struct rkt_packed_table OPEN_SPANS = RKT_PACKED_TABLE(struct rkt_open_span, OPEN_SPAN);
static const struct rkt_packed_table COUNTERS =
    RKT_PACKED_TABLE(struct rkt_counter_sample, COUNTER);
static const struct rkt_packed_table DEVICES = RKT_PACKED_TABLE(struct rkt_event_device, DEVICE);
static const struct rkt_packed_table LANE_ITEMS = RKT_PACKED_TABLE(struct rkt_lane_item, LANE_ITEM);
static const struct rkt_packed_table INTERVALS = RKT_PACKED_TABLE(struct rkt_interval, INTERVAL);
static const struct rkt_packed_table LOADEDS = RKT_PACKED_TABLE(struct rkt_loaded_rank, LOADED);
static const struct rkt_packed_table TRACES = RKT_PACKED_TABLE(struct rkt_rank_trace, TRACE);
static const struct rkt_packed_table WINDOWS = RKT_PACKED_TABLE(struct rkt_window, WINDOW);
static const struct rkt_packed_table STEPS = RKT_PACKED_TABLE(struct rkt_step_result, STEP);
static const struct rkt_packed_table RANKS = RKT_PACKED_TABLE(struct rkt_rank_result, RANK);

/* ---- pack ---- */

static void pack_array(struct rkt_packed *packed, const struct rkt_packed_table *table,
                       const void *items, size_t count)
{
    rkt_packed_u64(packed, count);
    rkt_packed_structs(packed, table, items, count);
}

static void pack_names(struct rkt_packed *packed, const struct rkt_strtab *names)
{
    uint32_t count = rkt_strtab_count(names);

    rkt_packed_u64(packed, count);
    for (uint32_t id = 0; id < count; id++) {
        size_t len_bytes;
        const char *text = rkt_strtab_get(names, id, &len_bytes);

        rkt_packed_text(packed, text, len_bytes);
    }
}

static void pack_trace(struct rkt_packed *packed, const struct rkt_rank_trace *trace)
{
    rkt_packed_structs(packed, &TRACES, trace, 1);
    pack_names(packed, trace->names);
    pack_array(packed, &WORKS, trace->works, trace->work_count);
    for (size_t i = 0; i < trace->work_count; i++)
        rkt_packed_u64(packed, trace->whole_index[i] - (i > 0 ? trace->whole_index[i - 1] : 0));
    rkt_packed_structs(packed, &ARRIVALS, trace->arrivals, trace->work_count);
    pack_array(packed, &OPS, trace->ops, trace->op_count);
    pack_array(packed, &BUCKETS, trace->buckets, trace->bucket_count);
    pack_array(packed, &COMMS, trace->comms, trace->comm_count);
    pack_array(packed, &NAMEDS, trace->named, trace->named_count);
    pack_array(packed, &LANE_ITEMS, trace->lane, trace->lane_count);
    pack_array(packed, &OPEN_SPANS, trace->open_spans, trace->open_count);
    pack_array(packed, &COUNTERS, trace->gpu.counters, trace->gpu.counter_count);
    pack_array(packed, &DEVICES, trace->gpu.devices, trace->gpu.device_count);
}

void rkt_rank_pack(const struct rkt_loaded_rank *loaded, const struct rkt_rank_result *rank,
                   struct rkt_packed *packed)
{
    const struct rkt_name_times *names = loaded->names;

    rkt_packed_structs(packed, &LOADEDS, loaded, 1);
    pack_trace(packed, loaded->trace);
    rkt_packed_structs(packed, &RANKS, rank, 1);
    rkt_packed_structs(packed, &WINDOWS, &rank->run, 1);
    rkt_packed_structs(packed, &WINDOWS, &rank->outside, 1);
    rkt_packed_u64(packed, rank->step_count);
    for (size_t i = 0; i < rank->step_count; i++) {
        rkt_packed_structs(packed, &STEPS, &rank->steps[i], 1);
        rkt_packed_structs(packed, &WINDOWS, &rank->steps[i].window, 1);
    }
    pack_array(packed, &INTERVALS, loaded->exposed.items, loaded->exposed.count);
    for (size_t kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++)
        rkt_packed_u64(packed, names->ends[kind]);
    rkt_packed_text(packed, names->packed.bytes, names->packed.len_bytes);
    rkt_tables_pack(rank->tables, packed);
    rkt_places_pack(rank->places, packed);
}

/* ---- unpack ---- */

/* An array with room for one more, as everywhere; NULL, and has_failed, when memory is out. */
static void *make_array(struct rkt_unpacking *from, size_t count, size_t elem_bytes)
{
    void *items = calloc(count + 1, elem_bytes);

    if (!items)
        from->has_failed = true;
    return items;
}

static void *unpack_array(struct rkt_unpacking *from, const struct rkt_packed_table *table,
                          size_t *count_out)
{
    size_t count = rkt_unpack_count(from);
    void *items = make_array(from, count, table->struct_bytes);

    if (items)
        rkt_unpack_structs(from, table, items, count);
    *count_out = items ? count : 0;
    return items;
}

static void unpack_names(struct rkt_unpacking *from, struct rkt_strtab *names)
{
    size_t count = rkt_unpack_count(from);

    for (size_t id = 0; id < count && !from->has_failed; id++) {
        struct rkt_bytes text = rkt_unpack_text(from);

        if (id > 0 &&
            rkt_strtab_define(names, (uint32_t)id, (const char *)text.at, text.len_bytes) != RKT_OK)
            from->has_failed = true;
    }
}

static void unpack_comm_works(struct rkt_unpacking *from, struct rkt_rank_trace *trace)
{
    uint32_t index = 0;

    trace->works = unpack_array(from, &WORKS, &trace->work_count);
    trace->whole_index = make_array(from, trace->work_count, sizeof(*trace->whole_index));
    trace->arrivals = make_array(from, trace->work_count, sizeof(*trace->arrivals));
    if (from->has_failed)
        return;
    for (size_t i = 0; i < trace->work_count; i++)
        trace->whole_index[i] = index += (uint32_t)rkt_unpack_u64(from);
    rkt_unpack_structs(from, &ARRIVALS, trace->arrivals, trace->work_count);
}

static void unpack_devices(struct rkt_unpacking *from, struct rkt_rank_gpus *gpu)
{
    size_t count = rkt_unpack_count(from);

    if (count > RKT_DEVICES_MAX) {
        from->has_failed = true;
        return;
    }
    rkt_unpack_structs(from, &DEVICES, gpu->devices, count);
    gpu->device_count = count;
}

static void unpack_trace(struct rkt_unpacking *from, struct rkt_rank_trace *trace)
{
    trace->names = rkt_strtab_create();
    if (!trace->names) {
        from->has_failed = true;
        return;
    }
    rkt_unpack_structs(from, &TRACES, trace, 1);
    unpack_names(from, trace->names);
    unpack_comm_works(from, trace);
    trace->ops = unpack_array(from, &OPS, &trace->op_count);
    trace->buckets = unpack_array(from, &BUCKETS, &trace->bucket_count);
    trace->comms = unpack_array(from, &COMMS, &trace->comm_count);
    trace->named = unpack_array(from, &NAMEDS, &trace->named_count);
    trace->lane = unpack_array(from, &LANE_ITEMS, &trace->lane_count);
    trace->open_spans = unpack_array(from, &OPEN_SPANS, &trace->open_count);
    trace->gpu.counters = unpack_array(from, &COUNTERS, &trace->gpu.counter_count);
    unpack_devices(from, &trace->gpu);
}

static void unpack_steps(struct rkt_unpacking *from, struct rkt_arena *arena,
                         struct rkt_rank_result *rank)
{
    size_t count = rkt_unpack_count(from);

    rank->steps = RKT_ARENA_ARRAY(arena, struct rkt_step_result, count + 1);
    if (!rank->steps) {
        from->has_failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        rkt_unpack_structs(from, &STEPS, &rank->steps[i], 1);
        rkt_unpack_structs(from, &WINDOWS, &rank->steps[i].window, 1);
    }
    rank->step_count = count;
}

static void unpack_times(struct rkt_unpacking *from, struct rkt_name_times *names)
{
    size_t before = 0;
    struct rkt_bytes bytes;

    for (size_t kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++)
        names->ends[kind] = (size_t)rkt_unpack_u64(from);
    bytes = rkt_unpack_text(from);
    for (size_t kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++) {
        from->has_failed |= names->ends[kind] < before || names->ends[kind] > bytes.len_bytes;
        before = names->ends[kind];
    }
    if (!from->has_failed)
        rkt_packed_bytes(&names->packed, bytes.at, bytes.len_bytes);
    rkt_packed_trim(&names->packed);
    from->has_failed |= names->packed.has_failed;
}

enum rkt_status rkt_rank_unpack(struct rkt_unpacking *from, struct rkt_loaded_rank *loaded,
                                struct rkt_arena *arena, struct rkt_rank_result *rank,
                                struct rkt_error *err)
{
    loaded->trace = calloc(1, sizeof(*loaded->trace));
    loaded->names = calloc(1, sizeof(*loaded->names));
    if (!loaded->trace || !loaded->names)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a rank");
    rkt_unpack_structs(from, &LOADEDS, loaded, 1);
    unpack_trace(from, loaded->trace);
    rkt_unpack_structs(from, &RANKS, rank, 1);
    rkt_unpack_structs(from, &WINDOWS, &rank->run, 1);
    rkt_unpack_structs(from, &WINDOWS, &rank->outside, 1);
    unpack_steps(from, arena, rank);
    loaded->exposed.items = unpack_array(from, &INTERVALS, &loaded->exposed.count);
    loaded->exposed.cap = loaded->exposed.count;
    unpack_times(from, loaded->names);
    rank->tables = rkt_tables_unpack(from, arena);
    rank->places = rkt_places_unpack(from, arena);
    if (from->has_failed)
        return rkt_fail(err, RKT_ERR_INTERNAL,
                        "what another process found about a rank cannot be read, or there is no "
                        "memory for it");
    rank->trace = loaded->trace;
    rank->exposed = &loaded->exposed;
    rank->names = loaded->names;
    return RKT_OK;
}
