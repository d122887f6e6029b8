/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace export - a timeline in the format of another tool.
 *
 * To a file: under another name until it is whole, so that a failed export leaves nothing that
 * looks like a result.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/export/chrome.h"
#include "common/options.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct export_options {
    const char *format;
    const char *output;
    const char *step_range;
    const char *comm_kernel;
};

static const struct rkt_option OPTIONS[] = {
    {"format", 'F', NULL, RKT_OPTION_STRING, offsetof(struct export_options, format), "NAME",
     "chrome", "chrome: JSON for ui.perfetto.dev and chrome://tracing"},
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct export_options, output), "FILE", NULL,
     "where it goes; standard output if not given"},
    {"step-range", 0, "RANKTRACE_STEP_RANGE", RKT_OPTION_STRING,
     offsetof(struct export_options, step_range), "NAME", NULL,
     "name that begins the range of a step"},
    {"comm-kernel", 0, "RANKTRACE_COMM_KERNEL", RKT_OPTION_STRING,
     offsetof(struct export_options, comm_kernel), "REGEX", NULL,
     "more kernels that are communication"},
};

static const struct rkt_command COMMAND = {
    .name = "export",
    .usage = "ranktrace export [options] STORE",
    .summary = "write a timeline in the format of another tool",
    .details = "STORE is a timeline.rkt, or the folder that holds it.\n",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

typedef enum rkt_status (*export_fn)(const struct rkt_result *result, FILE *out,
                                     struct rkt_error *err);

static const struct {
    const char *name;
    export_fn run;
} FORMATS[] = {
    {"chrome", rkt_export_chrome},
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace export: %s\n", err->text);
    return code;
}

static export_fn find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++) {
        if (strcmp(FORMATS[i].name, name) == 0)
            return FORMATS[i].run;
    }
    return NULL;
}

static enum rkt_status write_file(export_fn run, const struct rkt_result *result, const char *path,
                                  struct rkt_error *err)
{
    enum rkt_status status;
    char *partial = NULL;
    FILE *out;

    if (asprintf(&partial, "%s.part", path) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a file name");
    out = fopen(partial, "we");
    if (!out) {
        status = rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot write", path);
        free(partial);
        return status;
    }
    status = run(result, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot write", path);
    if (status == RKT_OK && rename(partial, path) != 0)
        status = rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot rename to it", path);
    if (status != RKT_OK)
        (void)unlink(partial);
    free(partial);
    return status;
}

static enum rkt_status export_store(export_fn run, const struct export_options *options,
                                    const char *path, struct rkt_error *err)
{
    struct rkt_analysis_options how = {options->step_range, options->comm_kernel};
    struct rkt_store_reader *reader = NULL;
    struct rkt_analysis *analysis = NULL;
    enum rkt_status status = rkt_store_reader_open(path, &reader, err);

    if (status == RKT_OK)
        status = rkt_analysis_create(reader, &how, &analysis, err);
    if (status == RKT_OK && options->output)
        status = write_file(run, rkt_analysis_result(analysis), options->output, err);
    else if (status == RKT_OK)
        status = run(rkt_analysis_result(analysis), stdout, err);
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    struct export_options options = {0};
    struct rkt_error err = {0};
    enum rkt_status status;
    export_fn run;
    int next = 0;

    status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);
    if (status == RKT_END)
        return EXIT_DONE;
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    run = find_format(options.format);
    if (!run) {
        (void)fprintf(stderr, "ranktrace export: unknown format '%s': there is chrome\n",
                      options.format);
        return EXIT_WRONG_USE;
    }
    if (argc - next != 1) {
        (void)fprintf(stderr, "ranktrace export: give one timeline: %s\n", COMMAND.usage);
        return EXIT_WRONG_USE;
    }
    status = export_store(run, &options, argv[next], &err);
    return status == RKT_OK ? EXIT_DONE : fail(&err, EXIT_FAILED);
}
