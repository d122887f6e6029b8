/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/report/report.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"
#include "analysis/report/writers.h"
#include "analysis/selection.h"
#include "analysis/set_apart.h"
#include "analysis/steady.h"
#include "common/clock_curve.h"

#define LOSS_SHARE_MIN 0.0005 /* prints as 0.1% */
#define NOTES_MAX 8

/* A part of the steady steps that is not computation, and what it is. */
struct loss {
    int64_t ns;
    const char *what;
};

enum {
    LOSS_COUNT = 6 + RKT_IDLE_CAUSE_COUNT
};

static const char *const IDLE_WHAT[RKT_IDLE_CAUSE_COUNT] = {
    [RKT_IDLE_SYNC] = "waiting for the host to synchronise",
    [RKT_IDLE_ALLOC] = "memory allocation on the host",
    [RKT_IDLE_INPUT] = "waiting for input data",
    [RKT_IDLE_HOST] = "launch gaps (Python and dispatch on the host)",
    [RKT_IDLE_LAUNCH] = "kernel launches on their way",
    [RKT_IDLE_DEPENDENCY] = "waiting for another stream or an event",
    [RKT_IDLE_DEVICE] = "gaps below 2 us on the device",
    [RKT_IDLE_UNKNOWN] = "idle time without a launch record",
};

/* Of GPU ranks and of those in host view, which may be mixed. */
static size_t list_losses(const struct rkt_summary *summary, struct loss losses[LOSS_COUNT])
{
    const struct rkt_partition *parts = &summary->parts;
    const struct rkt_host_partition *host = &summary->host;
    size_t count = 0;

    losses[count++] = (struct loss){host->comm_ns, "communication that no compute hides"};
    losses[count++] = (struct loss){host->host_ns, "host code outside forward and backward"};
    losses[count++] = (struct loss){parts->comm_wait_ns, "waiting for the last rank to arrive"};
    losses[count++] = (struct loss){parts->comm_transfer_ns, "transfers that no compute hides"};
    losses[count++] = (struct loss){parts->comm_unsplit_ns, "communication (wait or transfer)"};
    losses[count++] = (struct loss){rkt_partition_copy_ns(parts), "copies that no compute hides"};
    for (int i = 0; i < RKT_IDLE_CAUSE_COUNT; i++)
        losses[count++] = (struct loss){
            parts->idle_ns[i] + (i == RKT_IDLE_INPUT ? host->input_ns : 0), IDLE_WHAT[i]};
    return count;
}

/* Steps are known, but no GPU work and nothing that is marked inside them. */
static bool is_inside_unknown(const struct rkt_summary *summary)
{
    return summary->host.window_ns == summary->parts_rank_ns &&
           summary->host.host_ns == summary->host.window_ns;
}

/* The largest loss; NULL when there is none, or none can be told. */
static const struct loss *largest_loss(const struct rkt_summary *summary, const struct loss *losses,
                                       size_t count)
{
    const struct loss *largest = NULL;

    if (is_inside_unknown(summary))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (losses[i].ns > (largest == NULL ? 0 : largest->ns))
            largest = &losses[i];
    }
    return largest;
}

static size_t count_hosts(const struct rkt_result *result)
{
    size_t hosts = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const char *host = result->ranks[r].trace->source.info.host;
        bool is_new = host[0] != '\0';

        for (size_t k = 0; k < r && is_new; k++)
            is_new = strcmp(host, result->ranks[k].trace->source.info.host) != 0;
        hosts += is_new;
    }
    return hosts;
}

/* Less than all that the ranks recorded. */
static bool selects_time(const struct rkt_result *result)
{
    return result->selection && (result->selection->has_steps || result->selection->has_time);
}

static void print_ranks_line(const struct rkt_result *result, FILE *out)
{
    size_t hosts = count_hosts(result);
    int64_t longest_ns = RKT_NA;
    char missing[64] = "";
    char where[64] = "hosts unknown";

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_window *run = &result->ranks[r].run;
        int64_t run_ns = run->end_ns - run->start_ns;

        if (result->ranks[r].trace->has_windows)
            run_ns = run->is_host_view ? run->host.window_ns : run->parts.window_ns;

        longest_ns = run_ns > longest_ns ? run_ns : longest_ns;
    }
    if (result->selection && result->rank_count < result->rank_count_in_all)
        (void)snprintf(missing, sizeof(missing), " of %zu", result->rank_count_in_all);
    else if (result->expected_rank_count > result->rank_count)
        (void)snprintf(missing, sizeof(missing), " of %u (the others are missing)",
                       result->expected_rank_count);
    if (hosts > 0)
        (void)snprintf(where, sizeof(where), "%zu host%s", hosts, hosts == 1 ? "" : "s");
    rkt_text_line(out, "%zu rank%s%s, %s, %s %s, %" PRIu64 " events%s", result->rank_count,
                  result->rank_count == 1 ? "" : "s", missing, where,
                  rkt_cell_duration(longest_ns).text,
                  selects_time(result) ? "selected" : "recorded", result->event_count,
                  selects_time(result) ? " in all" : "");
}

static void print_steps_line(const struct rkt_result *result, FILE *out)
{
    const struct rkt_rank_result *rank = rkt_first_compared(result);
    char left_out[64] = "";
    char of_all[40] = "";
    size_t warmups = 0, unrecorded = 0;

    if (rank->step_count == 0 || rank->step_source == RKT_STEPS_WINDOW) {
        rkt_text_line(out, "steps: none found; mark them with ranktrace_step or --step-range NAME");
        return;
    }
    for (size_t i = 0; i < rank->step_count; i++) {
        warmups += rank->steps[i].is_warmup;
        unrecorded += rank->steps[i].is_unrecorded;
    }
    if (selects_time(result))
        (void)snprintf(of_all, sizeof(of_all), " selected of %zu", rank->whole.step_count);
    else if (unrecorded > 0)
        (void)snprintf(of_all, sizeof(of_all), " recorded of %zu", rank->step_count);
    if (warmups > 0)
        (void)snprintf(left_out, sizeof(left_out), " (%zu at the start left out as warm-up)",
                       warmups);
    rkt_text_line(out, "steps: %zu%s, from %s%s%s; median step %s", rank->step_count - unrecorded,
                  of_all, rkt_step_source_name(rank->step_source),
                  rank->step_source == RKT_STEPS_COLLECTIVES ? " that repeat" : "", left_out,
                  rkt_cell_duration(result->summary.step_ns).text);
    if (rank->lacks_step_range)
        rkt_text_line(out, "steps: NOT from --step-range: no range's name begins so");
}

/* Where not all waits are told by the clock: by what else. */
static void describe_waits(const struct rkt_result *result, char *text, size_t text_bytes)
{
    size_t clocked = result->clock.clocked_count;

    if (clocked == result->collective_count)
        text[0] = '\0';
    else if (clocked == 0)
        (void)snprintf(text, text_bytes, "; waits from durations");
    else
        (void)snprintf(text, text_bytes, "; waits by it in %zu of %zu", clocked,
                       result->collective_count);
}

/* Of ranks that collectives align: whether these last long enough to tell. */
static const char *describe_drift(const struct rkt_result *result)
{
    for (size_t r = 1; r < result->rank_count; r++) {
        if (result->ranks[r].wait_check.has_drift)
            return "";
    }
    return "; drift not observable";
}

/* A guarantee that rests on the site's word says so. */
static void describe_claims(const struct rkt_result *result, char *text, size_t text_bytes)
{
    size_t used = 0, wrong = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        used += (result->ranks[r].align_flags & RKT_CLOCK_CLAIM_USED) != 0;
        wrong += (result->ranks[r].align_flags & RKT_CLOCK_CLAIM_WRONG) != 0;
    }
    text[0] = '\0';
    if (wrong > 0)
        (void)snprintf(text, text_bytes, "; WRONG --ptp-bound left out on %zu rank%s", wrong,
                       wrong == 1 ? "" : "s");
    else if (used > 0)
        (void)snprintf(text, text_bytes, "; by --ptp-bound on %zu rank%s", used,
                       used == 1 ? "" : "s");
}

#define UNALIGNED_NAMED 8u
#define ONLY_DURATIONS "between ranks only durations are compared"

/* By number where others are aligned: "1, 5", of many the first. */
static void print_unaligned(const struct rkt_result *result, size_t count, FILE *out)
{
    char names[16 * UNALIGNED_NAMED] = "";
    size_t named = 0, len_bytes = 0;

    for (size_t r = 0; r < result->rank_count && named < UNALIGNED_NAMED; r++) {
        if (result->ranks[r].align_state == RKT_ALIGN_UNALIGNED)
            len_bytes += (size_t)snprintf(names + len_bytes, sizeof(names) - len_bytes, "%s%u",
                                          named++ > 0 ? ", " : "", result->ranks[r].rank);
    }
    if (count == result->rank_count)
        rkt_text_line(out, "clock: %zu ranks are not aligned; " ONLY_DURATIONS, count);
    else if (count == 1)
        rkt_text_line(out, "clock: rank %s is not aligned; " ONLY_DURATIONS, names);
    else
        rkt_text_line(out, "clock: ranks %s%s are not aligned; " ONLY_DURATIONS, names,
                      count > UNALIGNED_NAMED ? ", ..." : "");
}

static void print_clock_line(const struct rkt_result *result, FILE *out)
{
    char waits[64], claims[64], narrowed[64] = "";
    size_t narrowed_count = 0;
    size_t counts[RKT_ALIGN_STATE_COUNT] = {0};
    int64_t worst_ns = 0, likely_ns = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        counts[rank->align_state]++;
        narrowed_count += (rank->align_flags & RKT_CLOCK_NARROWED) != 0;
        worst_ns = rank->bound_ns > worst_ns ? rank->bound_ns : worst_ns;
        likely_ns = rank->likely_ns > likely_ns ? rank->likely_ns : likely_ns;
    }
    describe_waits(result, waits, sizeof(waits));
    describe_claims(result, claims, sizeof(claims));
    if (narrowed_count > 0)
        (void)snprintf(narrowed, sizeof(narrowed), "; %zu rank%s narrowed by collectives",
                       narrowed_count, narrowed_count == 1 ? "" : "s");
    if (result->rank_count < 2)
        rkt_text_line(out, "clock: one rank, nothing to align");
    else if (counts[RKT_ALIGN_UNALIGNED] > 0)
        print_unaligned(result, counts[RKT_ALIGN_UNALIGNED], out);
    else if (counts[RKT_ALIGN_WALL_CLOCK] > 0)
        rkt_text_line(out, "clock: as the files' stamps claim; +- unknown%s", waits);
    else if (counts[RKT_ALIGN_MEASURED] > 0)
        rkt_text_line(out, "clock: aligned, guaranteed +- %s, likely +- %s%s%s%s",
                      rkt_cell_duration(worst_ns).text, rkt_cell_duration(likely_ns).text, claims,
                      narrowed, waits);
    else if (counts[RKT_ALIGN_COLLECTIVES] > 0)
        rkt_text_line(out, "clock: from collectives, guaranteed +- %s%s%s",
                      rkt_cell_duration(worst_ns).text, describe_drift(result), waits);
    else
        rkt_text_line(out, "clock: the same for all ranks");
}

/* Numbers of a part are easily taken for those of the run. */
static void print_part(const struct rkt_result *result, FILE *out)
{
    char text[RKT_SELECTION_TEXT_BYTES];

    if (result->selection)
        rkt_text_line(out, "A PART ONLY: %s; numbers are of this, not of the run",
                      rkt_selection_describe(result->selection, text));
}

static void print_head(const struct rkt_result *result, FILE *out)
{
    const char *command = result->run->command;

    rkt_text_line(out, "ranktrace report: %s",
                  command[0] != '\0' ? command : "(the command is not recorded)");
    print_part(result, out);
    print_ranks_line(result, out);
    if (result->rank_count > 0) {
        print_steps_line(result, out);
        print_clock_line(result, out);
    }
    if (!result->health->has_trailer)
        rkt_text_line(out, "INCOMPLETE: the timeline was not closed (the run broke off, or still "
                           "writes); numbers are of what was stored");
    if (result->health->unread_shard_count > 0)
        rkt_text_line(out,
                      "INCOMPLETE: %" PRIu32 " of the %" PRIu32 " files that the timeline names "
                      "are left out; numbers are of the others",
                      result->health->unread_shard_count, result->health->shard_count);
}

/* Said where one rank does so more often than all others together. */
static void print_last_arriver(const struct rkt_result *result, FILE *out)
{
    const struct rkt_last_arriver *last = &result->last_arriver;

    char gap[48] = "";

    if (last->clock_gap_ns > 0)
        (void)snprintf(gap, sizeof(gap), "; clocks +- %s",
                       rkt_cell_duration(last->clock_gap_ns).text);
    if (last->last_count * 2 > last->collective_count)
        rkt_text_line(out, "  Rank %u comes last to %u of %u collectives, by %s (median%s).",
                      result->ranks[last->rank].rank, last->last_count, last->collective_count,
                      rkt_cell_duration(last->last_by_ns).text, gap);
    else if (last->collective_count == 0 && last->blurred_count > 0)
        rkt_text_line(out,
                      "  Who comes last is not distinguishable: in none of %u collectives does a "
                      "rank lead by more than the clocks may be off.",
                      last->blurred_count);
}

/* Of all ranks together, as the losses are: the median rank's share would not add up with them. */
static int64_t compute_ns(const struct rkt_summary *summary)
{
    return summary->parts.compute_ns + summary->parts.overlapped_ns + summary->host.compute_ns +
           summary->host.overlapped_ns;
}

static void print_answer(const struct rkt_result *result, const struct loss *loss, FILE *out)
{
    const struct rkt_summary *summary = &result->summary;
    double share;

    (void)fputc('\n', out);
    rkt_text_line(out, "ANSWER");
    rkt_text_straggler(result, out);
    print_last_arriver(result, out);
    if (is_inside_unknown(summary))
        rkt_text_line(out, "  Where a step goes is not known: no GPU work was recorded, and no "
                           "forward, backward or input is marked.");
    if (loss == NULL)
        return;
    share = rkt_share(loss->ns, summary->parts_rank_ns);
    rkt_text_line(out, "  Of the ranks' time %s computes. The largest loss is %s: %s.",
                  rkt_cell_percent(rkt_share(compute_ns(summary), summary->parts_rank_ns)).text,
                  loss->what, share < LOSS_SHARE_MIN ? "under 0.1%" : rkt_cell_percent(share).text);
}

/* Why a headline number is n/a; "" where it is given. */
static const char *reason(double number, const char *why)
{
    return isfinite(number) ? "" : why;
}

static void print_headline(const struct rkt_result *result, FILE *out)
{
    const struct rkt_summary *summary = &result->summary;
    struct rkt_cell prefetch = rkt_cell_percent(summary->prefetch);

    (void)fputc('\n', out);
    rkt_text_line(out, "NUMBERS (median rank)");
    rkt_text_line(out, "  communication share %s, exposed share %s, overlap %s%s",
                  rkt_cell_percent(summary->comm_share).text,
                  rkt_cell_percent(summary->exposed_share).text,
                  rkt_cell_percent(summary->overlap).text,
                  reason(summary->overlap, " (no communication was recorded)"));
    rkt_text_line(out, "  AllReduce/backward overlap %s%s%s%s",
                  rkt_cell_percent(summary->backward_overlap).text,
                  reason(summary->backward_overlap, " (no gradient bucket was recognised)"),
                  isfinite(summary->prefetch) ? "; of copies to the GPU (a later input's) " : "",
                  isfinite(summary->prefetch) ? prefetch.text : "");
    rkt_text_line(out, "  GPU-Util as nvidia-smi would say %s%s; computing %s",
                  rkt_cell_percent(summary->gpu_util).text,
                  reason(summary->gpu_util, " (no GPU records: host view)"),
                  rkt_cell_percent(summary->compute_share).text);
}

/* What each rank lost, and whether it was cut short, is in the notes. */
static void print_damage(const struct rkt_result *result, FILE *out)
{
    const struct rkt_store_health *health = result->health;
    bool is_damaged =
        health->damaged_frames > 0 || health->seq_gap_count > 0 || health->skipped_bytes > 0;

    if (health->spool_count > 0)
        rkt_text_line(out,
                      "  spools: %" PRIu32 " files beside the timeline may hold more records: "
                      "'ranktrace recover' adds them",
                      health->spool_count);
    else if (result->loss_count == 0 && !is_damaged)
        rkt_text_line(out, "  no record is known to be lost");
    if (is_damaged)
        rkt_text_line(out,
                      "  timeline: %" PRIu64 " damaged and %" PRIu64 " missing frames, %" PRIu64
                      " bytes skipped",
                      health->damaged_frames, health->seq_gap_count, health->skipped_bytes);
}

/* "2 weakly", the first such piece without the comma; nothing for 0. */
static void add_count(char *buf, size_t buf_bytes, size_t count, const char *what)
{
    size_t used = strlen(buf);

    if (count > 0)
        (void)snprintf(buf + used, buf_bytes - used, "%s%zu %s", used > 0 ? ", " : "", count, what);
}

static void print_matching(const struct rkt_result *result, FILE *out)
{
    size_t counts[3] = {0};
    size_t partial = 0;
    char text[256] = "";

    if (result->rank_count < 2 || result->collective_count + result->unmatched_count == 0)
        return;
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        counts[collective->confidence < 3 ? collective->confidence : RKT_MATCH_WEAK]++;
        partial += collective->participant_count < collective->expected_count;
    }
    add_count(text, sizeof(text), counts[RKT_MATCH_EXACT], "by sequence number");
    add_count(text, sizeof(text), counts[RKT_MATCH_ORDERED], "by order");
    add_count(text, sizeof(text), counts[RKT_MATCH_WEAK], "weakly");
    add_count(text, sizeof(text), partial, "of these without all members");
    add_count(text, sizeof(text), result->unmatched_count, "kernels that matched nothing");
    rkt_text_line(out, "  collectives matched: %s", text);
    if (counts[RKT_MATCH_WEAK] > 0)
        rkt_text_line(out, "  weak: the communicator or the operation is not recorded; kernels of "
                           "one name were taken in order, which may be wrong");
}

/* What they contradict is in the notes. Clocks that come from collectives agree with them. */
static void print_clock_check(const struct rkt_result *result, FILE *out)
{
    const struct rkt_clock_check *check = &result->clock_check;

    for (size_t r = 0; r < result->rank_count; r++) {
        if (result->ranks[r].align_state == RKT_ALIGN_COLLECTIVES)
            return;
    }
    if (check->judged_count > 0 && check->likely.count == 0 && check->proven.count == 0)
        rkt_text_line(out,
                      "  clocks: none of %zu collectives contradicts them; an error below %s would "
                      "show in none",
                      check->judged_count, rkt_cell_duration(check->floor_ns).text);
}

static void print_limits(const struct rkt_result *result, FILE *out)
{
    size_t printed = 0;

    (void)fputc('\n', out);
    rkt_text_line(out, "LOSSES AND LIMITS");
    print_damage(result, out);
    print_matching(result, out);
    print_clock_check(result, out);
    for (size_t i = 0; i < result->note_count && printed < NOTES_MAX; i++, printed++)
        rkt_text_line(out, "  %s%s%s",
                      result->notes[i].level > 0 ? rkt_note_level_name(result->notes[i].level) : "",
                      result->notes[i].level > 0 ? ": " : "", result->notes[i].text);
    if (result->note_count > printed)
        rkt_text_line(out, "  and %zu more notes in the JSON report", result->note_count - printed);
}

static void print_what_to_record(const struct rkt_result *result, FILE *out)
{
    bool is_import = result->run->producer == RKT_PRODUCER_KINETO;

    if (rkt_result_has_windows(result)) {
        rkt_text_line(out,
                      "  Check when to record: --steps and --schedule count the steps that the "
                      "job makes; with --delay it must last longer; with --start-closed it "
                      "needs SIGUSR2.");
        return;
    }
    rkt_text_line(out, is_import ? "  Merge traces that hold GPU work: profile with "
                                   "ProfilerActivity.CUDA, around at least one step."
                                 : "  Run a command that trains with PyTorch or works on an NVIDIA "
                                   "GPU, or mark its steps and phases through ranktrace.h.");
}

static void print_next(const struct rkt_result *result, FILE *out)
{
    (void)fputc('\n', out);
    rkt_text_line(out, "WHAT TO DO NEXT");
    rkt_text_findings(result, out);
    if (is_inside_unknown(&result->summary))
        print_what_to_record(result, out);
    rkt_text_line(out, "  See it: ranktrace export, then open the file in ui.perfetto.dev.");
}

/* Kineto writes GPU work behind all else: a file that is cut lacks that first. */
static const char *what_is_missing(const struct rkt_result *result)
{
    const struct rkt_rank_result *rank;

    if (result->rank_count == 0)
        return "no rank recorded anything";
    if (rkt_result_has_windows(result))
        return "nothing was recorded in the capture windows";
    rank = rkt_first_compared(result);
    if (rank->step_count == 0 || rank->step_source == RKT_STEPS_WINDOW)
        return "no GPU work and no training step was recorded";
    return rank->is_cut_short ? "the steps hold no GPU work, and the record is cut short: it may "
                                "have stood behind"
                              : "the steps hold no GPU work";
}

/* A page of n/a would hide what it comes to. */
static void print_nothing(const struct rkt_result *result, FILE *out)
{
    (void)fputc('\n', out);
    rkt_text_line(out, "ANSWER");
    rkt_text_line(out, "  Nothing to measure: %s.", what_is_missing(result));
    print_limits(result, out);
    (void)fputc('\n', out);
    rkt_text_line(out, "WHAT TO DO NEXT");
    print_what_to_record(result, out);
}

static enum rkt_status print_page(const struct rkt_result *result, FILE *out, struct rkt_error *err)
{
    struct loss losses[LOSS_COUNT];
    size_t loss_count = list_losses(&result->summary, losses);
    const struct loss *loss = largest_loss(&result->summary, losses, loss_count);
    enum rkt_status status;

    print_answer(result, loss, out);
    (void)fputc('\n', out);
    status = rkt_text_partition(result, out, err);
    if (status != RKT_OK)
        return status;
    print_headline(result, out);
    (void)fputc('\n', out);
    rkt_text_scaling(result, out);
    rkt_text_causes(result, out);
    status = rkt_text_gpu(result, out, err);
    if (status == RKT_OK)
        status = rkt_text_collectives(result, out, err);
    if (status != RKT_OK)
        return status;
    print_limits(result, out);
    print_next(result, out);
    return RKT_OK;
}

enum rkt_status rkt_report_write_text(const struct rkt_result *result,
                                      const struct rkt_report_view *view, FILE *out,
                                      struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    print_head(result, out);
    if (result->summary.parts_rank_ns > 0)
        status = print_page(result, out, err);
    else
        print_nothing(result, out);
    if (status == RKT_OK && view)
        status = rkt_text_tables(result, view, out, err);
    if (status == RKT_OK && view && (view->tables & RKT_REPORT_BUCKETS))
        rkt_text_buckets(result, view->top > 0 ? view->top : RKT_REPORT_TOP, out);
    if (status != RKT_OK)
        return status;
    if (fflush(out) != 0 || ferror(out))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write the report");
    return RKT_OK;
}
