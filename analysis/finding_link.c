/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communicator whose collectives take longer than the same ones of others like it:
 *
 *     AllReduce, 25 MB, 4 ranks     communicator a 2.0 ms   b 2.1 ms   c 6.3 ms    c has a slow link
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/finding_parts.h"

#define SAMPLES_MIN 3u /* of one kind in a communicator */
#define SLOW_FACTOR 2  /* times the median of the others */

/* Collectives of one kind are beside each other, in it those of one communicator. */
struct sample {
    uint64_t bytes;
    uint64_t comm_id;
    int64_t transfer_ns;
    uint32_t rank_count;
    uint32_t first_rank; /* position */
    uint8_t func;
};

static int compare_kinds(const struct sample *x, const struct sample *y)
{
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->rank_count != y->rank_count)
        return x->rank_count < y->rank_count ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a;
    const struct sample *y = b;
    int order = compare_kinds(x, y);

    if (order != 0)
        return order;
    if (x->comm_id != y->comm_id)
        return x->comm_id < y->comm_id ? -1 : 1;
    return (x->transfer_ns > y->transfer_ns) - (x->transfer_ns < y->transfer_ns);
}

static size_t collect(const struct rkt_finder *finder, struct sample *samples)
{
    const struct rkt_result *result = finder->result;
    size_t count = 0;

    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (collective->comm_id == 0 || collective->bytes == 0 ||
            collective->participant_count < 2 ||
            collective->participant_count < collective->expected_count ||
            !rkt_is_steady_collective(finder, collective))
            continue;
        samples[count++] = (struct sample){.bytes = collective->bytes,
                                           .comm_id = collective->comm_id,
                                           .transfer_ns = collective->transfer_ns,
                                           .rank_count = (uint32_t)collective->participant_count,
                                           .first_rank = collective->participants[0].rank,
                                           .func = collective->func};
    }
    qsort(samples, count, sizeof(*samples), compare_samples);
    return count;
}

/* The slowest communicator of all, against its like. */
struct slow_link {
    struct sample sample; /* its median */
    int64_t usual_ns;     /* the others' */
    size_t count;         /* of its collectives */
};

/* Medians of the communicators of one kind: those of `samples` that are in the middle. */
static size_t medians_of(const struct sample *samples, size_t count, struct sample *medians,
                         size_t *counts)
{
    size_t found = 0;

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && samples[next].comm_id == samples[i].comm_id;)
            next++;
        if (next - i < SAMPLES_MIN)
            continue;
        counts[found] = next - i;
        medians[found++] = samples[i + (next - i - 1) / 2];
    }
    return found;
}

static void look_at_kind(const struct sample *samples, size_t count, struct sample *medians,
                         size_t *counts, int64_t *room, struct slow_link *slow)
{
    size_t found = medians_of(samples, count, medians, counts);

    for (size_t i = 0; i < found && found > 1; i++) {
        int64_t excess_ns = medians[i].transfer_ns;
        int64_t usual_ns;
        size_t others = 0;

        for (size_t k = 0; k < found; k++) {
            if (k != i)
                room[others++] = medians[k].transfer_ns;
        }
        usual_ns = rkt_median_i64(room, others);
        excess_ns = (excess_ns - usual_ns) * (int64_t)counts[i];
        if (medians[i].transfer_ns > SLOW_FACTOR * usual_ns && usual_ns > 0 &&
            excess_ns > (slow->sample.transfer_ns - slow->usual_ns) * (int64_t)slow->count)
            *slow = (struct slow_link){medians[i], usual_ns, counts[i]};
    }
}

/* How much of it a step has. */
static int64_t excess_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)window;
    (void)rank;
    return *(const int64_t *)ctx;
}

static enum rkt_status add_slow_link(struct rkt_finder *finder, const struct slow_link *slow)
{
    const struct rkt_result *result = finder->result;
    size_t steps = finder->sum.step_count / (result->rank_count > 0 ? result->rank_count : 1);
    int64_t excess_ns = (slow->sample.transfer_ns - slow->usual_ns) * (int64_t)slow->count /
                        (int64_t)(steps > 0 ? steps : 1);
    struct rkt_loss loss = rkt_loss_of(finder, excess_of, &excess_ns);
    enum rkt_severity severity = RKT_SEVERITY_INFO;

    (void)rkt_severity_of(&loss, &severity);
    return rkt_add_finding(
               finder, "slow_link", severity, &loss,
               "look at the links between its ranks (nvidia-smi topo -m, ibstat, NCCL_DEBUG=INFO): "
               "one may be down, or another path in use",
               "%s of %.3g MB among the %u ranks of rank %u's communicator takes %.3g ms, "
               "elsewhere "
               "%.3g ms",
               rkt_nccl_func_name((enum rkt_nccl_func)slow->sample.func),
               (double)slow->sample.bytes / 1e6, slow->sample.rank_count,
               result->ranks[slow->sample.first_rank].rank, (double)slow->sample.transfer_ns / 1e6,
               (double)slow->usual_ns / 1e6)
               ? RKT_OK
               : RKT_ERR_NOMEM;
}

enum rkt_status rkt_find_slow_link(struct rkt_finder *finder)
{
    size_t cap = finder->result->collective_count + 1;
    struct sample *samples = calloc(cap, sizeof(*samples));
    struct sample *medians = calloc(cap, sizeof(*medians));
    size_t *counts = calloc(cap, sizeof(*counts));
    int64_t *room = calloc(cap, sizeof(*room));
    enum rkt_status status = samples && medians && counts && room ? RKT_OK : RKT_ERR_NOMEM;
    struct slow_link slow = {0};
    size_t count = status == RKT_OK ? collect(finder, samples) : 0;

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && compare_kinds(&samples[i], &samples[next]) == 0;)
            next++;
        look_at_kind(&samples[i], next - i, medians, counts, room, &slow);
    }
    if (status == RKT_OK && slow.count > 0)
        status = add_slow_link(finder, &slow);
    free(samples);
    free(medians);
    free(counts);
    free(room);
    return status;
}
