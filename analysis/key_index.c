/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/key_index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define DIGIT_BITS 8u
#define DIGIT_COUNT (1u << DIGIT_BITS)
/* Up to so many are sorted by insertion, which needs no memory. */
#define FEW 32u
/* Of how many one may be late that only those are sorted, and put back. */
#define LATE_PART 4u

static void insert_each(struct rkt_key_index *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct rkt_key_index item = items[i];
        size_t at = i;

        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* What the keys are like. */
struct look {
    uint64_t least;
    uint64_t span;
    size_t late_count; /* smaller than one before them */
};

static struct look look_at(const struct rkt_key_index *items, size_t count)
{
    struct look look = {.least = items[0].key};
    uint64_t most = items[0].key;

    for (size_t i = 1; i < count; i++) {
        look.late_count += items[i].key < most;
        look.least = items[i].key < look.least ? items[i].key : look.least;
        most = items[i].key > most ? items[i].key : most;
    }
    look.span = most - look.least;
    return look;
}

static unsigned digit_of(const struct rkt_key_index *item, uint64_t least, unsigned shift)
{
    return (unsigned)((item->key - least) >> shift) & (DIGIT_COUNT - 1);
}

/* All items to `to`, by one digit of their distance from `least`; equal ones as they were. */
static void deal(const struct rkt_key_index *from, size_t count, uint64_t least, unsigned shift,
                 struct rkt_key_index *to)
{
    size_t places[DIGIT_COUNT] = {0};
    size_t next = 0;

    for (size_t i = 0; i < count; i++)
        places[digit_of(&from[i], least, shift)]++;
    for (unsigned digit = 0; digit < DIGIT_COUNT; digit++) {
        size_t here = places[digit];

        places[digit] = next;
        next += here;
    }
    for (size_t i = 0; i < count; i++)
        to[places[digit_of(&from[i], least, shift)]++] = from[i];
}

/* There is room for as many. */
static void sort_by_digits(struct rkt_key_index *items, size_t count, const struct look *look,
                           struct rkt_key_index *room)
{
    struct rkt_key_index *from = items;
    struct rkt_key_index *to = room;

    for (unsigned shift = 0; shift < 64 && look->span >> shift != 0; shift += DIGIT_BITS) {
        struct rkt_key_index *dealt = to;

        deal(from, count, look->least, shift, to);
        to = from;
        from = dealt;
    }
    if (from != items)
        memcpy(items, from, count * sizeof(*items));
}

/* What is late goes aside, is sorted alone, and comes back behind what is equal and was before it.
 * There is room for twice as many as are late. */
static void sort_late(struct rkt_key_index *items, size_t count, const struct look *look,
                      struct rkt_key_index *room)
{
    size_t late = 0;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && items[i].key < items[kept - 1].key)
            room[late++] = items[i];
        else
            items[kept++] = items[i];
    }
    sort_by_digits(room, late, look, room + late);
    while (late > 0) {
        if (kept > 0 && items[kept - 1].key > room[late - 1].key)
            items[--count] = items[--kept];
        else
            items[--count] = room[--late];
    }
}

enum rkt_status rkt_key_index_sort(struct rkt_key_index *items, size_t count)
{
    struct rkt_key_index *room;
    struct look look;
    bool are_few_late;

    if (count <= FEW) {
        insert_each(items, count);
        return RKT_OK;
    }
    look = look_at(items, count);
    if (look.late_count == 0)
        return RKT_OK;
    are_few_late = look.late_count <= count / LATE_PART;
    room = rkt_array_room(are_few_late ? 2 * look.late_count : count, sizeof(*room));
    if (!room)
        return RKT_ERR_NOMEM;
    if (are_few_late)
        sort_late(items, count, &look, room);
    else
        sort_by_digits(items, count, &look, room);
    free(room);
    return RKT_OK;
}

/* It is known to be in [low, high]. */
static size_t find_between(const struct rkt_key_index *items, size_t low, size_t high, uint64_t key)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t rkt_key_index_find(const struct rkt_key_index *items, size_t count, uint64_t key)
{
    return find_between(items, 0, count, key);
}

size_t rkt_key_index_find_near(const struct rkt_key_index *items, size_t count, uint64_t key,
                               size_t near)
{
    size_t low = near < count ? near : count;
    size_t high = low;

    for (size_t step = 1; high < count && items[high].key < key; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    for (size_t step = 1; low > 0 && items[low - 1].key >= key; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    return find_between(items, low, high, key);
}
