/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace report - reads a timeline and says how well the job scales, and what holds it up.
 *
 * Needs neither MPI nor CUDA. A timeline that was not closed is read as far as it goes.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/report/report.h"
#include "common/options.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct report_options {
    const char *format;
    const char *output;
    const char *step_range;
    const char *comm_kernel;
};

#define FIELD(name) offsetof(struct report_options, name)

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, FIELD(format), "text|json", "text",
     "what to write: one page for a person, or everything for a program"},
    {"output", 'o', NULL, RKT_OPTION_STRING, FIELD(output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    {"step-range", 0, "RANKTRACE_STEP_RANGE", RKT_OPTION_STRING, FIELD(step_range), "NAME", NULL,
     "ranges whose names begin so are the steps (default: ProfilerStep#)"},
    {"comm-kernel", 0, "RANKTRACE_COMM_KERNEL", RKT_OPTION_STRING, FIELD(comm_kernel), "REGEX",
     NULL, "kernels of these names are communication, too"},
};

static const struct rkt_command COMMAND = {
    .name = "report",
    .usage = "ranktrace report [options] TIMELINE",
    .summary = "say how well a job scales, and what holds it up",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "\n"
               "Exit codes: 0 done; 1 failed; 2 wrong use.\n",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace report: %s\n", err->text);
    return code;
}

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

/* A file that could not be written whole is removed: half a report looks like a report. */
static enum rkt_status write_file(const struct rkt_report_format *format, const char *path,
                                  const struct rkt_result *result, struct rkt_error *err)
{
    FILE *out = fopen(path, "we");
    enum rkt_status status;

    if (out == NULL)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    status = format->write(result, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    if (status != RKT_OK)
        (void)unlink(path);
    return status;
}

static enum rkt_status write_report(const struct report_options *options,
                                    const struct rkt_report_format *format, const char *store,
                                    struct rkt_error *err)
{
    const struct rkt_analysis_options analysis_options = {.step_range = options->step_range,
                                                          .comm_kernel = options->comm_kernel};
    struct rkt_store_reader *reader = NULL;
    struct rkt_analysis *analysis = NULL;
    enum rkt_status status = rkt_store_reader_open(store, &reader, err);

    if (status == RKT_OK)
        status = rkt_analysis_create(reader, &analysis_options, &analysis, err);
    if (status == RKT_OK && options->output != NULL)
        status = write_file(format, options->output, rkt_analysis_result(analysis), err);
    else if (status == RKT_OK)
        status = format->write(rkt_analysis_result(analysis), stdout, err);
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    const struct rkt_report_format *format;
    struct report_options options = {0};
    struct rkt_error err = {0};
    enum rkt_status status;
    int next = 0;

    status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);
    if (status == RKT_END)
        return EXIT_DONE;
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    format = find_format(options.format, &err);
    if (format == NULL)
        return fail(&err, EXIT_WRONG_USE);
    if (argc - next != 1) {
        rkt_fail(&err, RKT_ERR_INVALID, "give one timeline: %s", COMMAND.usage);
        return fail(&err, EXIT_WRONG_USE);
    }
    status = write_report(&options, format, argv[next], &err);
    if (status != RKT_OK)
        return fail(&err, status == RKT_ERR_INVALID ? EXIT_WRONG_USE : EXIT_FAILED);
    return EXIT_DONE;
}
