/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a Chrome trace and the arrows between them. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/clock_gap.h"
#include "analysis/export/chrome_state.h"
#include "analysis/json_known.h"
#include "analysis/range_name.h"

static void put_name(struct rkt_chrome *chrome, const char *key, uint32_t name_id)
{
    size_t len;
    const char *name = rkt_strtab_get(chrome->trace->names, name_id, &len);

    rkt_json_bytes(&chrome->json, key, name, len);
}

static void put_event_head(struct rkt_chrome *chrome, const char *ph, const char *cat, uint32_t tid,
                           int64_t job_ns)
{
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "ph", ph);
    rkt_json_text(json, "cat", cat);
    rkt_json_i64(json, "pid", rkt_chrome_pid(chrome));
    rkt_json_i64(json, "tid", tid);
    rkt_json_us(json, "ts", job_ns - chrome->origin_ns);
}

static void put_slice_head(struct rkt_chrome *chrome, const char *cat, uint32_t tid,
                           const struct rkt_slice *slice)
{
    put_event_head(chrome, "X", cat, tid, slice->start_ns);
    rkt_json_us(&chrome->json, "dur", slice->end_ns - slice->start_ns);
}

/* An arrow's end; it binds to the slice around job_ns on its track. */
static void put_flow(struct rkt_chrome *chrome, const char *ph, uint32_t tid, int64_t job_ns,
                     uint64_t flow)
{
    struct rkt_json *json = &chrome->json;

    put_event_head(chrome, ph, "launch", tid, job_ns);
    rkt_json_text(json, "name", "launch");
    rkt_json_u64(json, "id", flow);
    if (ph[0] == 'f')
        rkt_json_text(json, "bp", "e");
    rkt_json_end(json);
}

/* Index of the launch with this correlation id, launch_count if there is none. */
static size_t launch_of(const struct rkt_chrome *chrome, uint32_t correlation_id)
{
    size_t low = 0;
    size_t high = chrome->launch_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (chrome->launches[middle].correlation_id < correlation_id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < chrome->launch_count && chrome->launches[low].correlation_id == correlation_id)
        return low;
    return chrome->launch_count;
}

static void put_collective_args(struct rkt_chrome *chrome, const struct rkt_collective *collective)
{
    const struct rkt_participant *part = rkt_participant_find(collective, chrome->position);
    struct rkt_json *json = &chrome->json;
    char comm_id[24];

    (void)snprintf(comm_id, sizeof(comm_id), "0x%016" PRIx64, collective->comm_id);
    rkt_json_text(json, "collective", collective->func_name);
    if (collective->comm_name[0] || collective->comm_id != 0)
        rkt_json_text(json, "comm", collective->comm_name[0] ? collective->comm_name : comm_id);
    else
        rkt_json_null(json, "comm");
    rkt_json_u64(json, "seq", collective->seq);
    if (collective->bytes > 0)
        rkt_json_u64(json, "bytes", collective->bytes);
    else
        rkt_json_null(json, "bytes");
    if (part && rkt_clock_gap_blurs(part->wait_ns, collective->clock_gap_ns))
        rkt_json_text(json, "wait_ns", "not distinguishable");
    else
        rkt_json_known(json, "wait_ns", part ? part->wait_ns : RKT_NA);
    rkt_json_known(json, "clock_gap_ns", collective->clock_gap_ns);
    rkt_json_known(json, "clock_free_wait_ns", part ? part->clock_free_wait_ns : RKT_NA);
    rkt_json_known(json, "transfer_ns", collective->transfer_ns);
    if (collective->last_is_distinguishable)
        rkt_json_u64(json, "last_rank", chrome->result->ranks[collective->last_rank].rank);
    else if (collective->last_rank != RKT_INDEX_NONE)
        rkt_json_text(json, "last_rank", "not distinguishable");
    rkt_json_double(json, "busbw_bytes_per_s", collective->busbw_bytes_per_s);
    rkt_json_text(json, "match",
                  rkt_match_confidence_name((enum rkt_match_confidence)collective->confidence));
}

static const char *phase_name(uint8_t phase)
{
    static const char *const NAMES[] = {NULL, "forward", "backward", "optimizer"};

    return phase < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[phase] : NULL;
}

static void put_work_args(struct rkt_chrome *chrome, const struct rkt_work *work)
{
    struct rkt_json *json = &chrome->json;

    rkt_json_u64(json, "correlation", work->correlation_id);
    if (phase_name(work->phase))
        rkt_json_text(json, "phase", phase_name(work->phase));
    if (work->step != RKT_INDEX_NONE && work->step < chrome->rank->step_count)
        rkt_json_u64(json, "step", chrome->rank->steps[work->step].number);
    if (work->work_class == RKT_WORK_COPY)
        rkt_json_u64(json, "copied_bytes", work->bytes);
    if (work->launch_start_ns != RKT_TIME_UNKNOWN)
        rkt_json_i64(json, "launch_to_start_ns", work->start_ns - work->launch_start_ns);
    rkt_chrome_put_work_identity(chrome, work);
    if (work->collective != RKT_INDEX_NONE && work->collective < chrome->result->collective_count)
        put_collective_args(chrome, &chrome->result->collectives[work->collective]);
}

static void put_work(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    static const char *const CATS[] = {"compute", "comm", "copy"};
    const struct rkt_work *work = &chrome->trace->works[slice->index];
    struct rkt_json *json = &chrome->json;
    size_t launch = launch_of(chrome, work->correlation_id);

    put_slice_head(chrome, CATS[work->work_class], tid, slice);
    put_name(chrome, "name", work->name_id);
    rkt_json_begin_object(json, "args");
    put_work_args(chrome, work);
    rkt_json_end(json);
    rkt_json_end(json);
    if (launch < chrome->launch_count && chrome->launches[launch].work == slice->index)
        put_flow(chrome, "f", tid, slice->start_ns, chrome->next_flow + launch);
}

static void put_call(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    static const char *const CATS[] = {"api", "launch", "sync", "alloc"};
    const struct rkt_call *call = &chrome->trace->calls[slice->index];
    struct rkt_json *json = &chrome->json;
    size_t launch = launch_of(chrome, call->correlation_id);

    put_slice_head(chrome, CATS[call->call_class], tid, slice);
    put_name(chrome, "name", call->name_id);
    rkt_json_begin_object(json, "args");
    rkt_json_u64(json, "correlation", call->correlation_id);
    rkt_json_end(json);
    rkt_json_end(json);
    if (launch < chrome->launch_count) {
        const struct rkt_work *work = &chrome->trace->works[chrome->launches[launch].work];

        if (work->launch_start_ns == call->start_ns && work->launch_thread_id == call->thread_id)
            put_flow(chrome, "s", tid, slice->start_ns, chrome->next_flow + launch);
    }
}

/* What domain_id is the name of. */
static const char *domain_key(uint8_t type)
{
    if (type == RKT_RANGE_SYNC_CALL)
        return "site";
    return type == RKT_RANGE_CPU_OP ? "inputs" : "domain";
}

/* What value is. */
static const char *value_key(uint8_t type)
{
    return type >= RKT_RANGE_FORWARD && type <= RKT_RANGE_COMM_WAIT ? "asleep_ns" : "value";
}

static void put_range(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    const struct rkt_range *range = &chrome->trace->ranges[slice->index];
    const char *type = rkt_range_type_name(range->type);
    struct rkt_json *json = &chrome->json;

    if (range->type == RKT_RANGE_MARK) {
        put_event_head(chrome, "i", type, tid, slice->start_ns);
        rkt_json_text(json, "s", "t");
    } else {
        put_slice_head(chrome, type, tid, slice);
    }
    if (range->name_id != 0)
        put_name(chrome, "name", range->name_id);
    else
        rkt_json_text(json, "name", type);
    if (range->value != 0 || range->domain_id != 0) {
        rkt_json_begin_object(json, "args");
        if (range->domain_id != 0)
            put_name(chrome, domain_key(range->type), range->domain_id);
        if (range->value != 0)
            rkt_json_u64(json, value_key(range->type), range->value);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

static void put_step(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    const struct rkt_step_result *step = &chrome->rank->steps[slice->index];
    struct rkt_json *json = &chrome->json;
    char name[32];

    (void)snprintf(name, sizeof(name), "step %" PRIu64, step->number);
    put_slice_head(chrome, "step", tid, slice);
    rkt_json_text(json, "name", name);
    rkt_json_begin_object(json, "args");
    rkt_json_i64(json, "window_ns", step->window.end_ns - step->window.start_ns);
    rkt_json_i64(json, "compute_ns", step->window.compute_ns);
    rkt_json_i64(json, "comm_ns", step->window.comm_ns);
    rkt_json_double(json, "comm_share", step->window.comm_share);
    rkt_json_double(json, "exposed_comm_share", step->window.exposed_share);
    rkt_json_known(json, "own_work_ns", step->own_work_ns);
    rkt_json_bool(json, "is_recorded", !step->is_unrecorded);
    rkt_json_bool(json, "is_warmup", step->is_warmup);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_bucket(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    const struct rkt_bucket *bucket = &chrome->trace->buckets[slice->index];
    struct rkt_json *json = &chrome->json;
    char name[32];

    (void)snprintf(name, sizeof(name), "bucket %u", bucket->index);
    put_slice_head(chrome, "bucket", tid, slice);
    rkt_json_text(json, "name", name);
    rkt_json_begin_object(json, "args");
    rkt_json_u64(json, "bytes", bucket->bytes);
    rkt_json_u64(json, "step", bucket->step);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_collective(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    const struct rkt_collective *collective = &chrome->result->collectives[slice->index];
    struct rkt_json *json = &chrome->json;

    put_slice_head(chrome, "comm", tid, slice);
    rkt_json_text(json, "name", collective->func_name);
    rkt_json_begin_object(json, "args");
    put_collective_args(chrome, collective);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_window_edge(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    struct rkt_json *json = &chrome->json;

    put_event_head(chrome, "i", "window", tid, slice->start_ns);
    rkt_json_text(json, "s", "p");
    rkt_json_text(json, "name", slice->index % 2 == 0 ? "capture opens" : "capture closes");
    rkt_json_end(json);
}

void rkt_chrome_put_slice(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid)
{
    switch ((enum rkt_slice_kind)slice->kind) {
    case RKT_SLICE_STEP:
        put_step(chrome, slice, tid);
        break;
    case RKT_SLICE_WORK:
        put_work(chrome, slice, tid);
        break;
    case RKT_SLICE_CALL:
        put_call(chrome, slice, tid);
        break;
    case RKT_SLICE_RANGE:
        put_range(chrome, slice, tid);
        break;
    case RKT_SLICE_BUCKET:
        put_bucket(chrome, slice, tid);
        break;
    case RKT_SLICE_COLLECTIVE:
        put_collective(chrome, slice, tid);
        break;
    case RKT_SLICE_WINDOW_EDGE:
        put_window_edge(chrome, slice, tid);
        break;
    }
}
