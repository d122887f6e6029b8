/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which shapes a kernel or operator has in each step, and whether they are those of the step
 * before:
 *
 *     step        1     2     3     4          a kernel's shapes: 2
 *     shape 5     x     x           x          changes: 2 (into step 3, into step 4)
 *     shape 6                 x
 */
#include "analysis/step_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/key_index.h"

#define STEPS_MAX 1024u /* the first ones; more tell nothing new */
#define WORD_BITS 64u
#define KEY_NONE SIZE_MAX

struct shapes {
    struct rkt_row_list *list;
    int first_column; /* steps; shapes and changes follow it */
    size_t count;     /* ids are below; none is 0 */
    size_t *key;      /* of what each shape belongs to; KEY_NONE: it was not seen */
    uint32_t *next;   /* the next shape of the same key; 0 none */
    uint32_t *first;  /* by key */
    uint64_t *bits;   /* [shape][word]: the steps in which it was seen */
    uint64_t *sums; /* by step, of one key: its shapes as a number that no other set of them has */
    size_t step_count;
    size_t word_count;
};

static enum rkt_status init(struct shapes *shapes, const struct rkt_rank_result *rank,
                            struct rkt_row_list *list, int first_column, size_t count)
{
    size_t steps = rank->step_count;

    *shapes = (struct shapes){.list = list, .first_column = first_column, .count = count};
    shapes->step_count = steps < STEPS_MAX ? steps : STEPS_MAX;
    shapes->word_count = shapes->step_count / WORD_BITS + 1;
    shapes->key = calloc(count, sizeof(*shapes->key));
    shapes->next = calloc(count, sizeof(*shapes->next));
    shapes->first = calloc(list->key_count + 1, sizeof(*shapes->first));
    shapes->bits = calloc(count, shapes->word_count * sizeof(*shapes->bits));
    shapes->sums = calloc(shapes->step_count + 1, sizeof(*shapes->sums));
    if (!shapes->key || !shapes->next || !shapes->first || !shapes->bits || !shapes->sums)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        shapes->key[i] = KEY_NONE;
    return RKT_OK;
}

static void release(struct shapes *shapes)
{
    free(shapes->key);
    free(shapes->next);
    free(shapes->first);
    free(shapes->bits);
    free(shapes->sums);
}

/* A shape belongs to the key that it was seen with first. */
static void note(struct shapes *shapes, uint32_t shape, size_t key, uint32_t step)
{
    if (key > shapes->list->key_count) /* as row_list does */
        key = shapes->list->key_count;
    if (shapes->key[shape] == KEY_NONE) {
        shapes->key[shape] = key;
        shapes->next[shape] = shapes->first[key];
        shapes->first[key] = shape;
    }
    if (step < shapes->step_count)
        shapes->bits[shape * shapes->word_count + step / WORD_BITS] |= UINT64_C(1)
                                                                       << step % WORD_BITS;
}

static uint64_t mix(uint64_t number)
{
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return number ^ number >> 32;
}

static void sum_shape(struct shapes *shapes, uint32_t shape)
{
    const uint64_t *bits = &shapes->bits[shape * shapes->word_count];

    for (size_t word = 0; word < shapes->word_count; word++) {
        for (uint64_t left = bits[word]; left != 0; left &= left - 1)
            shapes->sums[word * WORD_BITS + (size_t)__builtin_ctzll(left)] += mix(shape);
    }
}

static void count_steps(struct shapes *shapes, size_t key)
{
    uint64_t before = 0;

    for (size_t step = 0; step < shapes->step_count; step++) {
        uint64_t sum = shapes->sums[step];
        struct rkt_row *row;

        if (sum == 0)
            continue;
        row = rkt_row_list_find(shapes->list, key, rkt_segment_of_step((uint32_t)step));
        if (row) {
            row->values[shapes->first_column]++;
            row->values[shapes->first_column + 2] += before != 0 && before != sum;
        }
        before = sum;
    }
}

/* Of one key: how many it has in all, in every row of it; and step by step. */
static void count_key(struct shapes *shapes, size_t key)
{
    int64_t count = 0;

    memset(shapes->sums, 0, (shapes->step_count + 1) * sizeof(*shapes->sums));
    for (uint32_t shape = shapes->first[key]; shape != 0; shape = shapes->next[shape]) {
        sum_shape(shapes, shape);
        count++;
    }
    for (unsigned s = 0; s < RKT_SEGMENT_COUNT; s++) {
        struct rkt_row *row = rkt_row_list_find(shapes->list, key, s);

        if (row)
            row->values[shapes->first_column + 1] = count;
    }
    count_steps(shapes, key);
}

static void count_all(struct shapes *shapes)
{
    for (size_t key = 0; key <= shapes->list->key_count; key++) {
        if (shapes->first[key] != 0)
            count_key(shapes, key);
    }
}

static void forget_unknown(struct rkt_row_list *list, int first_column)
{
    for (size_t i = 0; i < list->row_count; i++) {
        int64_t *values = &list->rows[i].values[first_column];

        if (values[1] == 0)
            values[0] = values[1] = values[2] = RKT_NA;
    }
}

/* ---- launch shapes of kernels ---- */

static void note_launches(struct shapes *shapes, const struct rkt_rank_trace *trace)
{
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->shape_id != 0 && work->shape_id < shapes->count &&
            work->work_class != RKT_WORK_COPY)
            note(shapes, work->shape_id, rkt_kernel_key(work), work->step);
    }
}

enum rkt_status rkt_count_shapes(const struct rkt_rank_result *rank, struct rkt_row_list *kernels)
{
    enum rkt_status status = RKT_OK;

    if (rank->trace->shape_count > 0) {
        struct shapes shapes;

        /* ids are dense from 1: a larger one is of no shape that is known */
        status = init(&shapes, rank, kernels, RKT_KERNEL_STEPS, rank->trace->shape_count + 1);
        if (status == RKT_OK) {
            note_launches(&shapes, rank->trace);
            count_all(&shapes);
        }
        release(&shapes);
    }
    if (status == RKT_OK)
        forget_unknown(kernels, RKT_KERNEL_STEPS);
    return status;
}

/* ---- inputs of operators ---- */

struct input_use {
    struct rkt_key_index *items; /* key: name and inputs; index: the step */
    size_t count;
};

static bool has_inputs(const struct rkt_range *range)
{
    return range->type == RKT_RANGE_CPU_OP && range->domain_id != 0 && range->name_id != 0;
}

static enum rkt_status find_uses(const struct rkt_rank_result *rank, struct input_use *uses)
{
    const struct rkt_rank_trace *trace = rank->trace;
    size_t next = 0;

    for (size_t i = 0; i < trace->range_count; i++)
        uses->count += has_inputs(&trace->ranges[i]);
    if (uses->count == 0)
        return RKT_OK;
    uses->items = calloc(uses->count, sizeof(*uses->items));
    if (!uses->items)
        return RKT_ERR_NOMEM;
    uses->count = 0;
    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (has_inputs(range))
            uses->items[uses->count++] = (struct rkt_key_index){
                (uint64_t)range->name_id << 32 | range->domain_id,
                rkt_step_of_host(rank, range->start_ns, &next),
            };
    }
    return rkt_key_index_sort(uses->items, uses->count);
}

static size_t count_pairs(const struct input_use *uses)
{
    size_t pairs = 0;

    for (size_t i = 0; i < uses->count; i++)
        pairs += i == 0 || uses->items[i].key != uses->items[i - 1].key;
    return pairs;
}

enum rkt_status rkt_count_input_shapes(const struct rkt_rank_result *rank,
                                       struct rkt_row_list *operators)
{
    struct input_use uses = {0};
    struct shapes shapes = {0};
    enum rkt_status status = find_uses(rank, &uses);
    uint32_t shape = 0;

    if (status == RKT_OK && uses.count > 0)
        status = init(&shapes, rank, operators, RKT_OPERATOR_STEPS, count_pairs(&uses) + 1);
    for (size_t i = 0; i < uses.count && status == RKT_OK; i++) {
        shape += i == 0 || uses.items[i].key != uses.items[i - 1].key;
        note(&shapes, shape, (size_t)(uses.items[i].key >> 32), uses.items[i].index);
    }
    if (status == RKT_OK && uses.count > 0)
        count_all(&shapes);
    if (status == RKT_OK)
        forget_unknown(operators, RKT_OPERATOR_STEPS);
    release(&shapes);
    free(uses.items);
    return status;
}
