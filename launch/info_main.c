/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace info - what is in a timeline: ranks, events, losses, clocks, bytes. Nothing is
 * analysed, so it also tells what a broken or unfinished file still holds.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/options.h"
#include "common/store_reader.h"
#include "common/units.h"
#include "launch/info_parts.h"
#include "launch/timeline_info.h"

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

struct info_options {
    const char *format;
};

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, offsetof(struct info_options, format), "text|json",
     "text", "for people or for programs"},
};

static const struct rkt_command COMMAND = {
    .name = "info",
    .usage = "ranktrace info [options] TIMELINE",
    .summary = "Say what is in a timeline.",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "A file that is still being written is read as far as it goes.\n"
               "\n"
               "Exit codes: 0 done; 1 failed, or the file is damaged; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static int fail(const struct rkt_error *err, int code)
{
    (void)fprintf(stderr, "ranktrace info: %s\n", err->text);
    return code;
}

static int show(const char *path, bool is_json)
{
    struct rkt_timeline_info info = {0};
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    enum rkt_status status = rkt_store_reader_open(path, &reader, &err);
    bool is_damaged = false;

    if (status != RKT_OK)
        return fail(&err, EXIT_FAILED);
    status = rkt_timeline_info_collect(reader, &info, &err);
    if (status == RKT_OK)
        status = is_json ? rkt_info_json(path, reader, &info, stdout, &err)
                         : rkt_info_text(path, reader, &info, stdout, &err);
    is_damaged = rkt_store_reader_health(reader)->damaged_frames > 0;
    rkt_timeline_info_release(&info);
    rkt_store_reader_close(reader);
    if (status != RKT_OK)
        return fail(&err, EXIT_FAILED);
    return is_damaged ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
    struct info_options options = {0};
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);
    bool is_json;

    if (status == RKT_END)
        return EXIT_DONE;
    if (status != RKT_OK)
        return fail(&err, EXIT_WRONG_USE);
    is_json = strcmp(options.format, "json") == 0;
    if (!is_json && strcmp(options.format, "text") != 0) {
        (void)fprintf(stderr, "ranktrace info: unknown format '%s': there are text and json\n",
                      options.format);
        return EXIT_WRONG_USE;
    }
    if (argc - next != 1) {
        (void)fprintf(stderr, "ranktrace info: give one timeline: %s\n", COMMAND.usage);
        return EXIT_WRONG_USE;
    }
    return show(argv[next], is_json);
}
