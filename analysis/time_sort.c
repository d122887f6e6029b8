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

/* False: the items are in order already. */
static bool fill_keys(struct rkt_key_index *keys, const unsigned char *items, size_t count,
                      size_t elem_bytes, enum rkt_time_order order)
{
    uint64_t second_before = 0;
    bool is_mixed = false;

    for (size_t i = 0; i < count; i++) {
        const unsigned char *item = items + i * elem_bytes;
        uint64_t second = second_key_of(item, order);

        keys[i] = (struct rkt_key_index){rkt_key_of_time(times_of(item).start_ns), (uint32_t)i};
        if (i > 0 && (keys[i].key < keys[i - 1].key ||
                      (keys[i].key == keys[i - 1].key && second < second_before)))
            is_mixed = true;
        second_before = second;
    }
    return is_mixed;
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

enum rkt_status rkt_time_sort(void *items, size_t count, size_t elem_bytes,
                              enum rkt_time_order order)
{
    enum rkt_status status = RKT_OK;
    unsigned char *room = NULL;
    struct rkt_key_index *keys;
    size_t bytes;

    if (count < 2)
        return RKT_OK;
    if (count > UINT32_MAX || !rkt_mul_size(count, elem_bytes, &bytes))
        return RKT_ERR_NOMEM;
    keys = calloc(count, sizeof(*keys));
    if (!keys)
        return RKT_ERR_NOMEM;
    if (!fill_keys(keys, items, count, elem_bytes, order))
        goto free_keys;
    status = RKT_ERR_NOMEM;
    room = malloc(bytes);
    if (!room || sort_keys(keys, items, count, elem_bytes, order) != RKT_OK)
        goto free_keys;
    move_all(items, keys, count, elem_bytes, room);
    status = RKT_OK;

free_keys:
    free(room);
    free(keys);
    return status;
}
