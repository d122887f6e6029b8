/* SPDX-License-Identifier: Apache-2.0 */
/* ranktrace export - a timeline in the format of another tool. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/export/chrome.h"
#include "common/options.h"
#include "launch/result_file.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct export_options {
    const char *format;
    const char *output;
    const char *step_range;
    const char *comm_kernel;
    uint64_t memory_bytes;
};

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, offsetof(struct export_options, format), "NAME",
     "chrome", "chrome: JSON for ui.perfetto.dev and chrome://tracing"},
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct export_options, output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    {"step-range", 0, "RANKTRACE_STEP_RANGE", RKT_OPTION_STRING,
     offsetof(struct export_options, step_range), "NAME", NULL,
     "ranges whose names begin so are the steps (default: ProfilerStep#)"},
    {"comm-kernel", 0, "RANKTRACE_COMM_KERNEL", RKT_OPTION_STRING,
     offsetof(struct export_options, comm_kernel), "REGEX", NULL,
     "kernels of these names are communication, too"},
    {"memory", 0, "RANKTRACE_MEMORY", RKT_OPTION_BYTES,
     offsetof(struct export_options, memory_bytes), "SIZE", "512MiB",
     "for records of ranks; a timeline that is larger is read twice"},
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

static const struct {
    const char *name;
    rkt_result_writer_fn run;
} FORMATS[] = {
    {"chrome", rkt_export_chrome},
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace export: %s\n", err->text);
    return code;
}

static rkt_result_writer_fn find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++) {
        if (strcmp(FORMATS[i].name, name) == 0)
            return FORMATS[i].run;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct export_options options = {0};
    struct rkt_error err = {0};
    enum rkt_status status;
    struct rkt_analysis_options analysis;
    rkt_result_writer_fn run;
    int next = 0;

    status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);
    if (status == RKT_END)
        return EXIT_DONE;
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    analysis = (struct rkt_analysis_options){options.step_range, options.comm_kernel,
                                             options.memory_bytes};
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
    status = rkt_result_file_write(argv[next], &analysis, run, options.output, &err);
    return status == RKT_OK ? EXIT_DONE : fail(&err, EXIT_FAILED);
}
