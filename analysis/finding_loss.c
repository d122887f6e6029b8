/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "analysis/finding_parts.h"

static int64_t length_of(const struct rkt_window *window)
{
    return window->end_ns - window->start_ns;
}

/* What could vanish from a window when ranks come in time: then transfers may be hidden, too. */
static int64_t exposed_comm_of(const struct rkt_window *window)
{
    return window->is_host_view ? window->host.comm_ns
                                : window->parts.comm_wait_ns + window->parts.comm_transfer_ns +
                                      window->parts.comm_unsplit_ns;
}

/* One step of all ranks, or their runs. */
struct step_sum {
    int64_t longest_ns;
    int64_t left_ns; /* what some rank still has to do */
    int64_t most_ns; /* the part on the rank that has most of it */
    double part_ns;
    double window_ns;
};

static void add_rank(struct step_sum *sum, const struct rkt_window *window, int64_t part_ns,
                     bool is_comm)
{
    int64_t left_ns = length_of(window) - exposed_comm_of(window) - (is_comm ? 0 : part_ns);

    sum->longest_ns = length_of(window) > sum->longest_ns ? length_of(window) : sum->longest_ns;
    sum->left_ns = left_ns > sum->left_ns ? left_ns : sum->left_ns;
    sum->most_ns = part_ns > sum->most_ns ? part_ns : sum->most_ns;
    sum->part_ns += (double)part_ns;
    sum->window_ns += (double)length_of(window);
}

struct total {
    double part_ns;
    double window_ns;
    double save_ns;
    double longest_ns;
    size_t cells; /* ranks' steps */
    size_t steps;
};

static void add_step(struct total *total, const struct step_sum *sum, size_t ranks)
{
    double save_ns = (double)(sum->longest_ns - sum->left_ns);

    if (ranks == 0)
        return;
    if (save_ns < 0)
        save_ns = 0;
    if (save_ns > (double)sum->most_ns)
        save_ns = (double)sum->most_ns;
    total->part_ns += sum->part_ns;
    total->window_ns += sum->window_ns;
    total->longest_ns += (double)sum->longest_ns;
    total->save_ns += save_ns;
    total->cells += ranks;
    total->steps++;
}

/* What is summed, and with which limit. */
struct part {
    const struct rkt_finder *finder;
    rkt_part_fn fn;
    const void *ctx;
    bool is_comm; /* a part of the exposed communication */
    bool caps_straggler;
    int64_t *room; /* one for each rank */
};

/* The window of a rank in this step; in its run where row is SIZE_MAX; NULL none. */
static const struct rkt_window *window_of(const struct rkt_finder *finder, size_t row, size_t rank)
{
    const struct rkt_step_result *step;

    if (row == SIZE_MAX)
        return finder->result->ranks[rank].is_set_apart ? NULL : &finder->result->ranks[rank].run;
    step = finder->steps.rows[row].by_rank[rank].step;
    return step ? &step->window : NULL;
}

/* The lower median of the ranks but the straggler; RKT_NA for none. */
static int64_t usual_of(const struct part *part, size_t row)
{
    const struct rkt_result *result = part->finder->result;
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_window *window = window_of(part->finder, row, r);

        if (window && r != result->straggler.rank)
            part->room[count++] = part->fn(window, r, part->ctx);
    }
    return rkt_median_i64(part->room, count);
}

static void add_row(const struct part *part, size_t row, struct total *total)
{
    const struct rkt_result *result = part->finder->result;
    int64_t usual_ns = part->caps_straggler ? usual_of(part, row) : RKT_NA;
    struct step_sum sum = {0};
    size_t ranks = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_window *window = window_of(part->finder, row, r);
        int64_t part_ns;

        if (!window)
            continue;
        part_ns = part->fn(window, r, part->ctx);
        if (usual_ns != RKT_NA && r == result->straggler.rank && part_ns > usual_ns)
            part_ns = usual_ns;
        add_rank(&sum, window, part_ns, part->is_comm);
        ranks++;
    }
    add_step(total, &sum, ranks);
}

static int64_t per(double sum, size_t count)
{
    return count > 0 ? (int64_t)llround(sum / (double)count) : 0;
}

static struct rkt_loss loss_of(const struct part *part)
{
    const struct rkt_step_table *steps = &part->finder->steps;
    struct total total = {0};

    for (size_t row = 0; row < steps->row_count; row++) {
        if (!steps->rows[row].is_warmup)
            add_row(part, row, &total);
    }
    if (total.steps == 0) /* the runs are one */
        add_row(part, SIZE_MAX, &total);
    return (struct rkt_loss){
        .loss_ns = per(total.part_ns, total.cells),
        .save_ns = per(total.save_ns, total.steps),
        .share = total.window_ns > 0 ? total.part_ns / total.window_ns : (double)NAN,
        .save_share = total.longest_ns > 0 ? total.save_ns / total.longest_ns : (double)NAN,
    };
}

struct rkt_loss rkt_loss_of(const struct rkt_finder *finder, rkt_part_fn fn, const void *ctx)
{
    const struct part part = {.finder = finder, .fn = fn, .ctx = ctx};

    return loss_of(&part);
}

struct rkt_loss rkt_comm_loss_of(const struct rkt_finder *finder, rkt_part_fn fn)
{
    const struct part part = {.finder = finder, .fn = fn, .is_comm = true};

    return loss_of(&part);
}

struct rkt_loss rkt_common_loss_of(const struct rkt_finder *finder, rkt_part_fn fn, const void *ctx,
                                   uint32_t causes)
{
    const struct rkt_straggler *straggler = &finder->result->straggler;
    const struct part part = {
        .finder = finder,
        .fn = fn,
        .ctx = ctx,
        .caps_straggler = straggler->is_found && (causes >> straggler->cause & 1) != 0,
        .room = finder->room,
    };

    return loss_of(&part);
}

bool rkt_is_steady_collective(const struct rkt_finder *finder,
                              const struct rkt_collective *collective)
{
    const struct rkt_rank_result *rank;

    if (collective->participant_count == 0)
        return false;
    rank = &finder->result->ranks[collective->participants[0].rank];
    if (!finder->sum.has_steps)
        return true;
    return collective->step < rank->step_count && rkt_step_counts(&rank->steps[collective->step]);
}

int64_t rkt_part_copies(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return rkt_partition_copy_ns(&window->parts);
}

int64_t rkt_part_launch_gaps(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.idle_ns[RKT_IDLE_HOST] + window->parts.idle_ns[RKT_IDLE_LAUNCH];
}

int64_t rkt_part_syncs(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.idle_ns[RKT_IDLE_SYNC];
}

int64_t rkt_part_transfers(const struct rkt_window *window, size_t rank, const void *ctx)
{
    (void)rank;
    (void)ctx;
    return window->parts.comm_transfer_ns + window->parts.comm_unsplit_ns + window->host.comm_ns;
}

bool rkt_severity_of(const struct rkt_loss *loss, enum rkt_severity *severity_out)
{
    if (!(loss->save_share >= RKT_SHARE_REPORTED))
        return false;
    *severity_out = loss->save_share >= RKT_SHARE_SERIOUS   ? RKT_SEVERITY_SERIOUS
                    : loss->save_share >= RKT_SHARE_WARNING ? RKT_SEVERITY_WARNING
                                                            : RKT_SEVERITY_INFO;
    return true;
}

static double per_step(const struct rkt_finder *finder, enum rkt_table_id id, const char *kind,
                       const char *name, int column)
{
    const struct rkt_tables *tables = finder->result->tables;
    double sum = 0;

    for (size_t i = 0; tables && i < tables->of[id].row_count; i++) {
        const struct rkt_row *row = &tables->of[id].rows[i];

        if (row->values[column] != RKT_NA && (!kind || strcmp(kind, row->kind) == 0) &&
            (!name || strcmp(name, row->name) == 0))
            sum += (double)row->values[column];
    }
    return finder->sum.step_count > 0 ? sum / (double)finder->sum.step_count : 0;
}

double rkt_per_step(const struct rkt_finder *finder, enum rkt_table_id id, const char *kind,
                    int column)
{
    return per_step(finder, id, kind, NULL, column);
}

double rkt_idle_per_step(const struct rkt_finder *finder, enum rkt_idle_cause cause, int column)
{
    return per_step(finder, RKT_TABLE_IDLE, NULL, rkt_idle_cause_name(cause), column);
}
