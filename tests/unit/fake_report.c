/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void put_step(const struct fake_report *report, uint32_t rank, size_t step, FILE *out)
{
    int64_t useful_ns = report->useful_ns[rank % FAKE_RANKS_MAX];
    int64_t half_ns = report->comm_ns / 2;
    int64_t rest_ns = report->step_ns[step] - useful_ns - half_ns;

    (void)fprintf(out,
                  "%s{\"backward_overlap\": {\"buckets_ns\": 20, \"overlapped_ns\": 5}, "
                  "\"number\": %zu, \"is_recorded\": true, \"is_warmup\": %s, \"window\": "
                  "{\"window_ns\": %" PRId64 ", \"compute_ns\": %" PRId64 ", \"comm_ns\": %" PRId64
                  ", \"comm_share\": 0.5, ",
                  step > 0 ? ", " : "", step, step < report->warmup_count ? "true" : "false",
                  report->step_ns[step], useful_ns, report->comm_ns);
    if (rank >= report->rank_count)
        (void)fprintf(out,
                      "\"host_parts_ns\": {\"overlapped\": %" PRId64 ", \"comm\": %" PRId64
                      ", \"input\": 1, \"host\": %" PRId64 "}}}",
                      half_ns, half_ns, rest_ns - 1);
    else
        (void)fprintf(out,
                      "\"parts_ns\": {\"overlapped\": %" PRId64 ", \"compute\": %" PRId64
                      ", \"comm_wait\": 0, \"comm_transfer\": %" PRId64
                      ", \"copy\": {\"HtoD\": 2, \"DtoH\": 3}, \"idle\": {\"sync\": 7, \"host\": "
                      "%" PRId64 "}}}}",
                      half_ns, useful_ns - half_ns, half_ns, rest_ns - 12);
}

static void put_rank(const struct fake_report *report, uint32_t rank, FILE *out)
{
    bool is_last = rank + 1 == report->rank_count;
    size_t step_count = report->step_count - (is_last ? report->last_rank_lacks : 0);

    (void)fprintf(out, "%s\n{\"rank\": %u, \"steps\": [", rank > 0 ? "," : "", rank);
    for (size_t i = 0; i < step_count; i++)
        put_step(report, rank, i, out);
    /* behind the steps: readers may not count on an order of keys */
    (void)fprintf(out, "], \"is_host_view\": %s, \"step_source\": \"%s\"}",
                  rank >= report->rank_count ? "true" : "false",
                  report->step_source ? report->step_source : "marks");
}

static void put_batches(const struct fake_kernel *kernel, const char *key, FILE *out)
{
    (void)fprintf(out, ", \"%s\": [", key);
    for (size_t b = 0; b < kernel->batch_count; b++)
        (void)fprintf(out, "%s%" PRId64, b > 0 ? ", " : "", kernel->batch_ns[b]);
    (void)fprintf(out, "]}");
}

static void put_operators(const struct fake_report *report, FILE *out)
{
    (void)fprintf(out, "\"operators\": [");
    for (size_t i = 0; i < 2 && report->operators[i].name; i++) {
        (void)fprintf(out,
                      "%s{\"name\": \"%s\", \"count\": %" PRId64 ", \"self_host_ns\": 10"
                      ", \"self_device_ns\": %" PRId64,
                      i > 0 ? ", " : "", report->operators[i].name, report->operators[i].count,
                      report->operators[i].total_ns);
        put_batches(&report->operators[i], "self_device_ns_by_batch", out);
    }
    (void)fprintf(out, "]");
}

static void put_lists(const struct fake_report *report, FILE *out)
{
    (void)fprintf(out, "\"replay\": {\"why_not\": \"\", \"steps\": [");
    for (size_t i = 0; i < report->step_count; i++)
        (void)fprintf(out, "%s{\"number\": %zu, \"gain_ns\": %" PRId64 "}", i > 0 ? ", " : "", i,
                      report->gain_ns);
    (void)fprintf(out, "]},\n\"tables\": {\"kernels\": [");
    for (size_t i = 0; i < 4 && report->kernels[i].name; i++) {
        const struct fake_kernel *kernel = &report->kernels[i];

        (void)fprintf(out,
                      "%s{\"name\": \"%s\", \"kind\": \"compute\", \"count\": %" PRId64
                      ", \"total_ns\": %" PRId64,
                      i > 0 ? ", " : "", kernel->name, kernel->count, kernel->total_ns);
        put_batches(kernel, "total_ns_by_batch", out);
    }
    (void)fprintf(out, "], ");
    put_operators(report, out);
    (void)fprintf(out, "},\n\"collectives\": [");
    for (size_t i = 0; i < 4 && report->collectives[i].func; i++) {
        for (size_t step = 0; step < report->step_count; step++)
            (void)fprintf(out,
                          "%s{\"func\": \"%s\", \"bytes\": %" PRId64
                          ", \"step_index\": %zu, \"transfer_ns\": %" PRId64 "}",
                          i + step > 0 ? ", " : "", report->collectives[i].func,
                          report->collectives[i].bytes, step, report->collectives[i].transfer_ns);
    }
    (void)fprintf(out, "]");
    for (size_t b = 0; b < report->batch_count; b++)
        (void)fprintf(out, "%s{\"step_count\": 1}%s", b > 0 ? ", " : ", \"batches\": {\"items\": [",
                      b + 1 == report->batch_count ? "], " : "");
    if (report->batch_count > 0)
        (void)fprintf(out, "\"rank_count\": %u}", report->rank_count);
}

char *fake_report_json(const struct fake_report *report)
{
    size_t len_bytes = 0;
    char *json = NULL;
    FILE *out = open_memstream(&json, &len_bytes);

    (void)fprintf(
        out,
        "{\"schema\": \"ranktrace-report\", \"schema_version\": 1, \"run\": {\"producer\": "
        "\"%s\", \"is_complete\": %s, \"rank_count\": %u, \"expected_rank_count\": null, "
        "\"loss_count\": 0},\n"
        "\"clock\": {\"wait_gap_ns\": %lld}, "
        "\"efficiency\": {\"serial\": %g, \"transfer\": null}, \"ranks\": [",
        report->producer ? report->producer : "capture", report->is_cut ? "false" : "true",
        report->rank_count + (uint32_t)report->host_ranks, (long long)report->wait_gap_ns,
        report->serial);
    for (uint32_t r = 0; r < report->rank_count + report->host_ranks; r++)
        put_rank(report, r, out);
    (void)fprintf(out, "],\n");
    put_lists(report, out);
    (void)fprintf(out, "}\n");
    (void)fclose(out);
    return json;
}
