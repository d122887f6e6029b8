/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace report - reads a timeline and says how well the job scales, and what holds it up.
 *
 * Needs neither MPI nor CUDA. A timeline that was not closed is read as far as it goes.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/fail_if.h"
#include "analysis/report/report.h"
#include "common/options.h"
#include "launch/result_file.h"

struct report_options {
    const char *format;
    const char *output;
    const char *tables;
    const char *sort;
    uint32_t top;
    struct rkt_option_list fail_if;
    struct rkt_analysis_options analysis;
};

/* What write_report gets. */
struct report {
    const struct rkt_report_format *format;
    struct rkt_report_view view;
    struct rkt_condition conditions[RKT_OPTION_LIST_CAP];
    size_t condition_count;
    bool failed; /* a condition holds */
};

#define EXIT_LIMIT 3
#define FIELD(name) offsetof(struct report_options, name)

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, FIELD(format), "text|json", "text",
     "what to write: one page for a person, or everything for a program"},
    {"output", 'o', NULL, RKT_OPTION_STRING, FIELD(output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    {"tables", 't', NULL, RKT_OPTION_STRING, FIELD(tables), "LIST", NULL,
     "under the page: kernels, operators, copies, calls, streams, idle or all"},
    {"sort", 0, NULL, RKT_OPTION_STRING, FIELD(sort), "COLUMN", NULL,
     "order tables by one of their numbers, largest first; its name is that of the JSON report"},
    {"top", 0, NULL, RKT_OPTION_U32, FIELD(top), "N", NULL, "rows of each table (default: 10)"},
    {"fail-if", 0, NULL, RKT_OPTION_LIST, FIELD(fail_if), "CONDITION", NULL,
     "end with code 3 where it holds of a number of the JSON report, such as "
     "'straggler.loss_share > 0.05'; may be given several times"},
    RKT_ANALYSIS_OPTION_ROWS(struct report_options),
    RKT_FLOPS_OPTION_ROWS(struct report_options),
};

static const struct rkt_command COMMAND = {
    .name = "report",
    .usage = "ranktrace report [options] TIMELINE",
    .summary = "Say how well a job scales, and what holds it up.",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "\n"
               "Exit codes: 0 done; 1 failed; 2 wrong use; 3 done, and a --fail-if holds.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

/* The format of this name; NULL and the reason in *err. */
static const struct rkt_report_format *find_format(const char *name, struct rkt_error *err)
{
    for (size_t i = 0; i < RKT_REPORT_FORMAT_COUNT; i++) {
        if (strcmp(RKT_REPORT_FORMATS[i].name, name) == 0)
            return &RKT_REPORT_FORMATS[i];
    }
    rkt_fail(err, RKT_ERR_INVALID, "unknown format '%s': text or json", name);
    return NULL;
}

static enum rkt_status write_report(const struct rkt_result *result, void *ctx, FILE *out,
                                    struct rkt_error *err)
{
    struct report *report = ctx;
    enum rkt_status status = report->format->write(result, &report->view, out, err);

    if (status != RKT_OK || report->condition_count == 0)
        return status;
    return rkt_check_conditions(result, report->conditions, report->condition_count, stderr,
                                &report->failed, err);
}

static enum rkt_status parse_conditions(const struct rkt_option_list *texts, struct report *report,
                                        struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < texts->count && status == RKT_OK; i++)
        status = rkt_condition_parse(texts->items[i], &report->conditions[i], err);
    report->condition_count = texts->count;
    return status;
}

static enum rkt_status make_report(const struct report_options *options, int path_count,
                                   char **paths, bool *failed_out, struct rkt_error *err)
{
    struct report report = {.format = find_format(options->format, err)};
    enum rkt_status status;

    if (!report.format)
        return RKT_ERR_INVALID;
    if (path_count != 1)
        return rkt_fail_usage(&COMMAND, "one timeline", err);
    status = rkt_report_view_parse(options->tables, options->sort, options->top, &report.view, err);
    if (status == RKT_OK)
        status = parse_conditions(&options->fail_if, &report, err);
    if (status != RKT_OK)
        return status;
    status = rkt_result_file_write(paths[0], &options->analysis, write_report, &report,
                                   options->output, err);
    *failed_out = report.failed;
    return status;
}

int main(int argc, char **argv)
{
    struct report_options options = {0};
    struct rkt_error err = {0};
    bool failed = false;
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK)
        status = make_report(&options, argc - next, argv + next, &failed, &err);
    if (status == RKT_OK && failed)
        return EXIT_LIMIT;
    return rkt_command_exit(&COMMAND, status, &err);
}
