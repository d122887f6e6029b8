/* SPDX-License-Identifier: Apache-2.0 */
/* Real sockets and regions, both ends in this process; what comes out is read back as a store. */
#include "rkt_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/sidecar/process_set.h"
#include "common/clock.h"
#include "common/store_reader.h"
#include "common/store_writer.h"

#define JOB_PID 100

struct fixture {
    char folder[64];
    char socket[96];
    char store_path[96];
    int listen_fd;
    struct rkt_store_writer *store;
    struct rkt_process_set *set;
    struct rkt_store_reader *reader; /* after finish */
    size_t frame_count;              /* that the set gave out */
    bool has_no_room;                /* for any frame */
};

/* The capture side of one process. */
struct capture {
    const char *socket;
    struct rkt_hello hello;
    struct rkt_region *region;
    struct rkt_ring *ring;
    int fd;
};

static enum rkt_status sink(void *ctx, const uint8_t *frame, size_t frame_bytes,
                            struct rkt_error *err)
{
    struct fixture *f = ctx;

    if (f->has_no_room)
        return RKT_AGAIN;
    f->frame_count++;
    return rkt_store_writer_append(f->store, frame, frame_bytes, err);
}

static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE};
    struct rkt_process_set_config config = {
        .region = {.ring_count = 4, .ring_capacity = 256, .heap_bytes = 64u << 10},
        .capture = {.mask = RKT_CAPTURE_ALL},
        .sidecar_rank = 1,
        .sidecar_count = 4,
        .default_rank = 1,
        .node = {.host = "node-1"},
        .sink = sink,
    };
    struct rkt_error err = {0};

    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/rkt_set.XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->socket, sizeof(f->socket), "%s/socket", f->folder);
    (void)snprintf(f->store_path, sizeof(f->store_path), "%s/timeline.rkt", f->folder);
    assert_rkt_ok(rkt_hello_listen(f->socket, &f->listen_fd, &err), err);
    assert_rkt_ok(rkt_store_writer_create(f->store_path, RKT_STORE_LIVE, &run, &f->store, &err),
                  err);
    config.listen_fd = f->listen_fd;
    config.sink_ctx = f;
    assert_rkt_ok(rkt_process_set_create(&config, &f->set, &err), err);
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_store_reader_close(f->reader);
    rkt_process_set_destroy(f->set);
    rkt_store_writer_destroy(f->store);
    close(f->listen_fd);
    (void)unlink(f->socket);
    (void)unlink(f->store_path);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static void *connect_capture(void *arg)
{
    struct capture *c = arg;
    struct rkt_welcome welcome;

    if (rkt_hello_connect(c->socket, &c->hello, &welcome, &c->region, &c->fd, NULL) != RKT_OK)
        c->region = NULL;
    return NULL;
}

static void connect_one(struct fixture *f, struct capture *c, uint64_t pid, uint32_t restart_count)
{
    struct rkt_error err = {0};
    enum rkt_status status;
    pthread_t thread;

    *c = (struct capture){.socket = f->socket};
    rkt_hello_fill(&c->hello);
    c->hello.rank = 1;
    c->hello.pid = pid;
    c->hello.restart_count = restart_count;
    assert_int_equal(pthread_create(&thread, NULL, connect_capture, c), 0);
    while ((status = rkt_process_set_accept(f->set, &err)) == RKT_AGAIN)
        usleep(100); /* asks; the connecting thread has a limit of its own */
    assert_rkt_ok(status, err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(c->region);
    c->ring = rkt_region_claim(c->region, 1);
    assert_non_null(c->ring);
}

static void push(struct capture *c, enum rkt_event_kind kind, size_t count)
{
    struct rkt_event event = {.kind = (uint8_t)kind, .clock_id = RKT_CLOCK_MONOTONIC_RAW};

    event.start_ns = event.end_ns = rkt_now_raw_ns();
    if (kind == RKT_EVENT_RANGE)
        event.type = RKT_RANGE_STEP;
    for (size_t i = 0; i < count; i++)
        (void)rkt_ring_push(c->ring, &event);
}

/* It is gone, without a word. */
static void die(struct capture *c)
{
    close(c->fd);
    c->fd = -1;
    rkt_region_destroy(c->region);
    c->region = NULL;
}

static struct rkt_drain_result drain(struct fixture *f, bool drops_frequent)
{
    struct rkt_drain_result result;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_process_set_drain(f->set, drops_frequent, &result, &err), err);
    return result;
}

static void finish(struct fixture *f, int wait_status)
{
    struct rkt_job_end job = {.pid = JOB_PID, .is_known = true, .wait_status = wait_status};
    struct rkt_error err = {0};

    (void)drain(f, false);
    (void)drain(f, false);
    assert_rkt_ok(rkt_process_set_end(f->set, &job, &err), err);
    assert_rkt_ok(rkt_store_writer_close(f->store, &err), err);
    assert_rkt_ok(rkt_store_reader_open(f->store_path, &f->reader, &err), err);
}

/* Source numbers are index x 4 + 1 here: 5 is the first process. */
static const struct rkt_store_source *source_of(struct fixture *f, uint32_t number)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(f->reader); i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(f->reader, i);

        if (source->info.source == number)
            return source;
    }
    fail_msg("no source %u", number);
    return NULL;
}

struct tally {
    uint64_t counts[RKT_EVENT_KIND_COUNT];
    uint64_t lost[8][RKT_EVENT_KIND_COUNT];
    uint32_t last_name_id;
};

static enum rkt_status add_to_tally(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    struct tally *tally = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        tally->counts[events[i].kind]++;
        tally->last_name_id = events[i].name_id;
        if (events[i].kind == RKT_EVENT_LOSS)
            tally->lost[events[i].type][events[i].loss.lost_kind] += events[i].loss.count;
    }
    return RKT_OK;
}

static struct tally tally_of(struct fixture *f, uint32_t number, struct rkt_strtab *tab)
{
    struct tally tally = {0};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_store_reader_walk(f->reader, number, tab, add_to_tally, &tally, &err), err);
    return tally;
}

static void first_communicator_makes_the_main_process(void **state)
{
    struct fixture *f = *state;
    struct capture launcher, trainer;

    connect_one(f, &launcher, JOB_PID, 0);
    connect_one(f, &trainer, 101, 0);
    push(&launcher, RKT_EVENT_RANGE, 9);
    push(&launcher, RKT_EVENT_KERNEL, 90);
    push(&trainer, RKT_EVENT_COMM, 1);
    (void)drain(f, false);
    die(&launcher);
    die(&trainer);
    finish(f, 0);
    assert_int_equal(source_of(f, 5)->info.role, RKT_ROLE_HELPER);
    assert_int_equal(source_of(f, 9)->info.role, RKT_ROLE_RANK);
}

static void steps_then_gpu_work_decide_without_communicators(void **state)
{
    struct fixture *f = *state;
    struct capture busy, marked;

    connect_one(f, &busy, 101, 0);
    connect_one(f, &marked, 102, 0);
    push(&busy, RKT_EVENT_KERNEL, 50);
    push(&marked, RKT_EVENT_RANGE, 1);
    die(&busy);
    die(&marked);
    finish(f, 0);
    assert_int_equal(source_of(f, 5)->info.role, RKT_ROLE_HELPER);
    assert_int_equal(source_of(f, 9)->info.role, RKT_ROLE_RANK);
}

static void each_restart_has_a_main_process_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct capture first, second;

    connect_one(f, &first, 101, 0);
    push(&first, RKT_EVENT_COMM, 1);
    (void)drain(f, false);
    die(&first);
    connect_one(f, &second, 102, 1);
    push(&second, RKT_EVENT_COMM, 1);
    (void)drain(f, false);
    die(&second);
    finish(f, 0);
    assert_int_equal(source_of(f, 5)->info.role, RKT_ROLE_RANK);
    assert_int_equal(source_of(f, 9)->info.role, RKT_ROLE_RANK);
    assert_int_equal(source_of(f, 9)->info.restart_count, 1);
}

static void events_and_names_survive_the_death_of_their_process(void **state)
{
    struct fixture *f = *state;
    struct rkt_strtab *tab = rkt_strtab_create();
    struct rkt_event event = {.kind = RKT_EVENT_KERNEL, .clock_id = RKT_CLOCK_REALTIME};
    struct capture c;
    struct tally tally;

    connect_one(f, &c, JOB_PID, 0);
    (void)rkt_region_append_name(c.region, "first", 5);
    event.name_id = rkt_region_append_name(c.region, "gemm", 4);
    assert_true(rkt_ring_push(c.ring, &event));
    die(&c);
    finish(f, 9); /* killed by signal 9 */
    tally = tally_of(f, 5, tab);
    assert_int_equal(tally.counts[RKT_EVENT_KERNEL], 1);
    assert_string_equal(rkt_strtab_get(tab, tally.last_name_id, NULL), "gemm");
    assert_int_equal(source_of(f, 5)->info.gpu_clock, RKT_CLOCK_REALTIME);
    assert_int_equal(source_of(f, 5)->end.reason, RKT_END_SIGNALED);
    assert_int_equal(source_of(f, 5)->end.signal_number, 9);
    assert_true(source_of(f, 5)->end.cut_short);
    rkt_strtab_destroy(tab);
}

static void closing_capture_in_good_order_is_not_cut_short(void **state)
{
    struct fixture *f = *state;
    struct capture c;

    connect_one(f, &c, JOB_PID, 0);
    rkt_region_set_closed(c.region);
    (void)drain(f, false);
    assert_int_equal(rkt_process_set_live_count(f->set), 0);
    finish(f, 3 << 8);
    assert_false(source_of(f, 5)->end.cut_short);
    assert_int_equal(source_of(f, 5)->end.reason, RKT_END_EXITED);
    assert_int_equal(source_of(f, 5)->end.exit_code, 3);
    die(&c);
}

static void full_queue_drops_frequent_events_and_keeps_the_rest(void **state)
{
    struct fixture *f = *state;
    struct capture c;
    struct tally tally;

    connect_one(f, &c, JOB_PID, 0);
    push(&c, RKT_EVENT_KERNEL, 100);
    push(&c, RKT_EVENT_API, 50);
    push(&c, RKT_EVENT_COMM, 1);
    push(&c, RKT_EVENT_SHAPE, 3);
    assert_int_equal(drain(f, true).event_count, 154);
    push(&c, RKT_EVENT_KERNEL, 7);
    die(&c);
    finish(f, 0);
    tally = tally_of(f, 5, NULL);
    assert_int_equal(tally.counts[RKT_EVENT_KERNEL], 7);
    assert_int_equal(tally.counts[RKT_EVENT_COMM], 1);
    assert_int_equal(tally.counts[RKT_EVENT_SHAPE], 3);
    assert_int_equal(tally.lost[RKT_LOSS_SEND_QUEUE][RKT_EVENT_KERNEL], 100);
    assert_int_equal(tally.lost[RKT_LOSS_SEND_QUEUE][RKT_EVENT_API], 50);
    assert_int_equal(source_of(f, 5)->end.dropped_count, 150);
}

static void what_finds_no_room_waits_or_is_counted_to_the_last_event(void **state)
{
    struct fixture *f = *state;
    struct rkt_job_end job = {.pid = JOB_PID, .is_known = true};
    uint64_t pushed = 0, lost;
    struct capture c;
    struct tally tally;
    struct rkt_error err = {0};

    connect_one(f, &c, JOB_PID, 0);
    push(&c, RKT_EVENT_KERNEL, 1); /* what it is, is said with it */
    (void)drain(f, false);
    f->has_no_room = true;
    for (; pushed < 5000; pushed += 100) {
        push(&c, RKT_EVENT_KERNEL, 100);
        assert_int_equal(drain(f, false).event_count, 100);
    }
    die(&c);
    (void)drain(f, false);
    assert_int_equal(rkt_process_set_end(f->set, &job, &err), RKT_AGAIN);
    f->has_no_room = false;
    finish(f, 0);
    tally = tally_of(f, 5, NULL);
    lost = tally.lost[RKT_LOSS_SEND_QUEUE][RKT_EVENT_KERNEL];
    assert_in_range(lost, 1, pushed - 1);
    assert_int_equal(tally.counts[RKT_EVENT_KERNEL] + lost, pushed + 1);
    assert_int_equal(source_of(f, 5)->end.dropped_count, lost);
}

static void losses_are_told_as_they_grow_and_add_up(void **state)
{
    struct fixture *f = *state;
    struct capture c;
    struct tally tally;
    struct rkt_error err = {0};

    connect_one(f, &c, JOB_PID, 0);
    push(&c, RKT_EVENT_KERNEL, 256 + 10); /* the ring holds 256 */
    (void)drain(f, false);
    assert_rkt_ok(rkt_process_set_flush(f->set, &err), err);
    push(&c, RKT_EVENT_KERNEL, 256 + 5);
    rkt_region_count_no_ring(c.region);
    (void)drain(f, false);
    die(&c);
    finish(f, 0);
    tally = tally_of(f, 5, NULL);
    assert_int_equal(tally.counts[RKT_EVENT_KERNEL], 512);
    assert_int_equal(tally.lost[RKT_LOSS_RING_FULL][RKT_EVENT_KERNEL], 15);
    assert_int_equal(tally.lost[RKT_LOSS_NO_RING][RKT_EVENT_NONE], 1);
    assert_int_equal(tally.counts[RKT_EVENT_LOSS], 3);
}

static void senseless_events_are_counted_and_left_out(void **state)
{
    struct fixture *f = *state;
    struct rkt_event bad_kind = {.kind = 200, .clock_id = RKT_CLOCK_REALTIME};
    struct rkt_event bad_clock = {.kind = RKT_EVENT_KERNEL, .clock_id = 99};
    struct rkt_event bad_name = {
        .kind = RKT_EVENT_KERNEL, .clock_id = RKT_CLOCK_REALTIME, .name_id = 12345};
    struct capture c;
    struct tally tally;

    connect_one(f, &c, JOB_PID, 0);
    (void)rkt_ring_push(c.ring, &bad_kind);
    (void)rkt_ring_push(c.ring, &bad_clock);
    (void)rkt_ring_push(c.ring, &bad_name);
    die(&c);
    finish(f, 0);
    tally = tally_of(f, 5, NULL);
    assert_int_equal(tally.counts[RKT_EVENT_KERNEL], 1);
    assert_int_equal(tally.lost[RKT_LOSS_BAD_STAMP][RKT_EVENT_NONE], 2);
}

static void ring_of_an_ended_thread_is_given_to_the_next(void **state)
{
    struct fixture *f = *state;
    struct capture c;

    connect_one(f, &c, JOB_PID, 0);
    for (int i = 0; i < 10; i++) {
        push(&c, RKT_EVENT_KERNEL, 1);
        rkt_region_release(c.ring);
        (void)drain(f, false);
        c.ring = rkt_region_claim(c.region, (uint32_t)i);
        assert_non_null(c.ring);
    }
    die(&c);
    finish(f, 0);
    assert_int_equal(tally_of(f, 5, NULL).counts[RKT_EVENT_KERNEL], 10);
}

/* As the stand-in driver numbers its GPUs, and NVML with it. */
static void push_device(struct capture *c, uint32_t device_id, uint32_t gpu)
{
    struct rkt_event event = {.kind = RKT_EVENT_DEVICE, .clock_id = RKT_CLOCK_MONOTONIC_RAW};

    event.start_ns = event.end_ns = rkt_now_raw_ns();
    event.device = (struct rkt_event_device){.uuid_high = 0x73696d6770750000ull,
                                             .uuid_low = gpu,
                                             .device_id = device_id,
                                             .pci_bus = (uint16_t)(gpu + 1)};
    assert_true(rkt_ring_push(c->ring, &event));
}

/* Until so many more frames are out, each with samples of one process. */
static void sample(struct fixture *f, struct rkt_gpu_samples *samples, size_t frame_count)
{
    uint64_t limit_ns = rkt_now_raw_ns() + UINT64_C(20000000000);
    struct rkt_error err = {0};

    for (frame_count += f->frame_count; f->frame_count < frame_count; usleep(1000)) {
        if (rkt_now_raw_ns() > limit_ns)
            fail_msg("no samples came in 20 s");
        (void)drain(f, false);
        assert_rkt_ok(rkt_process_set_sample(f->set, samples, &err), err);
        assert_rkt_ok(rkt_process_set_flush(f->set, &err), err);
    }
}

struct clocks {
    uint64_t by_device[4];
    uint64_t last_ns; /* of the samples */
};

static enum rkt_status find_clocks(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    struct clocks *clocks = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != RKT_EVENT_COUNTER || events[i].type != RKT_COUNTER_SM_CLOCK)
            continue;
        clocks->by_device[events[i].counter.device_id] = events[i].counter.value;
        clocks->last_ns = events[i].start_ns;
    }
    return RKT_OK;
}

/* Both use GPU 6, which is throttled; one of them GPU 1 too, and they count differently. */
static void samples_go_to_every_process_that_uses_the_gpu(void **state)
{
    struct fixture *f = *state;
    struct clocks of_first = {0}, of_second = {0};
    uint64_t death_ns;
    struct rkt_gpu_samples *samples = NULL;
    struct capture first, second, other;
    struct rkt_error err = {0};

    setenv("SIMGPU_NVML_THROTTLE", "6:power-cap", 1);
    assert_rkt_ok(rkt_gpu_samples_create(10000000, &samples, &err), err);
    connect_one(f, &first, 101, 0);
    connect_one(f, &second, 102, 0);
    connect_one(f, &other, 103, 0);
    push_device(&first, 0, 6);
    push_device(&second, 1, 6);
    push_device(&second, 3, 1);
    push_device(&second, 3, 2); /* said already: the first counts */
    (void)drain(f, false);
    assert_rkt_ok(rkt_process_set_flush(f->set, &err), err);
    sample(f, samples, 4);
    die(&first);
    (void)drain(f, false);
    (void)drain(f, false);
    death_ns = rkt_now_raw_ns();
    sample(f, samples, 4); /* of the second alone, as long as it lives */
    die(&second);
    die(&other);
    finish(f, 0);
    rkt_gpu_samples_destroy(samples);
    unsetenv("SIMGPU_NVML_THROTTLE");
    assert_rkt_ok(rkt_store_reader_walk(f->reader, 5, NULL, find_clocks, &of_first, &err), err);
    assert_rkt_ok(rkt_store_reader_walk(f->reader, 9, NULL, find_clocks, &of_second, &err), err);
    assert_true(of_first.last_ns < death_ns);
    assert_true(of_second.last_ns > death_ns);
    assert_int_equal(of_first.by_device[0], 1485);
    assert_int_equal(of_first.by_device[1] + of_first.by_device[2] + of_first.by_device[3], 0);
    assert_int_equal(of_second.by_device[1], 1485);
    assert_int_equal(of_second.by_device[3], 1980);
    assert_int_equal(of_second.by_device[0] + of_second.by_device[2], 0);
    assert_int_equal(tally_of(f, 9, NULL).counts[RKT_EVENT_DEVICE], 3);
    assert_int_equal(tally_of(f, 13, NULL).counts[RKT_EVENT_COUNTER], 0);
}

static void job_without_any_process_has_a_source_with_its_end(void **state)
{
    struct fixture *f = *state;

    finish(f, 2 << 8);
    assert_int_equal(rkt_store_reader_source_count(f->reader), 1);
    assert_int_equal(source_of(f, 5)->info.role, RKT_ROLE_RANK);
    assert_true(source_of(f, 5)->info.rank_known);
    assert_int_equal(source_of(f, 5)->info.rank, 1);
    assert_int_equal(source_of(f, 5)->end.exit_code, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(first_communicator_makes_the_main_process),
        CASE(steps_then_gpu_work_decide_without_communicators),
        CASE(each_restart_has_a_main_process_of_its_own),
        CASE(events_and_names_survive_the_death_of_their_process),
        CASE(closing_capture_in_good_order_is_not_cut_short),
        CASE(full_queue_drops_frequent_events_and_keeps_the_rest),
        CASE(what_finds_no_room_waits_or_is_counted_to_the_last_event),
        CASE(losses_are_told_as_they_grow_and_add_up),
        CASE(senseless_events_are_counted_and_left_out),
        CASE(ring_of_an_ended_thread_is_given_to_the_next),
        CASE(samples_go_to_every_process_that_uses_the_gpu),
        CASE(job_without_any_process_has_a_source_with_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
