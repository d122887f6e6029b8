/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/interval.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/time_find.h"
#include "common/array.h"

void rkt_interval_set_release(struct rkt_interval_set *set)
{
    free(set->items);
    *set = (struct rkt_interval_set){0};
}

void rkt_interval_set_reset(struct rkt_interval_set *set)
{
    set->count = 0;
}

enum rkt_status rkt_interval_set_add(struct rkt_interval_set *set, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&set->items, &set->cap, set->count + 1, sizeof(*set->items)))
        return RKT_ERR_NOMEM;
    set->items[set->count++] = (struct rkt_interval){start_ns, end_ns};
    return RKT_OK;
}

static int compare_starts(const void *a, const void *b)
{
    const struct rkt_interval *x = a;
    const struct rkt_interval *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool is_sorted(const struct rkt_interval_set *set)
{
    for (size_t i = 1; i < set->count; i++) {
        if (set->items[i].start_ns < set->items[i - 1].start_ns)
            return false;
    }
    return true;
}

void rkt_interval_set_normalise(struct rkt_interval_set *set)
{
    size_t kept = 0;

    if (set->count == 0)
        return;
    if (!is_sorted(set)) /* most sets are filled from sorted arrays */
        qsort(set->items, set->count, sizeof(*set->items), compare_starts);
    for (size_t i = 1; i < set->count; i++) {
        struct rkt_interval *last = &set->items[kept];

        if (set->items[i].start_ns > last->end_ns)
            set->items[++kept] = set->items[i];
        else if (set->items[i].end_ns > last->end_ns)
            last->end_ns = set->items[i].end_ns;
    }
    set->count = kept + 1;
}

int64_t rkt_interval_set_length(const struct rkt_interval_set *set)
{
    int64_t length_ns = 0;

    for (size_t i = 0; i < set->count; i++)
        length_ns += set->items[i].end_ns - set->items[i].start_ns;
    return length_ns;
}

size_t rkt_interval_set_first_after(const struct rkt_interval_set *set, int64_t time_ns)
{
    if (set->count == 0)
        return 0;
    return rkt_time_find_past(&set->items->end_ns, set->count, sizeof(*set->items), time_ns);
}

int64_t rkt_interval_set_length_within(const struct rkt_interval_set *set, int64_t start_ns,
                                       int64_t end_ns)
{
    int64_t length_ns = 0;

    for (size_t i = rkt_interval_set_first_after(set, start_ns); i < set->count; i++) {
        const struct rkt_interval *item = &set->items[i];

        if (item->start_ns >= end_ns)
            break;
        length_ns += (item->end_ns < end_ns ? item->end_ns : end_ns) -
                     (item->start_ns > start_ns ? item->start_ns : start_ns);
    }
    return length_ns;
}

enum rkt_status rkt_interval_set_intersect(const struct rkt_interval_set *a,
                                           const struct rkt_interval_set *b,
                                           struct rkt_interval_set *out)
{
    size_t i = 0;
    size_t j = 0;

    rkt_interval_set_reset(out);
    while (i < a->count && j < b->count) {
        const struct rkt_interval *x = &a->items[i];
        const struct rkt_interval *y = &b->items[j];
        int64_t start_ns = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
        int64_t end_ns = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;

        if (rkt_interval_set_add(out, start_ns, end_ns) != RKT_OK)
            return RKT_ERR_NOMEM;
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return RKT_OK;
}

enum rkt_status rkt_interval_set_subtract(const struct rkt_interval_set *a,
                                          const struct rkt_interval_set *b,
                                          struct rkt_interval_set *out)
{
    size_t j = 0;

    rkt_interval_set_reset(out);
    for (size_t i = 0; i < a->count; i++) {
        int64_t at_ns = a->items[i].start_ns;
        int64_t end_ns = a->items[i].end_ns;

        while (j < b->count && b->items[j].end_ns <= at_ns)
            j++;
        /* A member of b may reach into the next member of a: j stays on it. */
        for (size_t k = j; k < b->count && b->items[k].start_ns < end_ns; k++) {
            if (rkt_interval_set_add(out, at_ns, b->items[k].start_ns) != RKT_OK)
                return RKT_ERR_NOMEM;
            at_ns = b->items[k].end_ns;
            j = k;
        }
        if (rkt_interval_set_add(out, at_ns, end_ns) != RKT_OK)
            return RKT_ERR_NOMEM;
    }
    return RKT_OK;
}
