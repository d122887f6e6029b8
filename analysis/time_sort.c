/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time_sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key_index.h"
#include "common/checked.h"

/* The first two members of an item. */
struct times {
    int64_t start_ns;
    int64_t end_ns;
};

static struct times times_of(const unsigned char *item)
{
    struct times times;

    memcpy(&times, item, sizeof(times));
    return times;
}

/* What decides between equal starts. */
static uint64_t second_key_of(const unsigned char *item, enum rkt_time_order order)
{
    uint64_t key = rkt_key_of_time(times_of(item).end_ns);

    if (order == RKT_BY_START)
        return 0;
    return order == RKT_BY_START_LONGEST ? ~key : key;
}

static bool is_before(const unsigned char *a, const unsigned char *b, enum rkt_time_order order)
{
    int64_t a_start_ns = times_of(a).start_ns;
    int64_t b_start_ns = times_of(b).start_ns;

    if (a_start_ns != b_start_ns)
        return a_start_ns < b_start_ns;
    return second_key_of(a, order) < second_key_of(b, order);
}

/* ---- by runs: pieces that are in order and follow each other ---- */

/* Of one run on average; of fewer, keys are cheaper. */
#define RUN_ITEMS_LEAST 32u

struct runs {
    unsigned char *items;
    size_t elem_bytes;
    enum rkt_time_order order;
    size_t *ends; /* of each */
    size_t count;
    unsigned char *room; /* for all but the first */
};

static unsigned char *item_at(const struct runs *runs, size_t index)
{
    return runs->items + index * runs->elem_bytes;
}

/* False: there are more than `max`. */
static bool find_runs(struct runs *runs, size_t count, size_t max)
{
    for (size_t i = 1; i < count; i++) {
        if (!is_before(item_at(runs, i), item_at(runs, i - 1), runs->order))
            continue;
        if (runs->count + 1 == max)
            return false;
        runs->ends[runs->count++] = i;
    }
    runs->ends[runs->count++] = count;
    return true;
}

/* Where in [middle, end), which is in order, nothing more is before the item in front of it: mostly
 * soon. */
static size_t find_end(const struct runs *runs, size_t middle, size_t end)
{
    const unsigned char *last = item_at(runs, middle - 1);
    size_t low = middle;
    size_t high = middle;

    for (size_t step = 1; high < end && is_before(item_at(runs, high), last, runs->order);
         step *= 2) {
        low = high + 1;
        high = end - high > step ? high + step : end;
    }
    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (is_before(item_at(runs, at), last, runs->order))
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* [first, middle) and [middle, end), from the last item down; only what has to move is touched. */
static void merge_two(const struct runs *runs, size_t first, size_t middle, size_t end)
{
    size_t left = middle;
    size_t waiting;

    end = find_end(runs, middle, end);
    waiting = end - middle;
    memcpy(runs->room, item_at(runs, middle), waiting * runs->elem_bytes);
    while (waiting > 0) {
        const unsigned char *last = runs->room + (waiting - 1) * runs->elem_bytes;

        end--;
        if (left > first && is_before(last, item_at(runs, left - 1), runs->order)) {
            memcpy(item_at(runs, end), item_at(runs, --left), runs->elem_bytes);
        } else {
            memcpy(item_at(runs, end), last, runs->elem_bytes);
            waiting--;
        }
    }
}

/* Two neighbours at a time, until one is left. */
static void merge_all(struct runs *runs)
{
    while (runs->count > 1) {
        size_t kept = 0;
        size_t first = 0;

        for (size_t i = 0; i < runs->count; i += 2) {
            size_t end = runs->ends[i + 1 < runs->count ? i + 1 : i];

            if (runs->ends[i] < end)
                merge_two(runs, first, runs->ends[i], end);
            runs->ends[kept++] = first = end;
        }
        runs->count = kept;
    }
}

/* RKT_AGAIN: there are too many. */
static enum rkt_status sort_runs(void *items, size_t count, size_t elem_bytes,
                                 enum rkt_time_order order)
{
    size_t max = count / RUN_ITEMS_LEAST + 2;
    struct runs runs = {.items = items, .elem_bytes = elem_bytes, .order = order};
    enum rkt_status status = RKT_ERR_NOMEM;

    runs.ends = malloc(max * sizeof(*runs.ends));
    if (!runs.ends)
        return RKT_ERR_NOMEM;
    if (!find_runs(&runs, count, max))
        status = RKT_AGAIN;
    else if (runs.count == 1)
        status = RKT_OK;
    else
        runs.room = malloc((count - runs.ends[0]) * elem_bytes);
    if (runs.room) {
        merge_all(&runs);
        status = RKT_OK;
    }
    free(runs.room);
    free(runs.ends);
    return status;
}

/* ---- by keys ---- */

static void fill_keys(struct rkt_key_index *keys, const unsigned char *items, size_t count,
                      size_t elem_bytes)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct rkt_key_index){rkt_key_of_time(times_of(items + i * elem_bytes).start_ns),
                                         (uint32_t)i};
}

/* Sorted keys: among equal starts by what decides between those. */
static enum rkt_status sort_ties(struct rkt_key_index *keys, const unsigned char *items,
                                 size_t count, size_t elem_bytes, enum rkt_time_order order)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0, next; i < count && status == RKT_OK; i = next) {
        for (next = i + 1; next < count && keys[next].key == keys[i].key;)
            next++;
        if (next == i + 1)
            continue;
        for (size_t tie = i; tie < next; tie++)
            keys[tie].key = second_key_of(items + keys[tie].index * elem_bytes, order);
        status = rkt_key_index_sort(&keys[i], next - i);
    }
    return status;
}

static enum rkt_status sort_keys(struct rkt_key_index *keys, const unsigned char *items,
                                 size_t count, size_t elem_bytes, enum rkt_time_order order)
{
    enum rkt_status status = rkt_key_index_sort(keys, count);

    if (status == RKT_OK && order != RKT_BY_START)
        status = sort_ties(keys, items, count, elem_bytes, order);
    return status;
}

/* In order of places written, since reads in any order are soon under way together: moving in place
 * would save the second array, and wait for each item in turn. */
static void move_all(unsigned char *items, const struct rkt_key_index *keys, size_t count,
                     size_t elem_bytes, unsigned char *room)
{
    for (size_t i = 0; i < count; i++)
        memcpy(room + i * elem_bytes, items + keys[i].index * elem_bytes, elem_bytes);
    memcpy(items, room, count * elem_bytes);
}

static enum rkt_status sort_by_keys(void *items, size_t count, size_t elem_bytes,
                                    enum rkt_time_order order)
{
    struct rkt_key_index *keys = malloc(count * sizeof(*keys));
    unsigned char *room = malloc(count * elem_bytes);
    enum rkt_status status = RKT_ERR_NOMEM;

    if (keys && room) {
        fill_keys(keys, items, count, elem_bytes);
        status = sort_keys(keys, items, count, elem_bytes, order);
    }
    if (status == RKT_OK)
        move_all(items, keys, count, elem_bytes, room);
    free(room);
    free(keys);
    return status;
}

enum rkt_status rkt_time_sort(void *items, size_t count, size_t elem_bytes,
                              enum rkt_time_order order)
{
    enum rkt_status status;
    size_t bytes;

    if (count < 2)
        return RKT_OK;
    if (count > UINT32_MAX || !rkt_mul_size(count, elem_bytes, &bytes))
        return RKT_ERR_NOMEM;
    status = sort_runs(items, count, elem_bytes, order);
    return status == RKT_AGAIN ? sort_by_keys(items, count, elem_bytes, order) : status;
}
