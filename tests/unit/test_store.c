/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"

struct fixture {
    char folder[200];
    char path[256];
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    sample_folder_make(fx->folder, sizeof(fx->folder));
    snprintf(fx->path, sizeof(fx->path), "%s/timeline.rkt", fx->folder);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    sample_folder_remove(fx->folder);
    free(fx);
    return 0;
}

static size_t files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *item;
    size_t count = 0;

    assert_non_null(dir);
    while ((item = readdir(dir)))
        count += item->d_name[0] != '.';
    closedir(dir);
    return count;
}

static struct rkt_store_reader *open_store(const char *path)
{
    struct rkt_store_reader *reader;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    return reader;
}

/* ---- reading back ---- */

static enum rkt_status compare_batch(void *ctx, const struct rkt_event *events, size_t count,
                                     struct rkt_error *err)
{
    size_t *total = ctx;

    (void)err;
    assert_int_equal(count, SAMPLE_ROWS);
    for (size_t row = 0; row < count; row++) {
        struct rkt_event want;

        sample_event((enum rkt_event_kind)events[0].kind, row, &want);
        assert_memory_equal(&events[row], &want, sizeof(want));
    }
    *total += count;
    return RKT_OK;
}

static void expect_source(struct rkt_store_reader *reader, size_t position)
{
    const struct rkt_store_source *source = rkt_store_reader_source(reader, position);
    struct rkt_strtab *tab = rkt_strtab_create();
    size_t total = 0;
    struct rkt_error err;

    assert_non_null(tab);
    assert_int_equal(source->info.source, position);
    sample_expect_source(&source->info);
    assert_true(source->has_end);
    assert_int_equal(source->end.signal_number, 9);
    assert_int_equal(source->end.event_count, SAMPLE_ROWS * (RKT_EVENT_KIND_COUNT - 1));
    assert_true(source->has_align);
    assert_int_equal(source->align.knot_count, 2);
    assert_int_equal(source->align.knots[1].offset_ns, -123400);
    assert_rkt_ok(
        rkt_store_reader_walk(reader, (uint32_t)position, tab, compare_batch, &total, &err), err);
    assert_int_equal(total, SAMPLE_ROWS * (RKT_EVENT_KIND_COUNT - 1));
    assert_int_equal(source->event_counts[RKT_EVENT_NCCL], SAMPLE_ROWS);
    for (size_t i = 0; i < SAMPLE_NAMES; i++)
        assert_string_equal(rkt_strtab_get(tab, (uint32_t)i + 1, NULL), sample_name(i));
    rkt_strtab_destroy(tab);
}

static void expect_sample(const char *path)
{
    struct rkt_store_reader *reader = open_store(path);
    const struct rkt_store_health *health = rkt_store_reader_health(reader);

    sample_expect_run(rkt_store_reader_run(reader));
    assert_int_equal(rkt_store_reader_source_count(reader), SAMPLE_SOURCES);
    for (size_t position = 0; position < SAMPLE_SOURCES; position++)
        expect_source(reader, position);
    assert_true(health->has_trailer);
    assert_int_equal(health->damaged_frames, 0);
    assert_int_equal(health->skipped_bytes, 0);
    assert_int_equal(health->seq_gap_count, 0);
    assert_int_equal(health->unknown_frames, 0);
    rkt_store_reader_close(reader);
}

static void a_live_store_reads_back_whole(void **state)
{
    struct fixture *fx = *state;

    sample_store_write(fx->path, RKT_STORE_LIVE);
    expect_sample(fx->path);
}

static void an_atomic_store_reads_back_whole(void **state)
{
    struct fixture *fx = *state;

    sample_store_write(fx->path, RKT_STORE_ATOMIC);
    expect_sample(fx->path);
    assert_int_equal(files_in(fx->folder), 1);
}

static void a_folder_stands_for_the_store_in_it(void **state)
{
    struct fixture *fx = *state;

    sample_store_write(fx->path, RKT_STORE_LIVE);
    expect_sample(fx->folder);
}

static void a_second_walk_gives_the_same(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;

    sample_store_write(fx->path, RKT_STORE_LIVE);
    reader = open_store(fx->path);
    expect_source(reader, 1);
    expect_source(reader, 1);
    rkt_store_reader_close(reader);
}

static enum rkt_status stop_at_once(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    (void)events;
    (void)count;
    ++*(int *)ctx;
    return rkt_fail(err, RKT_END, "enough");
}

static void a_walk_ends_when_its_function_says_so(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    int calls = 0;

    sample_store_write(fx->path, RKT_STORE_LIVE);
    reader = open_store(fx->path);
    assert_rkt_status(rkt_store_reader_walk(reader, 0, NULL, stop_at_once, &calls, NULL), RKT_END);
    assert_int_equal(calls, 1);
    assert_rkt_status(rkt_store_reader_walk(reader, 77, NULL, stop_at_once, &calls, NULL),
                      RKT_ERR_INVALID);
    rkt_store_reader_close(reader);
}

struct partly {
    unsigned seen; /* a bit per event kind */
    uint32_t asked;
};

static bool want_kernels(void *ctx, const struct rkt_batch_span *span)
{
    struct partly *partly = ctx;

    partly->asked++;
    return span->kind == RKT_EVENT_KERNEL;
}

static enum rkt_status see_kind(void *ctx, const struct rkt_event *events, size_t count,
                                struct rkt_error *err)
{
    struct partly *partly = ctx;

    (void)err;
    assert_int_equal(count, SAMPLE_ROWS);
    partly->seen |= 1u << events->kind;
    return RKT_OK;
}

static void batches_that_nobody_wants_are_counted_unread(void **state)
{
    struct fixture *fx = *state;
    struct partly partly = {0};
    const struct rkt_store_part part = {want_kernels, see_kind, &partly};
    struct rkt_store_reader *reader;
    const struct rkt_store_source *source;
    uint64_t before_bytes, part_bytes;
    struct rkt_error err;

    sample_store_write(fx->path, RKT_STORE_LIVE);
    reader = open_store(fx->path);
    source = rkt_store_reader_source(reader, 1);
    before_bytes = rkt_store_reader_read_bytes(reader);
    assert_rkt_ok(rkt_store_reader_walk_part(reader, 1, NULL, &part, &err), err);
    part_bytes = rkt_store_reader_read_bytes(reader) - before_bytes;
    assert_int_equal(partly.seen, 1u << RKT_EVENT_KERNEL);
    assert_int_equal(partly.asked, RKT_EVENT_KIND_COUNT - 1);
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++)
        assert_int_equal(source->event_counts[kind], SAMPLE_ROWS);
    before_bytes = rkt_store_reader_read_bytes(reader);
    partly.seen = 0;
    assert_rkt_ok(rkt_store_reader_walk(reader, 1, NULL, see_kind, &partly, &err), err);
    assert_int_equal(partly.seen, (1u << RKT_EVENT_KIND_COUNT) - 2);
    assert_true(part_bytes * 3 < rkt_store_reader_read_bytes(reader) - before_bytes);
    rkt_store_reader_close(reader);
}

static enum rkt_status copy_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

static void a_copy_frame_by_frame_is_the_same_store(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_writer *writer;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char copy[300];

    snprintf(copy, sizeof(copy), "%s/copy.rkt", fx->folder);
    sample_store_write(fx->path, RKT_STORE_LIVE);
    reader = open_store(fx->path);
    assert_rkt_ok(rkt_store_writer_create(copy, RKT_STORE_ATOMIC, rkt_store_reader_run(reader),
                                          &writer, &err),
                  err);
    assert_rkt_ok(rkt_store_reader_each_frame(reader, copy_frame, writer, &err), err);
    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
    rkt_store_reader_close(reader);
    expect_sample(copy);
}

/* ---- while and after writing ---- */

static struct rkt_store_writer *start_store(const char *path, enum rkt_store_mode mode)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_writer_create(path, mode, &run, &writer, &err), err);
    return writer;
}

static void a_live_store_is_readable_while_it_grows(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_writer *writer = start_store(fx->path, RKT_STORE_LIVE);
    struct rkt_store_reader *reader = open_store(fx->path);

    assert_int_equal(rkt_store_reader_source_count(reader), 0);
    assert_false(rkt_store_reader_health(reader)->has_trailer);
    rkt_store_reader_close(reader);
    sample_store_fill(writer);
    reader = open_store(fx->path);
    expect_source(reader, 0);
    expect_source(reader, 1);
    assert_int_equal(rkt_store_reader_health(reader)->skipped_bytes, 0);
    rkt_store_reader_close(reader);
    rkt_store_writer_destroy(writer);
}

static void an_atomic_store_leaves_nothing_without_close(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_writer *writer = start_store(fx->path, RKT_STORE_ATOMIC);

    assert_int_equal(access(fx->path, F_OK), -1);
    assert_int_equal(files_in(fx->folder), 1);
    rkt_store_writer_destroy(writer);
    assert_int_equal(files_in(fx->folder), 0);
}

static void an_atomic_store_replaces_the_old_one_only_at_close(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_writer *writer;
    struct rkt_error err;

    sample_store_write(fx->path, RKT_STORE_ATOMIC);
    writer = start_store(fx->path, RKT_STORE_ATOMIC);
    expect_sample(fx->path);
    sample_store_fill(writer);
    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
    expect_sample(fx->path);
    assert_int_equal(files_in(fx->folder), 1);
}

static void a_live_store_never_overwrites(void **state)
{
    struct fixture *fx = *state;
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;

    sample_file_write(fx->path, (const uint8_t *)"precious", 8);
    assert_rkt_status(rkt_store_writer_create(fx->path, RKT_STORE_LIVE, &run, &writer, NULL),
                      RKT_ERR_INVALID);
    assert_rkt_status(rkt_store_writer_create("/dev/null", RKT_STORE_ATOMIC, &run, &writer, NULL),
                      RKT_ERR_INVALID);
    assert_rkt_status(
        rkt_store_writer_create("/nowhere/at/all.rkt", RKT_STORE_LIVE, &run, &writer, NULL),
        RKT_ERR_IO);
}

#define WRITERS 8

/* In a child: 0 it has the file, and keeps it until `hold_fd` ends; 1 it was refused, and told
 * why. */
static int try_to_write(const char *path, int go_fd, int hold_fd, int said_fd)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer = NULL;
    struct rkt_error err = {0};
    enum rkt_status status;
    char byte;

    (void)!read(go_fd, &byte, 1); /* ends for all at once */
    status = rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, &err);
    if (write(said_fd, "", 1) != 1 || (status != RKT_OK && !strstr(err.text, "by another run")))
        return 2;
    (void)!read(hold_fd, &byte, 1);
    rkt_store_writer_destroy(writer);
    return status == RKT_OK ? 0 : 1;
}

static void of_runs_that_start_together_one_writes(void **state)
{
    struct fixture *fx = *state;
    int go[2], hold[2], said[2], writing = 0, refused = 0;
    pid_t children[WRITERS];
    char byte;

    assert_int_equal(pipe(go) | pipe(hold) | pipe(said), 0);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            close(go[1]);
            close(hold[1]);
            _exit(try_to_write(fx->path, go[0], hold[0], said[1]));
        }
    }
    close(go[1]);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(read(said[0], &byte, 1), 1);
    close(hold[1]);
    for (int i = 0; i < WRITERS; i++) {
        int code = 0;

        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        writing += WIFEXITED(code) && WEXITSTATUS(code) == 0;
        refused += WIFEXITED(code) && WEXITSTATUS(code) == 1;
    }
    assert_int_equal(writing, 1);
    assert_int_equal(refused, WRITERS - 1);
    close(go[0]);
    close(hold[0]);
    close(said[0]);
    close(said[1]);
}

/* Writes until the limit cuts a frame in two, and returns how many frames went in whole. */
static size_t fill_until_full(struct rkt_store_writer *writer, const uint8_t *raw, size_t raw_bytes,
                              uint64_t *bytes_out)
{
    struct rkt_error err;
    size_t count = 0;

    while (rkt_store_writer_append_payload(writer, RKT_FRAME_EVENTS, 0, raw, raw_bytes, &err) ==
           RKT_OK)
        count++;
    assert_int_equal(err.status, RKT_ERR_IO);
    assert_non_null(strstr(err.text, "what was written before is kept"));
    *bytes_out = rkt_store_writer_bytes(writer);
    assert_rkt_status(
        rkt_store_writer_append_payload(writer, RKT_FRAME_EVENTS, 0, raw, raw_bytes, NULL),
        RKT_ERR_IO);
    assert_rkt_status(rkt_store_writer_close(writer, NULL), RKT_ERR_IO);
    return count;
}

static void a_full_disk_keeps_every_whole_frame(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_writer *writer = start_store(fx->path, RKT_STORE_LIVE);
    const struct rlimit low = {10000, RLIM_INFINITY};
    struct rkt_store_reader *reader;
    struct rlimit old;
    struct stat st;
    uint8_t raw[300];
    size_t count;
    uint64_t bytes;

    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(i * 131 % 251);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    count = fill_until_full(writer, raw, sizeof(raw), &bytes);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    rkt_store_writer_destroy(writer);
    assert_int_equal(stat(fx->path, &st), 0);
    assert_int_equal(st.st_size, bytes);
    assert_true(st.st_size < 10000);
    reader = open_store(fx->path);
    assert_int_equal(rkt_store_reader_health(reader)->frame_count, count);
    assert_int_equal(rkt_store_reader_health(reader)->skipped_bytes, 0);
    rkt_store_reader_close(reader);
}

/* And says so: nothing of the new one is kept. */
static void a_full_disk_leaves_the_old_store(void **state)
{
    struct fixture *fx = *state;
    const struct rlimit low = {10000, RLIM_INFINITY};
    struct rkt_store_writer *writer;
    struct rkt_error err = {0};
    struct rlimit old;
    uint8_t raw[300] = {0};

    sample_store_write(fx->path, RKT_STORE_ATOMIC);
    writer = start_store(fx->path, RKT_STORE_ATOMIC);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    while (rkt_store_writer_append_payload(writer, RKT_FRAME_EVENTS, 0, raw, sizeof(raw), &err) ==
           RKT_OK)
        continue;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(err.status, RKT_ERR_IO);
    assert_non_null(strstr(err.text, "it is left as it was before"));
    rkt_store_writer_destroy(writer);
    expect_sample(fx->path);
    assert_int_equal(files_in(fx->folder), 1);
}

static void wrong_frames_are_refused_and_not_written(void **state)
{
    static const struct {
        const char *what;
        uint8_t kind;
        uint32_t source;
        size_t spoilt_byte; /* 0: none */
        size_t missing_bytes;
        enum rkt_status want;
    } CASES[] = {
        {"good", RKT_FRAME_EVENTS, 0, 0, 0, RKT_OK},
        {"kind of a later version", 99, 0, 0, 0, RKT_OK},
        {"damaged head", RKT_FRAME_EVENTS, 0, 9, 0, RKT_ERR_CHECKSUM},
        {"damaged payload", RKT_FRAME_EVENTS, 0, 33, 0, RKT_ERR_CHECKSUM},
        {"cut", RKT_FRAME_EVENTS, 0, 0, 1, RKT_ERR_FORMAT},
        {"cut in its head", RKT_FRAME_EVENTS, 0, 0, 20, RKT_ERR_FORMAT},
        {"the store's own kind", RKT_FRAME_INDEX, 0, 0, 0, RKT_ERR_INVALID},
        {"a second run", RKT_FRAME_RUN, 0, 0, 0, RKT_ERR_INVALID},
        {"a shard that a sender names", RKT_FRAME_SHARD, 0, 0, 0, RKT_ERR_INVALID},
        {"a source that is too high", 4, RKT_STORE_SOURCE_COUNT_MAX, 0, 0, RKT_ERR_RANGE},
    };
    struct fixture *fx = *state;
    struct rkt_store_writer *writer = start_store(fx->path, RKT_STORE_LIVE);
    struct rkt_packer *packer = rkt_packer_create(1);

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_frame_head head = {.kind = CASES[i].kind, .source = CASES[i].source};
        uint64_t before = rkt_store_writer_bytes(writer);
        struct rkt_bytes frame;
        struct rkt_error err;
        uint8_t bytes[64];

        assert_rkt_ok(rkt_pack_frame(packer, &head, (struct rkt_bytes){(const uint8_t *)"\x80", 1},
                                     &frame, &err),
                      err);
        memcpy(bytes, frame.at, frame.len_bytes);
        if (CASES[i].spoilt_byte)
            bytes[CASES[i].spoilt_byte - 1] ^= 4;
        if (rkt_store_writer_append(writer, bytes, frame.len_bytes - CASES[i].missing_bytes,
                                    NULL) != CASES[i].want)
            fail_msg("%s", CASES[i].what);
        assert_int_equal(rkt_store_writer_bytes(writer) > before, CASES[i].want == RKT_OK);
    }
    rkt_packer_destroy(packer);
    rkt_store_writer_destroy(writer);
}

static void more_frames_than_one_index_holds_are_indexed(void **state)
{
    struct fixture *fx = *state;
    const size_t count = (size_t)2 * RKT_STORE_INDEX_FRAMES_MAX + 17;
    struct rkt_store_writer *writer = start_store(fx->path, RKT_STORE_LIVE);
    const struct rkt_store_health *health;
    struct rkt_store_reader *reader;
    struct rkt_error err;

    for (size_t i = 0; i < count; i++)
        assert_rkt_ok(rkt_store_writer_append_payload(writer, RKT_FRAME_STRINGS, (uint32_t)(i % 3),
                                                      (const uint8_t *)"\x80", 1, &err),
                      err);
    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
    reader = open_store(fx->path);
    health = rkt_store_reader_health(reader);
    assert_true(health->has_trailer);
    assert_int_equal(health->frame_count, count);
    assert_int_equal(health->seq_gap_count, 0);
    assert_int_equal(health->skipped_bytes, 0);
    assert_int_equal(rkt_store_reader_source_count(reader), 3);
    rkt_store_reader_close(reader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_live_store_reads_back_whole),
        CASE(an_atomic_store_reads_back_whole),
        CASE(a_folder_stands_for_the_store_in_it),
        CASE(a_second_walk_gives_the_same),
        CASE(a_walk_ends_when_its_function_says_so),
        CASE(batches_that_nobody_wants_are_counted_unread),
        CASE(a_copy_frame_by_frame_is_the_same_store),
        CASE(a_live_store_is_readable_while_it_grows),
        CASE(an_atomic_store_leaves_nothing_without_close),
        CASE(an_atomic_store_replaces_the_old_one_only_at_close),
        CASE(a_live_store_never_overwrites),
        CASE(of_runs_that_start_together_one_writes),
        CASE(a_full_disk_keeps_every_whole_frame),
        CASE(a_full_disk_leaves_the_old_store),
        CASE(wrong_frames_are_refused_and_not_written),
        CASE(more_frames_than_one_index_holds_are_indexed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
