/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace info - what is in a timeline: ranks, events, losses, clocks, bytes. No more is analysed
 * than the clocks of a run that did not come to store it, so it also tells what a broken or
 * unfinished file still holds.
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
               "Exit codes: 0 done; 1 failed, or the file or one that it names is damaged or\n"
               "left out, or frames are missing; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

/* What is not finished yet may end within a frame; but no frame is missing between others. */
static bool is_damaged(const struct rkt_store_health *health)
{
    return health->damaged_frames > 0 || health->unread_shard_count > 0 ||
           health->seq_gap_count > 0 || (health->has_trailer && health->skipped_bytes > 0);
}

static enum rkt_status show(const char *path, bool is_json, bool *is_damaged_out,
                            struct rkt_error *err)
{
    struct rkt_timeline_info info = {0};
    struct rkt_store_reader *reader;
    enum rkt_status status = rkt_store_reader_open(path, &reader, err);

    if (status != RKT_OK)
        return status;
    status = rkt_timeline_info_collect(reader, &info, err);
    if (status == RKT_OK)
        status = is_json ? rkt_info_json(path, reader, &info, stdout, err)
                         : rkt_info_text(path, reader, &info, stdout, err);
    *is_damaged_out = is_damaged(rkt_store_reader_health(reader));
    rkt_timeline_info_release(&info);
    rkt_store_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    struct info_options options = {0};
    struct rkt_error err = {0};
    int next = 0, code;
    bool is_json = false, has_damage = false;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK) {
        is_json = strcmp(options.format, "json") == 0;
        if (!is_json && strcmp(options.format, "text") != 0)
            status = rkt_fail(&err, RKT_ERR_INVALID, "unknown format '%s': there are text and json",
                              options.format);
        else if (argc - next != 1)
            status = rkt_fail_usage(&COMMAND, "one timeline", &err);
        else
            status = show(argv[next], is_json, &has_damage, &err);
    }
    code = rkt_command_exit(&COMMAND, status, &err);
    return has_damage && code == RKT_EXIT_DONE ? RKT_EXIT_FAILED : code;
}
