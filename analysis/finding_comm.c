/* SPDX-License-Identifier: Apache-2.0 */
/* Communication that nothing hides, ranks that wait for another, and links that are slow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cause_gpu.h"
#include "analysis/finding_parts.h"

#define EXPOSED_SHARE 0.05 /* of a step, transfers: too much */
#define COMM_SHARE 0.2     /* of a step, all communication: too much if little of it is hidden */
#define OVERLAP_ENOUGH 0.7

/* ---- transfers ---- */

/* Shares of the ranks' time, without waiting for the last rank to arrive, which is that rank's. */
struct comm_shares {
    double exposed;
    double all;
    double overlap;
};

static struct comm_shares shares_of(const struct rkt_finder *finder)
{
    const struct rkt_partition *parts = &finder->sum.parts;
    double hidden = (double)(parts->overlapped_ns + finder->sum.host.overlapped_ns);
    double exposed =
        (double)(parts->comm_transfer_ns + parts->comm_unsplit_ns + finder->sum.host.comm_ns);
    double window = (double)finder->sum.window_ns;

    if (window <= 0)
        return (struct comm_shares){0};
    return (struct comm_shares){exposed / window, (exposed + hidden) / window,
                                exposed + hidden > 0 ? hidden / (exposed + hidden) : 1};
}

static enum rkt_severity severity_of_transfers(const struct rkt_finder *finder,
                                               const struct comm_shares *shares,
                                               const struct rkt_loss *loss)
{
    /* in host view nothing tells them from transfers */
    bool has_the_stragglers_waits = finder->result->straggler.is_found && finder->sum.is_host_view;
    enum rkt_severity severity = RKT_SEVERITY_INFO;
    bool is_too_much = shares->exposed > EXPOSED_SHARE ||
                       (shares->all > COMM_SHARE && shares->overlap < OVERLAP_ENOUGH);

    if (!is_too_much || has_the_stragglers_waits)
        return RKT_SEVERITY_INFO;
    (void)rkt_severity_of(loss, &severity);
    return severity > RKT_SEVERITY_WARNING ? severity : RKT_SEVERITY_WARNING;
}

/* The kind of collective that transfers longest over the run: "AllReduce of 25 MB". */
static void busiest_collective(const struct rkt_finder *finder, char *text, size_t text_bytes)
{
    const struct rkt_result *result = finder->result;
    const struct rkt_collective *most = NULL;
    int64_t most_ns = 0;

    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (collective->transfer_ns <= most_ns || !rkt_is_steady_collective(finder, collective))
            continue;
        most = collective;
        most_ns = collective->transfer_ns;
    }
    text[0] = '\0';
    if (most)
        (void)snprintf(text, text_bytes, "; the longest is %s, %.3g ms", most->func_name,
                       (double)most_ns / 1e6);
    if (most && most->bytes > 0)
        (void)snprintf(text, text_bytes, "; the longest is %s of %.3g MB, %.3g ms", most->func_name,
                       (double)most->bytes / 1e6, (double)most_ns / 1e6);
}

static const char *advice_for_transfers(const struct comm_shares *shares, bool has_buckets)
{
    if (has_buckets && shares->overlap < OVERLAP_ENOUGH)
        return "start AllReduces earlier (bucket_cap_mb, static_graph=True), or less often: "
               "no_sync()";
    return "fewer bytes (bf16, compression hooks), less often (no_sync()), or a larger batch";
}

/* The longest transfers. */
static void add_collectives(const struct rkt_finder *finder, struct rkt_finding *finding)
{
    for (size_t i = 0; i < finder->result->collective_count; i++) {
        const struct rkt_collective *collective = &finder->result->collectives[i];
        const struct rkt_participant *part = &collective->participants[0];
        struct rkt_finding_place place;

        if (collective->transfer_ns == RKT_NA || !rkt_is_steady_collective(finder, collective))
            continue;
        place = (struct rkt_finding_place){
            .rank = part->rank,
            .start_ns = part->end_ns - collective->transfer_ns,
            .length_ns = collective->transfer_ns,
            .what = collective->func_name,
            .line = "",
        };
        place.offset_ns = place.start_ns - finder->result->ranks[part->rank].run.start_ns;
        rkt_add_place(finding, &place);
    }
}

static enum rkt_status find_transfers(struct rkt_finder *finder)
{
    struct rkt_loss loss = rkt_comm_loss_of(finder, rkt_part_transfers);
    struct comm_shares shares = shares_of(finder);
    enum rkt_severity severity = severity_of_transfers(finder, &shares, &loss);
    bool has_buckets = isfinite(finder->result->summary.backward_overlap);
    struct rkt_finding *finding;
    char busiest[128];

    if (severity == RKT_SEVERITY_INFO && shares.all <= COMM_SHARE &&
        !(loss.save_share >= RKT_SHARE_REPORTED))
        return RKT_OK;
    busiest_collective(finder, busiest, sizeof(busiest));
    finding = rkt_add_finding(finder, "communication", severity, &loss,
                              advice_for_transfers(&shares, has_buckets),
                              "Transfers take %.1f%% of all time, compute hides %.0f%% of them%s%s",
                              100 * shares.all, 100 * shares.overlap, busiest,
                              finder->sum.is_host_view || finder->sum.parts.comm_unsplit_ns >
                                                              finder->sum.parts.comm_transfer_ns
                                  ? "; waiting for other ranks is in it"
                                  : "");
    if (!finding)
        return RKT_ERR_NOMEM;
    add_collectives(finder, finding);
    return RKT_OK;
}

/* ---- waiting for other ranks ---- */

static int64_t excess_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    const struct rkt_straggler *straggler = ctx;

    (void)window; /* what it has above the others of the cause may be more than of all: they wait */
    if (rank != straggler->rank)
        return 0;
    return straggler->cause_ns > straggler->excess_ns ? straggler->cause_ns : straggler->excess_ns;
}

static const char *advice_for_compute(enum rkt_compute_kind kind)
{
    switch (kind) {
    case RKT_COMPUTE_SLOWER:
        return "compare its GPU's clock, power and temperature with the others'";
    case RKT_COMPUTE_MORE:
        return "look for what only this rank runs: evaluation, metrics, other layers, more "
               "micro-batches";
    case RKT_COMPUTE_SHAPES:
        return "give all ranks as much data: batch sizes, lengths of samples, padding";
    case RKT_COMPUTE_UNKNOWN:
        break;
    }
    return "compare its kernels and its GPU's clock, power and temperature with the others'";
}

static const char *advice_for_straggler(const struct rkt_result *result)
{
    const struct rkt_straggler *straggler = &result->straggler;

    if (straggler->gpu.is_found)
        return rkt_gpu_cause_advice(&straggler->gpu);
    switch (straggler->cause) {
    case RKT_CAUSE_COMPUTE:
        return advice_for_compute(straggler->compute.kind);
    case RKT_CAUSE_INPUT:
        return "look at its DataLoader: workers, storage, sizes of its samples";
    case RKT_CAUSE_HOST:
        return "look for what only this rank's Python does or waits for: logging, checkpoints, "
               "metrics, locks";
    case RKT_CAUSE_SYNC:
        return "look for calls that wait and that only this rank makes: .item(), prints";
    case RKT_CAUSE_ALLOC:
        return "keep its tensor shapes fixed; compare its memory with the others'";
    case RKT_CAUSE_COPY:
        return rkt_copy_advice(&result->ranks[straggler->rank]);
    case RKT_CAUSE_LAUNCH:
        return "compare its CPU's load and frequency with the others'";
    case RKT_CAUSE_NONE:
    case RKT_CAUSE_OTHER:
        break;
    }
    return "look at its timeline beside another rank's";
}

/* What the replay says of it; where there is none, what its own work comes to at most. */
static struct rkt_loss loss_of_straggler(const struct rkt_finder *finder)
{
    const struct rkt_straggler *straggler = &finder->result->straggler;
    const struct rkt_group_gain *group = &finder->result->whatif.group;
    struct rkt_loss loss = rkt_loss_of(finder, excess_of, straggler);
    int64_t gain_ns = group->is_found ? group->gain_ns : straggler->gain_ns;

    loss.loss_ns = straggler->excess_ns;
    if (gain_ns != RKT_NA && loss.save_ns > 0) {
        loss.save_share *= (double)gain_ns / (double)loss.save_ns;
        loss.save_ns = gain_ns;
    }
    return loss;
}

static enum rkt_status add_straggler(struct rkt_finder *finder)
{
    const struct rkt_straggler *straggler = &finder->result->straggler;
    const struct rkt_group_gain *group = &finder->result->whatif.group;
    struct rkt_loss loss = loss_of_straggler(finder);
    enum rkt_severity severity = RKT_SEVERITY_INFO;
    char others[96] = "";

    if (group->is_found)
        (void)snprintf(others, sizeof(others), " and %zu others of its %s", group->rank_count - 1,
                       group->kind == RKT_GROUP_HOST ? "host" : "communicator");
    (void)rkt_severity_of(&loss, &severity);
    return rkt_add_finding(
               finder, "straggler", severity, &loss, advice_for_straggler(finder->result),
               "Rank %u%s, in %u of %u steps; the cause is %s%s%s",
               finder->result->ranks[straggler->rank].rank, others, straggler->step_count,
               straggler->steps_in_all, rkt_cause_name(straggler->cause),
               straggler->cause_detail[0] != '\0' ? ": " : "", straggler->cause_detail)
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

static int64_t waits_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->is_host_view ? 0 : window->parts.comm_wait_ns;
}

/* As far as the clocks tell. */
static void describe_last(const struct rkt_last_arriver *last, char *text, size_t text_bytes)
{
    if (last->collective_count > 0)
        (void)snprintf(text, text_bytes, "the most frequent comes last to %u of %u collectives",
                       last->last_count, last->collective_count);
    else
        (void)snprintf(text, text_bytes, "who comes last is not distinguishable in any collective");
}

/* Ranks wait, but not for one rank in most steps. */
static enum rkt_status find_imbalance(struct rkt_finder *finder)
{
    struct rkt_loss loss = rkt_comm_loss_of(finder, waits_of);
    enum rkt_severity severity;
    char who[96];

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    describe_last(&finder->result->last_arriver, who, sizeof(who));
    return rkt_add_finding(
               finder, "imbalance", severity, &loss,
               "balance the ranks' work: lengths of samples, experts, stages; see who "
               "comes last, and when",
               "Ranks wait for the last of them to arrive, but no single rank holds the "
               "steps up beyond doubt; %s",
               who)
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

enum rkt_status rkt_find_communication(struct rkt_finder *finder)
{
    enum rkt_status status = find_transfers(finder);

    if (status == RKT_OK)
        status =
            finder->result->straggler.is_found ? add_straggler(finder) : find_imbalance(finder);
    return status == RKT_OK ? rkt_find_slow_link(finder) : status;
}
