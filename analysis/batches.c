/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/batches.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/key_table.h"
#include "analysis/name_times.h"
#include "analysis/row_list.h"
#include "analysis/step_table.h"

#define NO_BATCH UINT32_MAX
#define COMPUTE "compute"

struct finder {
    struct rkt_result *result;
    const struct rkt_step_table *steps;
    struct rkt_batches *batches;
    uint32_t *batch_of_row;   /* of the step table */
    uint32_t *batch_of_step;  /* of the rank at hand */
    struct rkt_strtab *names; /* of kernels that compute first, then others' */
    int64_t **times_of_name;  /* of the former: its times */
    uint32_t kernel_count;    /* these have ids up to it */
};

/* ---- which steps ---- */

static size_t count_steady(const struct rkt_step_table *steps)
{
    size_t count = 0;

    for (size_t row = 0; row < steps->row_count; row++)
        count += rkt_step_row_is_steady(steps, row);
    return count;
}

/* Step i of `count` is in batch i * batches / count. */
static void divide(struct finder *finder)
{
    const struct rkt_step_table *steps = finder->steps;
    struct rkt_batches *batches = finder->batches;
    size_t count = count_steady(steps);
    size_t seen = 0;

    batches->count = count < RKT_BATCHES_MAX ? count : RKT_BATCHES_MAX;
    batches->rank_count = steps->compared_count;
    for (size_t row = 0; row < steps->row_count; row++) {
        struct rkt_batch *batch;

        finder->batch_of_row[row] = NO_BATCH;
        if (!rkt_step_row_is_steady(steps, row))
            continue;
        finder->batch_of_row[row] = (uint32_t)(seen++ * batches->count / count);
        batch = &batches->items[finder->batch_of_row[row]];
        if (batch->step_count++ == 0)
            batch->first_step = steps->rows[row].number;
        batch->last_step = steps->rows[row].number;
    }
}

/* ---- what kernels took in them ---- */

static void place_steps(struct finder *finder, size_t rank)
{
    const struct rkt_rank_result *of = &finder->result->ranks[rank];

    for (size_t i = 0; i < of->step_count; i++)
        finder->batch_of_step[i] = NO_BATCH;
    for (size_t row = 0; row < finder->steps->row_count; row++) {
        const struct rkt_step_result *step = finder->steps->rows[row].by_rank[rank].step;

        if (step)
            finder->batch_of_step[step - of->steps] = finder->batch_of_row[row];
    }
}

/* Every kernel that computes gets a name and room. */
static bool place_kernels(struct finder *finder, struct rkt_arena *arena)
{
    const struct rkt_table *table = &finder->result->tables->of[RKT_TABLE_KERNELS];
    int64_t **kernels = RKT_ARENA_ARRAY(arena, int64_t *, table->row_count + 1);

    if (!kernels)
        return false;
    finder->batches->kernels = kernels;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rkt_row *row = &table->rows[i];
        uint32_t name;

        if (strcmp(row->kind, COMPUTE) != 0)
            continue;
        kernels[i] = RKT_ARENA_ARRAY(arena, int64_t, finder->batches->count);
        name = rkt_strtab_intern(finder->names, row->name, strlen(row->name));
        if (!kernels[i] || name > table->row_count)
            return false;
        finder->times_of_name[name] = kernels[i];
        finder->kernel_count = name > finder->kernel_count ? name : finder->kernel_count;
    }
    return true;
}

/* The row of each of the rank's names, looked up once. */
struct rank_names {
    const struct rkt_strtab *names;
    uint32_t *known; /* by id: 0 not yet, else 1 + the finder's id */
    uint32_t count;
};

static int64_t *times_of(const struct finder *finder, struct rank_names *of, uint32_t name_id)
{
    uint32_t id = name_id < of->count ? name_id : 0; /* as a broken record has it */
    size_t len_bytes;
    const char *text;

    if (of->known[id] == 0) {
        text = rkt_strtab_get(of->names, id, &len_bytes);
        of->known[id] = 1 + rkt_strtab_intern(finder->names, text, len_bytes);
    }
    return of->known[id] <= 1 + finder->kernel_count ? finder->times_of_name[of->known[id] - 1]
                                                     : NULL;
}

static bool add_rank(struct finder *finder, size_t r)
{
    const struct rkt_rank_result *rank = &finder->result->ranks[r];
    struct rank_names of = {.names = rank->trace->names,
                            .count = rkt_strtab_count(rank->trace->names)};
    struct rkt_name_walk walk;
    struct rkt_name_time time;

    of.known = calloc((size_t)of.count + 1, sizeof(*of.known));
    if (!of.known)
        return false;
    place_steps(finder, r);
    rkt_name_walk_init(&walk, rank->names, RKT_NAMES_KERNELS, 0, UINT32_MAX);
    while (rkt_name_walk_next(&walk, &time)) {
        uint32_t batch =
            time.first_step < rank->step_count ? finder->batch_of_step[time.first_step] : NO_BATCH;
        int64_t *times = batch != NO_BATCH ? times_of(finder, &of, time.name_id) : NULL;

        if (times)
            rkt_row_add(&times[batch], time.sum_ns);
    }
    free(of.known);
    return true;
}

static bool add_ranks(struct finder *finder)
{
    bool is_done = true;

    for (size_t r = 0; r < finder->result->rank_count && is_done; r++)
        is_done = finder->result->ranks[r].is_set_apart || add_rank(finder, r);
    return is_done;
}

/* ---- all of it ---- */

static bool has_names(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        if (!result->ranks[r].is_set_apart && !result->ranks[r].names)
            return false;
    }
    return true;
}

static size_t most_steps(const struct rkt_result *result)
{
    size_t most = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        most = result->ranks[r].step_count > most ? result->ranks[r].step_count : most;
    return most;
}

static enum rkt_status find(struct finder *finder, struct rkt_arena *arena, struct rkt_error *err)
{
    size_t row_count = finder->result->tables->of[RKT_TABLE_KERNELS].row_count;
    enum rkt_status status = RKT_OK;

    finder->batches = RKT_ARENA_ARRAY(arena, struct rkt_batches, 1);
    finder->batch_of_row = calloc(finder->steps->row_count + 1, sizeof(*finder->batch_of_row));
    finder->batch_of_step = calloc(most_steps(finder->result) + 1, sizeof(*finder->batch_of_step));
    finder->times_of_name = calloc(row_count + 1, sizeof(int64_t *));
    finder->names = rkt_strtab_create();
    if (!finder->batches || !finder->batch_of_row || !finder->batch_of_step ||
        !finder->times_of_name || !finder->names)
        status = RKT_ERR_NOMEM;
    if (status == RKT_OK) {
        divide(finder);
        if (finder->batches->count > 0 && (!place_kernels(finder, arena) || !add_ranks(finder)))
            status = RKT_ERR_NOMEM;
    }
    if (status == RKT_OK && finder->batches->count > 0)
        finder->result->batches = finder->batches;
    rkt_strtab_destroy(finder->names);
    free(finder->times_of_name);
    free(finder->batch_of_step);
    free(finder->batch_of_row);
    return status == RKT_OK ? RKT_OK
                            : rkt_fail(err, status, "no memory for the kernels of %zu steps",
                                       finder->steps->row_count);
}

enum rkt_status rkt_find_batches(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    struct rkt_step_table steps;
    struct finder finder = {.result = result, .steps = &steps};
    enum rkt_status status;

    if (!result->tables || !has_names(result))
        return RKT_OK;
    status = rkt_step_table_init(&steps, result, err);
    if (status != RKT_OK)
        return status;
    (void)rkt_step_table_mark_warmup(&steps);
    status = find(&finder, arena, err);
    rkt_step_table_release(&steps);
    return status;
}
