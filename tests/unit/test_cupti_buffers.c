/* SPDX-License-Identifier: Apache-2.0 */
/* The pool that CUPTI's buffers come from; its source is built into this test. */
#include "agent/capture/cupti_buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rkt_test.h"

static void dry_pool_still_hands_out_a_buffer(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    uint8_t *taken[RKT_CUPTI_BUFFER_COUNT];
    uint8_t *extra;
    size_t bytes;

    (void)state;
    assert_non_null(buffers);
    for (size_t i = 0; i < RKT_CUPTI_BUFFER_COUNT; i++) {
        taken[i] = rkt_cupti_buffers_take(buffers, &bytes);
        assert_int_equal(bytes, RKT_CUPTI_BUFFER_BYTES);
        assert_true(rkt_cupti_buffers_is_readable(buffers, taken[i]));
        assert_int_equal(taken[i][0], 0);
        taken[i][0] = (uint8_t)(i + 1);
    }
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), RKT_CUPTI_BUFFER_COUNT);
    extra = rkt_cupti_buffers_take(buffers, &bytes);
    assert_non_null(extra);
    assert_int_equal(bytes, RKT_CUPTI_DISCARD_BYTES);
    assert_false(rkt_cupti_buffers_is_readable(buffers, extra));
    rkt_cupti_buffers_put_back(buffers, extra, bytes);

    for (size_t i = 0; i < RKT_CUPTI_BUFFER_COUNT; i++)
        assert_int_equal(taken[i][0], i + 1); /* no two were the same */
    rkt_cupti_buffers_put_back(buffers, taken[5], 1);
    assert_ptr_equal(rkt_cupti_buffers_take(buffers, &bytes), taken[5]);
    assert_int_equal(taken[5][0], 0);
    rkt_cupti_buffers_destroy(buffers);
}

static void buffer_that_was_not_given_is_not_taken_back(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    static uint8_t foreign[64];
    size_t bytes;
    uint8_t *first = rkt_cupti_buffers_take(buffers, &bytes);
    uint8_t *second = rkt_cupti_buffers_take(buffers, &bytes);

    (void)state;
    assert_false(rkt_cupti_buffers_is_readable(buffers, foreign));
    assert_false(rkt_cupti_buffers_is_readable(buffers, NULL));
    assert_false(rkt_cupti_buffers_is_readable(buffers, second + 8)); /* its middle */
    rkt_cupti_buffers_put_back(buffers, foreign, sizeof(foreign));
    rkt_cupti_buffers_put_back(buffers, second + 8, 64);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 2);
    rkt_cupti_buffers_put_back(buffers, first, 0);
    assert_false(rkt_cupti_buffers_is_readable(buffers, first)); /* twice */
    rkt_cupti_buffers_put_back(buffers, first, 0);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 1);
    rkt_cupti_buffers_destroy(buffers);
}

/* Of the pages that lie in the buffer as a whole. */
static size_t resident_pages(uint8_t *buffer)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *first = buffer + (page_bytes - (uintptr_t)buffer % page_bytes) % page_bytes;
    size_t page_count = (size_t)(buffer + RKT_CUPTI_BUFFER_BYTES - first) / page_bytes;
    unsigned char in_memory[RKT_CUPTI_BUFFER_BYTES / 4096];
    size_t count = 0;

    assert_int_equal(mincore(first, page_count * page_bytes, in_memory), 0);
    for (size_t i = 0; i < page_count; i++)
        count += in_memory[i] & 1;
    return count;
}

/* Of four buffers, one is held by CUPTI, one used again and again, and two were for a burst. */
static void memory_of_a_burst_goes_back_to_the_system(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    uint8_t *taken[4];
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        taken[i] = rkt_cupti_buffers_take(buffers, &bytes);
        memset(taken[i], 1, bytes);
    }
    for (size_t i = 1; i < 4; i++)
        rkt_cupti_buffers_put_back(buffers, taken[i], RKT_CUPTI_BUFFER_BYTES);
    rkt_cupti_buffers_trim(buffers); /* all have been used just now */
    assert_true(resident_pages(taken[3]) > 0);
    assert_ptr_equal(rkt_cupti_buffers_take(buffers, &bytes), taken[1]);
    rkt_cupti_buffers_put_back(buffers, taken[1], 0);
    rkt_cupti_buffers_trim(buffers);
    assert_int_equal(taken[0][77], 1);
    assert_true(resident_pages(taken[1]) > 0);
    assert_int_equal(resident_pages(taken[2]), 0);
    assert_int_equal(resident_pages(taken[3]), 0);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 1);
    assert_ptr_equal(rkt_cupti_buffers_take(buffers, &bytes), taken[1]);
    assert_ptr_equal(rkt_cupti_buffers_take(buffers, &bytes), taken[2]);
    assert_int_equal(taken[2][77], 0);
    rkt_cupti_buffers_destroy(buffers);
}

/*
 * Another tool got the first two, and frees what it gets; one of them comes back after all, and the
 * third is ours.
 */
static void buffers_that_another_tool_got_are_replaced(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    uint8_t *taken[3];
    uint8_t *again;
    size_t bytes;

    (void)state;
    taken[0] = rkt_cupti_buffers_take(buffers, &bytes);
    taken[1] = rkt_cupti_buffers_take(buffers, &bytes);
    memset(taken[0], 1, bytes);
    rkt_cupti_buffers_mark(buffers);
    taken[2] = rkt_cupti_buffers_take(buffers, &bytes);
    rkt_cupti_buffers_put_back(buffers, taken[1], 1);
    rkt_cupti_buffers_retire(buffers);
    assert_false(rkt_cupti_buffers_is_readable(buffers, taken[0]));
    assert_true(rkt_cupti_buffers_is_readable(buffers, taken[2]));
    assert_ptr_equal(rkt_cupti_buffers_take(buffers, &bytes), taken[1]);
    rkt_cupti_buffers_trim(buffers);
    assert_int_equal(taken[0][bytes - 1], 1); /* that tool, or CUPTI, may still use it */
    again = rkt_cupti_buffers_take(buffers, &bytes);
    assert_ptr_not_equal(again, taken[0]);
    assert_int_equal(again[0], 0);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 3);
    /* late, and to nobody's harm */
    rkt_cupti_buffers_put_back(buffers, taken[0], bytes);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 3);
    rkt_cupti_buffers_put_back(buffers, again, bytes);
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 2);
    free(taken[0]);
    rkt_cupti_buffers_destroy(buffers);
}

static void buffer_is_replaced_only_so_often(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    uint8_t *lives[RKT_CUPTI_BUFFER_LIVES];
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < RKT_CUPTI_BUFFER_LIVES; i++) {
        lives[i] = rkt_cupti_buffers_take(buffers, &bytes);
        lives[i][bytes - 1] = 1;
        for (size_t before = 0; before < i; before++)
            assert_ptr_not_equal(lives[before], lives[i]);
        rkt_cupti_buffers_mark(buffers);
        rkt_cupti_buffers_retire(buffers);
        rkt_cupti_buffers_trim(buffers);
    }
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 1); /* the last one is not */
    for (size_t i = 0; i + 1 < RKT_CUPTI_BUFFER_LIVES; i++)
        free(lives[i]);
    rkt_cupti_buffers_destroy(buffers);
}

#define TAKER_COUNT 4
#define TAKE_COUNT 20000u

struct taker {
    struct rkt_cupti_buffers *buffers;
    size_t bad_count;
    pthread_t thread;
};

static void *take_and_put_back(void *arg)
{
    struct taker *taker = arg;
    struct rkt_cupti_buffers *buffers = taker->buffers;
    size_t bytes;

    for (unsigned i = 0; i < TAKE_COUNT; i++) {
        uint8_t *buffer = rkt_cupti_buffers_take(buffers, &bytes);

        if (!rkt_cupti_buffers_is_readable(buffers, buffer))
            continue;
        taker->bad_count += buffer[0] != 0; /* another thread has it too */
        buffer[0] = 1;
        rkt_cupti_buffers_put_back(buffers, buffer, 1);
    }
    return NULL;
}

static void buffer_has_one_owner_at_a_time(void **state)
{
    struct rkt_cupti_buffers *buffers = rkt_cupti_buffers_create();
    struct taker takers[TAKER_COUNT];

    (void)state;
    for (size_t i = 0; i < TAKER_COUNT; i++) {
        takers[i] = (struct taker){.buffers = buffers};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_and_put_back, &takers[i]), 0);
    }
    for (unsigned i = 0; i < 200; i++) {
        rkt_cupti_buffers_trim(buffers);
        rkt_cupti_buffers_mark(buffers);
    }
    for (size_t i = 0; i < TAKER_COUNT; i++) {
        pthread_join(takers[i].thread, NULL);
        assert_int_equal(takers[i].bad_count, 0);
    }
    assert_int_equal(rkt_cupti_buffers_taken_count(buffers), 0);
    rkt_cupti_buffers_destroy(buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dry_pool_still_hands_out_a_buffer),
        cmocka_unit_test(buffer_that_was_not_given_is_not_taken_back),
        cmocka_unit_test(memory_of_a_burst_goes_back_to_the_system),
        cmocka_unit_test(buffers_that_another_tool_got_are_replaced),
        cmocka_unit_test(buffer_is_replaced_only_so_often),
        cmocka_unit_test(buffer_has_one_owner_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
