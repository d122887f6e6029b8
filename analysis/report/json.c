/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "analysis/clock_gap.h"
#include "analysis/json_known.h"
#include "analysis/report/json_parts.h"
#include "analysis/report/report.h"
#include "analysis/report/writers.h"
#include "analysis/selection.h"
#include "analysis/steady.h"
#include "common/clock_curve.h"
#include "common/json_writer.h"

/* Ranks, steps, collectives: one line each. */
#define BREAK_DEPTH 4
#define SYNC_LINES_MAX 20

static void put_index(struct rkt_json *json, const char *key, uint32_t value)
{
    if (value == RKT_INDEX_NONE)
        rkt_json_null(json, key);
    else
        rkt_json_u64(json, key, value);
}

/* Results name ranks by position; the report by their number. */
static void put_rank(struct rkt_json *json, const char *key, const struct rkt_result *result,
                     uint32_t position)
{
    if (position < result->rank_count)
        rkt_json_u64(json, key, result->ranks[position].rank);
    else
        rkt_json_null(json, key);
}

static void put_copies(struct rkt_json *json, const char *key,
                       const int64_t copy_ns[RKT_COPY_PART_COUNT])
{
    rkt_json_begin_object(json, key);
    for (int i = 0; i < RKT_COPY_PART_COUNT; i++)
        rkt_json_known(json, rkt_copy_part_name((enum rkt_copy_part)i), copy_ns[i]);
    rkt_json_end(json);
}

void rkt_json_put_parts(struct rkt_json *json, const char *key, const struct rkt_partition *parts)
{
    rkt_json_begin_object(json, key);
    rkt_json_known(json, "overlapped", parts->overlapped_ns);
    rkt_json_known(json, "compute", parts->compute_ns);
    rkt_json_known(json, "comm_wait", parts->comm_wait_ns);
    rkt_json_known(json, "comm_transfer", parts->comm_transfer_ns);
    rkt_json_known(json, "comm_unsplit", parts->comm_unsplit_ns);
    put_copies(json, "copy", parts->copy_ns);
    rkt_json_begin_object(json, "idle");
    for (int i = 0; i < RKT_IDLE_CAUSE_COUNT; i++)
        rkt_json_known(json, rkt_idle_cause_name((enum rkt_idle_cause)i), parts->idle_ns[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_json_put_host_parts(struct rkt_json *json, const char *key,
                             const struct rkt_host_partition *parts)
{
    rkt_json_begin_object(json, key);
    rkt_json_known(json, "overlapped", parts->overlapped_ns);
    rkt_json_known(json, "compute", parts->compute_ns);
    rkt_json_known(json, "comm", parts->comm_ns);
    rkt_json_known(json, "input", parts->input_ns);
    rkt_json_known(json, "host", parts->host_ns);
    rkt_json_end(json);
}

static void put_window(struct rkt_json *json, const char *key, const struct rkt_window *window)
{
    static const char *const KERNELS[] = {"compute", "comm", "copy"};

    rkt_json_begin_object(json, key);
    rkt_json_known(json, "start_ns", window->start_ns);
    rkt_json_known(json, "window_ns",
                   window->is_host_view ? window->host.window_ns : window->parts.window_ns);
    if (window->is_host_view)
        rkt_json_put_host_parts(json, "host_parts_ns", &window->host);
    else
        rkt_json_put_parts(json, "parts_ns", &window->parts);
    rkt_json_known(json, "compute_ns", window->compute_ns);
    rkt_json_known(json, "comm_ns", window->comm_ns);
    rkt_json_known(json, "copy_ns", window->copy_ns);
    put_copies(json, "copy_by_kind_ns", window->copy_by_kind_ns);
    rkt_json_double(json, "comm_share", window->comm_share);
    rkt_json_double(json, "exposed_share", window->exposed_share);
    rkt_json_double(json, "overlap", window->overlap);
    rkt_json_double(json, "gpu_util", window->gpu_util);
    rkt_json_double(json, "compute_share", window->compute_share);
    rkt_json_begin_object(json, "kernels");
    for (int i = 0; i < 3; i++)
        rkt_json_u64(json, KERNELS[i], window->kernel_counts[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_asleep(struct rkt_json *json, const struct rkt_step_result *step)
{
    rkt_json_begin_object(json, "asleep_ns");
    rkt_json_i64(json, "forward", step->asleep_ns[RKT_PHASE_FORWARD]);
    rkt_json_i64(json, "backward", step->asleep_ns[RKT_PHASE_BACKWARD]);
    rkt_json_i64(json, "optimizer", step->asleep_ns[RKT_PHASE_OPTIMIZER]);
    rkt_json_end(json);
}

static void put_step(struct rkt_json *json, const struct rkt_rank_result *rank,
                     const struct rkt_step_result *step)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "number", step->number);
    rkt_json_bool(json, "is_recorded", !step->is_unrecorded);
    rkt_json_bool(json, "is_warmup", step->is_warmup);
    rkt_json_bool(json, "is_cut", step->is_cut);
    rkt_json_known(json, "host_start_ns", step->host_start_ns);
    rkt_json_known(json, "host_end_ns", step->host_end_ns);
    if (step->is_unrecorded)
        rkt_json_null(json, "window");
    else
        put_window(json, "window", &step->window);
    rkt_json_begin_object(json, "phases_ns");
    rkt_json_known(json, "input", step->phase_ns[RKT_PHASE_NONE]);
    rkt_json_known(json, "forward", step->phase_ns[RKT_PHASE_FORWARD]);
    rkt_json_known(json, "backward", step->phase_ns[RKT_PHASE_BACKWARD]);
    rkt_json_known(json, "optimizer", step->phase_ns[RKT_PHASE_OPTIMIZER]);
    rkt_json_end(json);
    if (step->window.is_host_view && !step->is_unrecorded)
        put_asleep(json, step);
    rkt_json_begin_object(json, "backward_overlap");
    rkt_json_u64(json, "bucket_count", step->backward.bucket_count);
    rkt_json_known(json, "buckets_ns", step->backward.buckets_ns);
    rkt_json_known(json, "overlapped_ns", step->backward.overlapped_ns);
    rkt_json_known(json, "tail_ns", step->backward.tail_ns);
    rkt_json_double(json, "ratio", step->backward.ratio);
    rkt_json_end(json);
    rkt_json_known(json, "prefetch_ns", step->backward.prefetch_ns);
    rkt_json_known(json, "own_work_ns", step->own_work_ns);
    rkt_json_put_step_gpu(json, rank, step);
    rkt_json_end(json);
}

static void put_losses(struct rkt_json *json, const struct rkt_rank_trace *trace)
{
    rkt_json_begin_object(json, "losses");
    for (size_t i = 0; i < RKT_LOSS_REASONS_MAX; i++) {
        if (trace->losses[i] > 0)
            rkt_json_u64(json, rkt_loss_reason_name((enum rkt_loss_reason)i), trace->losses[i]);
    }
    rkt_json_end(json);
}

static void put_rank_trace(struct rkt_json *json, const struct rkt_rank_trace *trace)
{
    const struct rkt_store_source *source = &trace->source;

    rkt_json_text(json, "host", source->info.host);
    rkt_json_u64(json, "local_rank", source->info.local_rank);
    rkt_json_u64(json, "node", source->info.node);
    rkt_json_u64(json, "pid", source->info.pid);
    rkt_json_text(json, "file", source->info.file);
    rkt_json_begin_object(json, "end");
    rkt_json_text(json, "reason",
                  rkt_end_reason_name(source->has_end ? (enum rkt_end_reason)source->end.reason
                                                      : RKT_END_UNKNOWN));
    rkt_json_i64(json, "exit_code", source->end.exit_code);
    rkt_json_i64(json, "signal", source->end.signal_number);
    rkt_json_end(json);
    put_losses(json, trace);
    rkt_json_u64(json, "left_out_count", trace->left_out_count);
    rkt_json_u64(json, "unmapped_count", trace->unmapped_count);
}

/* null: everything was recorded. */
static void put_capture_windows(struct rkt_json *json, const struct rkt_rank_trace *trace)
{
    if (!trace->has_windows) {
        rkt_json_null(json, "capture_windows");
        return;
    }
    rkt_json_begin_array(json, "capture_windows");
    for (size_t i = 0; i < trace->open_count; i++) {
        const struct rkt_open_span *span = &trace->open_spans[i];

        rkt_json_begin_object(json, NULL);
        /* from the beginning is INT64_MIN, as RKT_NA */
        rkt_json_known(json, "start_ns", span->start_ns);
        rkt_json_known(json, "end_ns", span->end_ns == INT64_MAX ? RKT_NA : span->end_ns);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

static void put_sync_lines(struct rkt_json *json, const struct rkt_rank_result *rank)
{
    rkt_json_begin_array(json, "sync_lines");
    for (size_t i = 0; i < rank->sync_line_count && i < SYNC_LINES_MAX; i++) {
        const struct rkt_sync_line *line = &rank->sync_lines[i];

        rkt_json_begin_object(json, NULL);
        rkt_json_text(json, "site", line->site);
        rkt_json_text(json, "call", line->call);
        rkt_json_i64(json, "wait_ns", line->wait_ns);
        rkt_json_u64(json, "count", line->count);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

/* null: nothing tells. */
static void put_allocator(struct rkt_json *json, const struct rkt_allocator_use *use)
{
    if (!use) {
        rkt_json_null(json, "allocator");
        return;
    }
    rkt_json_begin_object(json, "allocator");
    rkt_json_u64(json, "device_id", use->device_id);
    rkt_json_u64(json, "reserved_bytes", use->reserved_bytes);
    rkt_json_u64(json, "allocated_bytes", use->allocated_bytes);
    rkt_json_u64(json, "gap_bytes", use->gap_bytes);
    rkt_json_known(json, "gap_ns", use->gap_ns);
    rkt_json_end(json);
}

/* null: there is no such collective. */
static void put_wait_check(struct rkt_json *json, const struct rkt_wait_check *check)
{
    if (check->count == 0) {
        rkt_json_null(json, "wait_check");
        return;
    }
    rkt_json_begin_object(json, "wait_check");
    rkt_json_u64(json, "count", check->count);
    rkt_json_known(json, "offset_ns", check->offset_ns);
    rkt_json_known(json, "noise_ns", check->noise_ns);
    rkt_json_bool(json, "is_off", check->is_off);
    rkt_json_double(json, "drift_ppb", check->has_drift ? check->drift_ppb : (double)NAN);
    rkt_json_double(json, "drift_noise_ppb",
                    check->has_drift ? check->drift_noise_ppb : (double)NAN);
    rkt_json_end(json);
}

static void put_rank_result(struct rkt_json *json, const struct rkt_rank_result *rank)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "rank", rank->rank);
    put_rank_trace(json, rank->trace);
    rkt_json_bool(json, "is_host_view", !rank->trace->has_gpu);
    rkt_json_bool(json, "is_set_apart", rank->is_set_apart);
    rkt_json_bool(json, "is_cut_short", rank->is_cut_short);
    rkt_json_text(json, "align_state", rkt_align_state_name(rank->align_state));
    rkt_json_bool(json, "is_narrowed", (rank->align_flags & RKT_CLOCK_NARROWED) != 0);
    rkt_json_double(json, "sidecar_cpu",
                    rkt_share(rank->trace->sidecar_cpu_ns, rank->trace->sidecar_ns));
    rkt_json_known(json, "bound_ns", rank->bound_ns < 0 ? RKT_NA : rank->bound_ns);
    rkt_json_known(json, "likely_ns", rank->likely_ns < 0 ? RKT_NA : rank->likely_ns);
    rkt_json_text(json, "claims", rkt_clock_claim_word(rank->align_flags));
    put_wait_check(json, &rank->wait_check);
    rkt_json_text(json, "step_source", rkt_step_source_name(rank->step_source));
    rkt_json_text(json, "phase_source", rkt_phase_source_name(rank->phase_source));
    put_capture_windows(json, rank->trace);
    put_window(json, "run", &rank->run);
    if (rank->outside.parts.window_ns > 0)
        put_window(json, "outside", &rank->outside);
    else
        rkt_json_null(json, "outside");
    rkt_json_known(json, "gain_ns", rank->gain_ns);
    rkt_json_put_gpus(json, rank);
    put_allocator(json, rank->allocator);
    put_sync_lines(json, rank);
    rkt_json_begin_array(json, "steps");
    for (size_t i = 0; i < rank->step_count; i++)
        put_step(json, rank, &rank->steps[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_participant(struct rkt_json *json, const struct rkt_result *result,
                            const struct rkt_collective *collective,
                            const struct rkt_participant *participant)
{
    rkt_json_begin_object(json, NULL);
    put_rank(json, "rank", result, participant->rank);
    rkt_json_known(json, "job_start_ns", participant->job_start_ns);
    rkt_json_i64(json, "duration_ns", participant->end_ns - participant->start_ns);
    rkt_json_known(json, "wait_ns", participant->wait_ns);
    rkt_json_bool(json, "wait_is_distinguishable",
                  rkt_clock_gap_tells(participant->wait_ns, collective->clock_gap_ns));
    rkt_json_known(json, "active_ns", participant->active_ns);
    rkt_json_known(json, "clock_free_wait_ns", participant->clock_free_wait_ns);
    rkt_json_known(json, "ready_ns", participant->ready_ns);
    rkt_json_known(json, "late_ns", participant->late_ns);
    rkt_json_bool(json, "is_queued", participant->is_queued);
    rkt_json_end(json);
}

/* A difference in job time, and whether it is more than the clocks may be off. */
static void put_told(struct rkt_json *json, const char *name, int64_t difference_ns, int64_t gap_ns)
{
    char key[64];

    (void)snprintf(key, sizeof(key), "%s_ns", name);
    rkt_json_known(json, key, difference_ns);
    (void)snprintf(key, sizeof(key), "%s_is_distinguishable", name);
    rkt_json_bool(json, key, rkt_clock_gap_tells(difference_ns, gap_ns));
}

static void put_collective(struct rkt_json *json, const struct rkt_result *result,
                           const struct rkt_collective *collective)
{
    char comm_id[19];

    (void)snprintf(comm_id, sizeof(comm_id), "%#018llx", (unsigned long long)collective->comm_id);
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "func", collective->func_name);
    if (collective->comm_id == 0)
        rkt_json_null(json, "comm_id");
    else
        rkt_json_text(json, "comm_id", comm_id);
    rkt_json_text(json, "comm_name", collective->comm_name);
    rkt_json_u64(json, "seq", collective->seq);
    rkt_json_text(json, "confidence",
                  rkt_match_confidence_name((enum rkt_match_confidence)collective->confidence));
    if (collective->bytes == 0)
        rkt_json_null(json, "bytes");
    else
        rkt_json_u64(json, "bytes", collective->bytes);
    rkt_json_put_link(json, collective);
    rkt_json_bool(json, "is_bucket", collective->is_bucket);
    put_index(json, "bucket_index", collective->bucket_index);
    put_index(json, "step_index", collective->step);
    put_index(json, "expected_count",
              collective->expected_count == 0 ? RKT_INDEX_NONE : collective->expected_count);
    rkt_json_known(json, "first_start_ns", collective->job_first_start_ns);
    rkt_json_known(json, "transfer_ns", collective->transfer_ns);
    rkt_json_known(json, "clock_gap_ns", collective->clock_gap_ns);
    rkt_json_bool(json, "is_clocked", collective->is_clocked);
    put_told(json, "clocked_transfer", collective->clocked_transfer_ns, collective->clock_gap_ns);
    put_told(json, "start_spread", collective->start_spread_ns, collective->clock_gap_ns);
    put_told(json, "end_spread", collective->end_spread_ns, collective->clock_gap_ns);
    put_rank(json, "last_rank", result, collective->last_rank);
    rkt_json_bool(json, "last_is_distinguishable", collective->last_is_distinguishable);
    rkt_json_double(json, "busbw_bytes_per_s", collective->busbw_bytes_per_s);
    rkt_json_begin_array(json, "ranks");
    for (size_t i = 0; i < collective->participant_count; i++)
        put_participant(json, result, collective, &collective->participants[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_run(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_run_info *run = result->run;
    const struct rkt_store_health *health = result->health;

    rkt_json_begin_object(json, "run");
    rkt_json_text(json, "producer", rkt_producer_name((enum rkt_producer)run->producer));
    rkt_json_text(json, "version", run->version);
    rkt_json_text(json, "command", run->command);
    rkt_json_text(json, "host", run->host);
    rkt_json_u64(json, "start_realtime_ns", run->start_realtime_ns);
    put_index(json, "expected_rank_count",
              result->expected_rank_count == 0 ? RKT_INDEX_NONE : result->expected_rank_count);
    rkt_json_u64(json, "rank_count", result->rank_count);
    rkt_json_u64(json, "event_count", result->event_count);
    rkt_json_u64(json, "loss_count", result->loss_count);
    rkt_json_bool(json, "is_complete", health->has_trailer);
    rkt_json_u64(json, "damaged_frames", health->damaged_frames);
    rkt_json_u64(json, "skipped_bytes", health->skipped_bytes);
    rkt_json_u64(json, "unknown_frames", health->unknown_frames);
    rkt_json_u64(json, "seq_gap_count", health->seq_gap_count);
    rkt_json_u64(json, "shard_count", health->shard_count);
    rkt_json_u64(json, "unread_shard_count", health->unread_shard_count);
    rkt_json_end(json);
}

static void put_selected_steps(struct rkt_json *json, const struct rkt_selection *selection)
{
    if (!selection->has_steps) {
        rkt_json_null(json, "steps");
        return;
    }
    rkt_json_begin_object(json, "steps");
    rkt_json_u64(json, "from", selection->first_step);
    if (selection->end_step == UINT64_MAX)
        rkt_json_null(json, "to");
    else
        rkt_json_u64(json, "to", selection->end_step);
    rkt_json_end(json);
}

/* null: the report is of the whole run. */
static void put_selection(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_selection *selection = result->selection;

    if (!selection) {
        rkt_json_null(json, "selection");
        return;
    }
    rkt_json_begin_object(json, "selection");
    rkt_json_begin_array(json, "rank_spans");
    for (size_t i = 0; i < selection->rank_span_count; i++) {
        rkt_json_begin_object(json, NULL);
        rkt_json_u64(json, "first", selection->ranks[i].first);
        rkt_json_u64(json, "last", selection->ranks[i].last);
        rkt_json_end(json);
    }
    rkt_json_end(json);
    rkt_json_u64(json, "rank_count_in_all", result->rank_count_in_all);
    put_selected_steps(json, selection);
    rkt_json_known(json, "since_ns", selection->has_time ? selection->since_ns : RKT_NA);
    rkt_json_known(json, "until_ns",
                   selection->until_ns == INT64_MAX ? RKT_NA : selection->until_ns);
    rkt_json_end(json);
}

static void put_summary(struct rkt_json *json, const struct rkt_summary *summary)
{
    rkt_json_begin_object(json, "summary");
    rkt_json_bool(json, "is_host_view", summary->is_host_view);
    rkt_json_known(json, "step_ns", summary->step_ns);
    rkt_json_double(json, "comm_share", summary->comm_share);
    rkt_json_double(json, "exposed_share", summary->exposed_share);
    rkt_json_double(json, "overlap", summary->overlap);
    rkt_json_double(json, "backward_overlap", summary->backward_overlap);
    rkt_json_double(json, "prefetch", summary->prefetch);
    rkt_json_double(json, "compute_share", summary->compute_share);
    rkt_json_double(json, "gpu_util", summary->gpu_util);
    rkt_json_known(json, "rank_windows_ns", summary->parts_rank_ns);
    if (summary->is_host_view)
        rkt_json_put_host_parts(json, "host_parts_ns", &summary->host);
    else
        rkt_json_put_parts(json, "parts_ns", &summary->parts);
    rkt_json_end(json);
}

static void put_straggler(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_straggler *straggler = &result->straggler;

    rkt_json_begin_object(json, "straggler");
    rkt_json_bool(json, "is_found", straggler->is_found);
    rkt_json_double(json, "loss_share", straggler->loss_share);
    if (straggler->is_found) {
        put_rank(json, "rank", result, straggler->rank);
        rkt_json_put_group(json, result);
        rkt_json_bool(json, "is_persistent", straggler->is_persistent);
        rkt_json_u64(json, "step_count", straggler->step_count);
        rkt_json_u64(json, "steps_in_all", straggler->steps_in_all);
        rkt_json_known(json, "gain_ns", straggler->gain_ns);
        rkt_json_known(json, "excess_ns", straggler->excess_ns);
        rkt_json_text(json, "cause", rkt_cause_name(straggler->cause));
        rkt_json_known(json, "cause_ns", straggler->cause_ns);
        rkt_json_text(json, "cause_detail",
                      straggler->cause_detail == NULL ? "" : straggler->cause_detail);
        rkt_json_put_compute_cause(json, &straggler->compute);
        rkt_json_put_gpu_cause(json, &straggler->gpu);
    }
    rkt_json_end(json);
}

static void put_last_arriver(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_last_arriver *last = &result->last_arriver;

    rkt_json_begin_object(json, "last_arriver");
    put_rank(json, "rank", result, last->last_count > 0 ? last->rank : RKT_INDEX_NONE);
    rkt_json_u64(json, "last_count", last->last_count);
    rkt_json_u64(json, "collective_count", last->collective_count);
    rkt_json_known(json, "last_by_ns", last->last_by_ns);
    rkt_json_known(json, "clock_gap_ns", last->clock_gap_ns);
    rkt_json_u64(json, "blurred_count", last->blurred_count);
    rkt_json_end(json);
}

static void put_breach(struct rkt_json *json, const char *key, const struct rkt_result *result,
                       const struct rkt_clock_breach *breach)
{
    rkt_json_begin_object(json, key);
    rkt_json_u64(json, "count", breach->count);
    put_rank(json, "rank", result, breach->rank);
    rkt_json_u64(json, "rank_count", breach->rank_count);
    rkt_json_end(json);
}

static void put_clock_check(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_clock_check *check = &result->clock_check;
    bool is_named = check->likely.rank != RKT_INDEX_NONE;

    rkt_json_begin_object(json, "check");
    rkt_json_u64(json, "checked_count", check->checked_count);
    put_breach(json, "proven", result, &check->proven);
    rkt_json_u64(json, "judged_count", check->judged_count);
    put_breach(json, "likely", result, &check->likely);
    rkt_json_known(json, "ahead_low_ns", is_named ? check->off_low_ns : RKT_NA);
    rkt_json_known(json, "ahead_high_ns", is_named ? check->off_high_ns : RKT_NA);
    rkt_json_known(json, "floor_ns", check->floor_ns);
    rkt_json_end(json);
}

static void put_narrowing(struct rkt_json *json, const struct rkt_narrowing *narrowing)
{
    bool is_done = narrowing->rank_count > 0;

    rkt_json_begin_object(json, "narrowing");
    rkt_json_u64(json, "rank_count", narrowing->rank_count);
    rkt_json_known(json, "before_ns", is_done ? narrowing->before_ns : RKT_NA);
    rkt_json_known(json, "after_ns", is_done ? narrowing->after_ns : RKT_NA);
    rkt_json_bool(json, "is_contradicted", narrowing->is_contradicted);
    rkt_json_end(json);
}

static void put_clock(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_clock_summary *clock = &result->clock;
    size_t counts[RKT_ALIGN_STATE_COUNT] = {0};

    for (size_t r = 0; r < result->rank_count; r++)
        counts[result->ranks[r].align_state]++;
    rkt_json_begin_object(json, "clock");
    rkt_json_begin_object(json, "states");
    for (int state = 0; state < RKT_ALIGN_STATE_COUNT; state++) {
        if (counts[state] > 0)
            rkt_json_u64(json, rkt_align_state_name((enum rkt_align_state)state), counts[state]);
    }
    rkt_json_end(json);
    rkt_json_known(json, "gap_ns", clock->gap_ns);
    rkt_json_u64(json, "clocked_count", clock->clocked_count);
    rkt_json_known(json, "wait_gap_ns", clock->wait_gap_ns);
    put_narrowing(json, &result->narrowing);
    put_clock_check(json, result);
    rkt_json_end(json);
}

static void put_notes(struct rkt_json *json, const struct rkt_result *result)
{
    rkt_json_begin_array(json, "notes");
    for (size_t i = 0; i < result->note_count; i++) {
        rkt_json_begin_object(json, NULL);
        rkt_json_text(json, "level", rkt_note_level_name(result->notes[i].level));
        rkt_json_text(json, "text", result->notes[i].text);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

enum rkt_status rkt_report_write_json(const struct rkt_result *result,
                                      const struct rkt_report_view *view, FILE *out,
                                      struct rkt_error *err)
{
    enum rkt_status status;
    struct rkt_json json;

    (void)view;
    rkt_json_init(&json, out, BREAK_DEPTH);
    rkt_json_begin_object(&json, NULL);
    rkt_json_text(&json, "schema", "ranktrace-report");
    rkt_json_u64(&json, "schema_version", RKT_REPORT_SCHEMA_VERSION);
    put_run(&json, result);
    put_selection(&json, result);
    put_summary(&json, &result->summary);
    put_straggler(&json, result);
    put_last_arriver(&json, result);
    put_clock(&json, result);
    rkt_json_put_buckets(&json, result);
    rkt_json_put_efficiency(&json, result->efficiency);
    rkt_json_put_whatif(&json, result);
    put_notes(&json, result);
    rkt_json_put_findings(&json, result);
    rkt_json_put_tables(&json, result);
    rkt_json_begin_array(&json, "ranks");
    for (size_t i = 0; i < result->rank_count; i++)
        put_rank_result(&json, &result->ranks[i]);
    rkt_json_end(&json);
    rkt_json_u64(&json, "unmatched_count", result->unmatched_count);
    status = rkt_json_put_links(&json, result, err);
    if (status != RKT_OK)
        return status;
    rkt_json_begin_array(&json, "collectives");
    for (size_t i = 0; i < result->collective_count; i++)
        put_collective(&json, result, &result->collectives[i]);
    rkt_json_end(&json);
    rkt_json_end(&json);
    return rkt_json_finish(&json, err);
}
