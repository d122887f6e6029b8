/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/batches.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/key_table.h"
#include "analysis/name_times.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"
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

/* ---- operators ---- */

/* Those of the joined table, by name. */
struct operators {
    const struct rkt_table *table;
    struct rkt_strtab *names;
    size_t *row_of_name; /* SIZE_MAX: none */
};

/* Every step in a batch has a segment of its own on every rank; then each is a batch. */
static bool steps_stand_apart(const struct finder *finder)
{
    for (size_t row = 0; row < finder->steps->row_count; row++) {
        for (size_t r = 0; r < finder->steps->rank_count; r++) {
            const struct rkt_step_result *step = finder->steps->rows[row].by_rank[r].step;

            if (step && finder->batch_of_row[row] != NO_BATCH &&
                step - finder->result->ranks[r].steps >= RKT_SEGMENT_STEPS)
                return false;
        }
    }
    return true;
}

/* The row of all ranks that one of a rank is in; SIZE_MAX. */
static size_t joined_row(const struct operators *operators, const struct rkt_row *row)
{
    uint32_t name = rkt_strtab_intern(operators->names, row->name, strlen(row->name));
    size_t at = name <= operators->table->row_count ? operators->row_of_name[name] : SIZE_MAX;

    if (at == SIZE_MAX || strcmp(operators->table->rows[at].kind, row->kind) != 0)
        return SIZE_MAX;
    return at;
}

/* Tables of one rank have a row for each operator in each segment. */
static void add_operators(struct finder *finder, const struct operators *operators, size_t r)
{
    const struct rkt_rank_result *rank = &finder->result->ranks[r];
    size_t row_count = rank->tables ? rank->tables->of[RKT_TABLE_OPERATORS].row_count : 0;

    place_steps(finder, r);
    for (size_t i = 0; i < row_count; i++) {
        const struct rkt_row *row = &rank->tables->of[RKT_TABLE_OPERATORS].rows[i];
        bool is_step = row->segment < RKT_SEGMENT_STEPS && row->segment < rank->step_count;
        uint32_t batch = is_step ? finder->batch_of_step[row->segment] : NO_BATCH;
        size_t at = batch != NO_BATCH ? joined_row(operators, row) : SIZE_MAX;

        if (at == SIZE_MAX)
            continue;
        rkt_row_add(&finder->batches->device[at][batch], row->values[RKT_OPERATOR_SELF_DEVICE]);
        rkt_row_add(&finder->batches->host[at][batch], row->values[RKT_OPERATOR_SELF_HOST]);
    }
}

/* Of rows with one name and two kinds the first has it. */
static bool place_operators(struct finder *finder, const struct operators *operators,
                            struct rkt_arena *arena)
{
    struct rkt_batches *batches = finder->batches;

    for (size_t i = 0; i <= operators->table->row_count; i++)
        operators->row_of_name[i] = SIZE_MAX;
    for (size_t i = 0; i < operators->table->row_count; i++) {
        const char *text = operators->table->rows[i].name;
        uint32_t name = rkt_strtab_intern(operators->names, text, strlen(text));

        batches->device[i] = RKT_ARENA_ARRAY(arena, int64_t, batches->count);
        batches->host[i] = RKT_ARENA_ARRAY(arena, int64_t, batches->count);
        if (!batches->device[i] || !batches->host[i] || name > operators->table->row_count)
            return false;
        if (operators->row_of_name[name] == SIZE_MAX)
            operators->row_of_name[name] = i;
    }
    return true;
}

static bool find_operators(struct finder *finder, struct rkt_arena *arena)
{
    const struct rkt_table *table = &finder->result->tables->of[RKT_TABLE_OPERATORS];
    struct operators operators = {
        .table = table,
        .names = rkt_strtab_create(),
        .row_of_name = calloc(table->row_count + 1, sizeof(*operators.row_of_name)),
    };
    bool is_done;

    finder->batches->device = RKT_ARENA_ARRAY(arena, int64_t *, table->row_count + 1);
    finder->batches->host = RKT_ARENA_ARRAY(arena, int64_t *, table->row_count + 1);
    is_done = operators.names && operators.row_of_name && finder->batches->device &&
              finder->batches->host;
    if (is_done && steps_stand_apart(finder)) {
        is_done = place_operators(finder, &operators, arena);
        for (size_t r = 0; r < finder->result->rank_count && is_done; r++) {
            if (!finder->result->ranks[r].is_set_apart)
                add_operators(finder, &operators, r);
        }
    }
    rkt_strtab_destroy(operators.names);
    free(operators.row_of_name);
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
        if (finder->batches->count > 0 &&
            (!place_kernels(finder, arena) || !add_ranks(finder) || !find_operators(finder, arena)))
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
