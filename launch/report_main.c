/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace report - reads a timeline and says how well the job scales, and what holds it up.
 *
 * Needs neither MPI nor CUDA. A timeline that was not closed is read as far as it goes.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/report.h"
#include "common/options.h"
#include "launch/result_file.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct report_options {
    const char *format;
    const char *output;
    const char *step_range;
    const char *comm_kernel;
    uint64_t memory_bytes;
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
    {"memory", 0, "RANKTRACE_MEMORY", RKT_OPTION_BYTES, FIELD(memory_bytes), "SIZE", "512MiB",
     "for records of ranks; a timeline that is larger is read twice"},
};

static const struct rkt_command COMMAND = {
    .name = "report",
    .usage = "ranktrace report [options] TIMELINE",
    .summary = "Say how well a job scales, and what holds it up.",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "\n"
               "Exit codes: 0 done; 1 failed; 2 wrong use.",
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

int main(int argc, char **argv)
{
    const struct rkt_report_format *format;
    struct report_options options = {0};
    struct rkt_analysis_options analysis;
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
    analysis = (struct rkt_analysis_options){options.step_range, options.comm_kernel,
                                             options.memory_bytes};
    status = rkt_result_file_write(argv[next], &analysis, format->write, options.output, &err);
    if (status != RKT_OK)
        return fail(&err, status == RKT_ERR_INVALID ? EXIT_WRONG_USE : EXIT_FAILED);
    return EXIT_DONE;
}
