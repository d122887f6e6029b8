/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "common/clock_curve.h"
#include "common/units.h"
#include "launch/info_parts.h"

#define CELL_BYTES 64

static void print_run(const struct rkt_run_info *run, FILE *out)
{
    char date[CELL_BYTES], command[sizeof(run->command)], host[sizeof(run->host)];

    (void)fprintf(out, "  command   %s\n",
                  run->command[0] ? rkt_format_name(run->command, command, sizeof(command))
                                  : "unknown");
    (void)fprintf(out, "  started   %s on %s; %s; written by ranktrace %s\n",
                  rkt_info_date(run->start_realtime_ns, date, sizeof(date)),
                  run->host[0] ? rkt_format_name(run->host, host, sizeof(host)) : "an unknown host",
                  rkt_producer_name((enum rkt_producer)run->producer),
                  run->version[0] ? run->version : "of unknown version");
}

static void print_health(const struct rkt_store_health *health, FILE *out)
{
    char bytes[CELL_BYTES];

    (void)fprintf(out, "  file      %s, %s; %" PRIu64 " frames",
                  rkt_format_bytes(health->file_bytes, bytes, sizeof(bytes)),
                  health->has_trailer ? "complete" : "not finished", health->frame_count);
    if (health->damaged_frames > 0)
        (void)fprintf(out, ", %" PRIu64 " damaged", health->damaged_frames);
    if (health->seq_gap_count > 0)
        (void)fprintf(out, ", %" PRIu64 " never arrived", health->seq_gap_count);
    if (health->unknown_frames > 0)
        (void)fprintf(out, ", %" PRIu64 " of kinds unknown to this version",
                      health->unknown_frames);
    if (health->skipped_bytes > 0)
        (void)fprintf(out, "; %s belong to no frame",
                      rkt_format_bytes(health->skipped_bytes, bytes, sizeof(bytes)));
    (void)fprintf(out, "\n");
}

static void print_shard(const struct rkt_store_shard *shard, FILE *out)
{
    char file[sizeof(shard->info.file)], host[sizeof(shard->info.host)];
    char problem[sizeof(shard->problem)];

    if (shard->is_read && shard->has_trailer)
        return;
    (void)fprintf(out, "            %s of %s %s%s\n",
                  rkt_format_name(shard->info.file, file, sizeof(file)),
                  shard->info.host[0] ? rkt_format_name(shard->info.host, host, sizeof(host))
                                      : "an unknown host",
                  shard->is_read ? "is not finished" : "is left out: ",
                  rkt_format_name(shard->problem, problem, sizeof(problem)));
}

/* How many, and each with which something is wrong. */
static void print_shards(const struct rkt_store_reader *reader, FILE *out)
{
    const struct rkt_store_health *health = rkt_store_reader_health(reader);
    size_t count = rkt_store_reader_shard_count(reader);
    uint64_t file_bytes = 0;
    char bytes[CELL_BYTES];

    if (rkt_store_reader_run(reader)->is_part)
        (void)fprintf(out, "  part      this is one of the run's files: the timeline.rkt that "
                           "names it has all\n");
    if (health->shard_count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        file_bytes += rkt_store_reader_shard(reader, i)->file_bytes;
    (void)fprintf(out, "  shards    %" PRIu32 " further files, %s of the bytes",
                  health->shard_count, rkt_format_bytes(file_bytes, bytes, sizeof(bytes)));
    if (health->unread_shard_count > 0)
        (void)fprintf(out, "; %" PRIu32 " left out", health->unread_shard_count);
    (void)fprintf(out, "\n");
    for (size_t i = 0; i < count; i++)
        print_shard(rkt_store_reader_shard(reader, i), out);
}

static void print_spools(const struct rkt_store_health *health, FILE *out)
{
    char bytes[CELL_BYTES];

    if (health->spool_count > 0)
        (void)fprintf(
            out,
            "  spools    %" PRIu32 " files beside it, %s: 'ranktrace recover' adds what is "
            "only there\n",
            health->spool_count, rkt_format_bytes(health->spool_bytes, bytes, sizeof(bytes)));
}

/* "name count" in a list that is broken into lines of about 100 columns; *used counts on. */
static void print_count(const char *name, uint64_t count, int *used, FILE *out)
{
    if (*used > 76)
        *used = fprintf(out, ",\n            ") - 14;
    else if (*used > 0)
        *used += fprintf(out, ", ");
    *used += fprintf(out, "%s %" PRIu64, name, count);
}

static void print_events(const struct rkt_source_totals *all, FILE *out)
{
    int used = 0;

    (void)fprintf(out, "  events    %" PRIu64 "%s", all->event_count,
                  all->event_count > 0 ? "\n            " : "");
    for (int kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        const char *name =
            kind == RKT_EVENT_NONE ? "unknown" : rkt_event_kind_name((enum rkt_event_kind)kind);

        if (all->events[kind] > 0)
            print_count(name, all->events[kind], &used, out);
    }
    (void)fprintf(out, "\n  lost      %s", all->loss_count > 0 ? "" : "none");
    used = 0;
    for (int reason = 0; reason < (int)RKT_LOSS_REASONS_MAX; reason++) {
        if (all->losses[reason] > 0 && rkt_loss_is_of_records((unsigned)reason))
            print_count(rkt_loss_reason_name((enum rkt_loss_reason)reason), all->losses[reason],
                        &used, out);
    }
    (void)fprintf(out, "\n");
    if (all->losses[RKT_LOSS_NAMES_FULL] > 0)
        (void)fprintf(out, "  unnamed   %" PRIu64 " records, as the names filled their memory\n",
                      all->losses[RKT_LOSS_NAMES_FULL]);
}

/* Of the sources that had any: they differ where a rank came late, or was lost. */
static void print_windows(const struct rkt_timeline_info *info, FILE *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    size_t source_count = 0;

    for (size_t i = 0; i < info->source_count; i++) {
        uint64_t count = info->sources[i].window_count;

        if (count == 0)
            continue;
        source_count++;
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    if (source_count == 0)
        return;
    (void)fprintf(out, "  windows   capture was opened %" PRIu64, least);
    if (most > least)
        (void)fprintf(out, " to %" PRIu64, most);
    (void)fprintf(out, " times, by %zu sources\n", source_count);
}

/* Each name once; false: there is none. */
static bool print_clocksources(const struct rkt_store_reader *reader, size_t source_count,
                               FILE *out)
{
    bool has_any = false;

    for (size_t i = 0; i < source_count; i++) {
        const char *name = rkt_store_reader_source(reader, i)->info.clocksource;
        size_t first = 0;

        while (first < i &&
               strcmp(rkt_store_reader_source(reader, first)->info.clocksource, name) != 0)
            first++;
        if (name[0] == '\0' || first < i)
            continue;
        (void)fprintf(out, "%s%s", has_any ? ", " : "  clocks    ", name);
        has_any = true;
    }
    return has_any;
}

/* On nodes that say what steers them: a claim is made by what the kernel says. */
static void print_claims(const struct rkt_store_reader *reader,
                         const struct rkt_timeline_info *info, FILE *out)
{
    size_t claim_count = 0, used_count = 0, wrong_count = 0;

    for (size_t i = 0; i < info->source_count; i++) {
        uint32_t flags = rkt_store_reader_source(reader, i)->align.flags;

        if (info->sources[i].events[RKT_EVENT_CLOCK_TRUE] == 0)
            continue;
        claim_count++;
        used_count += (flags & RKT_CLOCK_CLAIM_USED) != 0;
        wrong_count += (flags & RKT_CLOCK_CLAIM_WRONG) != 0;
    }
    if (claim_count > 0)
        (void)fprintf(out, "; --ptp-bound on %zu nodes: %zu aligned by it, %zu left out",
                      claim_count, used_count, wrong_count);
}

/* What the kernels' clocks run on; and what steers REALTIME, by which other logs are compared. */
static void print_clocks(const struct rkt_store_reader *reader,
                         const struct rkt_timeline_info *info, FILE *out)
{
    bool has_any = print_clocksources(reader, info->source_count, out);
    size_t told_count = 0, steered_count = 0;
    uint64_t worst_ns = 0;
    char claim[CELL_BYTES];

    for (size_t i = 0; i < info->source_count; i++) {
        const struct rkt_source_totals *one = &info->sources[i];

        told_count += one->events[RKT_EVENT_CLOCK_STATE] > 0;
        if (!rkt_info_is_steered(one))
            continue;
        steered_count++;
        worst_ns = one->claimed_error_ns > worst_ns ? one->claimed_error_ns : worst_ns;
    }
    if (told_count > 0)
        (void)fprintf(out, "%sREALTIME steered on %zu of %zu nodes",
                      has_any ? "; " : "  clocks    ", steered_count, told_count);
    if (steered_count > 0 && worst_ns <= INT64_MAX)
        (void)fprintf(out, ", by its own word +- %s",
                      rkt_format_duration((int64_t)worst_ns, claim, sizeof(claim)));
    print_claims(reader, info, out);
    if (has_any || told_count > 0)
        (void)fprintf(out, "\n");
}

/* A run that was cut has none, nor has a made-up one. */
static void print_made(const struct rkt_store_reader *reader, const struct rkt_timeline_info *info,
                       FILE *out)
{
    size_t made_count = 0;

    for (size_t i = 0; i < info->source_count; i++)
        made_count += !info->sources[i].is_align_stored &&
                      rkt_store_reader_source(reader, i)->align.state != RKT_ALIGN_UNALIGNED;
    if (made_count > 0)
        (void)fprintf(
            out,
            "  aligned   now, from clock records: the file has no alignment of %zu of %zu "
            "sources\n",
            made_count, info->source_count);
}

static void print_bytes(const struct rkt_source_totals *all, FILE *out)
{
    char span[CELL_BYTES];

    (void)fprintf(out, "  span      %s\n", rkt_format_duration(all->span_ns, span, sizeof(span)));
    if (all->event_count > 0 && all->packed_bytes > 0)
        (void)fprintf(out, "  bytes     %.2f per event; zstd made them %.1f times smaller\n",
                      (double)all->packed_bytes / (double)all->event_count,
                      (double)all->raw_bytes / (double)all->packed_bytes);
}

static void print_source(const struct rkt_store_source *source,
                         const struct rkt_source_totals *totals, FILE *out)
{
    const struct rkt_source_info *who = &source->info;
    char rank[CELL_BYTES] = "-", bytes[CELL_BYTES], span[CELL_BYTES], bound[CELL_BYTES];
    char clock[2 * CELL_BYTES], end[CELL_BYTES], name[sizeof(who->file)];
    int64_t bound_ns = totals->clock_bound_ns;
    enum rkt_align_state state = (enum rkt_align_state)source->align.state;

    if (who->rank_known && who->role != RKT_ROLE_SIDECAR)
        (void)snprintf(rank, sizeof(rank), "%" PRIu32, who->rank);
    if (bound_ns >= 0)
        (void)snprintf(clock, sizeof(clock), "%s%s +- %s", rkt_align_state_name(state),
                       source->align.flags & RKT_CLOCK_NARROWED ? ", narrowed" : "",
                       rkt_format_duration(bound_ns, bound, sizeof(bound)));
    else
        (void)snprintf(clock, sizeof(clock), "%s", rkt_align_state_name(state));
    (void)fprintf(out,
                  "  %6" PRIu32 " %5s %-8s %4" PRIu32 " %9" PRIu64 " %11" PRIu64
                  " %10s %10s  %-28s %-10s %s\n",
                  who->source, rank, rkt_source_role_name((enum rkt_source_role)who->role),
                  who->node, who->pid, totals->event_count,
                  rkt_format_bytes(totals->packed_bytes, bytes, sizeof(bytes)),
                  rkt_format_duration(totals->span_ns, span, sizeof(span)), clock,
                  rkt_info_end(source, end, sizeof(end)),
                  rkt_format_name(who->file[0] ? who->file : who->host, name, sizeof(name)));
}

enum rkt_status rkt_info_text(const char *path, const struct rkt_store_reader *reader,
                              const struct rkt_timeline_info *info, FILE *out,
                              struct rkt_error *err)
{
    (void)fprintf(out, "ranktrace info: %s\n", path);
    print_run(rkt_store_reader_run(reader), out);
    print_health(rkt_store_reader_health(reader), out);
    print_shards(reader, out);
    print_spools(rkt_store_reader_health(reader), out);
    print_events(&info->all, out);
    print_windows(info, out);
    print_bytes(&info->all, out);
    print_clocks(reader, info, out);
    print_made(reader, info, out);
    (void)fprintf(out, "\n  %6s %5s %-8s %4s %9s %11s %10s %10s  %-28s %-10s %s\n", "source",
                  "rank", "role", "node", "pid", "events", "bytes", "span", "clock", "ended",
                  "host or file");
    for (size_t i = 0; i < info->source_count; i++)
        print_source(rkt_store_reader_source(reader, i), &info->sources[i], out);
    if (fflush(out) != 0 || ferror(out))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write");
    return RKT_OK;
}
