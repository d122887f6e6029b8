/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "common/clock_curve.h"
#include "common/json_writer.h"
#include "launch/info_parts.h"

static void put_run(struct rkt_json *json, const struct rkt_run_info *run)
{
    char id[17];

    rkt_json_begin_object(json, "run");
    rkt_json_text(json, "producer", rkt_producer_name((enum rkt_producer)run->producer));
    rkt_json_text(json, "version", run->version);
    rkt_json_text(json, "command", run->command);
    rkt_json_text(json, "host", run->host);
    rkt_json_u64(json, "ranks_expected", run->rank_count);
    rkt_json_u64(json, "start_realtime_ns", run->start_realtime_ns);
    (void)snprintf(id, sizeof(id), "%016" PRIx64, run->run_id);
    rkt_json_text(json, "id", id);
    rkt_json_bool(json, "is_part", run->is_part);
    rkt_json_end(json);
}

static void put_health(struct rkt_json *json, const struct rkt_store_health *health)
{
    rkt_json_begin_object(json, "health");
    rkt_json_bool(json, "is_complete", health->has_trailer);
    rkt_json_u64(json, "file_bytes", health->file_bytes);
    rkt_json_u64(json, "frames", health->frame_count);
    rkt_json_u64(json, "damaged_frames", health->damaged_frames);
    rkt_json_u64(json, "missing_frames", health->seq_gap_count);
    rkt_json_u64(json, "unknown_frames", health->unknown_frames);
    rkt_json_u64(json, "skipped_bytes", health->skipped_bytes);
    rkt_json_u64(json, "shards", health->shard_count);
    rkt_json_u64(json, "unread_shards", health->unread_shard_count);
    rkt_json_u64(json, "spools", health->spool_count);
    rkt_json_u64(json, "spool_bytes", health->spool_bytes);
    rkt_json_end(json);
}

static void put_shards(struct rkt_json *json, const struct rkt_store_reader *reader)
{
    rkt_json_begin_array(json, "shards");
    for (size_t i = 0; i < rkt_store_reader_shard_count(reader); i++) {
        const struct rkt_store_shard *shard = rkt_store_reader_shard(reader, i);

        rkt_json_begin_object(json, NULL);
        rkt_json_text(json, "file", shard->info.file);
        rkt_json_text(json, "host", shard->info.host);
        rkt_json_u64(json, "rank", shard->info.rank);
        rkt_json_bool(json, "is_read", shard->is_read);
        rkt_json_bool(json, "is_complete", shard->has_trailer);
        rkt_json_u64(json, "file_bytes", shard->file_bytes);
        rkt_json_text(json, "problem", shard->problem);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

/* The members of an object that is open. */
static void put_totals(struct rkt_json *json, const struct rkt_source_totals *totals)
{
    rkt_json_u64(json, "event_count", totals->event_count);
    rkt_json_begin_object(json, "events");
    for (int kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        if (totals->events[kind] > 0)
            rkt_json_u64(json,
                         kind == RKT_EVENT_NONE ? "unknown"
                                                : rkt_event_kind_name((enum rkt_event_kind)kind),
                         totals->events[kind]);
    }
    rkt_json_end(json);
    rkt_json_u64(json, "loss_count", totals->loss_count);
    rkt_json_begin_object(json, "losses");
    for (int reason = 0; reason < (int)RKT_LOSS_REASONS_MAX; reason++) {
        if (totals->losses[reason] > 0)
            rkt_json_u64(json, rkt_loss_reason_name((enum rkt_loss_reason)reason),
                         totals->losses[reason]);
    }
    rkt_json_end(json);
    rkt_json_u64(json, "windows", totals->window_count);
    rkt_json_u64(json, "frames", totals->frame_count);
    rkt_json_u64(json, "packed_bytes", totals->packed_bytes);
    rkt_json_u64(json, "raw_bytes", totals->raw_bytes);
    rkt_json_i64(json, "span_ns", totals->span_ns);
}

/* A member "realtime": what steers it, as the kernel said last. */
static void put_realtime(struct rkt_json *json, const struct rkt_source_totals *totals)
{
    const struct rkt_event_clock_state *state = &totals->clock_state;

    if (totals->events[RKT_EVENT_CLOCK_STATE] == 0) {
        rkt_json_null(json, "realtime");
        return;
    }
    rkt_json_begin_object(json, "realtime");
    rkt_json_bool(json, "is_steered", rkt_info_is_steered(totals));
    rkt_json_u64(json, "claimed_error_ns", totals->claimed_error_ns);
    rkt_json_i64(json, "offset_ns", state->offset_ns);
    rkt_json_u64(json, "max_error_ns", state->max_error_ns);
    rkt_json_u64(json, "est_error_ns", state->est_error_ns);
    rkt_json_i64(json, "frequency_ppb", state->frequency_ppb);
    rkt_json_u64(json, "status", state->status);
    rkt_json_end(json);
}

static void put_source(struct rkt_json *json, const struct rkt_store_source *source,
                       const struct rkt_source_totals *totals)
{
    const struct rkt_source_info *who = &source->info;
    int64_t bound_ns = totals->clock_bound_ns;
    char end[64];

    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "source", who->source);
    rkt_json_text(json, "role", rkt_source_role_name((enum rkt_source_role)who->role));
    if (who->rank_known && who->role != RKT_ROLE_SIDECAR)
        rkt_json_u64(json, "rank", who->rank);
    else
        rkt_json_null(json, "rank");
    rkt_json_u64(json, "node", who->node);
    rkt_json_u64(json, "pid", who->pid);
    rkt_json_u64(json, "restart", who->restart_count);
    rkt_json_text(json, "host", who->host);
    rkt_json_text(json, "file", who->file);
    rkt_json_text(json, "program", who->program);
    rkt_json_text(json, "clock", rkt_align_state_name((enum rkt_align_state)source->align.state));
    rkt_json_bool(json, "clock_is_stored", totals->is_align_stored);
    rkt_json_bool(json, "clock_is_narrowed", source->align.flags & RKT_CLOCK_NARROWED);
    if (bound_ns >= 0)
        rkt_json_i64(json, "clock_bound_ns", bound_ns);
    else
        rkt_json_null(json, "clock_bound_ns");
    rkt_json_text(json, "clock_claims", rkt_clock_claim_word(source->align.flags));
    rkt_json_text(json, "clocksource", who->clocksource);
    rkt_json_bool(json, "tsc_is_constant", who->tsc_flags & RKT_TSC_CONSTANT);
    rkt_json_bool(json, "tsc_is_nonstop", who->tsc_flags & RKT_TSC_NONSTOP);
    put_realtime(json, totals);
    rkt_json_text(json, "ended", rkt_info_end(source, end, sizeof(end)));
    rkt_json_bool(json, "is_cut_short", !source->has_end || source->end.cut_short);
    put_totals(json, totals);
    rkt_json_end(json);
}

enum rkt_status rkt_info_json(const char *path, const struct rkt_store_reader *reader,
                              const struct rkt_timeline_info *info, FILE *out,
                              struct rkt_error *err)
{
    struct rkt_json json;

    rkt_json_init(&json, out, 2);
    rkt_json_begin_object(&json, NULL);
    rkt_json_text(&json, "file", path);
    put_run(&json, rkt_store_reader_run(reader));
    put_health(&json, rkt_store_reader_health(reader));
    put_shards(&json, reader);
    rkt_json_begin_object(&json, "totals");
    put_totals(&json, &info->all);
    rkt_json_end(&json);
    rkt_json_begin_array(&json, "sources");
    for (size_t i = 0; i < info->source_count; i++)
        put_source(&json, rkt_store_reader_source(reader, i), &info->sources[i]);
    rkt_json_end(&json);
    rkt_json_end(&json);
    return rkt_json_finish(&json, err);
}
