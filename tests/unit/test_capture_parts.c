/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of libranktrace.so that it does not export: its sources are built into this test. */
#include "agent/capture/intern.h"
#include "agent/capture/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rkt_test.h"

#define NAME_COUNT 3000u
#define THREAD_COUNT 4u
#define MANY_NAMES 40000u /* a heap of 1 MiB has 16384 slots */

static const struct rkt_region_config CONFIG = {
    .ring_count = 4, .ring_capacity = 64, .heap_bytes = 1u << 20};

struct fixture {
    struct rkt_region *region;
    struct rkt_intern *intern;
    struct rkt_threads *threads;
    int fd;
    uint32_t ids[THREAD_COUNT][NAME_COUNT];
};

static int make_parts(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    if (rkt_region_create(&CONFIG, &f.region, &f.fd, NULL) != RKT_OK)
        return -1;
    f.intern = rkt_intern_create(f.region);
    f.threads = f.intern ? rkt_threads_create(f.region, f.intern) : NULL;
    *state = &f;
    return f.threads ? 0 : -1;
}

static int free_parts(void **state)
{
    struct fixture *f = *state;

    rkt_threads_destroy(f->threads);
    rkt_intern_destroy(f->intern);
    rkt_region_destroy(f->region);
    close(f->fd);
    return 0;
}

/* ---- intern ---- */

static void name_gets_one_id_and_goes_out_once(void **state)
{
    struct fixture *f = *state;
    uint32_t first = rkt_intern_name(f->intern, "gemm", 4);
    uint32_t second = rkt_intern_name(f->intern, "gemm_128", 8);
    const char *text;
    size_t len;

    assert_int_equal(first, 1);
    assert_int_not_equal(second, first);
    assert_int_equal(rkt_intern_name(f->intern, "gemm", 4), first);
    assert_int_equal(rkt_intern_name(f->intern, "", 0), 0);
    assert_true(rkt_region_name(f->region, second, &text, &len));
    assert_int_equal(len, 8);
    assert_memory_equal(text, "gemm_128", 8);
    assert_false(rkt_region_name(f->region, second + 2, &text, &len)); /* nothing behind it */
}

static void name_that_is_too_long_is_cut(void **state)
{
    static char text[70000];
    struct fixture *f = *state;
    const char *out;
    size_t len;

    memset(text, 'x', sizeof(text));
    assert_int_equal(rkt_intern_name(f->intern, text, sizeof(text)), 1);
    assert_int_equal(rkt_intern_name(f->intern, text, 65535), 1);
    assert_true(rkt_region_name(f->region, 1, &out, &len));
    assert_int_equal(len, 65535);
}

struct worker {
    struct fixture *f;
    uint32_t number;
};

static void *intern_all(void *arg)
{
    const struct worker *worker = arg;

    for (uint32_t i = 0; i < NAME_COUNT; i++) {
        char name[24];
        int len = snprintf(name, sizeof(name), "kernel_number_%u", i);

        worker->f->ids[worker->number][i] = rkt_intern_name(worker->f->intern, name, (size_t)len);
    }
    return NULL;
}

static void threads_agree_on_all_ids(void **state)
{
    struct fixture *f = *state;
    struct worker workers[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    const char *text;
    size_t len;

    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){.f = f, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 1; i < THREAD_COUNT; i++)
        assert_memory_equal(f->ids[i], f->ids[0], sizeof(f->ids[0]));
    for (uint32_t i = 0; i < NAME_COUNT; i++) {
        char name[24];
        int name_len = snprintf(name, sizeof(name), "kernel_number_%u", i);

        assert_true(rkt_region_name(f->region, f->ids[0][i], &text, &len));
        assert_int_equal(len, name_len);
        assert_memory_equal(text, name, len);
    }
}

static void more_names_than_slots_are_unknown_and_counted(void **state)
{
    struct fixture *f = *state;
    struct rkt_region_losses losses;
    uint32_t kept = 0, first_id = rkt_intern_name(f->intern, "0", 1);

    for (uint32_t i = 1; i < MANY_NAMES; i++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "%u", i);

        kept += rkt_intern_name(f->intern, name, (size_t)len) != 0;
    }
    rkt_region_losses(f->region, &losses);
    assert_true(kept >= MANY_NAMES / 4);
    assert_int_equal(losses.names_full_count, MANY_NAMES - 1 - kept);
    assert_int_equal(rkt_intern_name(f->intern, "0", 1), first_id);
}

static struct rkt_event shape_of(uint32_t name_id, uint32_t grid_x)
{
    return (struct rkt_event){.kind = RKT_EVENT_SHAPE,
                              .name_id = name_id,
                              .start_ns = grid_x, /* no part of the shape */
                              .shape = {.grid_x = grid_x / 2, .block_x = 128}};
}

static void shape_goes_out_once_and_depends_on_name_and_launch(void **state)
{
    struct fixture *f = *state;
    struct rkt_ring *ring = rkt_region_claim(f->region, 1);
    struct rkt_event out[8];
    bool was_broken;
    struct rkt_event first = shape_of(1, 10);
    struct rkt_event same = shape_of(1, 11);
    struct rkt_event other_name = shape_of(2, 10);
    struct rkt_event other_grid = shape_of(1, 12);

    assert_int_equal(rkt_intern_shape(f->intern, &first, ring), 1);
    assert_int_equal(rkt_intern_shape(f->intern, &same, ring), 1);
    assert_int_equal(rkt_intern_shape(f->intern, &other_name, ring), 2);
    assert_int_equal(rkt_intern_shape(f->intern, &other_grid, ring), 3);
    assert_int_equal(rkt_ring_pop(ring, CONFIG.ring_capacity, out, 8, &was_broken), 3);
    assert_int_equal(out[1].shape.shape_id, 2);
    assert_int_equal(out[1].name_id, 2);
    assert_int_equal(out[2].shape.grid_x, 6);
}

static void shape_that_could_not_go_out_gets_no_id_until_it_can(void **state)
{
    struct fixture *f = *state;
    struct rkt_ring *ring = rkt_region_claim(f->region, 1);
    struct rkt_event filler = {.kind = RKT_EVENT_API};
    struct rkt_event shape = shape_of(1, 10);
    struct rkt_event out[64];
    bool was_broken;

    while (rkt_ring_room(ring) > 0)
        assert_true(rkt_ring_push(ring, &filler));
    assert_int_equal(rkt_intern_shape(f->intern, &shape, ring), 0);
    assert_int_equal(rkt_ring_pop(ring, CONFIG.ring_capacity, out, 64, &was_broken), 64);
    assert_int_equal(rkt_intern_shape(f->intern, &shape, ring), 1);
    assert_int_equal(rkt_ring_pop(ring, CONFIG.ring_capacity, out, 64, &was_broken), 1);
    assert_int_equal(out[0].shape.shape_id, 1);
}

/* ---- threads ---- */

static void *get_and_end(void *arg)
{
    struct fixture *f = arg;

    assert_non_null(rkt_threads_get(f->threads));
    assert_ptr_equal(rkt_threads_get(f->threads), rkt_threads_get(f->threads));
    return NULL;
}

static void *get_disown_and_end(void *arg)
{
    struct fixture *f = arg;

    assert_non_null(rkt_threads_get(f->threads));
    rkt_threads_disown(f->threads);
    return NULL;
}

static void thread_that_ends_gives_its_ring_back(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, get_and_end, f), 0);
    pthread_join(thread, NULL);
    assert_int_equal(rkt_region_ring(f->region, 0)->state, RKT_RING_CLOSED);
    assert_int_equal(rkt_region_ring(f->region, 1)->state, RKT_RING_FREE);
}

static void thread_that_ends_in_a_forked_child_leaves_the_ring_alone(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, get_disown_and_end, f), 0);
    pthread_join(thread, NULL);
    assert_int_equal(rkt_region_ring(f->region, 0)->state, RKT_RING_CLAIMED);
}

static void name_of_a_thread_goes_out_once(void **state)
{
    struct fixture *f = *state;
    struct rkt_event out[8];
    bool was_broken;
    struct rkt_ring *ring;

    rkt_threads_note_name(f->threads, (uint32_t)gettid());
    rkt_threads_note_name(f->threads, (uint32_t)gettid());
    rkt_threads_note_name(f->threads, 0);
    rkt_threads_note_name(f->threads, 4194305); /* beyond the kernel's limit: no such thread */
    ring = rkt_threads_get(f->threads)->ring;
    assert_int_equal(rkt_ring_pop(ring, CONFIG.ring_capacity, out, 8, &was_broken), 1);
    assert_int_equal(out[0].kind, RKT_EVENT_NAME);
    assert_int_equal(out[0].name.object_id, gettid());
    assert_int_not_equal(out[0].name_id, 0);
}

struct ended {
    struct fixture *f;
    uint32_t thread_id;
};

static void *keep_name_and_end(void *arg)
{
    struct ended *ended = arg;

    pthread_setname_np(pthread_self(), "before");
    rkt_threads_keep_name(ended->f->threads);
    pthread_setname_np(pthread_self(), "sixteen_bytes_0");
    rkt_threads_keep_name(ended->f->threads);
    ended->thread_id = (uint32_t)gettid();
    return NULL;
}

/* Records of a launch may come when the thread that made it has long ended. */
static void thread_that_has_ended_has_the_name_that_it_kept(void **state)
{
    struct fixture *f = *state;
    struct ended ended = {.f = f};
    struct rkt_event out[8];
    pthread_t thread;
    bool was_broken;
    const char *text;
    size_t len;

    assert_int_equal(pthread_create(&thread, NULL, keep_name_and_end, &ended), 0);
    pthread_join(thread, NULL);
    assert_int_equal(rkt_region_ring(f->region, 0)->state, RKT_RING_FREE); /* it took none */
    rkt_threads_note_name(f->threads, ended.thread_id);
    assert_int_equal(
        rkt_ring_pop(rkt_threads_get(f->threads)->ring, CONFIG.ring_capacity, out, 8, &was_broken),
        2); /* its name, and that of this thread */
    for (size_t i = 0; i < 2; i++) {
        if (out[i].name.object_id != ended.thread_id)
            continue;
        assert_true(rkt_region_name(f->region, out[i].name_id, &text, &len));
        assert_int_equal(len, 15);
        assert_memory_equal(text, "sixteen_bytes_0", 15);
        return;
    }
    fail_msg("the name did not come");
}

static void *keep_name_often(void *arg)
{
    for (unsigned i = 0; i < NAME_COUNT; i++)
        rkt_threads_keep_name(arg);
    return NULL;
}

static void names_may_be_kept_and_looked_for_at_once(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[THREAD_COUNT];

    for (size_t i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_name_often, f->threads), 0);
    for (uint32_t i = 0; i < NAME_COUNT; i++)
        rkt_threads_note_name(f->threads, 4194305 + i); /* no such threads */
    for (size_t i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
}

#define WITH_PARTS(test) cmocka_unit_test_setup_teardown(test, make_parts, free_parts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PARTS(name_gets_one_id_and_goes_out_once),
        WITH_PARTS(name_that_is_too_long_is_cut),
        WITH_PARTS(threads_agree_on_all_ids),
        WITH_PARTS(more_names_than_slots_are_unknown_and_counted),
        WITH_PARTS(shape_goes_out_once_and_depends_on_name_and_launch),
        WITH_PARTS(shape_that_could_not_go_out_gets_no_id_until_it_can),
        WITH_PARTS(thread_that_ends_gives_its_ring_back),
        WITH_PARTS(thread_that_ends_in_a_forked_child_leaves_the_ring_alone),
        WITH_PARTS(name_of_a_thread_goes_out_once),
        WITH_PARTS(thread_that_has_ended_has_the_name_that_it_kept),
        WITH_PARTS(names_may_be_kept_and_looked_for_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
