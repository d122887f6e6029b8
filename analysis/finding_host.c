/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time that the host makes: launch gaps, calls that wait, allocations, input. */
#include <stdio.h>
#include <string.h>

#include "analysis/finding_parts.h"
#include "common/units.h"

#define SHORT_SHARE 0.3      /* of the kernels: fusing them is what helps */
#define LONG_GAP_NS 1e6      /* on average: some Python, not the pace of launches */
#define SHAPE_CHANGES_MIN 10 /* in a hundred steps, of kernels that hold a tenth of all time */
#define CHANGING_SHARE 0.1   /* of the kernels' or operators' time */
#define NAME_BYTES 200
#define ALLOCS_MIN 1.0    /* a step */
#define GAP_SHARE_MIN 0.3 /* of what is held */

/* ---- launch gaps ---- */

/* Where shapes change in a tenth of the steps: of kernels or of operators. */
struct changing {
    double share;               /* of the time of all */
    const struct rkt_row *most; /* the one that takes longest; NULL none */
};

static bool changes(const int64_t *columns)
{
    return columns[2] != RKT_NA && columns[2] > 1 &&
           columns[2] * 100 >= SHAPE_CHANGES_MIN * columns[0];
}

/* `first_column`: steps, shapes, changes; `time`: the column that rows are weighed by. */
static struct changing changing_rows(const struct rkt_finder *finder, enum rkt_table_id id,
                                     const char *kind, int first_column, int time)
{
    const struct rkt_tables *tables = finder->result->tables;
    struct changing changing = {0};
    double changing_ns = 0;
    double all_ns = 0;

    for (size_t i = 0; tables && i < tables->of[id].row_count; i++) {
        const struct rkt_row *row = &tables->of[id].rows[i];

        if (strcmp(row->kind, kind) != 0)
            continue;
        all_ns += (double)row->values[time];
        if (!changes(&row->values[first_column]))
            continue;
        changing_ns += (double)row->values[time];
        if (!changing.most || row->values[time] > changing.most->values[time])
            changing.most = row;
    }
    changing.share = all_ns > 0 ? changing_ns / all_ns : 0;
    return changing;
}

/* Not those of collectives: NCCL's grids follow its channels. */
static struct changing changing_kernels(const struct rkt_finder *finder)
{
    return changing_rows(finder, RKT_TABLE_KERNELS, "compute", RKT_KERNEL_STEPS, RKT_COLUMN_TOTAL);
}

/* Weighed by host time, which an operator has also where it launches nothing itself. */
static struct changing changing_operators(const struct rkt_finder *finder)
{
    return changing_rows(finder, RKT_TABLE_OPERATORS, "operator", RKT_OPERATOR_STEPS,
                         RKT_OPERATOR_SELF_HOST);
}

static const char *advice_for_gaps(const struct rkt_finder *finder, double short_share,
                                   double mean_gap_ns)
{
    if (changing_kernels(finder).share > CHANGING_SHARE ||
        changing_operators(finder).share > CHANGING_SHARE)
        return "pad inputs to fixed shapes, so that torch.compile and CUDA graphs launch many at "
               "once";
    if (mean_gap_ns >= LONG_GAP_NS)
        return "look for Python between launches: logging, checkpoints, metrics, data handling";
    if (short_share >= SHORT_SHARE)
        return "fuse small kernels: torch.compile, fused optimizers, CUDA graphs";
    return "CUDA graphs or torch.compile; larger batches; fewer operators";
}

static enum rkt_status find_gaps(struct rkt_finder *finder)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, rkt_part_launch_gaps, NULL,
                           RKT_CAUSE_BIT(RKT_CAUSE_HOST) | RKT_CAUSE_BIT(RKT_CAUSE_LAUNCH));
    double kernels = rkt_per_step(finder, RKT_TABLE_KERNELS, NULL, RKT_COLUMN_COUNT);
    double shorts = rkt_per_step(finder, RKT_TABLE_KERNELS, NULL, RKT_KERNEL_SHORT_COUNT);
    double launches = rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_LAUNCH_COUNT);
    double launch_ns = rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_EMPTY_LAUNCH);
    double empty = rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_FOUND_EMPTY);
    double gaps = rkt_idle_per_step(finder, RKT_IDLE_HOST, RKT_COLUMN_COUNT);
    double gap_ns = rkt_idle_per_step(finder, RKT_IDLE_HOST, RKT_COLUMN_TOTAL);
    double short_share = kernels > 0 ? shorts / kernels : 0;
    struct rkt_finding *finding;
    enum rkt_severity severity;
    char text[256] = "";

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    if (gaps > 0)
        (void)snprintf(text, sizeof(text),
                       ": %.0f gaps a step, %.1f us each; %.0f%% of %.0f kernels last up to 3 us; "
                       "%.0f%% of the launches find the stream empty, and take %.1f us",
                       gaps, gap_ns / gaps / 1e3, 100 * short_share, kernels,
                       launches > 0 ? 100 * empty / launches : 0,
                       empty > 0 ? launch_ns / empty / 1e3 : 0);
    finding = rkt_add_finding(finder, "launch_gaps", severity, &loss,
                              advice_for_gaps(finder, short_share, gaps > 0 ? gap_ns / gaps : 0),
                              "The GPU waits for the host to launch%s", text);
    if (!finding)
        return RKT_ERR_NOMEM;
    rkt_add_places(finder, finding, RKT_IDLE_HOST);
    return RKT_OK;
}

/* Of ranks without GPU records. */
static int64_t host_code_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->host.host_ns;
}

/* Where nothing is marked inside steps, everything is host code: which says nothing. */
static enum rkt_status find_host_code(struct rkt_finder *finder)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, host_code_of, NULL, RKT_CAUSE_BIT(RKT_CAUSE_HOST));
    enum rkt_severity severity;

    if (!rkt_severity_of(&loss, &severity) ||
        finder->sum.host.host_ns == finder->sum.host.window_ns)
        return RKT_OK;
    return rkt_add_finding(finder, "host_code", severity, &loss,
                           "look for Python outside the marked phases: logging, checkpoints, "
                           "metrics, data handling",
                           "Host code runs outside forward, backward, optimizer and input")
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

/* "; aten::linear has 12 of them in 20 steps" of what changes most */
static void tell_most(const struct changing *changing, int first_column, char *text, size_t bytes)
{
    text[0] = '\0';
    if (changing->most)
        (void)snprintf(text, bytes, ": %s has %lld in %lld steps", changing->most->name,
                       (long long)changing->most->values[first_column + 1],
                       (long long)changing->most->values[first_column]);
}

/* Not lost by itself: why graphs and compiled code do not help. */
static enum rkt_status find_changing_shapes(struct rkt_finder *finder)
{
    static const char ADVICE[] =
        "pad inputs to a few fixed shapes: allocations, kernel choices and "
        "graphs can then be used again";
    struct changing kernels = changing_kernels(finder);
    struct changing operators = changing_operators(finder);
    const struct rkt_finding *finding = NULL;
    char text[NAME_BYTES];

    if (operators.share >= CHANGING_SHARE) { /* they are what the kernels' shapes follow */
        tell_most(&operators, RKT_OPERATOR_STEPS, text, sizeof(text));
        finding = rkt_add_finding(finder, "changing_shapes", RKT_SEVERITY_INFO, NULL, ADVICE,
                                  "Operators that hold %.0f%% of the operators' time, and kernels "
                                  "that hold %.0f%% of the kernels', have inputs of other shapes "
                                  "from step to step%s",
                                  100 * operators.share, 100 * kernels.share, text);
    } else if (kernels.share >= CHANGING_SHARE) {
        tell_most(&kernels, RKT_KERNEL_STEPS, text, sizeof(text));
        finding = rkt_add_finding(finder, "changing_shapes", RKT_SEVERITY_INFO, NULL, ADVICE,
                                  "Kernels that hold %.0f%% of the kernels' time are launched with "
                                  "other shapes from step to step%s",
                                  100 * kernels.share, text);
    } else {
        return RKT_OK;
    }
    return finding ? RKT_OK : RKT_ERR_NOMEM;
}

/* ---- calls that wait ---- */

/* Of calls of a kind the one that costs the device most, NULL none. */
static const struct rkt_row *costliest_call(const struct rkt_finder *finder, const char *kind)
{
    const struct rkt_tables *tables = finder->result->tables;
    const struct rkt_row *most = NULL;
    int64_t most_ns = -1;

    for (size_t i = 0; tables && i < tables->of[RKT_TABLE_CALLS].row_count; i++) {
        const struct rkt_row *row = &tables->of[RKT_TABLE_CALLS].rows[i];
        int64_t cost_ns = row->values[RKT_CALL_IDLE] + row->values[RKT_CALL_TAIL];

        if (strcmp(row->kind, kind) != 0 || cost_ns <= most_ns)
            continue;
        most = row;
        most_ns = cost_ns;
    }
    return most;
}

/* The line that waits longest on any rank; "" none is known. */
static const char *waiting_line(const struct rkt_finder *finder)
{
    const struct rkt_sync_line *most = NULL;

    for (size_t r = 0; r < finder->result->rank_count; r++) {
        const struct rkt_rank_result *rank = &finder->result->ranks[r];

        if (!rank->is_set_apart && rank->sync_line_count > 0 &&
            (!most || rank->sync_lines[0].wait_ns > most->wait_ns))
            most = &rank->sync_lines[0];
    }
    return most ? most->site : "";
}

static enum rkt_status find_syncs(struct rkt_finder *finder)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, rkt_part_syncs, NULL, RKT_CAUSE_BIT(RKT_CAUSE_SYNC));
    const struct rkt_row *call = costliest_call(finder, "blocking");
    double calls = rkt_per_step(finder, RKT_TABLE_CALLS, "blocking", RKT_COLUMN_COUNT);
    double tail_ns = rkt_per_step(finder, RKT_TABLE_CALLS, "blocking", RKT_CALL_TAIL);
    double idle_ns = rkt_per_step(finder, RKT_TABLE_CALLS, "blocking", RKT_CALL_IDLE);
    const char *line = waiting_line(finder);
    struct rkt_finding *finding;
    enum rkt_severity severity;

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    finding = rkt_add_finding(
        finder, "hidden_sync", severity, &loss,
        "no .item(), .cpu(), print(tensor) or synchronize() inside the step: keep results on the "
        "GPU, and read them every N steps",
        "Calls that wait for the GPU let it run dry: %.1f a step, most %s%s%s; idle %.1f us while "
        "they last, %.1f us after them",
        calls, call ? call->name : "of unknown names", line[0] != '\0' ? " in " : "", line,
        idle_ns / 1e3, tail_ns / 1e3);
    if (!finding)
        return RKT_ERR_NOMEM;
    rkt_add_places(finder, finding, RKT_IDLE_SYNC);
    return RKT_OK;
}

/* ---- allocations ---- */

static int64_t allocs_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.idle_ns[RKT_IDLE_ALLOC];
}

static enum rkt_status find_allocs(struct rkt_finder *finder)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, allocs_of, NULL, RKT_CAUSE_BIT(RKT_CAUSE_ALLOC));
    double calls = rkt_per_step(finder, RKT_TABLE_CALLS, "alloc", RKT_COLUMN_COUNT);
    double host_ns = rkt_per_step(finder, RKT_TABLE_CALLS, "alloc", RKT_COLUMN_TOTAL);
    enum rkt_severity severity = RKT_SEVERITY_INFO;
    struct rkt_finding *finding;

    if (!rkt_severity_of(&loss, &severity) && calls < ALLOCS_MIN)
        return RKT_OK;
    finding = rkt_add_finding(
        finder, "device_alloc", severity, &loss,
        "keep tensor shapes fixed, so that the allocator can use its blocks again; no "
        "empty_cache() inside the step; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "Memory is taken from or given back to CUDA inside steps: %.1f calls a step, %.1f us of "
        "host time",
        calls, host_ns / 1e3);
    if (!finding)
        return RKT_ERR_NOMEM;
    rkt_add_places(finder, finding, RKT_IDLE_ALLOC);
    return RKT_OK;
}

/* The rank whose allocator holds most that nobody uses; NULL none. */
static const struct rkt_rank_result *widest_gap(const struct rkt_result *result)
{
    const struct rkt_rank_result *most = NULL;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        if (rank->allocator && (!most || rank->allocator->gap_bytes > most->allocator->gap_bytes))
            most = rank;
    }
    return most;
}

/* Costs no time by itself: why memory runs out, and is taken from CUDA inside steps. */
static enum rkt_status find_allocator_gap(struct rkt_finder *finder)
{
    const struct rkt_rank_result *rank = widest_gap(finder->result);
    char gap[32];
    char reserved[32];

    if (!rank || (double)rank->allocator->gap_bytes <
                     GAP_SHARE_MIN * (double)rank->allocator->reserved_bytes)
        return RKT_OK;
    rkt_format_bytes(rank->allocator->gap_bytes, gap, sizeof(gap));
    rkt_format_bytes(rank->allocator->reserved_bytes, reserved, sizeof(reserved));
    return rkt_add_finding(finder, "allocator_gap", RKT_SEVERITY_INFO, NULL,
                           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; shapes that stay the "
                           "same; a larger batch may fit",
                           "PyTorch's allocator holds up to %s that no tensor uses, of up to %s "
                           "(rank %u)",
                           gap, reserved, rank->rank)
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

/* ---- input ---- */

static int64_t input_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.idle_ns[RKT_IDLE_INPUT] + window->host.input_ns;
}

static enum rkt_status find_input(struct rkt_finder *finder)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, input_of, NULL, RKT_CAUSE_BIT(RKT_CAUSE_INPUT));
    struct rkt_finding *finding;
    enum rkt_severity severity;

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    finding = rkt_add_finding(finder, "input", severity, &loss,
                              "more DataLoader workers, prefetching, or cheaper transforms",
                              "The GPU waits for input data%s",
                              finder->sum.is_host_view ? " (host view: the step does)" : "");
    if (!finding)
        return RKT_ERR_NOMEM;
    rkt_add_places(finder, finding, RKT_IDLE_INPUT);
    return RKT_OK;
}

/* ---- idle time that nothing tells of ---- */

static int64_t unknown_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.idle_ns[RKT_IDLE_UNKNOWN];
}

static enum rkt_status find_unknown(struct rkt_finder *finder)
{
    struct rkt_loss loss = rkt_loss_of(finder, unknown_of, NULL);
    enum rkt_severity severity;

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    return rkt_add_finding(
               finder, "unknown_idle", severity, &loss,
               "record CUDA's calls too (imports: profile with ProfilerActivity.CPU), to "
               "see the cause",
               "The GPU is idle before work whose launch is not recorded")
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

enum rkt_status rkt_find_host_causes(struct rkt_finder *finder)
{
    enum rkt_status status = find_gaps(finder);

    if (status == RKT_OK)
        status = find_host_code(finder);
    if (status == RKT_OK)
        status = find_changing_shapes(finder);
    if (status == RKT_OK)
        status = find_syncs(finder);
    if (status == RKT_OK)
        status = find_allocs(finder);
    if (status == RKT_OK)
        status = find_allocator_gap(finder);
    if (status == RKT_OK)
        status = find_input(finder);
    return status == RKT_OK ? find_unknown(finder) : status;
}
