/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace recover - what is whole of a broken timeline, as a clean one with an index.
 *
 * Frames are copied as they are, source by source, so nothing that was readable changes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "common/units.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

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
    .usage = "ranktrace recover -o FILE TIMELINE",
    .summary = "Put what a broken run left behind into one clean timeline.",
    .details = "TIMELINE is a file that was cut or damaged, or the output folder of a run; it is\n"
               "only read. Reports can be made of it as it is, too: a clean one opens faster,\n"
               "and can be given away.\n"
               "\n"
               "Exit codes: 0 done, also where damage was left behind; 1 failed; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace recover: %s\n", err->text);
    return code;
}

struct copy {
    struct rkt_store_writer *writer;
    uint64_t frame_count;
};

static enum rkt_status copy_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct copy *copy = ctx;

    copy->frame_count++;
    return rkt_store_writer_append(copy->writer, frame, frame_bytes, err);
}

static enum rkt_status recover(struct rkt_store_reader *reader, const char *output,
                               struct copy *copy, struct rkt_error *err)
{
    enum rkt_status status = rkt_store_writer_create(
        output, RKT_STORE_ATOMIC, rkt_store_reader_run(reader), &copy->writer, err);

    if (status != RKT_OK)
        return status;
    status = rkt_store_reader_each_frame(reader, copy_frame, copy, err);
    if (status == RKT_OK)
        status = rkt_store_writer_close(copy->writer, err);
    rkt_store_writer_destroy(copy->writer);
    return status;
}

static void print_result(const char *output, const struct copy *copy,
                         const struct rkt_store_health *health)
{
    char bytes[32];

    (void)printf("%s: %" PRIu64 " frames kept", output, copy->frame_count);
    if (health->damaged_frames > 0)
        (void)printf(", %" PRIu64 " damaged ones left behind", health->damaged_frames);
    if (health->seq_gap_count > 0)
        (void)printf(", %" PRIu64 " never arrived", health->seq_gap_count);
    if (health->skipped_bytes > 0)
        (void)printf(", %s belong to no frame",
                     rkt_format_bytes(health->skipped_bytes, bytes, sizeof(bytes)));
    (void)printf("\n");
}

/* `input` may be the folder of the file that would be overwritten. */
static bool is_same_file(const char *input, const char *output)
{
    struct stat in;
    struct stat out;
    char inside[4096];
    int len;

    if (stat(output, &out) != 0)
        return false;
    len = snprintf(inside, sizeof(inside), "%s/timeline.rkt", input);
    if (len > 0 && (size_t)len < sizeof(inside) && stat(inside, &in) == 0 &&
        in.st_ino == out.st_ino && in.st_dev == out.st_dev)
        return true;
    return stat(input, &in) == 0 && in.st_ino == out.st_ino && in.st_dev == out.st_dev;
}

static enum rkt_status check_output(const struct recover_options *options, const char *input,
                                    struct rkt_error *err)
{
    if (!options->output)
        return rkt_fail(err, RKT_ERR_INVALID, "give the file to write: %s", COMMAND.usage);
    if (is_same_file(input, options->output))
        return rkt_fail(err, RKT_ERR_INVALID, "%s is the broken timeline itself: give another file",
                        options->output);
    if (!options->force && access(options->output, F_OK) == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "%s exists: --force overwrites it", options->output);
    return RKT_OK;
}

int main(int argc, char **argv)
{
    struct recover_options options = {0};
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    struct copy copy = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_END)
        return EXIT_DONE;
    if (status == RKT_OK && argc - next != 1)
        status = rkt_fail(&err, RKT_ERR_INVALID, "give one timeline: %s", COMMAND.usage);
    if (status == RKT_OK)
        status = check_output(&options, argv[next], &err);
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    status = rkt_store_reader_open(argv[next], &reader, &err);
    if (status != RKT_OK)
        return fail(&err, EXIT_FAILED);
    status = recover(reader, options.output, &copy, &err);
    if (status == RKT_OK)
        print_result(options.output, &copy, rkt_store_reader_health(reader));
    rkt_store_reader_close(reader);
    return status == RKT_OK ? EXIT_DONE : fail(&err, EXIT_FAILED);
}
