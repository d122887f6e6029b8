/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON report of anybody's: it is refused with a reason, or compared with itself, and as a series
 * of two; and what is written of that is JSON in turn, whatever the numbers were.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/compare_report.h"
#include "common/json_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rkt_status take(void *ctx, const struct rkt_json_value *value, struct rkt_error *err)
{
    (void)err;
    *(size_t *)ctx += value->type == RKT_JSON_BEGIN;
    return RKT_OK;
}

/* Both pages; the JSON one is read again. */
static void write_pages(const struct rkt_compare_report *report)
{
    char *page = NULL;
    size_t len_bytes = 0;
    size_t count = 0;
    FILE *out = open_memstream(&page, &len_bytes);

    if (!out || rkt_compare_write_json(report, out, NULL) != RKT_OK || fclose(out) != 0 ||
        rkt_json_walk(page, take, &count, NULL) != RKT_OK || count == 0)
        abort();
    free(page);
    out = open_memstream(&page, &len_bytes);
    if (!out || rkt_compare_write_text(report, out, NULL) != RKT_OK || fclose(out) != 0)
        abort();
    free(page);
}

static void compare(const struct rkt_compare_run runs[2])
{
    struct rkt_compare_report report = {.runs = runs, .run_count = 2, .top = 10};
    struct rkt_comparison comparison;
    struct rkt_series series;

    if (rkt_compare(&runs[0], &runs[1], &comparison, NULL) != RKT_OK ||
        rkt_series_create(runs, 2, RKT_SCALING_UNKNOWN, &series, NULL) != RKT_OK)
        abort();
    report.comparisons = &comparison;
    report.comparison_count = 1;
    write_pages(&report);
    report.comparison_count = 0;
    report.series = &series;
    write_pages(&report);
    rkt_comparison_release(&comparison);
    rkt_series_release(&series);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rkt_compare_run runs[2];
    struct rkt_error err = {0};
    char *json = malloc(size + 1);

    if (!json)
        abort();
    memcpy(json, data, size);
    json[size] = '\0';
    if (rkt_compare_run_read(json, "input", &runs[0], &err) == RKT_OK) {
        runs[1] = runs[0];
        compare(runs);
        rkt_compare_run_release(&runs[0]);
    } else if (err.text[0] == '\0') {
        abort();
    }
    free(json);
    return 0;
}
