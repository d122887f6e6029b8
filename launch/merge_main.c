/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace merge - per-rank traces of PyTorch's profiler into one timeline.
 *
 * Says per file which rank it is and how that is known; what of a file could not be read is
 * one line on stderr and exit code 1, with the timeline written from all that could.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/import/import.h"
#include "common/options.h"
#include "common/units.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct merge_options {
    bool force;
    bool quiet;
};

static const struct rkt_option OPTIONS[] = {
    {"force", 'f', NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, force), NULL, NULL,
     "overwrite OUT"},
    {"quiet", 'q', NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, quiet), NULL, NULL,
     "print warnings and errors only"},
};

static const struct rkt_command COMMAND = {
    .name = "merge",
    .usage = "ranktrace merge [options] OUT TRACE...",
    .summary = "Merge traces of PyTorch's profiler, one per rank, into the timeline OUT.",
    .details = "A TRACE is a .json or .json.gz of torch.profiler, or a folder of them.\n"
               "The rank of a file is what the file says, else what its name says\n"
               "(rank3, worker3), else its place in the order given.\n"
               "\n"
               "Exit codes: 0 done; 1 failed, or done although something of a file could not\n"
               "be read: it is then named, and OUT holds all the rest; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace merge: %s\n", err->text);
    return code;
}

static void print_file(const struct rkt_import_file *file)
{
    char bytes[32];

    (void)printf("rank %-4" PRIu32 " %10" PRIu64 " events %10s  %s (rank from %s)\n", file->rank,
                 file->event_count, rkt_format_bytes(file->json_bytes, bytes, sizeof(bytes)),
                 file->path, file->rank_source);
}

/* True when something of a file could not be read. */
static bool print_report(const struct rkt_import_report *report, const char *output, bool is_quiet)
{
    bool is_damaged = false;
    uint64_t events = 0;
    uint64_t left_out = 0;
    size_t ranks = 0;
    char bytes[32];

    for (size_t i = 0; i < report->file_count; i++) {
        const struct rkt_import_file *file = &report->files[i];

        if (!is_quiet && !file->is_skipped)
            print_file(file);
        if (file->note[0])
            (void)fprintf(stderr, "ranktrace merge: %s: %s%s\n", file->path,
                          file->is_skipped ? "skipped: " : "", file->note);
        is_damaged |= file->is_damaged;
        ranks += !file->is_skipped;
        events += file->event_count;
        left_out += file->left_out_count;
    }
    if (report->warning[0])
        (void)fprintf(stderr, "ranktrace merge: %s\n", report->warning);
    if (is_quiet)
        return is_damaged;
    (void)printf("%s: %zu rank%s, %" PRIu64 " events, %s", output, ranks, ranks == 1 ? "" : "s",
                 events, rkt_format_bytes(report->output_bytes, bytes, sizeof(bytes)));
    if (left_out > 0)
        (void)printf("; left out by design: %" PRIu64
                     " Python frames, flow arrows, counters and instants",
                     left_out);
    (void)printf("\n");
    return is_damaged;
}

/* OUT was forgotten: with --force the first trace would be lost. */
static bool is_trace_name(const char *path)
{
    static const char *const ENDS[] = {".json", ".json.gz"};
    size_t len_bytes = strlen(path);

    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        size_t end_bytes = strlen(ENDS[i]);

        if (len_bytes >= end_bytes && strcmp(path + len_bytes - end_bytes, ENDS[i]) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct merge_options options = {0};
    struct rkt_import_options import = {0};
    struct rkt_import_report report;
    struct rkt_error err = {0};
    enum rkt_status status;
    bool is_damaged;
    int next = 0;

    status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);
    if (status == RKT_END)
        return EXIT_DONE;
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    if (argc - next < 2) {
        (void)fprintf(stderr, "ranktrace merge: give the file to write, then the traces: %s\n",
                      COMMAND.usage);
        return EXIT_WRONG_USE;
    }
    if (is_trace_name(argv[next])) {
        (void)fprintf(stderr,
                      "ranktrace merge: %s has the name of a trace: the file to write comes "
                      "first, such as merged.rkt\n",
                      argv[next]);
        return EXIT_WRONG_USE;
    }
    import.output = argv[next];
    import.paths = (const char *const *)&argv[next + 1];
    import.path_count = (size_t)(argc - next - 1);
    import.overwrite = options.force;
    status = rkt_import(&import, &report, &err);
    if (status != RKT_OK)
        return fail(&err, EXIT_FAILED);
    is_damaged = print_report(&report, import.output, options.quiet);
    rkt_import_report_release(&report);
    return is_damaged ? EXIT_FAILED : EXIT_DONE;
}
