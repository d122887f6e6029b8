/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that nothing hides. Those that could run beside the kernels at once, had they a stream of
 * their own, are told apart from those that first need pinned memory, or are too many.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding_parts.h"
#include "analysis/segment.h"

/* Of each rank's exposed copies the share of one kind. */
struct copy_shares {
    double *of_rank;
};

static int64_t copies_of(const struct rkt_window *window, size_t rank, const void *ctx)
{
    const struct copy_shares *shares = ctx;

    return (int64_t)((double)rkt_partition_copy_ns(&window->parts) * shares->of_rank[rank]);
}

/* From pinned memory, without a wait, behind the kernels of its stream. */
static bool only_needs_a_stream(const struct rkt_row *row)
{
    return strcmp(row->kind, "HtoD") == 0 && strncmp(row->name, "pinned", 6) == 0 &&
           row->values[RKT_COPY_WAITS] * 2 < row->values[RKT_COLUMN_COUNT] &&
           row->values[RKT_COPY_SHARED] * 2 > row->values[RKT_COLUMN_COUNT];
}

static double share_of_rank(const struct rkt_rank_result *rank, bool needs_a_stream)
{
    size_t mixed;
    uint32_t steady = rkt_steady_segments(rank, &mixed);
    const struct rkt_table *copies = rank->tables ? &rank->tables->of[RKT_TABLE_COPIES] : NULL;
    double part_ns = 0;
    double all_ns = 0;

    for (size_t i = 0; copies && i < copies->row_count; i++) {
        const struct rkt_row *row = &copies->rows[i];
        double exposed_ns = (double)row->values[RKT_COPY_EXPOSED];

        if ((steady >> row->segment & 1) == 0)
            continue;
        all_ns += exposed_ns;
        part_ns += only_needs_a_stream(row) == needs_a_stream ? exposed_ns : 0;
    }
    return all_ns > 0 ? part_ns / all_ns : needs_a_stream ? 0 : 1;
}

/* The row of all ranks that exposes most; NULL none. */
static const struct rkt_row *largest_row(const struct rkt_finder *finder, bool needs_a_stream)
{
    const struct rkt_tables *tables = finder->result->tables;
    const struct rkt_row *most = NULL;

    for (size_t i = 0; tables && i < tables->of[RKT_TABLE_COPIES].row_count; i++) {
        const struct rkt_row *row = &tables->of[RKT_TABLE_COPIES].rows[i];

        if (only_needs_a_stream(row) == needs_a_stream &&
            (!most || row->values[RKT_COPY_EXPOSED] > most->values[RKT_COPY_EXPOSED]))
            most = row;
    }
    return most;
}

/* By what exposes most. */
static const char *advice_for(const struct rkt_row *row)
{
    bool is_pageable = row && strstr(row->name, "pageable") != NULL;

    if (!row)
        return "pinned memory with non_blocking copies, and fewer of them";
    if (strcmp(row->kind, "HtoD") == 0)
        return is_pageable ? "DataLoader(pin_memory=True), then .to(device, non_blocking=True)"
               : row->values[RKT_COPY_WAITS] > 0
                   ? ".to(device, non_blocking=True); fewer and larger copies"
                   : "prefetch the next batch earlier; fewer and larger copies";
    if (strcmp(row->kind, "DtoH") == 0)
        return is_pageable
                   ? "fewer .item(), .cpu() and prints inside the step; copy what is needed "
                     "into pinned memory with non_blocking=True"
                   : "fewer .item(), .cpu() and prints inside the step: read every N steps";
    if (strcmp(row->kind, "DtoD") == 0)
        return "fewer cat(), contiguous() and clone(); pad once, and write in place";
    if (strcmp(row->kind, "Memset") == 0)
        return "empty() where everything is written; zero_grad(set_to_none=True)";
    return "fewer and larger copies";
}

/* "HtoD pageable to device (1.0 a step of 64.00 MiB, 6.250 GB/s, the host waits for 100%)" */
static void describe(const struct rkt_finder *finder, const struct rkt_row *row, char *text,
                     size_t text_bytes)
{
    double count = (double)row->values[RKT_COLUMN_COUNT];
    double bytes = (double)row->values[RKT_COPY_BYTES];
    double total_ns = (double)row->values[RKT_COLUMN_TOTAL];

    (void)snprintf(text, text_bytes,
                   "; most are %s%s%s: %.1f a step, %.3g MB each, %.3g GB/s, the host waits for "
                   "%.0f%%",
                   row->kind, row->name[0] != '\0' ? " " : "", row->name,
                   count / (double)finder->sum.step_count, count > 0 ? bytes / count / 1e6 : 0,
                   total_ns > 0 ? bytes / total_ns : 0,
                   count > 0 ? 100 * (double)row->values[RKT_COPY_WAITS] / count : 0);
}

/* Under backward nothing needs the link: what runs there costs nothing. */
static void add_prefetch(double prefetch, char *text, size_t text_bytes)
{
    size_t used = strlen(text);

    if (isfinite(prefetch))
        (void)snprintf(text + used, text_bytes - used,
                       "; %.0f%% of what is copied to the GPU runs under backward", 100 * prefetch);
}

static enum rkt_status find_kind(struct rkt_finder *finder, const struct copy_shares *shares,
                                 bool needs_a_stream)
{
    struct rkt_loss loss =
        rkt_common_loss_of(finder, copies_of, shares, RKT_CAUSE_BIT(RKT_CAUSE_COPY));
    const struct rkt_row *row = largest_row(finder, needs_a_stream);
    struct rkt_finding *finding;
    enum rkt_severity severity;
    char most[256] = "";

    if (!rkt_severity_of(&loss, &severity))
        return RKT_OK;
    if (row)
        describe(finder, row, most, sizeof(most));
    if (row && strcmp(row->kind, "HtoD") == 0)
        add_prefetch(finder->result->summary.prefetch, most, sizeof(most));
    finding = rkt_add_finding(
        finder, needs_a_stream ? "one_stream" : "exposed_copies", severity, &loss,
        needs_a_stream ? "copy on a stream of its own, one batch ahead of the kernels (prefetch)"
                       : advice_for(row),
        needs_a_stream ? "Copies stand in the kernels' stream, so nothing runs beside them%s"
                       : "Copies run that no kernel hides%s",
        most);
    if (!finding)
        return RKT_ERR_NOMEM;
    rkt_add_places(finder, finding, RKT_PLACE_COPY);
    return RKT_OK;
}

enum rkt_status rkt_find_copies(struct rkt_finder *finder)
{
    size_t rank_count = finder->result->rank_count;
    struct copy_shares shares = {calloc(rank_count + 1, sizeof(*shares.of_rank))};
    enum rkt_status status = shares.of_rank ? RKT_OK : RKT_ERR_NOMEM;

    for (int needs_a_stream = 0; needs_a_stream < 2 && status == RKT_OK; needs_a_stream++) {
        for (size_t r = 0; r < rank_count; r++)
            shares.of_rank[r] = share_of_rank(&finder->result->ranks[r], needs_a_stream != 0);
        status = find_kind(finder, &shares, needs_a_stream != 0);
    }
    free(shares.of_rank);
    return status;
}

const char *rkt_copy_advice(const struct rkt_rank_result *rank)
{
    const struct rkt_table *copies = rank->tables ? &rank->tables->of[RKT_TABLE_COPIES] : NULL;
    const struct rkt_row *most = NULL;

    for (size_t i = 0; copies && i < copies->row_count; i++) {
        if (!most || copies->rows[i].values[RKT_COPY_EXPOSED] > most->values[RKT_COPY_EXPOSED])
            most = &copies->rows[i];
    }
    return advice_for(most);
}
