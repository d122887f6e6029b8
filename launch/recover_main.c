/* SPDX-License-Identifier: Apache-2.0 */
/* ranktrace recover - what a broken run left behind, as one clean timeline with an index. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/options.h"
#include "common/units.h"
#include "launch/recover.h"

struct recover_options {
    const char *output;
    bool force;
};

static const struct rkt_option OPTIONS[] = {
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct recover_options, output), "FILE", NULL,
     "the clean timeline to write"},
    {"force", 'f', NULL, RKT_OPTION_FLAG, offsetof(struct recover_options, force), NULL, NULL,
     "overwrite FILE"},
};

static const struct rkt_command COMMAND = {
    .name = "recover",
    .usage = "ranktrace recover -o FILE DIR|TIMELINE [SPOOL...]",
    .summary = "Put what a broken run left behind into one clean timeline.",
    .details =
        "DIR is the output folder of a run: its timeline.rkt is taken, and of the same run all\n"
        "timeline-ID-RANK.rkt and the spools beside it, ranktrace-spool-*.rkt, in which sidecars\n"
        "kept what was not written. Spools of other nodes are named, or their folders.\n"
        "What cannot be read, or is of an earlier run in DIR, is left out: a line each says why.\n"
        "Files of several runs that you name are refused. Nothing of all that is changed.\n"
        "A report can be made of a broken timeline as it is, too.\n"
        "\n"
        "Exit codes: 0 done, also where damage was left behind; 1 failed; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static void print_result(const char *output, const struct rkt_recover_counts *counts)
{
    char bytes[32];

    (void)printf("%s: %" PRIu64 " frames kept", output, counts->frame_count);
    if (counts->spool_frame_count > 0)
        (void)printf(", %" PRIu64 " of them from spools", counts->spool_frame_count);
    if (counts->damaged_count > 0)
        (void)printf(", %" PRIu64 " damaged ones left behind", counts->damaged_count);
    if (counts->skipped_bytes > 0)
        (void)printf(", %s belong to no frame",
                     rkt_format_bytes(counts->skipped_bytes, bytes, sizeof(bytes)));
    if (counts->unread_shard_count > 0)
        (void)printf(", %" PRIu32 " files of the run left out ('ranktrace info' says why)",
                     counts->unread_shard_count);
    (void)printf("\n");
}

static void print_left_out(const struct rkt_recover_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct rkt_recover_file *file = &files->items[i];

        if (file->why_left_out.status != RKT_OK)
            (void)printf("left out %s: %s\n", file->path, file->why_left_out.text);
    }
}

static enum rkt_status check_output(const struct recover_options *options, struct rkt_error *err)
{
    struct stat output;

    if (!options->force && options->output && stat(options->output, &output) == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "%s exists: --force overwrites it", options->output);
    return RKT_OK;
}

static enum rkt_status run(const struct recover_options *options, char *const *paths,
                           struct rkt_error *err)
{
    struct rkt_recover_files files = {0};
    struct rkt_recover_counts counts;
    enum rkt_status status = RKT_OK;

    for (; *paths && status == RKT_OK; paths++)
        status = rkt_recover_files_add(&files, *paths, err);
    if (status == RKT_OK)
        status = check_output(options, err);
    if (status == RKT_OK)
        status = rkt_recover(&files, options->output, &counts, err);
    if (status == RKT_OK) {
        print_left_out(&files);
        print_result(options->output, &counts);
    }
    rkt_recover_files_release(&files);
    return status;
}

int main(int argc, char **argv)
{
    struct recover_options options = {0};
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK && (argc - next < 1 || !options.output))
        status = rkt_fail_usage(&COMMAND, "what to recover, and the file to write", &err);
    if (status == RKT_OK)
        status = run(&options, argv + next, &err);
    return rkt_command_exit(&COMMAND, status, &err);
}
