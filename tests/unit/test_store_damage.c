/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"

#define FRAMES_MAX 200u

/* A whole store in memory, and where its frames begin. */
struct fixture {
    char folder[200];
    char path[256];
    uint8_t *bytes;
    size_t len_bytes;
    size_t starts[FRAMES_MAX + 1]; /* one more: the end */
    uint8_t kinds[FRAMES_MAX];
    size_t frame_count; /* with INDEX and TRAILER */
    size_t own_count;   /* without them, and without RUN */
};

static void find_frames(struct fixture *fx)
{
    size_t at = 0;

    while (at < fx->len_bytes) {
        struct rkt_frame_head head;
        struct rkt_error err;

        assert_rkt_ok(rkt_frame_head_decode(fx->bytes + at, fx->len_bytes - at, &head, &err), err);
        assert_true(fx->frame_count < FRAMES_MAX);
        fx->kinds[fx->frame_count] = head.kind;
        fx->starts[fx->frame_count++] = at;
        at += RKT_FRAME_HEAD_BYTES + head.packed_bytes;
    }
    assert_int_equal(at, fx->len_bytes);
    fx->starts[fx->frame_count] = at;
    fx->own_count = fx->frame_count - 3;
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    *state = fx;
    sample_folder_make(fx->folder, sizeof(fx->folder));
    snprintf(fx->path, sizeof(fx->path), "%s/timeline.rkt", fx->folder);
    sample_store_write(fx->path, RKT_STORE_ATOMIC);
    fx->bytes = sample_file_read(fx->path, &fx->len_bytes);
    find_frames(fx);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    sample_folder_remove(fx->folder);
    free(fx->bytes);
    free(fx);
    return 0;
}

static enum rkt_status check_batch(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    size_t *total = ctx;

    (void)err;
    for (size_t row = 0; row < count; row++) {
        struct rkt_event want;

        sample_event((enum rkt_event_kind)events[0].kind, row, &want);
        assert_memory_equal(&events[row], &want, sizeof(want));
    }
    *total += count;
    return RKT_OK;
}

/* What a file gave, all of it read. */
struct outcome {
    enum rkt_status status;
    struct rkt_store_health health;
    size_t event_count;
};

static struct outcome read_all(const char *path)
{
    struct outcome outcome = {.event_count = 0};
    struct rkt_store_reader *reader;

    outcome.status = rkt_store_reader_open(path, &reader, NULL);
    if (outcome.status != RKT_OK)
        return outcome;
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        uint32_t source = rkt_store_reader_source(reader, i)->info.source;
        struct rkt_strtab *tab = rkt_strtab_create();
        struct rkt_error err;

        assert_rkt_ok(
            rkt_store_reader_walk(reader, source, tab, check_batch, &outcome.event_count, &err),
            err);
        rkt_strtab_destroy(tab);
    }
    outcome.health = *rkt_store_reader_health(reader);
    rkt_store_reader_close(reader);
    return outcome;
}

static size_t event_frames_before(const struct fixture *fx, size_t frame)
{
    size_t count = 0;

    for (size_t i = 0; i < frame; i++)
        count += rkt_frame_is_of_events(fx->kinds[i]);
    return count;
}

static void a_store_cut_at_any_byte_gives_all_whole_frames(void **state)
{
    struct fixture *fx = *state;
    size_t whole = 0; /* frames that end at or before the cut */

    for (size_t cut = 0; cut < fx->len_bytes; cut++) {
        struct outcome outcome;

        while (fx->starts[whole + 1] <= cut)
            whole++;
        sample_file_write(fx->path, fx->bytes, cut);
        outcome = read_all(fx->path);
        if (whole == 0) {
            assert_rkt_status(outcome.status, RKT_ERR_FORMAT);
            continue;
        }
        assert_rkt_status(outcome.status, RKT_OK);
        assert_int_equal(outcome.event_count, SAMPLE_ROWS * event_frames_before(fx, whole));
        assert_int_equal(outcome.health.frame_count,
                         whole - 1 < fx->own_count ? whole - 1 : fx->own_count);
        assert_int_equal(outcome.health.skipped_bytes, cut - fx->starts[whole]);
        assert_int_equal(outcome.health.damaged_frames, 0);
        assert_false(outcome.health.has_trailer);
    }
}

static void a_changed_byte_loses_one_frame_at_most(void **state)
{
    struct fixture *fx = *state;
    const size_t all_events = (size_t)SAMPLE_SOURCES * SAMPLE_ROWS * (RKT_EVENT_KIND_COUNT - 1);
    size_t frame = 0;

    for (size_t at = 0; at < fx->len_bytes; at++) {
        struct outcome outcome;
        bool is_of_events;

        while (fx->starts[frame + 1] <= at)
            frame++;
        is_of_events = rkt_frame_is_of_events(fx->kinds[frame]);
        fx->bytes[at] ^= 0x10;
        sample_file_write(fx->path, fx->bytes, fx->len_bytes);
        fx->bytes[at] ^= 0x10;
        outcome = read_all(fx->path);
        assert_rkt_status(outcome.status, RKT_OK);
        assert_int_equal(outcome.event_count, all_events - (is_of_events ? SAMPLE_ROWS : 0));
        if (is_of_events)
            assert_int_equal(outcome.health.damaged_frames, 1);
    }
}

/* A copy of the store without [from, to), with `more` bytes of `fill` in their place. */
static struct outcome read_patched(struct fixture *fx, size_t from, size_t to, size_t more,
                                   int fill)
{
    size_t len = fx->len_bytes - (to - from) + more;
    uint8_t *bytes = malloc(len);
    struct outcome outcome;

    assert_non_null(bytes);
    memcpy(bytes, fx->bytes, from);
    memset(bytes + from, fill, more);
    memcpy(bytes + from + more, fx->bytes + to, fx->len_bytes - to);
    sample_file_write(fx->path, bytes, len);
    free(bytes);
    outcome = read_all(fx->path);
    assert_rkt_status(outcome.status, RKT_OK);
    return outcome;
}

static void missing_bytes_in_a_frame_lose_only_that_frame(void **state)
{
    struct fixture *fx = *state;

    for (size_t frame = 3; frame < fx->frame_count - 2; frame++) {
        size_t from = fx->starts[frame] + RKT_FRAME_HEAD_BYTES + 2;
        struct outcome outcome = read_patched(fx, from, from + 3, 0, 0);

        assert_int_equal(outcome.health.frame_count, fx->own_count - 1);
        assert_int_equal(outcome.health.damaged_frames, 1);
    }
}

static void more_bytes_between_frames_lose_nothing(void **state)
{
    static const struct {
        const char *what;
        int fill;
        size_t more;
    } CASES[] = {
        {"one byte", 'x', 1},
        {"a page of zeros", 0, 4096},
        {"letters of the magic", 'R', 33},
        {"more than is searched at once", 0, 600000},
    };
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        for (size_t frame = 0; frame <= fx->frame_count; frame += 7) {
            size_t at = fx->starts[frame];
            struct outcome outcome = read_patched(fx, at, at, CASES[i].more, CASES[i].fill);

            if (outcome.health.frame_count != fx->own_count ||
                outcome.health.skipped_bytes != CASES[i].more)
                fail_msg("%s before frame %zu: %llu frames", CASES[i].what, frame,
                         (unsigned long long)outcome.health.frame_count);
        }
    }
}

static void a_head_across_two_reads_of_the_search_is_found(void **state)
{
    const size_t read_bytes = (size_t)256 << 10; /* as store_scan reads */
    struct fixture *fx = *state;

    for (size_t more = read_bytes - 8; more < read_bytes + 8; more++) {
        struct outcome outcome = read_patched(fx, fx->starts[5], fx->starts[5], more, 0);

        assert_int_equal(outcome.health.frame_count, fx->own_count);
        assert_int_equal(outcome.health.skipped_bytes, more);
    }
}

static void a_page_of_zeros_over_frames_loses_only_those(void **state)
{
    struct fixture *fx = *state;
    size_t from = fx->starts[10] + 5;
    size_t to = fx->starts[13] - 5;
    struct outcome outcome = read_patched(fx, from, to, to - from, 0);

    assert_true(outcome.health.has_trailer); /* so the index still says where frames begin */
    assert_int_equal(outcome.health.damaged_frames, 3);
    assert_int_equal(outcome.health.frame_count, fx->own_count - 3);
}

/* ---- what is no store ---- */

static void a_file_that_is_no_store_is_told_by_its_looks(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *want;
    } CASES[] = {
        {"", 0, "empty"},
        {"\x1f\x8b\x08\x00", 4, "gzip"},
        {"  \n{\"traceEvents\": []}", 22, "JSON"},
        {"\xef\xbb\xbf[", 4, "JSON"},
        {"SQLite format 3\0", 16, "SQLite"},
        {"\x28\xb5\x2f\xfd....", 8, "zstd"},
        {"PK\x03\x04", 4, "zip"},
        {"RKTF\x01", 5, "no frame of it is whole"},
        {"hello, world", 12, "no kind that is known"},
    };
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_store_reader *reader;
        struct rkt_error err = {0};

        sample_file_write(fx->path, (const uint8_t *)CASES[i].bytes, CASES[i].len);
        assert_rkt_status(rkt_store_reader_open(fx->path, &reader, &err), RKT_ERR_FORMAT);
        if (!strstr(err.text, CASES[i].want) || !strstr(err.text, fx->path))
            fail_msg("not told as %s: %s", CASES[i].want, err.text);
    }
}

static void a_path_that_cannot_be_read_is_an_io_error(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    char fifo[300];

    remove(fx->path);
    assert_rkt_status(rkt_store_reader_open(fx->path, &reader, NULL), RKT_ERR_IO);
    assert_rkt_status(rkt_store_reader_open(fx->folder, &reader, NULL), RKT_ERR_IO);
    snprintf(fifo, sizeof(fifo), "%s/fifo", fx->folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_rkt_status(rkt_store_reader_open(fifo, &reader, NULL), RKT_ERR_IO);
}

static void a_store_of_another_major_version_is_refused_with_both_numbers(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    fx->bytes[4] = 2;
    rkt_put_u32(fx->bytes + 28, (uint32_t)crc32(crc32(0, Z_NULL, 0), fx->bytes, 28));
    sample_file_write(fx->path, fx->bytes, fx->len_bytes);
    assert_rkt_status(rkt_store_reader_open(fx->path, &reader, &err), RKT_ERR_VERSION);
    assert_non_null(strstr(err.text, "version 2"));
    assert_non_null(strstr(err.text, "version 1"));
}

/* ---- what is missing, or there twice ---- */

static struct outcome read_frames(struct fixture *fx, const size_t *frames, size_t count)
{
    uint8_t *bytes = malloc(fx->len_bytes * 2);
    struct outcome outcome;
    size_t len = 0;

    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++) {
        size_t start = fx->starts[frames[i]];
        size_t frame_bytes = fx->starts[frames[i] + 1] - start;

        memcpy(bytes + len, fx->bytes + start, frame_bytes);
        len += frame_bytes;
    }
    sample_file_write(fx->path, bytes, len);
    free(bytes);
    outcome = read_all(fx->path);
    assert_rkt_status(outcome.status, RKT_OK);
    return outcome;
}

/* Frame 0 is RUN; 1 and 2 are SOURCE and STRINGS of source 0, then one batch per kind. */
static void frames_that_never_came_are_counted(void **state)
{
    static const size_t ALL[] = {0, 1, 2, 3, 4, 5};
    static const size_t TWO_MISSING[] = {0, 1, 2, 4, 6};
    static const size_t FIRST_MISSING[] = {0, 2, 3};

    assert_int_equal(read_frames(*state, ALL, 6).health.seq_gap_count, 0);
    assert_int_equal(read_frames(*state, TWO_MISSING, 5).health.seq_gap_count, 2);
    assert_int_equal(read_frames(*state, FIRST_MISSING, 3).health.seq_gap_count, 1);
}

static void frames_out_of_order_are_no_gap(void **state)
{
    static const size_t SHUFFLED[] = {0, 5, 1, 4, 2, 3};
    struct outcome outcome = read_frames(*state, SHUFFLED, 6);

    assert_int_equal(outcome.health.seq_gap_count, 0);
    assert_int_equal(outcome.event_count, 3 * SAMPLE_ROWS);
}

static void a_frame_that_came_twice_counts_once(void **state)
{
    static const size_t TWICE[] = {0, 1, 2, 3, 4, 3, 5, 4};
    struct outcome outcome = read_frames(*state, TWICE, 8);

    assert_int_equal(outcome.event_count, 3 * SAMPLE_ROWS);
    assert_int_equal(outcome.health.seq_gap_count, 0);
}

static void frames_of_a_later_version_are_counted_and_passed_over(void **state)
{
    static const uint8_t KIND_99[] = {0x84, 0, 99, 1, 2, 2, 1, 3, 0}; /* one row of event kind 99 */
    struct fixture *fx = *state;
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct outcome outcome;
    struct rkt_error err;

    remove(fx->path);
    assert_rkt_ok(rkt_store_writer_create(fx->path, RKT_STORE_LIVE, &run, &writer, &err), err);
    assert_rkt_ok(rkt_store_writer_append_payload(writer, 200, 0, KIND_99, 1, &err), err);
    assert_rkt_ok(rkt_store_writer_append_payload(writer, RKT_FRAME_EVENTS, 0, KIND_99,
                                                  sizeof(KIND_99), &err),
                  err);
    rkt_store_writer_destroy(writer);
    outcome = read_all(fx->path);
    assert_rkt_status(outcome.status, RKT_OK);
    assert_int_equal(outcome.health.unknown_frames, 2);
    assert_int_equal(outcome.health.damaged_frames, 0);
    assert_int_equal(outcome.event_count, 0);
}

static enum rkt_status count_batch(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    (void)events;
    (void)err;
    *(size_t *)ctx += count;
    return RKT_OK;
}

static void columns_of_a_later_version_are_counted_once(void **state)
{
    static const uint8_t COLUMN_120[] = {0x85, 0, 5, 1, 2, 2, 1, 3, 0, 120, 7}; /* one api row */
    struct rkt_run_info run = sample_run();
    struct fixture *fx = *state;
    struct rkt_store_writer *writer;
    struct rkt_store_reader *reader;
    struct rkt_error err;

    remove(fx->path);
    assert_rkt_ok(rkt_store_writer_create(fx->path, RKT_STORE_LIVE, &run, &writer, &err), err);
    assert_rkt_ok(rkt_store_writer_append_payload(writer, RKT_FRAME_EVENTS, 0, COLUMN_120,
                                                  sizeof(COLUMN_120), &err),
                  err);
    rkt_store_writer_destroy(writer);
    assert_rkt_ok(rkt_store_reader_open(fx->path, &reader, &err), err);
    for (int round = 0; round < 2; round++) {
        size_t count = 0;

        assert_rkt_ok(rkt_store_reader_walk(reader, 0, NULL, count_batch, &count, &err), err);
        assert_int_equal(count, 1);
        assert_int_equal(rkt_store_reader_health(reader)->unknown_keys, 1);
    }
    rkt_store_reader_close(reader);
}

static void a_name_that_clashes_is_counted_once(void **state)
{
    static const uint8_t ONE_IS_A[] = {0x82, 0, 1, 1, 0x91, 0xc4, 1, 'a'};
    static const uint8_t ONE_IS_B[] = {0x82, 0, 1, 1, 0x92, 0xc4, 1, 'b', 0xc4, 1, 'c'};
    struct rkt_run_info run = sample_run();
    struct fixture *fx = *state;
    struct rkt_store_writer *writer;
    struct rkt_store_reader *reader;
    struct rkt_error err;

    remove(fx->path);
    assert_rkt_ok(rkt_store_writer_create(fx->path, RKT_STORE_LIVE, &run, &writer, &err), err);
    rkt_store_writer_append_payload(writer, RKT_FRAME_STRINGS, 0, ONE_IS_A, sizeof(ONE_IS_A), NULL);
    rkt_store_writer_append_payload(writer, RKT_FRAME_STRINGS, 0, ONE_IS_B, sizeof(ONE_IS_B), NULL);
    rkt_store_writer_destroy(writer);
    assert_rkt_ok(rkt_store_reader_open(fx->path, &reader, &err), err);
    for (int round = 0; round < 2; round++) {
        struct rkt_strtab *tab = rkt_strtab_create();

        assert_rkt_ok(rkt_store_reader_walk(reader, 0, tab, check_batch, NULL, &err), err);
        assert_string_equal(rkt_strtab_get(tab, 1, NULL), "a");
        assert_string_equal(rkt_strtab_get(tab, 2, NULL), "c");
        assert_int_equal(rkt_store_reader_health(reader)->damaged_frames, 1);
        rkt_strtab_destroy(tab);
    }
    rkt_store_reader_close(reader);
}

/* ---- an index that lies ---- */

static void an_index_that_does_not_fit_the_file_is_not_believed(void **state)
{
    struct fixture *fx = *state;
    size_t trailer_at = fx->starts[fx->frame_count - 1];
    struct rkt_store_trailer trailer;

    for (unsigned lie = 0; lie < 4; lie++) {
        struct outcome outcome;

        assert_true(rkt_store_trailer_decode(fx->bytes + trailer_at, fx->len_bytes, &trailer));
        trailer.index_offset = lie == 0 ? 0 : lie == 1 ? UINT64_MAX : trailer.index_offset;
        trailer.frame_count = lie == 2 ? UINT64_MAX : lie == 3 ? 3 : trailer.frame_count;
        rkt_store_trailer_encode(&trailer, fx->bytes + trailer_at);
        outcome = read_patched(fx, 0, 0, 0, 0);
        assert_int_equal(outcome.health.frame_count, fx->own_count);
        assert_true(outcome.health.has_trailer);
        free(fx->bytes);
        sample_store_write(fx->path, RKT_STORE_ATOMIC);
        fx->bytes = sample_file_read(fx->path, &fx->len_bytes);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_store_cut_at_any_byte_gives_all_whole_frames),
        CASE(a_changed_byte_loses_one_frame_at_most),
        CASE(missing_bytes_in_a_frame_lose_only_that_frame),
        CASE(more_bytes_between_frames_lose_nothing),
        CASE(a_head_across_two_reads_of_the_search_is_found),
        CASE(a_page_of_zeros_over_frames_loses_only_those),
        CASE(a_file_that_is_no_store_is_told_by_its_looks),
        CASE(a_path_that_cannot_be_read_is_an_io_error),
        CASE(a_store_of_another_major_version_is_refused_with_both_numbers),
        CASE(frames_that_never_came_are_counted),
        CASE(frames_out_of_order_are_no_gap),
        CASE(a_frame_that_came_twice_counts_once),
        CASE(frames_of_a_later_version_are_counted_and_passed_over),
        CASE(columns_of_a_later_version_are_counted_once),
        CASE(a_name_that_clashes_is_counted_once),
        CASE(an_index_that_does_not_fit_the_file_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
