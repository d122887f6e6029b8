/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"

#define RANKS_NAMED_MAX 8
#define NAME_BYTES 160

/* "Rank 1", "Ranks 2 and 3 (host node1)" */
static void name_ranks(const struct rkt_result *result, char *name, size_t name_bytes)
{
    const struct rkt_group_gain *group = &result->whatif.group;
    size_t used;

    if (!group->is_found) {
        (void)snprintf(name, name_bytes, "Rank %u", result->ranks[result->straggler.rank].rank);
        return;
    }
    (void)snprintf(name, name_bytes, "Ranks");
    for (size_t i = 0; i < group->rank_count && i < RANKS_NAMED_MAX; i++) {
        const char *before = i == 0 ? " " : i + 1 == group->rank_count ? " and " : ", ";

        used = strlen(name);
        (void)snprintf(name + used, name_bytes - used, "%s%u", before,
                       result->ranks[group->ranks[i]].rank);
    }
    used = strlen(name);
    if (group->rank_count > RANKS_NAMED_MAX)
        (void)snprintf(name + used, name_bytes - used, " and %zu others",
                       group->rank_count - RANKS_NAMED_MAX);
    used = strlen(name);
    if (group->kind == RKT_GROUP_HOST)
        (void)snprintf(name + used, name_bytes - used, " (host %.64s)", group->name);
    else if (group->name[0] != '\0')
        (void)snprintf(name + used, name_bytes - used, " (process group %.64s)", group->name);
    else
        (void)snprintf(name + used, name_bytes - used, " (a process group)");
}

static void print_gain(const struct rkt_result *result, FILE *out)
{
    const struct rkt_straggler *straggler = &result->straggler;
    bool is_one = !result->whatif.group.is_found;
    char name[NAME_BYTES];

    name_ranks(result, name, sizeof(name));
    rkt_text_line(out,
                  "  %s %s the others up, in %u of %u steps. %s like the others, a step would be "
                  "%s shorter (%s).",
                  name, is_one ? "holds" : "hold", straggler->step_count, straggler->steps_in_all,
                  is_one ? "Were it" : "Were they", rkt_cell_duration(straggler->gain_ns).text,
                  rkt_cell_percent(straggler->loss_share).text);
    rkt_text_line(out, "  %s %u has %s more work of its own per step than the median rank.",
                  is_one ? "Rank" : "Of them rank", result->ranks[straggler->rank].rank,
                  rkt_cell_duration(straggler->excess_ns).text);
}

static void print_excess(const struct rkt_result *result, FILE *out)
{
    const struct rkt_straggler *straggler = &result->straggler;

    rkt_text_line(out,
                  "  Rank %u holds the others up: %s more work of its own per step than the median "
                  "rank, in %u of %u steps. What a fix would gain: n/a; %s.",
                  result->ranks[straggler->rank].rank, rkt_cell_duration(straggler->excess_ns).text,
                  straggler->step_count, straggler->steps_in_all, result->whatif.why_not);
}

static void print_compute(const struct rkt_compute_cause *cause, FILE *out)
{
    switch (cause->kind) {
    case RKT_COMPUTE_SLOWER:
        rkt_text_line(out, "  The same kernels take %.2f times as long as on the others: %s.",
                      cause->slowdown, rkt_cell_duration(cause->slower_ns).text);
        return;
    case RKT_COMPUTE_MORE:
        rkt_text_line(out, "  It runs more kernels, %.0f in a step, the others %.0f: %s.",
                      cause->kernel_count, cause->others_kernel_count,
                      rkt_cell_duration(cause->more_ns).text);
        return;
    case RKT_COMPUTE_SHAPES:
        rkt_text_line(out,
                      "  Kernels of the same names are launched with other shapes, as for more "
                      "data: %s.",
                      rkt_cell_duration(cause->shapes_ns).text);
        return;
    case RKT_COMPUTE_UNKNOWN:
        return;
    }
}

static void print_found(const struct rkt_result *result, FILE *out)
{
    const struct rkt_straggler *straggler = &result->straggler;
    const char *detail = straggler->cause_detail == NULL ? "" : straggler->cause_detail;

    if (straggler->gain_ns == RKT_NA)
        print_excess(result, out);
    else
        print_gain(result, out);
    rkt_text_line(out, "  Cause: %s, %s of it%s%s.", rkt_cause_name(straggler->cause),
                  rkt_cell_duration(straggler->cause_ns).text, detail[0] != '\0' ? ": " : "",
                  detail);
    print_compute(&straggler->compute, out);
    rkt_text_gpu_cause(result, out);
}

/* Steps that one rank held up, though none does so as a rule. */
static void print_single_steps(const struct rkt_result *result, FILE *out)
{
    const struct rkt_whatif *whatif = &result->whatif;
    const struct rkt_step_whatif *worst = NULL;
    size_t count = 0;

    for (size_t i = 0; i < whatif->step_count; i++) {
        const struct rkt_step_whatif *step = &whatif->steps[i];

        count += step->is_named;
        if (step->is_named && (!worst || step->gain_ns > worst->gain_ns))
            worst = step;
    }
    if (worst)
        rkt_text_line(out,
                      "  %zu of %zu steps were held up by one rank; most step %llu, by rank "
                      "%u: %s.",
                      count, whatif->step_count, (unsigned long long)worst->number,
                      result->ranks[worst->rank].rank, rkt_cell_duration(worst->gain_ns).text);
}

void rkt_text_straggler(const struct rkt_result *result, FILE *out)
{
    const struct rkt_straggler *straggler = &result->straggler;

    if (result->rank_count < 2)
        return;
    if (straggler->is_found)
        print_found(result, out);
    else if (result->whatif.is_weak)
        rkt_text_line(out, "  Whether a rank holds the others up: n/a; %s.",
                      result->whatif.why_not);
    else if (straggler->steps_in_all == 0)
        rkt_text_line(out,
                      "  Whether a rank holds the others up: n/a; it takes %d steady steps that "
                      "all ranks have, and collectives between them.",
                      RKT_STRAGGLER_STEPS_MIN);
    else
        rkt_text_line(out, "  No rank holds the others up by more than the noise.");
    if (!straggler->is_found)
        print_single_steps(result, out);
}
