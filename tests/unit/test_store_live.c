/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that writes a run in two files, and one that opens it again and again meanwhile: what
 * it sees is whole, and more each time.
 */
#include "tests/unit/rkt_test.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/source_writer.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define ROUNDS 20u         /* of reading something new */
#define BATCH_EVENTS 4096u /* of source_writer, which gives a frame out then */
#define BATCHES_AHEAD 4u   /* the writer waits for the reader: it must not be done before that */
#define NAME_BYTES 60000u
#define SOURCES 2u

/* Shared by both processes. */
struct control {
    _Atomic uint64_t seen_batches; /* the reader's */
    _Atomic bool is_enough;        /* likewise */
};

static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return number ^ number >> 29;
}

/* The source's event of that number: most of its bytes cannot be packed. */
static struct rkt_event make_event(uint32_t source, uint64_t number, uint32_t name_id)
{
    struct rkt_event event;

    memset(&event, 0, sizeof(event));
    event.kind = RKT_EVENT_MEMCPY;
    event.clock_id = RKT_CLOCK_MONOTONIC_RAW;
    event.name_id = name_id;
    event.start_ns = 1000 * number + 1;
    event.end_ns = event.start_ns + 10;
    event.memcpy.bytes = mix(number * SOURCES + source);
    return event;
}

/* So long, and so hard to pack, that writing it takes a while, in which the reader may look. */
static void name_of(uint64_t batch, char name[NAME_BYTES])
{
    for (size_t i = 0; i < NAME_BYTES; i++)
        name[i] = (char)mix(batch * NAME_BYTES + i);
}

/* ---- the process that writes: ends with _exit, and not by an assert ---- */

struct writing {
    struct rkt_store_writer *files[SOURCES];
    struct rkt_source_writer *sources[SOURCES];
};

static enum rkt_status append(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

static bool start_writing(const struct sharded_place *place, struct writing *writing)
{
    struct rkt_shard_info shard = sharded_run_shard(1);
    struct rkt_run_info run = sample_run();
    char path[SHARDED_PATH_BYTES];

    for (uint32_t i = 0; i < SOURCES; i++) {
        struct rkt_source_info info = sample_source(i);

        run.is_part = i > 0;
        sharded_shard_path(place, i, path);
        if (rkt_store_writer_create(i == 0 ? place->index : path, RKT_STORE_LIVE, &run,
                                    &writing->files[i], NULL) != RKT_OK ||
            rkt_source_writer_create(&info, append, writing->files[i], &writing->sources[i],
                                     NULL) != RKT_OK)
            return false;
    }
    return rkt_store_writer_append_shard(writing->files[0], &shard, NULL) == RKT_OK;
}

static bool write_batch(struct writing *writing, uint64_t batch)
{
    char name[NAME_BYTES];

    name_of(batch, name);
    for (uint32_t i = 0; i < SOURCES; i++) {
        struct rkt_source_writer *writer = writing->sources[i];
        uint32_t id = rkt_strtab_intern(rkt_source_writer_strtab(writer), name, sizeof(name));

        for (uint64_t n = batch * BATCH_EVENTS; n < (batch + 1) * BATCH_EVENTS; n++) {
            struct rkt_event event = make_event(i, n, id);

            if (rkt_source_writer_add(writer, &event, NULL) != RKT_OK)
                return false;
        }
    }
    return true;
}

static bool finish_writing(struct writing *writing)
{
    bool is_good = true;

    for (uint32_t i = 0; i < SOURCES; i++) {
        struct rkt_end_info end = sample_end();

        is_good = is_good && rkt_source_writer_end(writing->sources[i], &end, NULL) == RKT_OK &&
                  rkt_store_writer_close(writing->files[i], NULL) == RKT_OK;
        rkt_source_writer_destroy(writing->sources[i]);
        rkt_store_writer_destroy(writing->files[i]);
    }
    return is_good;
}

static int write_run(const struct sharded_place *place, struct control *control)
{
    struct writing writing = {0};
    uint64_t batch = 0;

    if (!start_writing(place, &writing))
        return 1;
    while (!atomic_load_explicit(&control->is_enough, memory_order_relaxed)) {
        if (batch >=
            BATCHES_AHEAD + atomic_load_explicit(&control->seen_batches, memory_order_relaxed)) {
            sched_yield();
            continue;
        }
        if (!write_batch(&writing, batch++))
            return 2;
    }
    return finish_writing(&writing) ? 0 : 3;
}

/* ---- the process that reads ---- */

struct walk {
    uint32_t source;
    uint64_t event_count;
    const struct rkt_strtab *names;
};

static enum rkt_status check_events(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    struct walk *walk = ctx;
    char want_name[NAME_BYTES];
    const char *name;
    size_t name_bytes;

    (void)err;
    assert_int_equal(count, BATCH_EVENTS);
    name_of(walk->event_count / BATCH_EVENTS, want_name);
    name = rkt_strtab_get(walk->names, events[0].name_id, &name_bytes);
    assert_int_equal(name_bytes, sizeof(want_name));
    assert_memory_equal(name, want_name, sizeof(want_name));
    for (size_t i = 0; i < count; i++) {
        struct rkt_event want = make_event(walk->source, walk->event_count + i, events[0].name_id);

        assert_memory_equal(&events[i], &want, sizeof(want));
    }
    walk->event_count += count;
    return RKT_OK;
}

/* Of the store as it is now: events of both sources, each from its first on without a gap. */
static void read_run(const struct sharded_place *place, uint64_t counts[SOURCES],
                     struct rkt_store_health *health)
{
    struct rkt_store_reader *reader;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(place->folder, &reader, &err), err);
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        struct rkt_strtab *names = rkt_strtab_create();
        struct walk walk = {.source = rkt_store_reader_source(reader, i)->info.source,
                            .names = names};

        sample_expect_source(&rkt_store_reader_source(reader, i)->info);
        assert_rkt_ok(rkt_store_reader_walk(reader, walk.source, names, check_events, &walk, &err),
                      err);
        assert_true(walk.event_count >= counts[walk.source]);
        counts[walk.source] = walk.event_count;
        rkt_strtab_destroy(names);
    }
    *health = *rkt_store_reader_health(reader);
    assert_int_equal(health->damaged_frames, 0);
    assert_int_equal(health->seq_gap_count, 0);
    assert_int_equal(health->unknown_frames, 0);
    rkt_store_reader_close(reader);
}

static uint64_t sum(const uint64_t counts[SOURCES])
{
    uint64_t total = 0;

    for (size_t i = 0; i < SOURCES; i++)
        total += counts[i];
    return total;
}

/* Opens it again and again until it has often seen more than before. */
static void follow(const struct sharded_place *place, struct control *control,
                   uint64_t counts[SOURCES])
{
    struct rkt_store_health health;

    for (unsigned rounds = 0; rounds < ROUNDS;) {
        uint64_t before = sum(counts);

        if (access(place->index, F_OK) != 0 || sample_file_bytes(place->index) == 0)
            continue; /* not begun */
        read_run(place, counts, &health);
        assert_false(health.has_trailer);
        rounds += sum(counts) > before;
        atomic_store_explicit(&control->seen_batches, counts[0] / BATCH_EVENTS,
                              memory_order_relaxed);
    }
}

static void a_run_that_is_written_is_seen_whole_and_growing(void **state)
{
    const struct sharded_place *place = *state;
    struct control *control =
        mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t counts[SOURCES] = {0};
    struct rkt_store_health health;
    uint64_t before;
    pid_t child;
    int status;

    assert_true(control != MAP_FAILED);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* an assert of the reader's must not leave it waiting */
        _exit(write_run(place, control));
    }
    assert_true(child > 0);
    follow(place, control, counts);
    before = sum(counts);
    atomic_store_explicit(&control->is_enough, true, memory_order_relaxed);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    read_run(place, counts, &health);
    assert_true(sum(counts) >= before);
    assert_true(health.has_trailer);
    assert_int_equal(health.skipped_bytes, 0);
    assert_int_equal(health.unread_shard_count, 0);
    assert_int_equal(counts[0], counts[1]);
    munmap(control, sizeof(*control));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_that_is_written_is_seen_whole_and_growing,
                                        sharded_place_make, sharded_place_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
