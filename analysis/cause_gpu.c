/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cause_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cause.h"

#define READINGS_MIN 3
/* A reason stands out when so much more of the rank's readings name it than of the others'. */
#define SHARE_ABOVE_OTHERS 0.25
/* Clocks are lower by so much: with a reason for it, and without. */
#define LOWER_WITH_REASON 0.02
#define LOWER_ALONE 0.05
#define EXPLAINED_MIN 0.5

/* Of reasons that stand out alike the first is named: what says more. */
static const enum rkt_throttle_reason LIMITS[] = {
    RKT_THROTTLE_HW_THERMAL,  RKT_THROTTLE_POWER_BRAKE, RKT_THROTTLE_SW_THERMAL,
    RKT_THROTTLE_POWER_CAP,   RKT_THROTTLE_SYNC_BOOST,  RKT_THROTTLE_CLOCK_SETTING,
    RKT_THROTTLE_HW_SLOWDOWN,
};

/* What the ranks' main GPUs did in the steady steps; by position, those with readings. */
struct uses {
    struct rkt_gpu_use *items;
    bool *is_there;
    double *room; /* for a median */
    size_t rank_count;
};

static bool look_at_rank(const struct rkt_result *result, const struct rkt_step_table *table,
                         size_t rank, struct rkt_gpu_use *use_out)
{
    const struct rkt_rank_trace *trace = result->ranks[rank].trace;
    uint32_t ids[RKT_DEVICES_MAX];
    const struct rkt_window *first = NULL;
    const struct rkt_window *last = NULL;

    if (result->ranks[rank].is_set_apart || rkt_gpu_list(trace, ids) == 0)
        return false;
    for (size_t i = 0; i < table->row_count; i++) {
        if (!rkt_step_row_is_steady(table, i))
            continue;
        last = &table->rows[i].by_rank[rank].step->window;
        first = first ? first : last;
    }
    if (!first)
        return false;
    *use_out = rkt_gpu_use_over(trace, ids[0], first->start_ns, last->end_ns);
    return use_out->count[RKT_COUNTER_THROTTLE_REASONS] >= READINGS_MIN ||
           use_out->count[RKT_COUNTER_SM_CLOCK] >= READINGS_MIN;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Lower median of a number over the other ranks that have it; NAN without any. */
static double median_of_others(const struct uses *uses, size_t rank, size_t offset_bytes)
{
    size_t count = 0;

    for (size_t r = 0; r < uses->rank_count; r++) {
        double value = uses->is_there[r]
                           ? *(const double *)((const char *)&uses->items[r] + offset_bytes)
                           : NAN;

        if (r != rank && !isnan(value))
            uses->room[count++] = value;
    }
    if (count == 0)
        return NAN;
    qsort(uses->room, count, sizeof(*uses->room), compare_doubles);
    return uses->room[(count - 1) / 2];
}

/* The limit that the rank's readings name most above the others'. */
static void find_reason(const struct uses *uses, size_t rank, struct rkt_gpu_cause *cause)
{
    double largest = SHARE_ABOVE_OTHERS;

    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
        int bit = __builtin_ctz(LIMITS[i]);
        double share = uses->items[rank].throttled_by[bit];
        double others = median_of_others(
            uses, rank, offsetof(struct rkt_gpu_use, throttled_by) + (size_t)bit * sizeof(double));

        if (!(share - others >= largest) || (cause->reason != 0 && share - others == largest))
            continue;
        largest = share - others;
        cause->reason = LIMITS[i];
        cause->share = share;
        cause->others_share = others;
    }
}

static double compute_per_step_ns(const struct rkt_step_table *table, size_t rank)
{
    double sum_ns = 0;
    size_t count = 0;

    for (size_t i = 0; i < table->row_count; i++) {
        if (!rkt_step_row_is_steady(table, i))
            continue;
        sum_ns += (double)table->rows[i].by_rank[rank].step->own_by_cause_ns[RKT_CAUSE_COMPUTE];
        count++;
    }
    return count > 0 ? sum_ns / (double)count : 0;
}

/* Whether the clocks, where they are known, bear the reason out; or say enough alone. */
static bool is_slower(const struct rkt_gpu_cause *cause, double compute_ns, int64_t excess_ns)
{
    double lower = 1 - cause->clock_mhz / cause->others_clock_mhz;

    if (isnan(lower))
        return cause->reason != 0;
    return lower >= (cause->reason != 0 ? LOWER_WITH_REASON : LOWER_ALONE) &&
           compute_ns * lower >= EXPLAINED_MIN * (double)excess_ns;
}

static void judge(const struct uses *uses, const struct rkt_step_table *table,
                  struct rkt_straggler *straggler)
{
    size_t rank = straggler->rank;
    const struct rkt_gpu_use *use = &uses->items[rank];
    struct rkt_gpu_cause cause = {
        .device_id = use->device_id,
        .share = NAN,
        .others_share = NAN,
        .clock_mhz = use->mean[RKT_COUNTER_SM_CLOCK],
        .others_clock_mhz =
            median_of_others(uses, rank, offsetof(struct rkt_gpu_use, mean[RKT_COUNTER_SM_CLOCK])),
    };

    find_reason(uses, rank, &cause);
    cause.is_found = is_slower(&cause, compute_per_step_ns(table, rank), straggler->cause_ns);
    if (cause.is_found)
        straggler->gpu = cause;
}

enum rkt_status rkt_find_gpu_cause(const struct rkt_result *result,
                                   const struct rkt_step_table *table,
                                   struct rkt_straggler *straggler, struct rkt_error *err)
{
    struct uses uses = {.rank_count = result->rank_count};
    enum rkt_status status = RKT_OK;

    if (straggler->cause != RKT_CAUSE_COMPUTE ||
        result->ranks[straggler->rank].trace->gpu.counter_count == 0)
        return RKT_OK;
    uses.items = calloc(result->rank_count, sizeof(*uses.items));
    uses.is_there = calloc(result->rank_count, sizeof(*uses.is_there));
    uses.room = calloc(result->rank_count, sizeof(*uses.room));
    if (uses.items == NULL || uses.is_there == NULL || uses.room == NULL) {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare the GPUs of %zu ranks",
                          result->rank_count);
    } else {
        for (size_t r = 0; r < result->rank_count; r++)
            uses.is_there[r] = look_at_rank(result, table, r, &uses.items[r]);
        if (uses.is_there[straggler->rank])
            judge(&uses, table, straggler);
    }
    free(uses.items);
    free(uses.is_there);
    free(uses.room);
    return status;
}

const char *rkt_gpu_cause_advice(const struct rkt_gpu_cause *gpu)
{
    switch ((int)gpu->reason) {
    case RKT_THROTTLE_HW_THERMAL:
    case RKT_THROTTLE_SW_THERMAL:
        return "its GPU is too hot: look at its cooling, or leave it out";
    case RKT_THROTTLE_POWER_CAP:
        return "compare its GPU's power limit with the others' (nvidia-smi -q -d POWER)";
    case RKT_THROTTLE_POWER_BRAKE:
    case RKT_THROTTLE_HW_SLOWDOWN:
        return "have its node's power supply and cooling looked at: the hardware slows the GPU";
    case RKT_THROTTLE_CLOCK_SETTING:
    case RKT_THROTTLE_SYNC_BOOST:
        return "its GPU's clocks are set lower: undo that (nvidia-smi -rac, -rgc)";
    default:
        return "its GPU's clock is lower: compare its settings (nvidia-smi -q -d CLOCK) and its "
               "cooling with the others'";
    }
}
