/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launch shapes a kernel has in each step, and whether they are those of the step before:
 *
 *     step        1     2     3     4          a kernel's shapes: 2
 *     shape 5     x     x           x          changes: 2 (into step 3, into step 4)
 *     shape 6                 x
 */
#include "analysis/kernel_shapes.h"

#include <stdlib.h>

#define STEPS_MAX 1024u /* the first ones; more tell nothing new */
#define WORD_BITS 64u
#define KEY_NONE SIZE_MAX

struct shapes {
    const struct rkt_rank_result *rank;
    struct rkt_row_list *kernels;
    size_t count;   /* ids are below; none is 0 */
    size_t *kernel; /* key of each shape's kernel; KEY_NONE: not launched */
    uint64_t *bits; /* [shape][word]: the steps in which it was launched */
    uint64_t
        *sums; /* by kernel: its shapes in a step as one number that no other set of them has */
    uint64_t *before; /* likewise in the last step that ran it */
    size_t step_count;
    size_t word_count;
};

static enum rkt_status init(struct shapes *shapes)
{
    size_t steps = shapes->rank->step_count;

    /* ids are dense from 1: a larger one is of no shape that is known */
    shapes->count = shapes->rank->trace->shape_count + 1;
    shapes->step_count = steps < STEPS_MAX ? steps : STEPS_MAX;
    shapes->word_count = shapes->step_count / WORD_BITS + 1;
    shapes->kernel = calloc(shapes->count, sizeof(*shapes->kernel));
    shapes->bits = calloc(shapes->count, shapes->word_count * sizeof(*shapes->bits));
    shapes->sums = calloc(shapes->kernels->key_count + 1, sizeof(*shapes->sums));
    shapes->before = calloc(shapes->kernels->key_count + 1, sizeof(*shapes->before));
    if (!shapes->kernel || !shapes->bits || !shapes->sums || !shapes->before)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < shapes->count; i++)
        shapes->kernel[i] = KEY_NONE;
    return RKT_OK;
}

static void release(struct shapes *shapes)
{
    free(shapes->kernel);
    free(shapes->bits);
    free(shapes->sums);
    free(shapes->before);
}

static void mark_launches(struct shapes *shapes)
{
    const struct rkt_rank_trace *trace = shapes->rank->trace;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->shape_id == 0 || work->shape_id >= shapes->count ||
            work->work_class == RKT_WORK_COPY)
            continue;
        shapes->kernel[work->shape_id] = rkt_kernel_key(work);
        if (work->step < shapes->step_count)
            shapes->bits[work->shape_id * shapes->word_count + work->step / WORD_BITS] |=
                UINT64_C(1) << work->step % WORD_BITS;
    }
}

static bool is_launched(const struct shapes *shapes, size_t shape, size_t step)
{
    return (shapes->bits[shape * shapes->word_count + step / WORD_BITS] >> step % WORD_BITS & 1) !=
           0;
}

static uint64_t mix(uint64_t number)
{
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return number ^ number >> 32;
}

/* Every kernel that the step ran. */
static void count_step(struct shapes *shapes, size_t step)
{
    for (size_t shape = 1; shape < shapes->count; shape++) {
        if (is_launched(shapes, shape, step))
            shapes->sums[shapes->kernel[shape]] += mix(shape);
    }
    for (size_t shape = 1; shape < shapes->count; shape++) {
        size_t kernel = shapes->kernel[shape];
        struct rkt_row *row;

        if (kernel == KEY_NONE || shapes->sums[kernel] == 0)
            continue; /* or by another of its shapes */
        row = rkt_row_list_find(shapes->kernels, kernel, rkt_segment_of_step((uint32_t)step));
        if (row) {
            row->values[RKT_KERNEL_STEPS]++;
            row->values[RKT_KERNEL_SHAPE_CHANGES] +=
                shapes->before[kernel] != 0 && shapes->before[kernel] != shapes->sums[kernel];
        }
        shapes->before[kernel] = shapes->sums[kernel];
        shapes->sums[kernel] = 0;
    }
}

/* How many each kernel has in all, in every row of it. */
static void count_all(struct shapes *shapes)
{
    for (size_t shape = 1; shape < shapes->count; shape++) {
        for (unsigned s = 0; s < RKT_SEGMENT_COUNT && shapes->kernel[shape] != KEY_NONE; s++) {
            struct rkt_row *row = rkt_row_list_find(shapes->kernels, shapes->kernel[shape], s);

            if (row)
                row->values[RKT_KERNEL_SHAPES]++;
        }
    }
}

static void forget_unknown(struct rkt_row_list *kernels)
{
    for (size_t i = 0; i < kernels->row_count; i++) {
        int64_t *values = kernels->rows[i].values;

        if (values[RKT_KERNEL_SHAPES] == 0)
            values[RKT_KERNEL_SHAPES] = values[RKT_KERNEL_STEPS] =
                values[RKT_KERNEL_SHAPE_CHANGES] = RKT_NA;
    }
}

enum rkt_status rkt_count_shapes(const struct rkt_rank_result *rank, struct rkt_row_list *kernels)
{
    struct shapes shapes = {.rank = rank, .kernels = kernels};
    enum rkt_status status = RKT_OK;

    if (rank->trace->shape_count > 0)
        status = init(&shapes);
    if (rank->trace->shape_count > 0 && status == RKT_OK) {
        mark_launches(&shapes);
        for (size_t step = 0; step < shapes.step_count; step++)
            count_step(&shapes, step);
        count_all(&shapes);
    }
    if (status == RKT_OK)
        forget_unknown(kernels);
    release(&shapes);
    return status;
}
