/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/export/chrome.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/export/chrome_state.h"
#include "analysis/trace_keeper.h"
#include "common/array.h"
#include "common/units.h"

#define BREAK_DEPTH 2 /* one event per line */
#define TRACK_NAME_BYTES 256

/* ---- metadata ---- */

static void put_metadata_text(struct rkt_chrome *chrome, const char *what, uint32_t tid,
                              const char *key, const char *text)
{
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "ph", "M");
    rkt_json_text(json, "name", what);
    rkt_json_i64(json, "pid", rkt_chrome_pid(chrome));
    rkt_json_i64(json, "tid", tid);
    rkt_json_begin_object(json, "args");
    rkt_json_text(json, key, text);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_sort_index(struct rkt_chrome *chrome, const char *what, uint32_t tid, int64_t index)
{
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "ph", "M");
    rkt_json_text(json, "name", what);
    rkt_json_i64(json, "pid", rkt_chrome_pid(chrome));
    rkt_json_i64(json, "tid", tid);
    rkt_json_begin_object(json, "args");
    rkt_json_i64(json, "sort_index", index);
    rkt_json_end(json);
    rkt_json_end(json);
}

/* What its place beside other ranks is worth. */
static void describe_clock(const struct rkt_rank_result *rank, char *text, size_t text_bytes)
{
    char bound[32] = "unknown";

    if (rank->bound_ns >= 0)
        (void)rkt_format_duration(rank->bound_ns, bound, sizeof(bound));
    if (rank->align_state == RKT_ALIGN_UNALIGNED)
        (void)snprintf(text, text_bytes, "clock not aligned: shown from its own first event");
    else
        (void)snprintf(text, text_bytes, "clock: %s, +- %s",
                       rkt_align_state_name(rank->align_state), bound);
}

static void put_labels(struct rkt_chrome *chrome)
{
    char labels[TRACK_NAME_BYTES] = "";
    size_t used;

    if (chrome->result->rank_count > 1)
        describe_clock(chrome->rank, labels, sizeof(labels));
    used = strlen(labels);
    if (chrome->rank->is_cut_short)
        (void)snprintf(labels + used, sizeof(labels) - used, "%scut short", used > 0 ? ", " : "");
    if (labels[0] != '\0')
        put_metadata_text(chrome, "process_labels", 0, "labels", labels);
}

static void put_process(struct rkt_chrome *chrome)
{
    const struct rkt_source_info *info = &chrome->trace->source.info;
    char name[TRACK_NAME_BYTES];

    (void)snprintf(name, sizeof(name), info->host[0] ? "rank %u (%s)" : "rank %u",
                   chrome->rank->rank, info->host);
    put_metadata_text(chrome, "process_name", 0, "name", name);
    put_sort_index(chrome, "process_sort_index", 0, chrome->rank->rank);
    rkt_chrome_put_rank_identity(chrome);
    put_labels(chrome);
}

static uint32_t device_count(const struct rkt_chrome *chrome)
{
    const struct rkt_rank_trace *trace = chrome->trace;

    for (size_t i = 1; i < trace->work_count; i++) {
        if (trace->works[i].device_id != trace->works[0].device_id)
            return 2; /* more than one is all that matters */
    }
    return trace->work_count > 0;
}

static void name_track(const struct rkt_chrome *chrome, const struct rkt_slice *slice, char *name,
                       size_t name_bytes)
{
    const char *thread;

    switch ((enum rkt_track_group)slice->group) {
    case RKT_TRACK_STEPS:
        (void)snprintf(name, name_bytes, "steps");
        return;
    case RKT_TRACK_STREAM:
        if (device_count(chrome) > 1)
            (void)snprintf(name, name_bytes, "GPU %u stream %u", slice->device, slice->id);
        else
            (void)snprintf(name, name_bytes, "stream %u", slice->id);
        return;
    case RKT_TRACK_COLLECTIVES:
        (void)snprintf(name, name_bytes, "collectives, as the host sees them");
        return;
    case RKT_TRACK_BUCKETS:
        (void)snprintf(name, name_bytes, "gradient buckets");
        return;
    case RKT_TRACK_GPU_ANNOTATIONS:
        (void)snprintf(name, name_bytes, "annotations on the GPU");
        return;
    case RKT_TRACK_MAIN_THREAD:
    case RKT_TRACK_THREAD:
        break;
    }
    thread = rkt_rank_trace_thread_name(chrome->trace, slice->id);
    if (thread[0])
        (void)snprintf(name, name_bytes, "%s", thread);
    else
        (void)snprintf(name, name_bytes, "thread %u", slice->id);
}

/* The track id of a lane, with its name when the lane is new. 0 when memory is out. */
static uint32_t tid_of(struct rkt_chrome *chrome, const struct rkt_slice *slice, size_t lane,
                       size_t *known_count)
{
    char name[TRACK_NAME_BYTES];
    char lane_name[TRACK_NAME_BYTES + 32];

    if (lane < *known_count)
        return chrome->tids[lane];
    if (!rkt_array_reserve((void **)&chrome->tids, &chrome->tid_cap, lane + 1,
                           sizeof(*chrome->tids)))
        return 0;
    chrome->tids[lane] = chrome->next_tid++;
    *known_count = lane + 1;
    name_track(chrome, slice, name, sizeof(name));
    (void)snprintf(lane_name, sizeof(lane_name), lane > 0 ? "%s (%zu)" : "%s", name, lane + 1);
    put_metadata_text(chrome, "thread_name", chrome->tids[lane], "name", lane_name);
    put_sort_index(chrome, "thread_sort_index", chrome->tids[lane], chrome->track_order++);
    rkt_chrome_put_track_identity(chrome, slice, chrome->tids[lane]);
    return chrome->tids[lane];
}

/* ---- ranks ---- */

static int compare_launches(const void *left, const void *right)
{
    const struct rkt_chrome_launch *a = left;
    const struct rkt_chrome_launch *b = right;

    if (a->correlation_id != b->correlation_id)
        return (a->correlation_id > b->correlation_id) - (a->correlation_id < b->correlation_id);
    return (a->work > b->work) - (a->work < b->work);
}

/* Works that have a launch record; of a graph's many the first. */
static bool find_launches(struct rkt_chrome *chrome)
{
    const struct rkt_rank_trace *trace = chrome->trace;
    size_t kept = 0;

    chrome->launches = calloc(trace->work_count + 1, sizeof(*chrome->launches));
    chrome->launch_count = 0;
    if (!chrome->launches)
        return false;
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].correlation_id != 0 &&
            trace->works[i].launch_start_ns != RKT_TIME_UNKNOWN)
            chrome->launches[chrome->launch_count++] =
                (struct rkt_chrome_launch){trace->works[i].correlation_id, (uint32_t)i};
    }
    qsort(chrome->launches, chrome->launch_count, sizeof(*chrome->launches), compare_launches);
    for (size_t i = 0; i < chrome->launch_count; i++) {
        if (kept == 0 ||
            chrome->launches[i].correlation_id != chrome->launches[kept - 1].correlation_id)
            chrome->launches[kept++] = chrome->launches[i];
    }
    chrome->launch_count = kept;
    return true;
}

static enum rkt_status put_track(struct rkt_chrome *chrome, const struct rkt_slice *slices,
                                 size_t count, struct rkt_error *err)
{
    size_t known_count = 0;

    rkt_lanes_reset(&chrome->lanes);
    for (size_t i = 0; i < count; i++) {
        bool is_instant = slices[i].kind == RKT_SLICE_WINDOW_EDGE ||
                          (slices[i].kind == RKT_SLICE_RANGE &&
                           chrome->trace->ranges[slices[i].index].type == RKT_RANGE_MARK);
        size_t lane =
            is_instant ? 0 : rkt_lanes_place(&chrome->lanes, slices[i].start_ns, slices[i].end_ns);
        uint32_t tid = lane == RKT_LANE_NONE ? 0 : tid_of(chrome, &slices[i], lane, &known_count);

        if (tid == 0)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the tracks of rank %u",
                            chrome->rank->rank);
        rkt_chrome_put_slice(chrome, &slices[i], tid);
    }
    return RKT_OK;
}

static enum rkt_status put_tracks(struct rkt_chrome *chrome, const struct rkt_slices *slices,
                                  struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0, next; i < slices->count && status == RKT_OK; i = next) {
        for (next = i + 1;
             next < slices->count && rkt_slice_same_track(&slices->items[i], &slices->items[next]);)
            next++;
        status = put_track(chrome, slices->items + i, next - i, err);
    }
    return status;
}

static bool is_aligned(const struct rkt_rank_result *rank)
{
    return rank->align_state != RKT_ALIGN_UNALIGNED;
}

/* In job time; INT64_MAX where there is nothing. */
static int64_t first_start(const struct rkt_rank_trace *trace)
{
    return trace->first_ns == RKT_TIME_UNKNOWN ? INT64_MAX
                                               : rkt_slices_job_ns(trace, trace->first_ns);
}

static int64_t shared_origin(const struct rkt_result *result)
{
    int64_t origin = INT64_MAX;

    for (size_t i = 0; i < result->rank_count; i++) {
        int64_t first = first_start(result->ranks[i].trace);

        if (is_aligned(&result->ranks[i]) && first < origin)
            origin = first;
    }
    return origin;
}

static enum rkt_status put_rank(struct rkt_chrome *chrome, size_t position, struct rkt_error *err)
{
    struct rkt_slices slices;
    enum rkt_status status = rkt_trace_open(chrome->result, position, &chrome->trace, err);

    if (status != RKT_OK)
        return status;
    chrome->position = position;
    chrome->rank = &chrome->result->ranks[position];
    chrome->track_order = 0;
    chrome->origin_ns =
        is_aligned(chrome->rank) ? chrome->shared_origin_ns : first_start(chrome->trace);
    status = rkt_slices_init(chrome->result, position, &slices, err);
    if (status != RKT_OK)
        return status;
    put_process(chrome);
    rkt_chrome_put_counters(chrome);
    if (find_launches(chrome))
        status = put_tracks(chrome, &slices, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for the launches of rank %u",
                          chrome->rank->rank);
    chrome->next_flow += chrome->launch_count;
    free(chrome->launches);
    rkt_slices_release(&slices);
    return status;
}

static void put_rank_info(struct rkt_json *json, const struct rkt_rank_result *rank)
{
    const struct rkt_store_source *source = &rank->trace->source;

    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "rank", rank->rank);
    rkt_json_text(json, "host", source->info.host);
    rkt_json_text(json, "program", source->info.program);
    rkt_json_text(json, "file", source->info.file);
    rkt_json_text(json, "clock", rkt_align_state_name(rank->align_state));
    if (rank->bound_ns >= 0)
        rkt_json_i64(json, "clock_bound_ns", rank->bound_ns);
    else
        rkt_json_null(json, "clock_bound_ns");
    rkt_json_bool(json, "is_cut_short", rank->is_cut_short);
    rkt_json_u64(json, "left_out_records", rank->trace->left_out_count);
    rkt_json_end(json);
}

static void put_warnings(struct rkt_json *json, const struct rkt_result *result)
{
    rkt_json_begin_array(json, "warnings");
    for (size_t i = 0; i < result->note_count; i++) {
        if (result->notes[i].level > 0)
            rkt_json_text(json, NULL, result->notes[i].text);
    }
    rkt_json_end(json);
}

static void put_run_info(struct rkt_chrome *chrome)
{
    const struct rkt_result *result = chrome->result;
    struct rkt_json *json = &chrome->json;

    rkt_json_begin_object(json, "otherData");
    rkt_json_text(json, "producer", "ranktrace " RKT_VERSION);
    rkt_json_text(json, "command", result->run ? result->run->command : "");
    rkt_json_text(json, "host", result->run ? result->run->host : "");
    if (chrome->shared_origin_ns != INT64_MAX)
        rkt_json_i64(json, "origin_job_ns", chrome->shared_origin_ns);
    rkt_json_u64(json, "lost_events", result->loss_count);
    put_warnings(json, result);
    rkt_json_begin_array(json, "ranks");
    for (size_t i = 0; i < result->rank_count; i++)
        put_rank_info(json, &result->ranks[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

enum rkt_status rkt_export_chrome(const struct rkt_result *result, FILE *out, struct rkt_error *err)
{
    struct rkt_chrome chrome = {.result = result, .next_flow = 1, .next_tid = 1};
    enum rkt_status status = RKT_OK;

    rkt_json_init(&chrome.json, out, BREAK_DEPTH);
    rkt_lanes_init(&chrome.lanes);
    chrome.shared_origin_ns = shared_origin(result);
    for (size_t i = 0; i < result->rank_count; i++) {
        /* no track has the number of a process: viewers would take it for its main thread */
        if (chrome.next_tid < result->ranks[i].rank + 2)
            chrome.next_tid = result->ranks[i].rank + 2;
    }
    rkt_json_begin_object(&chrome.json, NULL);
    rkt_json_text(&chrome.json, "displayTimeUnit", "ns");
    put_run_info(&chrome);
    rkt_json_begin_array(&chrome.json, "traceEvents");
    for (size_t i = 0; i < result->rank_count && status == RKT_OK; i++)
        status = put_rank(&chrome, i, err);
    rkt_json_end(&chrome.json);
    rkt_json_end(&chrome.json);
    if (status == RKT_OK)
        status = rkt_json_finish(&chrome.json, err);
    rkt_lanes_release(&chrome.lanes);
    free(chrome.tids);
    return status;
}
