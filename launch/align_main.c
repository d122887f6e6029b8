/* SPDX-License-Identifier: Apache-2.0 */
/* ranktrace align - a timeline's alignments, made again from its own clock records. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "analysis/collective_clocks.h"
#include "analysis/narrow_clocks.h"
#include "common/clock_redo.h"
#include "common/options.h"
#include "common/source_bound.h"
#include "common/store_realign.h"
#include "common/units.h"

struct align_options {
    uint32_t rho_ppb;
    uint32_t kappa_percent;
    const char *output;
    bool force;
};

static const struct rkt_option OPTIONS[] = {
    {"rho", 0, NULL, RKT_OPTION_U32, offsetof(struct align_options, rho_ppb), "PPB", "0",
     "by how much a clock's rate may differ, between two measurements, from what those around "
     "show, in parts per billion; 0: as the measurements suggest. Of an imported trace: by how "
     "much two ranks' clocks may differ in rate; 0: 100000"},
    {"kappa", 0, NULL, RKT_OPTION_U32, offsetof(struct align_options, kappa_percent), "PERCENT",
     "30", "by which part of the fastest round trip one way may be slower, for the likely bound"},
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct align_options, output), "FILE", NULL,
     "write a timeline with these alignments"},
    {"force", 'f', NULL, RKT_OPTION_FLAG, offsetof(struct align_options, force), NULL, NULL,
     "overwrite FILE"},
};

static const struct rkt_command COMMAND = {
    .name = "align",
    .usage = "ranktrace align [options] TIMELINE",
    .summary = "Align the clocks of a timeline, from what it recorded of them.",
    .details =
        "Prints each rank's clock: how it is known, its guaranteed and its likely error, and\n"
        "whether the timeline says the same. With the parameters of the run it does, to the\n"
        "last bit, unless clock records were lost. The timeline itself is not changed.\n"
        "Imported traces have no clock records: their ranks are aligned by their collectives,\n"
        "which nobody leaves before the last has come. It is said, too, by how much the stamps\n"
        "of the files were off, and whether a rank's clock drifts. Where a clock was not measured\n"
        "for a while, so that its error is large, collectives narrow it.\n"
        "\n"
        "Exit codes: 0 done; 1 failed; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

struct aligning {
    struct rkt_store_reader *reader;
    struct rkt_clock_redo *redo;
    struct rkt_store_reader *matching; /* the same file, to whose alignments an analysis may add */
    struct rkt_analysis *analysis;
    struct rkt_collective_clocks *collectives; /* NULL: nothing is imported */
    struct rkt_narrow_clocks *narrowed;        /* NULL: something is */
};

/* The bytes of an ALIGN; the caller frees them. */
static enum rkt_status encode(const struct rkt_align_info *align, uint8_t **raw_out,
                              size_t *len_out, struct rkt_error *err)
{
    size_t cap = rkt_align_bytes_max(align->knot_count);

    *raw_out = malloc(cap);
    if (!*raw_out)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align->knot_count);
    return rkt_align_info_encode(align, *raw_out, cap, len_out, err);
}

static enum rkt_status is_stored(const struct rkt_store_source *source,
                                 const struct rkt_align_info *align, bool *is_same_out,
                                 struct rkt_error *err)
{
    uint8_t *raw[2] = {NULL, NULL};
    size_t len[2] = {0, 0};
    enum rkt_status status = encode(align, &raw[0], &len[0], err);

    if (status == RKT_OK)
        status = encode(&source->align, &raw[1], &len[1], err);
    *is_same_out = status == RKT_OK && source->has_align && len[0] == len[1] &&
                   memcmp(raw[0], raw[1], len[0]) == 0;
    free(raw[0]);
    free(raw[1]);
    return status;
}

/* What is said of a source's alignment. */
struct told {
    struct rkt_source_bound bound;
    const struct rkt_clock_tie *tie;           /* NULL but for what they align */
    const struct rkt_clock_narrowed *narrowed; /* NULL but for what they narrow */
};

static void print_bounds(const struct rkt_align_info *align, const struct rkt_source_bound *bound)
{
    char text[2][32];

    (void)printf(", guaranteed +- %s",
                 rkt_format_duration(bound->bound_ns, text[0], sizeof(text[0])));
    if (align->state == RKT_ALIGN_MEASURED)
        (void)printf(", likely +- %s",
                     rkt_format_duration(bound->likely_ns, text[1], sizeof(text[1])));
    (void)printf(", rho %u ppb", align->rho_ppb);
}

/* What the file's own stamps claimed, beside what the collectives allow. */
static void print_claim(const struct rkt_store_source *source, const struct rkt_clock_tie *tie)
{
    int64_t off_ns, bound_ns;
    char text[2][32];

    if (!rkt_collective_clocks_claim(source, tie, &off_ns, &bound_ns))
        (void)printf("; its stamps agree with that");
    else
        (void)printf("; its stamps are off by %s +- %s",
                     rkt_format_duration(off_ns, text[0], sizeof(text[0])),
                     rkt_format_duration(bound_ns, text[1], sizeof(text[1])));
}

/* The drift is the clock's, above 0 where it is fast: the offset's rate is its negative. */
static void print_tie(const struct rkt_store_source *source, const struct rkt_clock_tie *tie)
{
    if (tie->align.state == RKT_ALIGN_REFERENCE)
        return;
    print_claim(source, tie);
    (void)printf("; %zu collective%s", tie->collective_count,
                 tie->collective_count == 1 ? "" : "s");
    if (!tie->has_rate)
        (void)printf(" in less than 1 s: drift not observable");
    else if (tie->rate_min_ppb > tie->rate_max_ppb)
        (void)printf("; its drift changes");
    else
        (void)printf("; drift %.1f to %.1f ppm", (double)-tie->rate_max_ppb / 1e3,
                     (double)-tie->rate_min_ppb / 1e3);
}

static void print_flags(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } WORDS[] = {
        {RKT_CLOCK_RHO_WIDENED, "rho was disproved and widened"},
        {RKT_CLOCK_STEPPED, "the clock stepped"},
        {RKT_CLOCK_BAD_BURSTS, "some measurements were left out"},
        {RKT_CLOCK_ASYMMETRIC, "kappa was disproved and widened"},
        {RKT_CLOCK_SILENT, "over a minute without a measurement"},
        {RKT_CLOCK_CONTRADICTORY, "its measurements contradict each other"},
        {RKT_CLOCK_CLAIM_USED, "narrower by --ptp-bound"},
        {RKT_CLOCK_CLAIM_WRONG, "its --ptp-bound is wrong, or the reference's, and was left out"},
    };

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (flags & WORDS[i].flag)
            (void)printf("; %s", WORDS[i].text);
    }
}

static void print_narrowed(const struct rkt_clock_narrowed *narrowed)
{
    char text[2][32];

    (void)printf("; not measured for a while: there +- %s, which collectives narrow to %s",
                 rkt_format_duration(narrowed->before_ns, text[0], sizeof(text[0])),
                 rkt_format_duration(narrowed->after_ns, text[1], sizeof(text[1])));
}

static void print_align(const struct rkt_store_source *source, const struct rkt_align_info *align,
                        const struct told *told, bool is_same)
{
    const struct rkt_source_info *info = &source->info;
    char host[sizeof(info->host)];

    if (info->rank_known)
        (void)printf("rank %u", info->rank);
    else
        (void)printf("process %llu", (unsigned long long)info->pid);
    (void)printf("%s%s: %s", info->host[0] ? " on " : "",
                 rkt_format_name(info->host, host, sizeof(host)),
                 rkt_align_state_name((enum rkt_align_state)align->state));
    if ((align->state == RKT_ALIGN_MEASURED || align->state == RKT_ALIGN_COLLECTIVES) &&
        told->bound.bound_ns >= 0)
        print_bounds(align, &told->bound);
    if (told->tie)
        print_tie(source, told->tie);
    if (told->narrowed)
        print_narrowed(told->narrowed);
    print_flags(align->flags);
    (void)printf(" (%s)\n", is_same             ? "as stored"
                            : source->has_align ? "not as stored"
                                                : "not stored");
}

/* What measurements and collectives say of a rank of the analysis; NULL: nothing more than
 * measurements. */
static const struct rkt_clock_narrowed *find_narrowed(const struct aligning *aligning,
                                                      const struct rkt_source_info *info)
{
    const struct rkt_result *result = rkt_analysis_result(aligning->analysis);

    for (size_t r = 0; r < result->rank_count; r++) {
        if (result->ranks[r].trace->source.info.source == info->source)
            return rkt_narrow_clocks_find(aligning->narrowed, r);
    }
    return NULL;
}

static enum rkt_status align_source(struct aligning *aligning, size_t position,
                                    struct rkt_align_info *align_out, struct rkt_error *err)
{
    const struct rkt_store_source *source = rkt_store_reader_source(aligning->reader, position);
    const struct rkt_clock_narrowed *narrowed = NULL;
    const struct rkt_clock_tie *tie = NULL;
    struct rkt_source_bound bound;
    struct rkt_align_info align;
    bool is_same = false;
    enum rkt_status status = rkt_clock_redo_align(aligning->redo, &source->info, &align, err);

    if (status == RKT_AGAIN) { /* by collectives, or as it is */
        if (aligning->collectives)
            tie = rkt_collective_clocks_find(aligning->collectives, source->info.source);
        align = tie ? tie->align : source->align;
    } else if (status != RKT_OK) {
        return status;
    } else if (aligning->narrowed) {
        narrowed = find_narrowed(aligning, &source->info);
    }
    if (narrowed) {
        align = narrowed->align;
        align.source = source->info.source;
    }
    status = is_stored(source, &align, &is_same, err);
    if (status == RKT_OK && source->info.role != RKT_ROLE_SIDECAR) {
        status = rkt_source_bound_find(aligning->reader, &source->info, &align, &bound, err);
        if (status == RKT_OK)
            print_align(source, &align, &(struct told){bound, tie, narrowed}, is_same);
    }
    *align_out = align;
    return status;
}

static enum rkt_status check_output(const struct align_options *options, const char *path,
                                    struct rkt_error *err)
{
    struct stat input, output;

    if (!options->output || stat(options->output, &output) != 0)
        return RKT_OK;
    if (stat(path, &input) == 0 && input.st_ino == output.st_ino && input.st_dev == output.st_dev)
        return rkt_fail(err, RKT_ERR_INVALID, "%s is to be aligned: give another file",
                        options->output);
    if (!options->force)
        return rkt_fail(err, RKT_ERR_INVALID, "%s exists: --force overwrites it", options->output);
    return RKT_OK;
}

static enum rkt_status align_all(struct aligning *aligning, const char *output,
                                 struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(aligning->reader);
    struct rkt_align_info *aligns = calloc(count + 1, sizeof(*aligns));
    enum rkt_status status = RKT_OK;

    if (!aligns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu alignments", count);
    for (size_t i = 0; i < count && status == RKT_OK; i++)
        status = align_source(aligning, i, &aligns[i], err);
    if (status == RKT_OK && output)
        status = rkt_store_realign(aligning->reader, output, aligns, err);
    free(aligns);
    return status;
}

static bool is_imported(const struct rkt_store_reader *reader)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        if (rkt_store_reader_source(reader, i)->info.producer != RKT_PRODUCER_CAPTURE)
            return true;
    }
    return false;
}

static enum rkt_status take_collectives(struct aligning *aligning,
                                        const struct align_options *options, struct rkt_error *err)
{
    enum rkt_status status = rkt_collective_clocks_create(
        rkt_analysis_result(aligning->analysis), options->rho_ppb, &aligning->collectives, err);

    if (status == RKT_OK && rkt_collective_clocks_contradict(aligning->collectives))
        (void)printf("the collectives contradict each other: no clocks can have made these stamps, "
                     "or they were matched wrongly; nothing is aligned by them\n");
    return status;
}

static enum rkt_status narrow(struct aligning *aligning, struct rkt_error *err)
{
    const struct rkt_result *result = rkt_analysis_result(aligning->analysis);
    struct rkt_align_info *aligns = calloc(result->rank_count + 1, sizeof(*aligns));
    enum rkt_status status = RKT_OK;

    if (!aligns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu alignments", result->rank_count);
    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        status = rkt_clock_redo_align(aligning->redo, &result->ranks[r].trace->source.info,
                                      &aligns[r], err);
        status = status == RKT_AGAIN ? RKT_OK : status;
    }
    if (status == RKT_OK)
        status = rkt_narrow_clocks_create(result, aligns, &aligning->narrowed, err);
    if (status == RKT_OK && rkt_narrow_clocks_contradict(aligning->narrowed))
        (void)printf(
            "collectives and measurements contradict each other: no clocks can have made these "
            "stamps, or they were matched wrongly; nothing is narrowed by them\n");
    free(aligns);
    return status;
}

static enum rkt_status match(struct aligning *aligning, const struct align_options *options,
                             const char *path, struct rkt_error *err)
{
    static const struct rkt_analysis_options MATCHES = {.only_matches = true};
    enum rkt_status status = rkt_store_reader_open(path, &aligning->matching, err);

    if (status == RKT_OK)
        status = rkt_analysis_create(aligning->matching, &MATCHES, &aligning->analysis, err);
    if (status != RKT_OK)
        return status;
    return is_imported(aligning->reader) ? take_collectives(aligning, options, err)
                                         : narrow(aligning, err);
}

static enum rkt_status run(const struct align_options *options, const char *path,
                           struct rkt_error *err)
{
    const struct rkt_clock_params params = {.rho_ppb = options->rho_ppb,
                                            .kappa_permille = options->kappa_percent * 10};
    struct aligning aligning = {0};
    enum rkt_status status = rkt_store_reader_open(path, &aligning.reader, err);

    if (status == RKT_OK)
        status = rkt_clock_redo_create(aligning.reader, &params, &aligning.redo, err);
    if (status == RKT_OK)
        status = match(&aligning, options, path, err);
    if (status == RKT_OK)
        status = check_output(options, path, err);
    if (status == RKT_OK)
        status = align_all(&aligning, options->output, err);
    rkt_narrow_clocks_destroy(aligning.narrowed);
    rkt_collective_clocks_destroy(aligning.collectives);
    rkt_analysis_destroy(aligning.analysis);
    rkt_clock_redo_destroy(aligning.redo);
    if (aligning.matching)
        rkt_store_reader_close(aligning.matching);
    if (aligning.reader)
        rkt_store_reader_close(aligning.reader);
    return status;
}

int main(int argc, char **argv)
{
    struct align_options options = {0};
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK && argc - next != 1)
        status = rkt_fail_usage(&COMMAND, "one timeline to align", &err);
    else if (status == RKT_OK && options.kappa_percent > 100)
        status = rkt_fail(&err, RKT_ERR_INVALID, "--kappa is a part of 100");
    if (status == RKT_OK)
        status = run(&options, argv[next], &err);
    return rkt_command_exit(&COMMAND, status, &err);
}
