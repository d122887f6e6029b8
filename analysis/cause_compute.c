/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels are compared by name and launch shape. Of rank i, n of them took t; of the median of the
 * other ranks m, each u:
 *
 *     same name, same shape       slower  += t - n u         more   += (n - m) u
 *     the name with other shapes                             shapes += t, or -= m u
 *     a name that one side lacks                             more   += t, or -= m u
 *
 * so that the three add up to what its kernels take above those of the others.
 */
#include "analysis/cause_compute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cause.h"
#include "analysis/name_times.h"
#include "analysis/steady.h"
#include "common/array.h"
#include "common/strtab.h"

/* Of one rank. */
struct total {
    int64_t sum_ns;
    int64_t count;
};

/* How much longer kernels of one kind take. */
struct ratio {
    double ratio;
    int64_t sum_ns; /* its weight */
};

struct comparison {
    const struct rkt_result *result;
    struct rkt_strtab *names; /* masked */
    struct rkt_strtab *kinds; /* name id and shape code */
    uint32_t *name_of;        /* [kind] */
    size_t kind_cap;
    struct total *totals; /* [kind][rank] */
    size_t total_cap;
    int64_t *name_counts; /* [name][rank] */
    size_t name_cap;
    int64_t *counts; /* [rank], of all kinds */
    int64_t *room;   /* one for each rank */
    struct ratio *ratios;
    size_t ratio_count;
    int64_t step_count;
};

/* A hostile trace may hold anything: what does not fit stays at the limit. */
static void add_ns(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = ns > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t product_ns(int64_t count, int64_t one_ns)
{
    int64_t ns;

    if (__builtin_mul_overflow(count, one_ns, &ns))
        return count > 0 ? INT64_MAX : -INT64_MAX;
    return ns;
}

/* Room for the row of an id, zeroed. */
static bool reserve_row(void **rows, size_t *cap, size_t id, size_t row_bytes)
{
    size_t before = *cap;

    if (!rkt_array_reserve(rows, cap, id + 1, row_bytes))
        return false;
    memset((char *)*rows + before * row_bytes, 0, (*cap - before) * row_bytes);
    return true;
}

static bool add_time(struct comparison *all, size_t rank, const struct rkt_name_time *time)
{
    size_t rank_count = all->result->rank_count;
    size_t len_bytes;
    const char *name =
        rkt_strtab_get(all->result->ranks[rank].trace->names, time->name_id, &len_bytes);
    char masked[RKT_CAUSE_NAME_BYTES];
    uint32_t name_id =
        rkt_strtab_intern(all->names, masked, rkt_mask_hashes(name, len_bytes, masked));
    uint32_t key[2] = {name_id, time->variant};
    uint32_t kind = rkt_strtab_intern(all->kinds, (const char *)key, sizeof(key));
    struct total *total;

    if (kind == 0 ||
        !reserve_row((void **)&all->name_of, &all->kind_cap, kind, sizeof(*all->name_of)) ||
        !reserve_row((void **)&all->totals, &all->total_cap, kind,
                     rank_count * sizeof(*all->totals)) ||
        !reserve_row((void **)&all->name_counts, &all->name_cap, name_id,
                     rank_count * sizeof(*all->name_counts)))
        return false;
    all->name_of[kind] = name_id;
    all->name_counts[name_id * rank_count + rank] += (int64_t)time->count;
    all->counts[rank] += (int64_t)time->count;
    total = &all->totals[kind * rank_count + rank];
    total->count += (int64_t)time->count;
    add_ns(&total->sum_ns, time->sum_ns);
    return true;
}

static bool add_rank(struct comparison *all, const struct rkt_step_table *table, size_t rank)
{
    const struct rkt_rank_result *of = &all->result->ranks[rank];
    struct rkt_step_span span;
    struct rkt_name_walk walk;
    struct rkt_name_time time;

    if (of->is_set_apart || !rkt_find_steady_span(all->result, table, rank, &span))
        return true;
    rkt_name_walk_init(&walk, of->names, RKT_NAMES_KERNELS, span.first_step, span.last_step);
    while (rkt_name_walk_next(&walk, &time)) {
        if (!add_time(all, rank, &time))
            return false;
    }
    return true;
}

/* Lower median over the other ranks of values[r], which are `stride` apart; 0 without others. */
static int64_t others_median(const struct comparison *all, size_t rank, const int64_t *values,
                             size_t stride)
{
    size_t others = 0;

    for (size_t r = 0; r < all->result->rank_count; r++) {
        if (r != rank && !all->result->ranks[r].is_set_apart)
            all->room[others++] = values[r * stride];
    }
    return others == 0 ? 0 : rkt_median_i64(all->room, others);
}

/* What one takes on the other ranks that run any; 0 none does. */
static int64_t others_mean(const struct comparison *all, size_t rank, const struct total *totals)
{
    size_t others = 0;

    for (size_t r = 0; r < all->result->rank_count; r++) {
        if (r != rank && totals[r].count > 0)
            all->room[others++] = totals[r].sum_ns / totals[r].count;
    }
    return others == 0 ? 0 : rkt_median_i64(all->room, others);
}

static void compare_kind(struct comparison *all, size_t rank, size_t kind,
                         struct rkt_compute_cause *cause)
{
    size_t rank_count = all->result->rank_count;
    const struct total *totals = &all->totals[kind * rank_count];
    const int64_t *names = &all->name_counts[all->name_of[kind] * rank_count];
    const struct total *own = &totals[rank];
    int64_t others_count =
        others_median(all, rank, &totals->count, sizeof(*totals) / sizeof(int64_t));
    int64_t one_ns = others_mean(all, rank, totals);
    bool is_on_both = names[rank] > 0 && others_median(all, rank, names, 1) > 0;

    if (own->count > 0 && others_count > 0) {
        add_ns(&cause->slower_ns, own->sum_ns);
        add_ns(&cause->slower_ns, -product_ns(own->count, one_ns));
        add_ns(&cause->more_ns, product_ns(own->count - others_count, one_ns));
        if (one_ns > 0)
            all->ratios[all->ratio_count++] = (struct ratio){
                (double)own->sum_ns / (double)own->count / (double)one_ns, own->sum_ns};
    } else {
        add_ns(is_on_both ? &cause->shapes_ns : &cause->more_ns,
               own->count > 0 ? own->sum_ns : -product_ns(others_count, one_ns));
    }
}

static int by_ratio(const void *a, const void *b)
{
    double x = ((const struct ratio *)a)->ratio;
    double y = ((const struct ratio *)b)->ratio;

    return (x > y) - (x < y);
}

/* Half of the time is in kernels that are no slower than that. */
static double median_ratio(struct comparison *all)
{
    int64_t sum_ns = 0;
    int64_t so_far_ns = 0;

    qsort(all->ratios, all->ratio_count, sizeof(*all->ratios), by_ratio);
    for (size_t i = 0; i < all->ratio_count; i++)
        add_ns(&sum_ns, all->ratios[i].sum_ns);
    for (size_t i = 0; i < all->ratio_count; i++) {
        add_ns(&so_far_ns, all->ratios[i].sum_ns);
        if (so_far_ns >= sum_ns - so_far_ns)
            return all->ratios[i].ratio;
    }
    return (double)NAN;
}

static enum rkt_compute_kind largest(const struct rkt_compute_cause *cause)
{
    if (cause->slower_ns <= 0 && cause->more_ns <= 0 && cause->shapes_ns <= 0)
        return RKT_COMPUTE_UNKNOWN;
    if (cause->slower_ns >= cause->more_ns && cause->slower_ns >= cause->shapes_ns)
        return RKT_COMPUTE_SLOWER;
    return cause->more_ns >= cause->shapes_ns ? RKT_COMPUTE_MORE : RKT_COMPUTE_SHAPES;
}

static void compare(struct comparison *all, size_t rank, struct rkt_compute_cause *cause)
{
    for (size_t kind = 1; kind < rkt_strtab_count(all->kinds); kind++)
        compare_kind(all, rank, kind, cause);
    cause->slower_ns /= all->step_count;
    cause->more_ns /= all->step_count;
    cause->shapes_ns /= all->step_count;
    cause->slowdown = median_ratio(all);
    cause->kernel_count = (double)all->counts[rank] / (double)all->step_count;
    cause->others_kernel_count =
        (double)others_median(all, rank, all->counts, 1) / (double)all->step_count;
    cause->kind = largest(cause);
}

static void release(struct comparison *all)
{
    rkt_strtab_destroy(all->names);
    rkt_strtab_destroy(all->kinds);
    free(all->name_of);
    free(all->counts);
    free(all->totals);
    free(all->name_counts);
    free(all->room);
    free(all->ratios);
}

enum rkt_status rkt_find_compute_cause(const struct rkt_result *result,
                                       const struct rkt_step_table *table,
                                       struct rkt_straggler *straggler, struct rkt_error *err)
{
    struct comparison all = {.result = result};
    struct rkt_step_span span;
    bool is_done = false;

    straggler->compute = (struct rkt_compute_cause){.slowdown = (double)NAN};
    if (straggler->cause != RKT_CAUSE_COMPUTE ||
        !rkt_find_steady_span(result, table, straggler->rank, &span))
        return RKT_OK;
    all.step_count = (int64_t)span.last_step - span.first_step + 1;
    all.names = rkt_strtab_create();
    all.kinds = rkt_strtab_create();
    all.room = calloc(result->rank_count + 1, sizeof(*all.room));
    all.counts = calloc(result->rank_count + 1, sizeof(*all.counts));
    is_done = all.names && all.kinds && all.room && all.counts;
    for (size_t r = 0; r < result->rank_count && is_done; r++)
        is_done = add_rank(&all, table, r);
    if (is_done && all.name_of && all.totals && all.name_counts) { /* some kernel ran */
        all.ratios = calloc(rkt_strtab_count(all.kinds), sizeof(*all.ratios));
        is_done = all.ratios != NULL;
        if (is_done)
            compare(&all, straggler->rank, &straggler->compute);
    }
    release(&all);
    return is_done ? RKT_OK : rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare kernels");
}

const char *rkt_compute_kind_name(enum rkt_compute_kind kind)
{
    switch (kind) {
    case RKT_COMPUTE_SLOWER:
        return "slower";
    case RKT_COMPUTE_MORE:
        return "more kernels";
    case RKT_COMPUTE_SHAPES:
        return "other shapes";
    case RKT_COMPUTE_UNKNOWN:
        break;
    }
    return "unknown";
}
