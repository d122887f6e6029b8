/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RESULT_FILE_H
#define RKT_LAUNCH_RESULT_FILE_H

/*
 * result_file - write what an analysis, or a comparison of several, found: whole or not at all.
 *
 * Place:   analysis -> [result_file] -> a file, or standard output.
 * On error: a file keeps another name until it is whole; half a report looks like a report.
 *          A device, a pipe or a link is written into and stays what it is.
 * Threads: main.
 */

#include <stdio.h>

#include "analysis/analysis.h"
#include "common/options.h"
#include "common/status.h"

/* Writes what was found; `ctx` as it was given. */
typedef enum rkt_status (*rkt_result_writer_fn)(const struct rkt_result *result, void *ctx,
                                                FILE *out, struct rkt_error *err);

/* Rows of the option table of a command whose options are a `type` with struct rkt_analysis_options
 * `analysis`. */
#define RKT_ANALYSIS_OPTION_ROWS(type)                                                           \
    {"step-range",                                                                               \
     0,                                                                                          \
     "RANKTRACE_STEP_RANGE",                                                                     \
     RKT_OPTION_STRING,                                                                          \
     offsetof(type, analysis.step_range),                                                        \
     "NAME",                                                                                     \
     NULL,                                                                                       \
     "ranges whose names begin so are the steps (default: ProfilerStep#)"},                      \
        {"comm-kernel",                                                                          \
         0,                                                                                      \
         "RANKTRACE_COMM_KERNEL",                                                                \
         RKT_OPTION_STRING,                                                                      \
         offsetof(type, analysis.comm_kernel),                                                   \
         "REGEX",                                                                                \
         NULL,                                                                                   \
         "kernels of these names are communication, too"},                                       \
        {"ranks",                                                                                \
         0,                                                                                      \
         NULL,                                                                                   \
         RKT_OPTION_STRING,                                                                      \
         offsetof(type, analysis.part.ranks),                                                    \
         "LIST",                                                                                 \
         NULL,                                                                                   \
         "only these ranks, such as 0-3,7; the others are not read"},                            \
        {"steps",                                                                                \
         0,                                                                                      \
         NULL,                                                                                   \
         RKT_OPTION_STRING,                                                                      \
         offsetof(type, analysis.part.steps),                                                    \
         "FROM:TO",                                                                              \
         NULL,                                                                                   \
         "only the steps FROM to TO - 1, by their numbers; 10: to the end, :20 from the start"}, \
        {"since",                                                                                \
         0,                                                                                      \
         NULL,                                                                                   \
         RKT_OPTION_STRING,                                                                      \
         offsetof(type, analysis.part.since),                                                    \
         "TIME",                                                                                 \
         NULL,                                                                                   \
         "only what lies so long after the run's start, such as 1.5s: steps whose windows do"},  \
    {                                                                                            \
        "until", 0, NULL, RKT_OPTION_STRING, offsetof(type, analysis.part.until), "TIME", NULL,  \
            "likewise, and before so long after it"                                              \
    }

/* Likewise, of a command that prints efficiencies. */
#define RKT_FLOPS_OPTION_ROWS(type)                                                               \
    {"step-flops",                                                                                \
     0,                                                                                           \
     NULL,                                                                                        \
     RKT_OPTION_NUMBER,                                                                           \
     offsetof(type, analysis.step_flops),                                                         \
     "N",                                                                                         \
     NULL,                                                                                        \
     "floating-point operations of the model in a step, all ranks together; for MFU"},            \
    {                                                                                             \
        "peak-flops", 0, NULL, RKT_OPTION_NUMBER, offsetof(type, analysis.peak_flops), "N", NULL, \
            "that a GPU of the job can do per second, such as 989e12"                             \
    }

/* Of anything that is no single result; `ctx` as it was given. */
typedef enum rkt_status (*rkt_output_fn)(void *ctx, FILE *out, struct rkt_error *err);

/* `output` NULL: standard output; likewise the next. */
enum rkt_status rkt_output_write(rkt_output_fn write, void *ctx, const char *output,
                                 struct rkt_error *err);
enum rkt_status rkt_result_file_write(const struct rkt_result *result, rkt_result_writer_fn write,
                                      void *ctx, const char *output, struct rkt_error *err);

#endif
