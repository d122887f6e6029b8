/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/region.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rkt_test.h"

#define SMALL_HEAP_BYTES (64u << 10)

static const struct rkt_region_config SMALL = {
    .ring_count = 3, .ring_capacity = 64, .heap_bytes = SMALL_HEAP_BYTES};

struct fixture {
    struct rkt_region *sidecar;
    struct rkt_region *capture;
    int fd;
};

static int make_regions(void **state)
{
    static struct fixture fixture;

    if (rkt_region_create(&SMALL, &fixture.sidecar, &fixture.fd, NULL) != RKT_OK ||
        rkt_region_map(fixture.fd, &fixture.capture, NULL) != RKT_OK)
        return -1;
    *state = &fixture;
    return 0;
}

static int free_regions(void **state)
{
    struct fixture *fixture = *state;

    rkt_region_destroy(fixture->capture);
    rkt_region_destroy(fixture->sidecar);
    close(fixture->fd);
    return 0;
}

static void sizes_out_of_range_are_refused(void **state)
{
    static const struct {
        const char *what;
        struct rkt_region_config config;
    } cases[] = {
        {"no ring", {0, 64, 64u << 10}},
        {"too many rings", {1025, 64, 64u << 10}},
        {"small ring", {1, 32, 64u << 10}},
        {"ring that is no power of two", {1, 96, 64u << 10}},
        {"large ring", {1, 1u << 21, 64u << 10}},
        {"small heap", {1, 64, 1024}},
        {"large heap", {1, 64, 257u << 20}},
        {"heap between cache lines", {1, 64, (64u << 10) + 4}},
    };
    struct rkt_region *region = NULL;
    int fd = -1;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_error err = {0};

        if (rkt_region_create(&cases[i].config, &region, &fd, &err) != RKT_ERR_INVALID)
            fail_msg("%s was taken", cases[i].what);
        assert_non_null(strstr(err.text, "power of two"));
    }
    assert_null(region);
    assert_int_equal(fd, -1);
}

static void each_thread_gets_its_own_ring_until_none_is_left(void **state)
{
    struct fixture *f = *state;
    struct rkt_ring *rings[3];

    for (uint32_t i = 0; i < 3; i++) {
        rings[i] = rkt_region_claim(f->capture, 100 + i);
        assert_non_null(rings[i]);
        assert_int_equal(rings[i]->thread_id, 100 + i);
    }
    assert_ptr_not_equal(rings[0], rings[1]);
    assert_ptr_not_equal(rings[1], rings[2]);
    assert_null(rkt_region_claim(f->capture, 103));
}

static void a_released_ring_is_free_after_it_was_read(void **state)
{
    struct fixture *f = *state;
    struct rkt_event event = {.kind = RKT_EVENT_API, .start_ns = 5};
    struct rkt_ring *ring = rkt_region_claim(f->capture, 9);
    struct rkt_ring *seen = rkt_region_ring(f->sidecar, 0);
    struct rkt_event out[2];
    bool was_broken;

    assert_true(rkt_ring_push(ring, &event));
    rkt_region_recycle(f->sidecar, 0); /* CLAIMED: not the sidecar's to free */
    assert_int_equal(ring->state, RKT_RING_CLAIMED);
    rkt_region_release(ring);
    rkt_region_recycle(f->sidecar, 0); /* CLOSED, but its event is not read */
    assert_int_equal(ring->state, RKT_RING_CLOSED);
    assert_int_equal(rkt_ring_pop(seen, SMALL.ring_capacity, out, 2, &was_broken), 1);
    rkt_region_recycle(f->sidecar, 0);
    assert_int_equal(ring->state, RKT_RING_FREE);
    assert_ptr_equal(rkt_region_claim(f->capture, 10), ring);
}

/* Threads may come and go faster than the sidecar reads. */
static void a_released_ring_goes_on_with_the_next_thread_when_none_is_free(void **state)
{
    struct fixture *f = *state;
    struct rkt_event event = {.kind = RKT_EVENT_API, .start_ns = 5};
    struct rkt_ring *first = rkt_region_claim(f->capture, 1);
    struct rkt_ring *seen = rkt_region_ring(f->sidecar, 0);
    struct rkt_event out[3];
    bool was_broken;

    assert_true(rkt_ring_push(first, &event));
    rkt_region_release(first);
    for (uint32_t i = 0; i < 2; i++) /* free ones first */
        assert_ptr_not_equal(rkt_region_claim(f->capture, 2 + i), first);
    assert_ptr_equal(rkt_region_claim(f->capture, 4), first);
    assert_null(rkt_region_claim(f->capture, 5));
    rkt_region_recycle(f->sidecar, 0);
    assert_int_equal(first->state, RKT_RING_CLAIMED);
    event.start_ns = 6;
    assert_true(rkt_ring_push(first, &event));
    assert_int_equal(rkt_ring_pop(seen, SMALL.ring_capacity, out, 3, &was_broken), 2);
    assert_int_equal(out[0].start_ns, 5);
    assert_int_equal(out[1].start_ns, 6);
}

static void a_name_is_found_by_its_id(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"gemm", "", "a", "void kernel<float>(T*)"};
    uint32_t ids[4];
    const char *text;
    size_t len;

    assert_false(rkt_region_name(f->sidecar, 1, &text, &len));
    for (uint32_t i = 0; i < 4; i++)
        ids[i] = rkt_region_append_name(f->capture, names[i], strlen(names[i]));
    for (uint32_t i = 4; i-- > 0;) {
        assert_true(rkt_region_name(f->sidecar, ids[i], &text, &len));
        assert_int_equal(len, strlen(names[i]));
        assert_memory_equal(text, names[i], len);
    }
    assert_false(rkt_region_name(f->sidecar, 0, &text, &len));
    assert_false(rkt_region_name(f->sidecar, ids[3] + 4, &text, &len)); /* behind the last */
}

static void full_heap_gives_no_id_and_is_counted(void **state)
{
    struct fixture *f = *state;
    static char long_name[60000];
    struct rkt_region_losses losses;

    memset(long_name, 'x', sizeof(long_name));
    assert_int_equal(rkt_region_append_name(f->capture, long_name, sizeof(long_name)), 1);
    assert_int_equal(rkt_region_append_name(f->capture, long_name, sizeof(long_name)), 0);
    assert_int_equal(rkt_region_append_name(f->capture, long_name, SIZE_MAX), 0);
    assert_int_not_equal(rkt_region_append_name(f->capture, "short", 5), 0);
    rkt_region_losses(f->sidecar, &losses);
    assert_int_equal(losses.names_full_count, 2);
}

/* The first name of the heap: its word, then its text. */
static unsigned char *find_name(struct fixture *f, const char *text)
{
    unsigned char *heap =
        (unsigned char *)rkt_region_ring(f->capture, 2) + rkt_ring_bytes(SMALL.ring_capacity);

    assert_memory_equal(heap + 4, text, strlen(text));
    return heap;
}

static void names_that_cannot_be_are_not_read(void **state)
{
    struct fixture *f = *state;
    static const uint32_t words[] = {0, UINT32_MAX, SMALL_HEAP_BYTES, SMALL_HEAP_BYTES - 2};
    static const uint32_t ids[] = {0, SMALL_HEAP_BYTES / RKT_NAME_UNIT_BYTES + 1, UINT32_MAX};
    const char *text;
    size_t len;

    assert_int_equal(rkt_region_append_name(f->capture, "gemm", 4), 1);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_false(rkt_region_name(f->sidecar, ids[i], &text, &len));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        memcpy(find_name(f, "gemm"), &words[i], sizeof(words[i]));
        assert_false(rkt_region_name(f->sidecar, 1, &text, &len));
    }
}

static void losses_are_summed_over_rings(void **state)
{
    struct fixture *f = *state;
    struct rkt_event event = {.kind = RKT_EVENT_KERNEL};
    struct rkt_region_losses losses;

    for (uint32_t i = 0; i < 2; i++) {
        struct rkt_ring *ring = rkt_region_claim(f->capture, i);

        for (uint32_t n = 0; n < SMALL.ring_capacity + 2 + i; n++)
            (void)rkt_ring_push(ring, &event);
    }
    rkt_region_count_no_ring(f->capture);
    rkt_region_losses(f->sidecar, &losses);
    assert_int_equal(losses.ring_full[RKT_EVENT_KERNEL], 5);
    assert_int_equal(losses.no_ring_count, 1);
}

static void what_is_no_region_is_not_mapped(void **state)
{
    struct rkt_region *region = NULL;
    struct rkt_error err = {0};
    uint32_t word = RKT_REGION_ABI + 1;
    struct fixture *f = *state;
    int empty = memfd_create("test", MFD_CLOEXEC);

    assert_rkt_status(rkt_region_map(empty, &region, &err), RKT_ERR_FORMAT);
    assert_int_equal(ftruncate(empty, 1 << 20), 0);
    assert_rkt_status(rkt_region_map(empty, &region, &err), RKT_ERR_FORMAT);
    close(empty);

    assert_int_equal(pwrite(f->fd, &word, sizeof(word), 4), sizeof(word)); /* the ABI */
    assert_rkt_status(rkt_region_map(f->fd, &region, &err), RKT_ERR_VERSION);
    word = RKT_REGION_ABI;
    assert_int_equal(pwrite(f->fd, &word, sizeof(word), 4), sizeof(word));
    word = 1024; /* more rings than the file has room for */
    assert_int_equal(pwrite(f->fd, &word, sizeof(word), 16), sizeof(word));
    assert_rkt_status(rkt_region_map(f->fd, &region, &err), RKT_ERR_FORMAT);
    assert_null(region);
}

static void the_job_cannot_cut_the_shared_memory(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ftruncate(f->fd, 4096), -1);
}

static void closing_is_seen_by_the_sidecar(void **state)
{
    struct fixture *f = *state;

    assert_false(rkt_region_is_closed(f->sidecar));
    rkt_region_set_closed(f->capture);
    assert_true(rkt_region_is_closed(f->sidecar));
}

static void push_until_killed(struct rkt_region *region, int started_fd)
{
    struct rkt_ring *ring = rkt_region_claim(region, 42);
    struct rkt_event event = {.kind = RKT_EVENT_API};

    (void)rkt_region_append_name(region, "before the kill", 15);
    for (uint64_t i = 0;; i++) {
        event.start_ns = i;
        event.end_ns = ~i;
        while (!rkt_ring_push(ring, &event))
            sched_yield();
        if (i == 200 && write(started_fd, "x", 1) != 1)
            _exit(1);
    }
}

static void killed_producer_leaves_everything_up_to_its_head(void **state)
{
    struct fixture *f = *state;
    struct rkt_ring *ring = rkt_region_ring(f->sidecar, 0);
    struct rkt_event out[64];
    uint64_t next = 0;
    const char *text;
    size_t len;
    int started[2];
    char byte;

    assert_int_equal(pipe2(started, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        push_until_killed(f->capture, started[1]);
    for (bool is_dead = false;;) {
        bool was_broken;
        size_t count = rkt_ring_pop(ring, SMALL.ring_capacity, out, 64, &was_broken);

        assert_false(was_broken);
        for (size_t i = 0; i < count; i++, next++) {
            assert_int_equal(out[i].start_ns, next);
            assert_int_equal(out[i].end_ns, ~next);
        }
        if (is_dead && count == 0)
            break;
        if (!is_dead && read(started[0], &byte, 1) == 1) {
            kill(pid, SIGKILL);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            is_dead = true;
        }
        sched_yield();
    }
    assert_true(next > 200);
    assert_int_equal(next, atomic_load(&ring->head));
    assert_true(rkt_region_name(f->sidecar, 1, &text, &len));
    assert_memory_equal(text, "before the kill", len);
    assert_false(rkt_region_is_closed(f->sidecar));
    close(started[0]);
    close(started[1]);
}

static void window_orders_reach_capture_and_steps_the_sidecar(void **state)
{
    struct fixture *f = *state;
    struct rkt_region_window_order order = {.from_step = 41, .is_open = true};
    struct rkt_region_window_order got;
    uint64_t step;

    assert_false(rkt_region_window_order(f->capture, &got));
    rkt_region_order_window(f->sidecar, &order);
    assert_true(rkt_region_window_order(f->capture, &got));
    assert_int_equal(got.from_step, 41);
    assert_true(got.is_open);
    order = (struct rkt_region_window_order){.from_step = UINT64_MAX, .is_open = false};
    rkt_region_order_window(f->sidecar, &order);
    assert_true(rkt_region_window_order(f->capture, &got));
    assert_int_equal(got.from_step, RKT_WINDOW_STEP_MAX);
    assert_false(got.is_open);

    assert_false(rkt_region_step(f->sidecar, &step));
    rkt_region_set_step(f->capture, 0);
    assert_true(rkt_region_step(f->sidecar, &step));
    assert_int_equal(step, 0);
    rkt_region_set_step(f->capture, 7);
    assert_true(rkt_region_step(f->sidecar, &step));
    assert_int_equal(step, 7);
}

static void pushes_of_all_rings_are_counted_for_good(void **state)
{
    struct fixture *f = *state;
    struct rkt_event event = {.kind = RKT_EVENT_RANGE};
    struct rkt_ring *one = rkt_region_claim(f->capture, 1);
    struct rkt_ring *other = rkt_region_claim(f->capture, 2);
    bool was_broken;

    assert_int_equal(rkt_region_pushed_count(f->capture), 0);
    rkt_ring_push(one, &event);
    rkt_ring_push(other, &event);
    rkt_ring_push(other, &event);
    assert_int_equal(rkt_region_pushed_count(f->capture), 3);
    for (size_t i = 0; i < 2; i++)
        while (rkt_ring_pop(rkt_region_ring(f->sidecar, i), SMALL.ring_capacity, &event, 1,
                            &was_broken) > 0)
            continue;
    rkt_region_release(one);
    rkt_region_recycle(f->sidecar, 0);
    assert_int_equal(rkt_region_pushed_count(f->capture), 3);
}

#define WITH_REGIONS(test) cmocka_unit_test_setup_teardown(test, make_regions, free_regions)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_out_of_range_are_refused),
        WITH_REGIONS(each_thread_gets_its_own_ring_until_none_is_left),
        WITH_REGIONS(a_released_ring_is_free_after_it_was_read),
        WITH_REGIONS(a_released_ring_goes_on_with_the_next_thread_when_none_is_free),
        WITH_REGIONS(a_name_is_found_by_its_id),
        WITH_REGIONS(full_heap_gives_no_id_and_is_counted),
        WITH_REGIONS(names_that_cannot_be_are_not_read),
        WITH_REGIONS(losses_are_summed_over_rings),
        WITH_REGIONS(pushes_of_all_rings_are_counted_for_good),
        WITH_REGIONS(what_is_no_region_is_not_mapped),
        WITH_REGIONS(the_job_cannot_cut_the_shared_memory),
        WITH_REGIONS(closing_is_seen_by_the_sidecar),
        WITH_REGIONS(window_orders_reach_capture_and_steps_the_sidecar),
        WITH_REGIONS(killed_producer_leaves_everything_up_to_its_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
