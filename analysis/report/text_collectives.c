/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/report/groups.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"

#define ROWS_MAX 5
#define LAST_BYTES_MAX 22 /* up to column 100 */

/* "r1 93%, r0 7%" of the collectives whose last rank can be told. */
static void format_last(const struct rkt_result *result, const struct rkt_collective_group *group,
                        char *buf, size_t buf_bytes)
{
    size_t used = 0;

    if (group->told_count == 0) {
        (void)snprintf(buf, buf_bytes, group->blurred_count > 0 ? "not distinguishable" : "n/a");
        return;
    }
    buf[0] = '\0';
    for (size_t i = 0; i < RKT_GROUP_LAST_COUNT && group->last[i].count > 0; i++) {
        int written = snprintf(buf + used, buf_bytes - used, "%sr%u %.0f%%", i > 0 ? ", " : "",
                               result->ranks[group->last[i].rank].rank,
                               (double)group->last[i].count * 100 / (double)group->told_count);

        if (written < 0 || (size_t)written >= buf_bytes - used) {
            buf[used] = '\0'; /* whole ones only */
            return;
        }
        used += (size_t)written;
    }
}

static void print_group(const struct rkt_result *result, const struct rkt_collective_group *group,
                        FILE *out)
{
    char last[LAST_BYTES_MAX];
    char ranks[24];

    format_last(result, group, last, sizeof(last));
    (void)snprintf(ranks, sizeof(ranks), "%s%zu", group->first->host_count > 1 ? "*" : "",
                   group->first->participant_count);
    (void)fprintf(out, "  %-13.13s %9s %5s %6zu %9s %9s %9s %8s  %s\n", group->first->func_name,
                  rkt_cell_bytes(group->first->bytes).text, ranks, group->count,
                  rkt_cell_ms(group->transfer_ns).text, rkt_cell_ms(group->wait_ns).text,
                  rkt_cell_ms(group->wait_max_ns).text,
                  rkt_cell_gb_per_s(group->busbw_bytes_per_s).text, last);
}

static bool are_spread(const struct rkt_collective_group *groups, size_t count)
{
    for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
        if (groups[i].first->host_count > 1)
            return true;
    }
    return false;
}

enum rkt_status rkt_text_collectives(const struct rkt_result *result, FILE *out,
                                     struct rkt_error *err)
{
    struct rkt_collective_group *groups;
    enum rkt_status status;
    size_t count;

    if (result->collective_count == 0) {
        rkt_text_line(out, "COLLECTIVES: none that two or more of the ranks here took part in");
        return RKT_OK;
    }
    status = rkt_group_collectives(result, RKT_GROUP_KINDS, &groups, &count, err);
    if (status != RKT_OK)
        return status;
    rkt_text_line(
        out, "COLLECTIVES (ms; transfer: median; wait: mean time above that of the shortest rank)");
    (void)fprintf(out, "  %-13s %9s %5s %6s %9s %9s %9s %8s  %s\n", "func", "size", "ranks",
                  "count", "transfer", "wait", "max wait", "GB/s bus", "last to arrive");
    for (size_t i = 0; i < count && i < ROWS_MAX; i++)
        print_group(result, &groups[i], out);
    if (are_spread(groups, count))
        rkt_text_line(out, "  (* between hosts)");
    if (count > ROWS_MAX)
        rkt_text_line(out, "  (%zu more kinds; all are in the JSON report)", count - ROWS_MAX);
    free(groups);
    return RKT_OK;
}
