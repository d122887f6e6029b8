/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace compare - what changed between runs, or how a job scales over runs of more and more
 * ranks.
 *
 * A run is a timeline, the folder of a run or a JSON report. A timeline is analysed as `report`
 * does it and goes through the same JSON, so that both give the same numbers.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "analysis/report/compare_report.h"
#include "analysis/report/fail_if.h"
#include "analysis/report/report.h"
#include "common/array.h"
#include "common/options.h"
#include "launch/result_file.h"

struct compare_options {
    const char *format;
    const char *output;
    bool is_weak;
    bool is_strong;
    uint32_t top;
    struct rkt_option_list fail_if;
    struct rkt_analysis_options analysis;
};

#define EXIT_LIMIT 3
#define READ_BYTES ((size_t)1 << 20)
#define FIELD(name) offsetof(struct compare_options, name)

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, FIELD(format), "text|json", "text",
     "what to write: a page for a person, or everything for a program"},
    {"output", 'o', NULL, RKT_OPTION_STRING, FIELD(output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    {"weak", 0, NULL, RKT_OPTION_FLAG, FIELD(is_weak), NULL, NULL,
     "the runs are a series with the same work per rank (default: found)"},
    {"strong", 0, NULL, RKT_OPTION_FLAG, FIELD(is_strong), NULL, NULL,
     "the runs are a series with the same work in all (default: found)"},
    {"top", 0, NULL, RKT_OPTION_U32, FIELD(top), "N", "10",
     "kernels, operators and collectives that are listed, of each"},
    {"fail-if", 0, NULL, RKT_OPTION_LIST, FIELD(fail_if), "CONDITION", NULL,
     "end with code 3 where it holds of a number of the JSON comparison, such as "
     "'comparisons[0].metrics.step_ns.change_share > 5%'; may be given several times"},
    RKT_ANALYSIS_OPTION_ROWS(struct compare_options),
};

static const struct rkt_command COMMAND = {
    .name = "compare",
    .usage = "ranktrace compare [options] RUN1 RUN2 ...",
    .summary = "Say what changed between runs, or how a job scales over several.",
    .details =
        "A RUN is a timeline, the output folder of a run, or a report by\n"
        "'ranktrace report --format json'. Runs with as many ranks are each compared with RUN1;\n"
        "runs with other numbers of ranks are a scaling series. Options on steps, ranks and\n"
        "kernels are for timelines: a report stays as it was made.\n"
        "\n"
        "Exit codes: 0 done; 1 failed; 2 wrong use; 3 done, and a --fail-if holds.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

typedef enum rkt_status (*write_fn)(const struct rkt_compare_report *report, FILE *out,
                                    struct rkt_error *err);

struct request {
    struct compare_options options;
    write_fn write;
    struct rkt_condition conditions[RKT_OPTION_LIST_CAP];
    char **paths;
    size_t path_count;
    bool failed; /* a condition holds */
};

static enum rkt_status check(struct request *request, int path_count, char **paths,
                             struct rkt_error *err)
{
    const struct compare_options *options = &request->options;
    enum rkt_status status = RKT_OK;

    if (strcmp(options->format, "text") == 0)
        request->write = rkt_compare_write_text;
    else if (strcmp(options->format, "json") == 0)
        request->write = rkt_compare_write_json;
    else
        return rkt_fail(err, RKT_ERR_INVALID, "unknown format '%s': text or json", options->format);
    if (options->is_weak && options->is_strong)
        return rkt_fail(err, RKT_ERR_INVALID, "scaling is --weak or --strong, not both");
    if (path_count < 2)
        return rkt_fail_usage(&COMMAND, "two runs or more", err);
    request->paths = paths;
    request->path_count = (size_t)path_count;
    for (size_t i = 0; i < options->fail_if.count && status == RKT_OK; i++)
        status = rkt_condition_parse(options->fail_if.items[i], &request->conditions[i], err);
    return status;
}

/* ---- runs to JSON ---- */

/* A plain file whose text begins as an object does; a timeline begins otherwise. */
static bool is_json(const char *path)
{
    struct stat info;
    char first = '\0';
    FILE *file;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, " %c", &first) != 1) // NOLINT(cert-err34-c): a character, no number
        first = '\0';
    (void)fclose(file);
    return first == '{';
}

static enum rkt_status read_text(FILE *file, const char *path, char **text_out,
                                 struct rkt_error *err)
{
    char *text = NULL;
    size_t cap = 0;
    size_t used = 0;
    size_t got = 1;

    while (got > 0) {
        if (!rkt_array_reserve((void **)&text, &cap, used + READ_BYTES + 1, 1)) {
            free(text);
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %s", path);
        }
        got = fread(text + used, 1, READ_BYTES, file);
        used += got;
    }
    if (ferror(file)) {
        free(text);
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", path);
    }
    text[used] = '\0';
    *text_out = text;
    return RKT_OK;
}

static enum rkt_status read_report(const char *path, char **json_out, struct rkt_error *err)
{
    FILE *file = fopen(path, "re");
    enum rkt_status status;

    if (!file)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot open %s", path);
    status = read_text(file, path, json_out, err);
    (void)fclose(file);
    return status;
}

static enum rkt_status analyse(const char *path, const struct rkt_analysis_options *options,
                               char **json_out, struct rkt_error *err)
{
    struct rkt_store_reader *reader = NULL;
    struct rkt_analysis *analysis = NULL;
    enum rkt_status status = rkt_store_reader_open(path, &reader, err); /* it names the path */

    if (status != RKT_OK)
        return status;
    status = rkt_analysis_create(reader, options, &analysis, err);
    if (status == RKT_OK)
        status = rkt_report_json_of(rkt_analysis_result(analysis), json_out, err);
    if (status != RKT_OK)
        rkt_error_prefix(err, path);
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(reader);
    return status;
}

static enum rkt_status read_run(const char *path, const struct rkt_analysis_options *options,
                                struct rkt_compare_run *run, struct rkt_error *err)
{
    char *json = NULL;
    enum rkt_status status =
        is_json(path) ? read_report(path, &json, err) : analyse(path, options, &json, err);

    if (status == RKT_OK)
        status = rkt_compare_run_read(json, path, run, err);
    free(json);
    return status;
}

/* ---- runs to results ---- */

static enum rkt_status check_limits(struct request *request,
                                    const struct rkt_compare_report *report, struct rkt_error *err)
{
    size_t len_bytes = 0;
    char *json = NULL;
    FILE *out;
    enum rkt_status status;

    if (request->options.fail_if.count == 0)
        return RKT_OK;
    out = open_memstream(&json, &len_bytes);
    if (!out)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a comparison");
    status = rkt_compare_write_json(report, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a comparison");
    if (status == RKT_OK)
        status = rkt_check_conditions_of(json, request->conditions, request->options.fail_if.count,
                                         stderr, &request->failed, err);
    free(json);
    return status;
}

/* What write_report gets. */
struct writing {
    struct request *request;
    const struct rkt_compare_report *report;
};

static enum rkt_status write_report(void *ctx, FILE *out, struct rkt_error *err)
{
    const struct writing *writing = ctx;
    enum rkt_status status = writing->request->write(writing->report, out, err);

    return status == RKT_OK ? check_limits(writing->request, writing->report, err) : status;
}

static enum rkt_status finish(struct request *request, const struct rkt_compare_report *report,
                              struct rkt_error *err)
{
    struct writing writing = {request, report};

    return rkt_output_write(write_report, &writing, request->options.output, err);
}

static enum rkt_scaling told_scaling(const struct compare_options *options)
{
    if (options->is_weak)
        return RKT_SCALING_WEAK;
    return options->is_strong ? RKT_SCALING_STRONG : RKT_SCALING_UNKNOWN;
}

static enum rkt_status show_series(struct request *request, const struct rkt_compare_run *runs,
                                   struct rkt_error *err)
{
    struct rkt_compare_report report = {
        .runs = runs, .run_count = request->path_count, .top = request->options.top};
    struct rkt_series series;
    enum rkt_status status =
        rkt_series_create(runs, request->path_count, told_scaling(&request->options), &series, err);

    if (status != RKT_OK)
        return status;
    report.series = &series;
    status = finish(request, &report, err);
    rkt_series_release(&series);
    return status;
}

static enum rkt_status show_changes(struct request *request, const struct rkt_compare_run *runs,
                                    struct rkt_error *err)
{
    struct rkt_comparison *comparisons = calloc(request->path_count, sizeof(*comparisons));
    struct rkt_compare_report report = {.runs = runs,
                                        .run_count = request->path_count,
                                        .comparisons = comparisons,
                                        .top = request->options.top};
    enum rkt_status status = RKT_OK;

    if (!comparisons)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu runs", request->path_count);
    for (size_t i = 1; i < request->path_count && status == RKT_OK; i++) {
        status = rkt_compare(&runs[0], &runs[i], &comparisons[i - 1], err);
        report.comparison_count += status == RKT_OK;
    }
    if (status == RKT_OK)
        status = finish(request, &report, err);
    for (size_t i = 0; i < report.comparison_count; i++)
        rkt_comparison_release(&comparisons[i]);
    free(comparisons);
    return status;
}

static bool is_series(const struct request *request, const struct rkt_compare_run *runs)
{
    bool is_series = told_scaling(&request->options) != RKT_SCALING_UNKNOWN;

    for (size_t i = 1; i < request->path_count; i++)
        is_series |= runs[i].rank_count != runs[0].rank_count;
    return is_series;
}

static enum rkt_status compare(struct request *request, struct rkt_error *err)
{
    struct rkt_compare_run *runs = calloc(request->path_count, sizeof(*runs));
    enum rkt_status status = RKT_OK;

    if (!runs)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu runs", request->path_count);
    for (size_t i = 0; i < request->path_count && status == RKT_OK; i++)
        status = read_run(request->paths[i], &request->options.analysis, &runs[i], err);
    if (status == RKT_OK)
        status = is_series(request, runs) ? show_series(request, runs, err)
                                          : show_changes(request, runs, err);
    for (size_t i = 0; i < request->path_count; i++)
        rkt_compare_run_release(&runs[i]);
    free(runs);
    return status;
}

int main(int argc, char **argv)
{
    struct request request = {0};
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &request.options, &next, &err);

    if (status == RKT_OK)
        status = check(&request, argc - next, argv + next, &err);
    if (status == RKT_OK)
        status = compare(&request, &err);
    if (status == RKT_OK && request.failed)
        return EXIT_LIMIT;
    return rkt_command_exit(&COMMAND, status, &err);
}
