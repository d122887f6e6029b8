/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"
#include "analysis/steady.h"

/* Columns that are always there, then those that something falls into, largest first. */
enum {
    COLUMN_WINDOW,
    COLUMN_COMPUTE,
    COLUMN_OVERLAPPED,
    COLUMN_WAIT, /* host view: exposed comm */
    COLUMN_TRANSFER,
    COLUMN_UNSPLIT,
    COLUMN_COPIES,
    COLUMN_IDLE, /* and one per cause */
    COLUMN_COUNT = COLUMN_IDLE + RKT_IDLE_CAUSE_COUNT,
    SHOWN_MAX = 10
};

/* Of more ranks than this only those that wait least and most are shown. */
#define ROWS_MAX 12
#define ROWS_AT_AN_END 4

struct table {
    int columns[SHOWN_MAX]; /* COLUMN_COUNT: everything that is not shown */
    size_t column_count;
    struct rkt_steady *ranks; /* by position */
    struct rkt_steady sum;
};

/* A rank has parts or, in host view, a host partition; the other is all 0. */
static int64_t value_of(const struct rkt_steady *steady, int column)
{
    const struct rkt_partition *parts = &steady->parts;
    const struct rkt_host_partition *host = &steady->host;

    switch (column) {
    case COLUMN_WINDOW:
        return steady->window_ns;
    case COLUMN_COMPUTE:
        return host->compute_ns + parts->compute_ns;
    case COLUMN_OVERLAPPED:
        return host->overlapped_ns + parts->overlapped_ns;
    case COLUMN_WAIT:
        return host->comm_ns + parts->comm_wait_ns;
    case COLUMN_TRANSFER:
        return parts->comm_transfer_ns;
    case COLUMN_UNSPLIT:
        return parts->comm_unsplit_ns;
    case COLUMN_COPIES:
        return rkt_partition_copy_ns(parts);
    case COLUMN_IDLE + RKT_IDLE_INPUT:
        return host->input_ns + parts->idle_ns[RKT_IDLE_INPUT];
    case COLUMN_IDLE + RKT_IDLE_HOST:
        return host->host_ns + parts->idle_ns[RKT_IDLE_HOST];
    default:
        return parts->idle_ns[column - COLUMN_IDLE];
    }
}

static const char *heading_of(const struct table *table, int column)
{
    switch (column) {
    case COLUMN_WINDOW:
        return "window";
    case COLUMN_COMPUTE:
        return "compute";
    case COLUMN_OVERLAPPED:
        return "overlap";
    case COLUMN_WAIT:
        return table->sum.is_host_view ? "comm" : "wait";
    case COLUMN_TRANSFER:
        return "transfer";
    case COLUMN_UNSPLIT:
        return "unsplit";
    case COLUMN_COPIES:
        return "copies";
    case COLUMN_COUNT:
        return "other";
    case COLUMN_IDLE + RKT_IDLE_DEPENDENCY:
        return "depend";
    default:
        return rkt_idle_cause_name((enum rkt_idle_cause)(column - COLUMN_IDLE));
    }
}

static int64_t shown_of(const struct table *table, const struct rkt_steady *steady, size_t at)
{
    int64_t rest_ns = steady->window_ns;

    if (table->columns[at] != COLUMN_COUNT)
        return value_of(steady, table->columns[at]);
    for (size_t i = 1; i < at; i++)
        rest_ns -= value_of(steady, table->columns[i]);
    return rest_ns;
}

/* The largest column from `first` on that is not shown yet; COLUMN_COUNT when all are 0. */
static int largest_left(const struct table *table, int first)
{
    int best = COLUMN_COUNT;
    int64_t best_ns = 0;

    for (int column = first; column < COLUMN_COUNT; column++) {
        bool is_shown = false;

        for (size_t i = 0; i < table->column_count; i++)
            is_shown |= table->columns[i] == column;
        if (!is_shown && value_of(&table->sum, column) > best_ns) {
            best = column;
            best_ns = value_of(&table->sum, column);
        }
    }
    return best;
}

static void choose_columns(struct table *table)
{
    /* wait and transfer stay together; where nothing could be split both are left out */
    bool is_split = table->sum.is_host_view || table->sum.parts.comm_wait_ns > 0 ||
                    table->sum.parts.comm_transfer_ns > 0;
    int always = !is_split                 ? COLUMN_OVERLAPPED
                 : table->sum.is_host_view ? COLUMN_WAIT
                                           : COLUMN_TRANSFER;

    for (int column = 0; column <= always; column++)
        table->columns[table->column_count++] = column;
    while (table->column_count < SHOWN_MAX) {
        int next = largest_left(table, always + 1);

        if (next == COLUMN_COUNT)
            return;
        table->columns[table->column_count++] = next;
    }
    if (largest_left(table, always + 1) != COLUMN_COUNT)
        table->columns[SHOWN_MAX - 1] = COLUMN_COUNT;
}

static void print_head(const struct table *table, FILE *out)
{
    (void)fprintf(out, "  rank");
    for (size_t i = 0; i < table->column_count; i++)
        (void)fprintf(out, "%9s", heading_of(table, table->columns[i]));
    (void)fprintf(out, "\n");
}

static void print_set_apart(const struct rkt_rank_result *rank, const struct rkt_steady *steady,
                            FILE *out)
{
    (void)fprintf(out, "  %4u%9s  %s: not in the sum\n", rank->rank,
                  rkt_cell_ms(steady->window_ns / (int64_t)steady->step_count).text,
                  rank->has_other_steps ? "its steps are other ones" : "no GPU work was recorded");
}

static void print_rank(const struct table *table, uint32_t rank, const struct rkt_steady *steady,
                       FILE *out)
{
    (void)fprintf(out, "  %4u", rank);
    for (size_t i = 0; i < table->column_count; i++)
        (void)fprintf(out, "%9s",
                      rkt_cell_ms(shown_of(table, steady, i) / (int64_t)steady->step_count).text);
    (void)fprintf(out, "\n");
}

static void print_share(const struct table *table, FILE *out)
{
    (void)fprintf(out, "   all");
    for (size_t i = 0; i < table->column_count; i++)
        (void)fprintf(
            out, "%9s",
            rkt_cell_percent(rkt_share(shown_of(table, &table->sum, i), table->sum.window_ns))
                .text);
    (void)fprintf(out, "\n");
}

/* How many ranks wait less than this one (equal ones by position). */
static size_t place_of(const struct table *table, size_t rank_count, size_t rank)
{
    size_t place = 0;

    for (size_t r = 0; r < rank_count; r++) {
        int64_t wait_ns = value_of(&table->ranks[r], COLUMN_WAIT);
        int64_t own_ns = value_of(&table->ranks[rank], COLUMN_WAIT);

        place += wait_ns < own_ns || (wait_ns == own_ns && r < rank);
    }
    return place;
}

static bool is_row_shown(const struct table *table, const struct rkt_result *result, size_t rank)
{
    size_t place;

    if (result->rank_count <= ROWS_MAX)
        return true;
    if (result->straggler.is_found && result->straggler.rank == rank)
        return true;
    place = place_of(table, result->rank_count, rank);
    return place < ROWS_AT_AN_END || place + ROWS_AT_AN_END >= result->rank_count;
}

static bool is_host_only(const struct table *table)
{
    return table->sum.is_host_view && table->sum.host.window_ns == table->sum.window_ns;
}

static void print_title(const struct table *table, const struct rkt_result *result, FILE *out)
{
    size_t most = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        most = table->ranks[r].step_count > most ? table->ranks[r].step_count : most;
    if (table->sum.has_steps)
        rkt_text_line(out,
                      "WHERE A STEP GOES (ms, mean of %zu steady step%s; parts add up to the "
                      "window exactly)",
                      most, most == 1 ? "" : "s");
    else
        rkt_text_line(out, "WHERE THE RUN GOES (ms, first to last %s: no steps were found)",
                      is_host_only(table) ? "range" : "GPU work");
}

static void print_table(struct table *table, const struct rkt_result *result, FILE *out)
{
    size_t hidden = 0;

    choose_columns(table);
    print_title(table, result, out);
    print_head(table, out);
    for (size_t r = 0; r < result->rank_count; r++) {
        if (result->ranks[r].is_set_apart)
            print_set_apart(&result->ranks[r], &table->ranks[r], out);
        else if (is_row_shown(table, result, r))
            print_rank(table, result->ranks[r].rank, &table->ranks[r], out);
        else
            hidden++;
    }
    if (hidden > 0)
        rkt_text_line(out, "  (%zu ranks between those that wait least and most are left out)",
                      hidden);
    print_share(table, out);
    if (is_host_only(table))
        rkt_text_line(out, "  host view: no GPU work was recorded; compute is forward, backward "
                           "and optimizer, less their sleep");
    else if (table->sum.is_host_view)
        rkt_text_line(out, "  host view of the ranks that recorded no GPU work: compute is "
                           "forward, backward and optimizer on the host");
    else if (table->sum.parts.comm_wait_ns + table->sum.parts.comm_transfer_ns > 0)
        rkt_text_line(out, "  wait, transfer: communication that no compute hides, before and "
                           "after the last rank arrived");
    if (table->sum.parts.comm_unsplit_ns > 0)
        rkt_text_line(out, "  unsplit: communication that no compute hides; wait and transfer are "
                           "not told apart");
}

enum rkt_status rkt_text_partition(const struct rkt_result *result, FILE *out,
                                   struct rkt_error *err)
{
    struct rkt_steady *ranks = calloc(result->rank_count + 1, sizeof(*ranks));
    struct table table = {.ranks = ranks};

    if (ranks == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", result->rank_count);
    for (size_t r = 0; r < result->rank_count; r++) {
        ranks[r] = rkt_steady_of(&result->ranks[r]);
        if (!result->ranks[r].is_set_apart)
            rkt_steady_add(&table.sum, &ranks[r]);
    }
    print_table(&table, result, out);
    free(ranks);
    return RKT_OK;
}
