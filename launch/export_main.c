/* SPDX-License-Identifier: Apache-2.0 */
/* ranktrace export - a timeline in the format of another tool. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/export/chrome.h"
#include "common/options.h"
#include "launch/result_file.h"

struct export_options {
    const char *format;
    const char *output;
    struct rkt_analysis_options analysis;
};

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, offsetof(struct export_options, format), "NAME",
     "chrome", "chrome: JSON for ui.perfetto.dev and chrome://tracing"},
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct export_options, output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    RKT_ANALYSIS_OPTION_ROWS(struct export_options),
    {"memory", 0, "RANKTRACE_MEMORY", RKT_OPTION_BYTES,
     offsetof(struct export_options, analysis.keep_bytes), "SIZE", "512MiB",
     "for records of ranks; those of a timeline that is larger are read twice"},
};

static const struct rkt_command COMMAND = {
    .name = "export",
    .usage = "ranktrace export [options] TIMELINE",
    .summary = "Write a timeline in the format of another tool.",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "\n"
               "Exit codes: 0 done; 1 failed; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

typedef enum rkt_status (*export_fn)(const struct rkt_result *result, FILE *out,
                                     struct rkt_error *err);

static const struct export_format {
    const char *name;
    export_fn run;
} FORMATS[] = {
    {"chrome", rkt_export_chrome},
};

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++) {
        if (strcmp(FORMATS[i].name, name) == 0)
            return &FORMATS[i];
    }
    return NULL;
}

static enum rkt_status write_format(const struct rkt_result *result, void *ctx, FILE *out,
                                    struct rkt_error *err)
{
    const struct export_format *format = ctx;

    return format->run(result, out, err);
}

/* What a viewer does not show: what is missing, and what the times are worth. */
static void warn(const struct rkt_result *result)
{
    for (size_t i = 0; i < result->note_count; i++) {
        if (result->notes[i].level > 0)
            (void)fprintf(stderr, "ranktrace %s: warning: %s\n", COMMAND.name,
                          result->notes[i].text);
    }
}

static enum rkt_status write_timeline(const char *store, const struct export_options *options,
                                      const struct export_format *format, struct rkt_error *err)
{
    struct rkt_store_reader *reader = NULL;
    struct rkt_analysis *analysis = NULL;
    enum rkt_status status = rkt_store_reader_open(store, &reader, err);

    if (status == RKT_OK)
        status = rkt_analysis_create(reader, &options->analysis, &analysis, err);
    if (status == RKT_OK)
        status = rkt_result_file_write(rkt_analysis_result(analysis), write_format, (void *)format,
                                       options->output, err);
    if (status == RKT_OK)
        warn(rkt_analysis_result(analysis));
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(reader);
    return status;
}

static enum rkt_status export_one(const struct export_options *options, int path_count,
                                  char **paths, struct rkt_error *err)
{
    const struct export_format *format = find_format(options->format);

    if (!format)
        return rkt_fail(err, RKT_ERR_INVALID, "unknown format '%s': there is chrome",
                        options->format);
    if (path_count != 1)
        return rkt_fail_usage(&COMMAND, "one timeline", err);
    return write_timeline(paths[0], options, format, err);
}

int main(int argc, char **argv)
{
    struct export_options options = {0};
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK)
        status = export_one(&options, argc - next, argv + next, &err);
    return rkt_command_exit(&COMMAND, status, &err);
}
