/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare_steps.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/result.h"
#include "analysis/steady.h"

/* One step, over the ranks that are compared. */
struct row {
    int64_t sums[RKT_FIELD_COUNT];
    int64_t longest_ns;
    int64_t most_useful_ns;
    size_t rank_count;
    bool is_steady;
};

static int compare_cells(const void *a, const void *b)
{
    const struct rkt_step_cell *x = a;
    const struct rkt_step_cell *y = b;

    if (x->fields[RKT_FIELD_NUMBER] != y->fields[RKT_FIELD_NUMBER])
        return x->fields[RKT_FIELD_NUMBER] < y->fields[RKT_FIELD_NUMBER] ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int compare_gains(const void *a, const void *b)
{
    int64_t x = ((const struct rkt_step_gain *)a)->number;
    int64_t y = ((const struct rkt_step_gain *)b)->number;

    return (x > y) - (x < y);
}

static bool counts(const struct rkt_step_cell *cell, const struct rkt_compare_run *run)
{
    return cell->fields[RKT_FIELD_IS_RECORDED] != 0 && !cell->is_whole_window &&
           cell->is_host_view == run->is_host_view;
}

static void add_cell(struct row *row, const struct rkt_step_cell *cell)
{
    for (int i = RKT_FIELD_WINDOW; i < RKT_FIELD_COUNT; i++)
        row->sums[i] += cell->fields[i];
    if (cell->fields[RKT_FIELD_WINDOW] > row->longest_ns)
        row->longest_ns = cell->fields[RKT_FIELD_WINDOW];
    if (cell->fields[RKT_FIELD_COMPUTE] > row->most_useful_ns)
        row->most_useful_ns = cell->fields[RKT_FIELD_COMPUTE];
    row->is_steady &= cell->fields[RKT_FIELD_IS_WARMUP] == 0;
    row->rank_count++;
}

/* The row of the cells from *at on that have one number; of a rank's two the first counts. */
static struct row next_row(const struct rkt_compare_steps *steps, const struct rkt_compare_run *run,
                           size_t *at)
{
    struct row row = {.is_steady = true};
    int64_t number = steps->cells[*at].fields[RKT_FIELD_NUMBER];
    uint32_t rank_index = UINT32_MAX;

    for (; *at < steps->cell_count; (*at)++) {
        const struct rkt_step_cell *cell = &steps->cells[*at];

        if (cell->fields[RKT_FIELD_NUMBER] != number)
            break;
        if (!counts(cell, run) || cell->rank_index == rank_index)
            continue;
        rank_index = cell->rank_index;
        add_cell(&row, cell);
    }
    row.is_steady &= row.rank_count > 0 && row.rank_count == run->compared_count;
    return row;
}

static double idle_of(const struct row *row)
{
    double idle_ns = 0;

    for (int i = RKT_FIELD_IDLE_SYNC; i <= RKT_FIELD_IDLE_UNKNOWN; i++)
        idle_ns += (double)row->sums[i];
    return idle_ns / (double)row->rank_count;
}

static double mean_of(const struct row *row, enum rkt_step_field field)
{
    return (double)row->sums[field] / (double)row->rank_count;
}

static double straggler_of(const struct rkt_step_gain *gain, const struct row *row)
{
    if (!gain || gain->gain_ns == RKT_NA)
        return (double)NAN;
    return gain->gain_ns > 0 ? rkt_share(gain->gain_ns, row->longest_ns)
                             : rkt_share(0, row->longest_ns);
}

/* A number of one step; NAN: not known. */
static double value_of(enum rkt_metric metric, const struct row *row,
                       const struct rkt_step_gain *gain)
{
    int64_t useful_ns = row->sums[RKT_FIELD_COMPUTE];
    int64_t window_ns = row->sums[RKT_FIELD_WINDOW];
    int64_t comm_ns = row->sums[RKT_FIELD_COMM];
    int64_t together_ns = row->sums[RKT_FIELD_TOGETHER];

    switch (metric) {
    case RKT_METRIC_STEP:
        return (double)row->longest_ns;
    case RKT_METRIC_COMPUTE:
        return mean_of(row, RKT_FIELD_COMPUTE);
    case RKT_METRIC_COMM_WAIT:
    case RKT_METRIC_COMM_TRANSFER:
    case RKT_METRIC_COMM_UNSPLIT:
    case RKT_METRIC_COPY:
        return mean_of(row, RKT_FIELD_COMM_WAIT + (metric - RKT_METRIC_COMM_WAIT));
    case RKT_METRIC_IDLE:
        return idle_of(row);
    case RKT_METRIC_IDLE_SYNC:
    case RKT_METRIC_IDLE_ALLOC:
    case RKT_METRIC_IDLE_INPUT:
    case RKT_METRIC_IDLE_HOST:
    case RKT_METRIC_IDLE_LAUNCH:
    case RKT_METRIC_IDLE_DEPENDENCY:
    case RKT_METRIC_IDLE_DEVICE:
    case RKT_METRIC_IDLE_UNKNOWN:
        return mean_of(row, RKT_FIELD_IDLE_SYNC + (metric - RKT_METRIC_IDLE_SYNC));
    case RKT_METRIC_COMM_SHARE:
        return rkt_share(comm_ns, window_ns);
    case RKT_METRIC_EXPOSED_SHARE:
        return rkt_share(comm_ns - together_ns, window_ns);
    case RKT_METRIC_OVERLAP:
        return rkt_share(together_ns, comm_ns);
    case RKT_METRIC_BACKWARD_OVERLAP:
        return rkt_share(row->sums[RKT_FIELD_BUCKETS_COVERED], row->sums[RKT_FIELD_BUCKETS]);
    case RKT_METRIC_STRAGGLER:
        return straggler_of(gain, row);
    case RKT_METRIC_PARALLEL:
        return rkt_share(useful_ns, window_ns);
    case RKT_METRIC_BALANCE:
        return mean_of(row, RKT_FIELD_COMPUTE) / (double)row->most_useful_ns;
    case RKT_METRIC_COMM_EFFICIENCY:
        return rkt_share(row->most_useful_ns, row->longest_ns);
    case RKT_METRIC_COUNT:
        break;
    }
    return (double)NAN;
}

/* What host view has no word for. */
static bool is_known(enum rkt_metric metric, bool is_host_view)
{
    bool is_part = metric >= RKT_METRIC_COMM_WAIT && metric <= RKT_METRIC_IDLE_UNKNOWN;

    return !is_host_view || !is_part || metric == RKT_METRIC_COMM_TRANSFER ||
           metric == RKT_METRIC_IDLE || metric == RKT_METRIC_IDLE_INPUT ||
           metric == RKT_METRIC_IDLE_HOST;
}

static void add_row(struct rkt_compare_run *run, const struct row *row,
                    const struct rkt_step_gain *gain, double *const *values)
{
    for (int m = 0; m < RKT_METRIC_COUNT; m++) {
        double value = value_of((enum rkt_metric)m, row, gain);

        if (isfinite(value) && is_known((enum rkt_metric)m, run->is_host_view))
            values[m][run->metrics[m].count++] = value;
    }
    run->step_count++;
}

static void sample_rows(struct rkt_compare_steps *steps, struct rkt_compare_run *run,
                        double *const *values)
{
    size_t g = 0;

    for (size_t at = 0; at < steps->cell_count;) {
        int64_t number = steps->cells[at].fields[RKT_FIELD_NUMBER];
        struct row row = next_row(steps, run, &at);

        while (g < steps->gain_count && steps->gains[g].number < number)
            g++;
        run->recorded_count += row.rank_count > 0;
        if (row.is_steady)
            add_row(run, &row,
                    g < steps->gain_count && steps->gains[g].number == number ? &steps->gains[g]
                                                                              : NULL,
                    values);
    }
}

static const char *why_none(const struct rkt_compare_run *run)
{
    if (run->step_count > 0)
        return "";
    return run->recorded_count == 0 ? "no steps were found" : "no steady step that all ranks have";
}

static size_t count_numbers(const struct rkt_compare_steps *steps)
{
    size_t count = 0;

    for (size_t i = 0; i < steps->cell_count; i++)
        count += i == 0 || steps->cells[i].fields[RKT_FIELD_NUMBER] !=
                               steps->cells[i - 1].fields[RKT_FIELD_NUMBER];
    return count;
}

enum rkt_status rkt_compare_steps_sample(struct rkt_compare_steps *steps,
                                         struct rkt_compare_run *run, struct rkt_error *err)
{
    double *values[RKT_METRIC_COUNT];
    size_t room;

    if (steps->cell_count > 0)
        qsort(steps->cells, steps->cell_count, sizeof(*steps->cells), compare_cells);
    if (steps->gain_count > 0)
        qsort(steps->gains, steps->gain_count, sizeof(*steps->gains), compare_gains);
    room = count_numbers(steps);
    for (int m = 0; m < RKT_METRIC_COUNT; m++) {
        values[m] = RKT_ARENA_ARRAY(&run->arena, double, room + 1);
        if (!values[m])
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu steps", room);
        run->metrics[m] = (struct rkt_sample){.sorted = values[m]};
    }
    sample_rows(steps, run, values);
    for (int m = 0; m < RKT_METRIC_COUNT; m++)
        rkt_sample_sort(values[m], run->metrics[m].count);
    run->why_no_steps = why_none(run);
    return RKT_OK;
}

void rkt_compare_steps_release(struct rkt_compare_steps *steps)
{
    free(steps->cells);
    free(steps->gains);
    *steps = (struct rkt_compare_steps){0};
}
