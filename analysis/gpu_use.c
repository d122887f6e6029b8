/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gpu_use.h"

#include <math.h>

#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/time_find.h"

/* Sums while samples are added. */
struct sums {
    double weight[RKT_COUNTER_COUNT];
    size_t throttled;
    size_t throttled_by[RKT_THROTTLE_REASON_COUNT];
};

static void start_use(struct rkt_gpu_use *use, uint32_t device_id)
{
    *use = (struct rkt_gpu_use){.device_id = device_id, .throttled = NAN};
    for (int i = 0; i < RKT_COUNTER_COUNT; i++)
        use->mean[i] = use->most[i] = NAN;
    for (int i = 0; i < RKT_THROTTLE_REASON_COUNT; i++)
        use->throttled_by[i] = NAN;
}

static void add_reasons(struct sums *sums, uint64_t reasons)
{
    sums->throttled += (reasons & ~(uint64_t)RKT_THROTTLE_IDLE) != 0;
    for (int i = 0; i < RKT_THROTTLE_REASON_COUNT; i++)
        sums->throttled_by[i] += reasons >> i & 1;
}

/* Counts by the time that it shares with [start, end); at a moment in it: once. */
static void add_sample(struct rkt_gpu_use *use, struct sums *sums,
                       const struct rkt_counter_sample *sample, int64_t start_ns, int64_t end_ns)
{
    int64_t from_ns = sample->start_ns > start_ns ? sample->start_ns : start_ns;
    int64_t to_ns = sample->end_ns < end_ns ? sample->end_ns : end_ns;
    bool is_moment = sample->start_ns == sample->end_ns;
    double weight = is_moment ? 1 : (double)(to_ns - from_ns);
    double value = (double)sample->value;
    uint8_t i = sample->counter;

    if (is_moment ? sample->start_ns < start_ns || sample->start_ns >= end_ns : to_ns <= from_ns)
        return;
    if (i == RKT_COUNTER_THROTTLE_REASONS)
        add_reasons(sums, sample->value);
    use->mean[i] = sums->weight[i] > 0 ? use->mean[i] + weight * value : weight * value;
    use->most[i] = fmax(use->most[i], value); /* a number beats NAN */
    use->count[i]++;
    sums->weight[i] += weight;
}

struct rkt_gpu_use rkt_gpu_use_over(const struct rkt_rank_trace *trace, uint32_t device_id,
                                    int64_t start_ns, int64_t end_ns)
{
    struct rkt_gpu_use use;
    struct sums sums = {0};
    double readings;
    size_t i = trace->gpu.counter_count == 0
                   ? 0
                   : rkt_time_find(&trace->gpu.counters->start_ns, trace->gpu.counter_count,
                                   sizeof(*trace->gpu.counters), start_ns - trace->gpu.longest_ns);

    start_use(&use, device_id);
    for (; i < trace->gpu.counter_count && trace->gpu.counters[i].start_ns < end_ns; i++) {
        if (trace->gpu.counters[i].device_id == device_id)
            add_sample(&use, &sums, &trace->gpu.counters[i], start_ns, end_ns);
    }
    readings = (double)use.count[RKT_COUNTER_THROTTLE_REASONS];
    for (int k = 0; k < RKT_COUNTER_COUNT; k++)
        use.mean[k] /= sums.weight[k] > 0 ? sums.weight[k] : 1;
    if (use.count[RKT_COUNTER_THROTTLE_REASONS] == 0)
        return use;
    use.throttled = (double)sums.throttled / readings;
    for (int k = 0; k < RKT_THROTTLE_REASON_COUNT; k++)
        use.throttled_by[k] = (double)sums.throttled_by[k] / readings;
    return use;
}

/* ---- the GPUs of a rank ---- */

static size_t position_of(const uint32_t *ids, size_t count, uint32_t id)
{
    size_t i = 0;

    while (i < count && ids[i] != id)
        i++;
    return i;
}

size_t rkt_gpu_list(const struct rkt_rank_trace *trace, uint32_t ids[RKT_DEVICES_MAX])
{
    uint32_t most = 0;
    size_t count = 0;
    size_t busiest = 0;
    uint32_t first;

    for (size_t i = 0; i < trace->gpu.counter_count; i++) {
        uint32_t id = trace->gpu.counters[i].device_id;

        if (count < RKT_DEVICES_MAX && position_of(ids, count, id) == count)
            ids[count++] = id;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t works = ids[i] < RKT_DEVICES_MAX ? trace->work_counts[ids[i]] : 0;

        busiest = works > most ? i : busiest;
        most = works > most ? works : most;
    }
    if (count > 0) {
        first = ids[0];
        ids[0] = ids[busiest];
        ids[busiest] = first;
    }
    return count;
}

const struct rkt_event_device *rkt_gpu_device(const struct rkt_rank_trace *trace,
                                              uint32_t device_id)
{
    for (size_t i = 0; i < trace->gpu.device_count; i++) {
        if (trace->gpu.devices[i].device_id == device_id)
            return &trace->gpu.devices[i];
    }
    return NULL;
}

/* ---- the stage ---- */

/* What is sampled when it changes holds until it does: the last one before the end. */
static void hold_steady(const struct rkt_rank_trace *trace, int64_t end_ns, struct rkt_gpu_use *use)
{
    for (size_t i = 0; i < trace->gpu.counter_count && trace->gpu.counters[i].start_ns < end_ns;
         i++) {
        const struct rkt_counter_sample *sample = &trace->gpu.counters[i];

        if (sample->device_id == use->device_id && (sample->counter == RKT_COUNTER_SM_CLOCK_MAX ||
                                                    sample->counter == RKT_COUNTER_POWER_LIMIT ||
                                                    sample->counter == RKT_COUNTER_ECC_CORRECTED ||
                                                    sample->counter == RKT_COUNTER_ECC_UNCORRECTED))
            use->mean[sample->counter] = use->most[sample->counter] = (double)sample->value;
    }
}

static enum rkt_status find_use(struct rkt_rank_result *rank, struct rkt_arena *arena,
                                struct rkt_error *err)
{
    uint32_t ids[RKT_DEVICES_MAX];
    size_t count = rkt_gpu_list(rank->trace, ids);
    struct rkt_gpu_use *gpus;
    int64_t start_ns;
    int64_t end_ns;

    if (count == 0)
        return RKT_OK;
    gpus = RKT_ARENA_ARRAY(arena, struct rkt_gpu_use, count);
    if (!gpus)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the use of %zu GPUs", count);
    rkt_steady_stretch(rank, &start_ns, &end_ns);
    for (size_t i = 0; i < count; i++) {
        gpus[i] = rkt_gpu_use_over(rank->trace, ids[i], start_ns, end_ns);
        hold_steady(rank->trace, end_ns, &gpus[i]);
    }
    rank->gpus = gpus;
    rank->gpu_count = count;
    return RKT_OK;
}

enum rkt_status rkt_find_gpu_use(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++)
        status = find_use(&result->ranks[r], arena, err);
    return status;
}
