/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace merge - traces of other tools, one or more files per rank, into one timeline.
 *
 * Says per file which rank it is and how that is known; what of a file could not be read is
 * one line on stderr and exit code 1, with the timeline written from all that could.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/align_imports.h"
#include "analysis/import/import.h"
#include "common/options.h"
#include "common/units.h"
#include "launch/merge_progress.h"

#define KEPT_BLOCK_BYTES (32 << 20) /* the largest that glibc takes: of blocks up to that */
#define KEPT_BYTES (256 << 20)      /* more than an import holds: all of it */

struct merge_options {
    const char *output;
    bool check;
    bool force;
    bool quiet;
    bool no_align;
    bool python_stacks;
    const char *rank_regex;
    struct rkt_option_list ranks;
    uint32_t threads;
};

static const struct rkt_option OPTIONS[] = {
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct merge_options, output), "OUT", NULL,
     "the timeline to write"},
    {"check", 'c', NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, check), NULL, NULL,
     "write nothing: say per file what is in it and what of it is damaged, and where"},
    {"force", 'f', NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, force), NULL, NULL,
     "overwrite OUT"},
    {"no-align", 0, NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, no_align), NULL, NULL,
     "leave the ranks where their files' stamps put them"},
    {"python-stacks", 0, NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, python_stacks), NULL,
     NULL, "keep the frames of Python stacks, too"},
    {"quiet", 'q', NULL, RKT_OPTION_FLAG, offsetof(struct merge_options, quiet), NULL, NULL,
     "print warnings and errors only"},
    {"rank", 0, NULL, RKT_OPTION_LIST, offsetof(struct merge_options, ranks), "FILE=N", NULL,
     "FILE is rank N, whatever it says; may be given several times"},
    {"rank-regex", 0, NULL, RKT_OPTION_STRING, offsetof(struct merge_options, rank_regex), "REGEX",
     NULL, "where a file says no rank: its first group is the rank in the file's path"},
    {"threads", 0, NULL, RKT_OPTION_U32, offsetof(struct merge_options, threads), "N", "0",
     "read so many ranks at once (0: as many as there are cores)"},
};

static const struct rkt_command COMMAND = {
    .name = "merge",
    .usage = "ranktrace merge [options] -o OUT TRACE...   or   merge --check TRACE...",
    .summary = "Merge traces of PyTorch's profiler, one per rank, into the timeline OUT.",
    .details = "A TRACE is a file of torch.profiler or in Chrome's format, plain, .gz or .zst; a\n"
               "folder of them; a pattern such as 'traces/rank*'; or @LIST, a file with one name\n"
               "a line. What a file holds decides, not its name. Several files of one rank that\n"
               "follow each other in time become one rank with gaps in between.\n"
               "The rank of a file is what the file says, else what its name says\n"
               "(rank3, worker3), else its place in the order given.\n"
               "Ranks are aligned by their collectives, which nobody leaves before the last has\n"
               "come; stamps are stored as they are ('ranktrace align' does it again).\n"
               "\n"
               "Exit codes: 0 done; 1 failed, or done although something of a file could not\n"
               "be read: it is then named, and OUT holds all the rest; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static void print_file(const struct rkt_import_file *file)
{
    char bytes[32];

    (void)printf("rank %-4" PRIu32 " %10" PRIu64 " events %10s  %s (rank from %s)\n", file->rank,
                 file->fates[RKT_FATE_STORED],
                 rkt_format_bytes(file->json_bytes, bytes, sizeof(bytes)), file->path,
                 file->rank_source);
}

/* Every event that was read, by what became of it. */
static void print_fates(const uint64_t fates[RKT_FATE_COUNT], uint64_t read_count)
{
    uint64_t left_out = 0;
    uint64_t rejected = 0;

    for (int fate = 0; fate < RKT_FATE_COUNT; fate++) {
        left_out += rkt_fate_is_left_out((enum rkt_fate)fate) ? fates[fate] : 0;
        rejected += rkt_fate_is_rejected((enum rkt_fate)fate) ? fates[fate] : 0;
    }
    (void)printf("%" PRIu64 " read = %" PRIu64 " stored + %" PRIu64 " names and labels + %" PRIu64
                 " left out by design + %" PRIu64 " rejected",
                 read_count, fates[RKT_FATE_STORED] + fates[RKT_FATE_JOINED],
                 fates[RKT_FATE_METADATA], left_out, rejected);
    for (int fate = 0; fate < RKT_FATE_COUNT; fate++) {
        if (fate > RKT_FATE_METADATA && fates[fate] > 0)
            (void)printf("; %" PRIu64 " %s", fates[fate], rkt_fate_text((enum rkt_fate)fate));
    }
    (void)printf("\n");
}

static void print_check(const struct rkt_import_file *file)
{
    if (file->is_skipped) {
        (void)printf("%s: skipped: %s\n", file->path, file->note);
        return;
    }
    (void)printf("%s: rank %" PRIu32 " (from %s), %" PRIu64 " bytes of JSON%s\n", file->path,
                 file->rank, file->rank_source, file->json_bytes,
                 file->is_damaged ? ", damaged" : "");
    (void)printf("  events: ");
    print_fates(file->fates, file->read_count);
    if (file->note[0])
        (void)printf("  note: %s\n", file->note);
    for (size_t i = 0; i < file->place_count && i < RKT_JSON_PLACES_MAX; i++)
        (void)printf("  damage: %" PRIu64 " bytes from byte %" PRIu64 " of the JSON on, %" PRIu64
                     " event%s\n",
                     file->places[i].bytes, file->places[i].position, file->places[i].count,
                     file->places[i].count == 1 ? "" : "s");
    if (file->place_count > RKT_JSON_PLACES_MAX)
        (void)printf("  damage: and %zu more places\n", file->place_count - RKT_JSON_PLACES_MAX);
}

static void print_notes(const struct rkt_import_report *report)
{
    const char *line = report->warning;

    for (size_t i = 0; i < report->file_count; i++) {
        const struct rkt_import_file *file = &report->files[i];

        if (file->note[0])
            (void)fprintf(stderr, "ranktrace merge: %s: %s%s\n", file->path,
                          file->is_skipped ? "skipped: " : "", file->note);
    }
    while (line[0]) {
        size_t bytes = strcspn(line, "\n");

        (void)fprintf(stderr, "ranktrace merge: %.*s\n", (int)bytes, line);
        line += bytes + (line[bytes] == '\n');
    }
}

static size_t count_ranks(const struct rkt_import_report *report)
{
    size_t ranks = 0;

    for (size_t i = 0; i < report->file_count; i++)
        ranks +=
            !report->files[i].is_skipped && (i == 0 || report->files[i - 1].is_skipped ||
                                             report->files[i].rank != report->files[i - 1].rank);
    return ranks;
}

static void print_totals(const struct rkt_import_report *report, const char *output)
{
    uint64_t fates[RKT_FATE_COUNT] = {0};
    uint64_t read_count = 0;
    size_t ranks = count_ranks(report);
    char bytes[32];

    for (size_t i = 0; i < report->file_count; i++) {
        read_count += report->files[i].read_count;
        for (int fate = 0; fate < RKT_FATE_COUNT; fate++)
            fates[fate] += report->files[i].fates[fate];
    }
    (void)printf("events: ");
    print_fates(fates, read_count);
    if (output)
        (void)printf("%s: %zu rank%s, %" PRIu64 " events, %s\n", output, ranks,
                     ranks == 1 ? "" : "s", fates[RKT_FATE_STORED],
                     rkt_format_bytes(report->output_bytes, bytes, sizeof(bytes)));
}

/* File names go to a terminal; what notes quote of a file, too. */
static void clean_names(struct rkt_import_report *report)
{
    for (size_t i = 0; i < report->file_count; i++) {
        struct rkt_import_file *file = &report->files[i];

        (void)rkt_format_name(file->path, file->path, sizeof(file->path));
        (void)rkt_format_name(file->note, file->note, sizeof(file->note));
    }
}

/* True when something of a file could not be read. */
static bool print_report(const struct rkt_import_report *report, const char *output, bool is_quiet)
{
    bool is_damaged = false;

    for (size_t i = 0; i < report->file_count; i++) {
        is_damaged |= report->files[i].is_damaged;
        if (!output)
            print_check(&report->files[i]);
        else if (!is_quiet && !report->files[i].is_skipped)
            print_file(&report->files[i]);
    }
    print_notes(report);
    if (!is_quiet)
        print_totals(report, output);
    return is_damaged;
}

static void print_alignment(const struct rkt_import_alignment *alignment, bool is_quiet)
{
    char text[2][32];

    if (alignment->is_contradictory)
        (void)fprintf(stderr,
                      "ranktrace merge: the collectives contradict each other: no clocks can "
                      "have made these stamps, or they were matched wrongly; the ranks stay "
                      "where their files' stamps put them\n");
    if (is_quiet || alignment->rank_count < 2 || alignment->is_contradictory)
        return;
    if (alignment->tied_count == 0) {
        (void)printf("clocks: no collectives tie the ranks: as the files' stamps claim\n");
        return;
    }
    (void)printf("clocks: %zu of %zu ranks aligned by collectives, guaranteed +- %s",
                 alignment->tied_count, alignment->rank_count,
                 rkt_format_duration(alignment->bound_ns, text[0], sizeof(text[0])));
    if (alignment->off_count > 0)
        (void)printf("; the stamps of %zu were off, most those of rank %" PRIu32 ", by %s +- %s",
                     alignment->off_count, alignment->off_rank,
                     rkt_format_duration(alignment->off_ns, text[0], sizeof(text[0])),
                     rkt_format_duration(alignment->off_bound_ns, text[1], sizeof(text[1])));
    (void)printf("\n");
}

static enum rkt_status check_use(const struct merge_options *options, int trace_count,
                                 struct rkt_error *err)
{
    if (options->check && options->output)
        return rkt_fail(err, RKT_ERR_INVALID, "--check writes nothing: leave out -o");
    if (options->output && !options->output[0])
        return rkt_fail(err, RKT_ERR_INVALID, "the name of the file to write (-o) is empty");
    if (trace_count > 0 && (options->check || options->output))
        return RKT_OK;
    return rkt_fail_usage(
        &COMMAND, options->check ? "the traces to check" : "the file to write, and the traces",
        err);
}

/* *is_damaged_out: something of a trace could not be read. */
static enum rkt_status merge(const struct merge_options *options, int trace_count, char **traces,
                             bool *is_damaged_out, struct rkt_error *err)
{
    struct rkt_import_progress progress = {0};
    struct rkt_import_options import = {
        .output = options->check ? NULL : options->output,
        .paths = (const char *const *)traces,
        .path_count = (size_t)trace_count,
        .overwrite = options->force,
        .keeps_python = options->python_stacks,
        .rank_regex = options->rank_regex,
        .file_ranks = options->ranks.items,
        .file_rank_count = options->ranks.count,
        .thread_count = options->threads,
        .progress = &progress,
    };
    struct rkt_merge_progress *shown = NULL;
    struct rkt_import_alignment alignment;
    struct rkt_import_report report;
    enum rkt_status status;

    if (!options->quiet)
        shown = rkt_merge_progress_start(&progress);
    status = rkt_import(&import, &report, err);
    rkt_merge_progress_stop(shown);
    if (status != RKT_OK)
        return status;
    clean_names(&report);
    *is_damaged_out = print_report(&report, import.output, options->quiet);
    rkt_import_report_release(&report);
    if (!import.output || options->no_align)
        return RKT_OK;
    status = rkt_align_imports(import.output, &alignment, err);
    if (status == RKT_OK)
        print_alignment(&alignment, options->quiet);
    return status;
}

/* The next file takes what one is done with; given back in between it would cost page faults. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    /* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet */
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    /* NOLINTEND(concurrency-mt-unsafe) */
#endif
}

int main(int argc, char **argv)
{
    struct merge_options options = {0};
    struct rkt_error err = {0};
    int next = 0, code;
    bool is_damaged = false;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    keep_freed_memory();
    if (status == RKT_OK)
        status = check_use(&options, argc - next, &err);
    if (status == RKT_OK)
        status = merge(&options, argc - next, argv + next, &is_damaged, &err);
    code = rkt_command_exit(&COMMAND, status, &err);
    return is_damaged && code == RKT_EXIT_DONE ? RKT_EXIT_FAILED : code;
}
