/* SPDX-License-Identifier: Apache-2.0 */
/* A trace becomes the same frames, byte for byte, whether its events are read by their forms or all
 * are parsed: those of tests/data/kineto, in windows of an event or two, so that most are known. */
#include "rkt_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/import/json_reader.h"
#include "analysis/import/kineto.h"

struct frames {
    char *bytes;
    size_t len;
    FILE *out;
};

static enum rkt_status keep_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct frames *frames = ctx;

    (void)err;
    return fwrite(frame, 1, frame_bytes, frames->out) == frame_bytes ? RKT_OK : RKT_ERR_IO;
}

static void import(const char *path, bool parses_all, struct frames *frames,
                   struct rkt_trace_facts *facts)
{
    static const struct rkt_source_info INFO = {.producer = RKT_PRODUCER_KINETO};
    struct rkt_kineto_options options = {
        .window_bytes = RKT_JSON_WINDOW_BYTES_MIN, .keeps_python = true, .parses_all = parses_all};
    struct rkt_text_source *source = NULL;
    struct rkt_source_writer *writer = NULL;
    struct rkt_kineto *kineto = NULL;
    struct rkt_end_info end = {0};
    struct rkt_error err = {0};

    frames->out = open_memstream(&frames->bytes, &frames->len);
    assert_non_null(frames->out);
    assert_rkt_ok(rkt_text_source_open(path, &source, &err), err);
    assert_rkt_ok(rkt_source_writer_create(&INFO, keep_frame, frames, &writer, &err), err);
    assert_rkt_ok(rkt_kineto_create(&options, writer, &kineto, &err), err);
    if (rkt_kineto_read(kineto, source, 0, facts, &err) == RKT_OK) {
        assert_rkt_ok(rkt_kineto_end(kineto, &err), err);
        assert_rkt_ok(rkt_source_writer_end(writer, &end, &err), err);
    }
    rkt_kineto_destroy(kineto);
    rkt_source_writer_destroy(writer);
    rkt_text_source_close(source);
    assert_int_equal(fclose(frames->out), 0);
}

/* The events that were read. */
static uint64_t compare(const char *path)
{
    struct rkt_trace_facts parsed_facts = {0};
    struct rkt_trace_facts known_facts = {0};
    struct frames parsed;
    struct frames known;

    import(path, true, &parsed, &parsed_facts);
    import(path, false, &known, &known_facts);
    if (parsed.len != known.len || memcmp(parsed.bytes, known.bytes, known.len) != 0)
        fail_msg("%s becomes other frames", path);
    assert_memory_equal(parsed_facts.fates, known_facts.fates, sizeof(known_facts.fates));
    free(parsed.bytes);
    free(known.bytes);
    return known_facts.read_count;
}

static void frames_are_the_same_with_forms_and_without(void **state)
{
    static const char FOLDER[] = RKT_DATA_DIR "/kineto";
    DIR *folder = opendir(FOLDER);
    const struct dirent *entry;
    uint64_t event_count = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[512];

        (void)snprintf(path, sizeof(path), "%s/%s", FOLDER, entry->d_name);
        if (entry->d_name[0] != '.')
            event_count += compare(path);
    }
    (void)closedir(folder);
    assert_in_range(event_count, 200, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_the_same_with_forms_and_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
