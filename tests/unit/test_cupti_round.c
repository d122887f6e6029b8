/* SPDX-License-Identifier: Apache-2.0 */
/* What is done once a second, with a library that does as told and a clock that is the test's. */
#include "agent/capture/cupti_round.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"

#include "rkt_test.h"

#define SECOND_NS 1000000000u
#define START_NS (1000u * (uint64_t)SECOND_NS)
#define EVENTS_MAX 64u

static const struct rkt_region_config CONFIG = {
    .ring_count = 1, .ring_capacity = EVENTS_MAX, .heap_bytes = 64u << 10};

static struct {
    unsigned flush_count;
    unsigned forced_count;
    unsigned register_count;
    bool has_kernels;
    size_t dropped;
    uint64_t now_ns;
    uint64_t flush_ns;   /* how long a flush takes */
    uint64_t disable_ns; /* and switching a kind off */
} cupti;

static uint64_t now_real_ns(void)
{
    return cupti.now_ns;
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                      CUpti_BuffersCallbackCompleteFunc completed)
{
    (void)requested;
    (void)completed;
    cupti.register_count++;
    return CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind)
{
    (void)kind;
    cupti.has_kernels = true;
    return CUPTI_SUCCESS;
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    (void)kind;
    cupti.has_kernels = false;
    cupti.now_ns += cupti.disable_ns;
    return CUPTI_SUCCESS;
}

static CUptiResult flush_all(uint32_t flag)
{
    cupti.flush_count++;
    cupti.forced_count += flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
    cupti.now_ns += cupti.flush_ns;
    return CUPTI_SUCCESS;
}

static CUptiResult dropped_records(CUcontext context, uint32_t stream_id, size_t *dropped)
{
    (void)context;
    (void)stream_id;
    *dropped = cupti.dropped;
    cupti.dropped = 0;
    return CUPTI_SUCCESS;
}

static const struct rkt_cupti_library LIBRARY = {.register_callbacks = register_callbacks,
                                                 .enable = enable,
                                                 .disable = disable,
                                                 .flush_all = flush_all,
                                                 .dropped_records = dropped_records};

struct fixture {
    struct rkt_capture capture;
    struct rkt_cupti_reader reader;
    struct rkt_cupti_switch kinds;
    struct rkt_cupti_round round;
    struct rkt_cupti_api_names *api_names;
    uint64_t buffer_event_count;
    uint64_t activity_count;
    int fd;
};

static int make_round(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    memset(&cupti, 0, sizeof(cupti));
    if (rkt_region_create(&CONFIG, &f.capture.region, &f.fd, NULL) != RKT_OK)
        return -1;
    f.capture.intern = rkt_intern_create(f.capture.region);
    f.capture.threads = rkt_threads_create(f.capture.region, f.capture.intern);
    f.api_names = rkt_cupti_api_names_create(&LIBRARY, f.capture.intern);
    f.kinds.library = &LIBRARY;
    f.kinds.api_names = f.api_names;
    f.kinds.kinds[0] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    f.kinds.kind_count = 1;
    f.round.capture = &f.capture;
    f.round.library = &LIBRARY;
    f.round.buffers = rkt_cupti_buffers_create();
    f.round.reader = &f.reader;
    f.round.kinds = &f.kinds;
    f.round.now_real_ns = now_real_ns;
    cupti.now_ns = START_NS;
    *state = &f;
    return f.capture.threads && f.api_names && f.round.buffers &&
                   rkt_cupti_switch_start(&f.kinds) == CUPTI_SUCCESS
               ? 0
               : -1;
}

static int free_round(void **state)
{
    struct fixture *f = *state;

    rkt_cupti_buffers_destroy(f->round.buffers);
    rkt_cupti_api_names_destroy(f->api_names);
    rkt_threads_destroy(f->capture.threads);
    rkt_intern_destroy(f->capture.intern);
    rkt_region_destroy(f->capture.region);
    close(f->fd);
    return 0;
}

/* The job goes on; does_record: and CUPTI gives buffers back. */
static void pass_seconds(struct fixture *f, unsigned seconds, bool does_record)
{
    for (unsigned i = 0; i < seconds; i++) {
        cupti.now_ns += SECOND_NS;
        f->activity_count++;
        f->buffer_event_count += does_record;
        if (does_record)
            f->reader.earliest_ns = cupti.now_ns;
        rkt_cupti_round_make(&f->round, f->buffer_event_count, f->activity_count);
    }
}

/* The next loss that went out; false when there is none. */
static bool next_loss(struct fixture *f, struct rkt_event *loss_out)
{
    struct rkt_ring *ring = rkt_region_ring(f->capture.region, 0);
    bool was_broken;

    while (rkt_ring_pop(ring, CONFIG.ring_capacity, loss_out, 1, &was_broken) > 0) {
        if (loss_out->kind == RKT_EVENT_LOSS)
            return true;
    }
    return false;
}

static void assert_off(struct fixture *f, uint64_t from_second, uint64_t to_second, const char *why)
{
    struct rkt_event loss;
    const char *text;
    size_t len_bytes;

    assert_true(next_loss(f, &loss));
    assert_int_equal(loss.type, RKT_LOSS_CAPTURE_OFF);
    assert_int_equal(loss.clock_id, RKT_CLOCK_REALTIME);
    assert_int_equal(loss.start_ns, START_NS + from_second * SECOND_NS);
    assert_int_equal(loss.end_ns, START_NS + to_second * SECOND_NS);
    assert_true(rkt_region_name(f->capture.region, loss.name_id, &text, &len_bytes));
    assert_int_equal(len_bytes, strlen(why));
    assert_memory_equal(text, why, len_bytes);
}

static void assert_no_loss(struct fixture *f)
{
    struct rkt_event loss;

    if (next_loss(f, &loss))
        fail_msg("a loss of type %d went out", loss.type);
}

static void cupti_is_flushed_only_when_it_holds_a_buffer(void **state)
{
    struct fixture *f = *state;
    struct rkt_event loss;
    size_t bytes;
    uint8_t *buffer;

    pass_seconds(f, 3, true);
    assert_int_equal(cupti.flush_count, 0);
    buffer = rkt_cupti_buffers_take(f->round.buffers, &bytes);
    cupti.dropped = 7;
    pass_seconds(f, 2, true);
    assert_int_equal(cupti.flush_count, 2);
    assert_true(next_loss(f, &loss));
    assert_int_equal(loss.type, RKT_LOSS_CUPTI_DROPPED);
    assert_int_equal(loss.loss.count, 7);
    assert_no_loss(f);
    rkt_cupti_buffers_put_back(f->round.buffers, buffer, 0);
    pass_seconds(f, 2, true);
    assert_int_equal(cupti.flush_count, 2);
    rkt_cupti_round_end(&f->round);
    assert_int_equal(cupti.forced_count, 1);
    assert_false(cupti.has_kernels);
}

/* 5 silent seconds of a busy job are noticed; a minute later the other tool has surely finished. */
static void other_tools_session_is_left_alone_then_marked(void **state)
{
    struct fixture *f = *state;
    size_t bytes;
    uint8_t *lost = rkt_cupti_buffers_take(f->round.buffers, &bytes); /* that tool gets it */

    pass_seconds(f, 10, true);
    pass_seconds(f, 59, false);
    assert_int_equal(f->kinds.wanted & RKT_CUPTI_OTHER_TOOL, RKT_CUPTI_OTHER_TOOL);
    assert_int_equal(cupti.register_count, 1);
    assert_true(cupti.has_kernels); /* or its kernels would be gone too */
    pass_seconds(f, 1, false);
    assert_int_equal(cupti.register_count, 2);
    assert_no_loss(f);
    pass_seconds(f, 1, true);
    assert_off(f, 10, 71, "another tool had CUPTI");
    pass_seconds(f, 100, true);
    assert_no_loss(f);
    assert_int_equal(cupti.register_count, 2);
    assert_int_equal(rkt_cupti_buffers_taken_count(f->round.buffers), 0); /* the pool is whole */
    free(lost);
}

static void gap_of_which_records_come_late_was_none(void **state)
{
    struct fixture *f = *state;

    pass_seconds(f, 10, true);
    pass_seconds(f, 20, false);
    f->reader.earliest_ns = START_NS + 10 * (uint64_t)SECOND_NS; /* CUPTI held them for so long */
    f->buffer_event_count++;
    pass_seconds(f, 1, false);
    assert_no_loss(f);
    assert_int_equal(f->kinds.wanted & RKT_CUPTI_OTHER_TOOL, 0);
}

static void closed_window_is_no_gap(void **state)
{
    struct fixture *f = *state;

    pass_seconds(f, 10, true);
    rkt_cupti_switch_set(&f->kinds, RKT_CUPTI_OFF_WINDOW, true);
    pass_seconds(f, 200, false);
    rkt_cupti_switch_set(&f->kinds, RKT_CUPTI_OFF_WINDOW, false);
    pass_seconds(f, RKT_CUPTI_GAP_TICKS - 1, false);
    pass_seconds(f, 1, true);
    assert_no_loss(f);
    assert_int_equal(cupti.register_count, 1);
}

static void unusable_times_switch_cupti_off_for_a_while(void **state)
{
    static const char why[] = "CUPTI gave unusable times";
    struct fixture *f = *state;

    f->reader.good_work_count = 100000;
    pass_seconds(f, 10, true);
    f->reader.bad_work_count = 100000;
    pass_seconds(f, 1, true);
    assert_false(cupti.has_kernels);
    assert_off(f, 11, 11, why); /* said at once: the job may be killed */
    pass_seconds(f, RKT_CUPTI_ALARM_WAIT_TICKS, false);
    assert_off(f, 11, 21, why);
    assert_no_loss(f); /* and it is no gap of another tool */
    assert_true(cupti.has_kernels);
    /* again: longer, in pieces, and up to the end */
    f->reader.bad_work_count += 100000;
    pass_seconds(f, 1, true);
    assert_false(cupti.has_kernels);
    assert_off(f, 22, 22, why);
    pass_seconds(f, 25, false);
    assert_off(f, 22, 32, why);
    assert_off(f, 32, 42, why);
    rkt_cupti_round_end(&f->round);
    assert_off(f, 42, 47, why);
    assert_no_loss(f);
}

/* A kernel of the time in which it was flushed and switched off has a record. */
static void time_off_begins_when_the_kinds_are_off(void **state)
{
    struct fixture *f = *state;
    struct rkt_event loss;
    uint64_t begin_ns;

    pass_seconds(f, 10, true);
    begin_ns = cupti.now_ns + SECOND_NS;
    f->reader.bad_work_count = 100000;
    (void)rkt_cupti_buffers_take(f->round.buffers, &(size_t){0}); /* so that it is flushed */
    cupti.flush_ns = 300000000;
    cupti.disable_ns = 70000000;
    pass_seconds(f, 1, true);
    assert_true(next_loss(f, &loss));
    assert_int_equal(loss.start_ns, begin_ns + cupti.flush_ns + cupti.disable_ns);
}

#define ROUND(test) cmocka_unit_test_setup_teardown(test, make_round, free_round)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUND(cupti_is_flushed_only_when_it_holds_a_buffer),
        ROUND(other_tools_session_is_left_alone_then_marked),
        ROUND(gap_of_which_records_come_late_was_none),
        ROUND(closed_window_is_no_gap),
        ROUND(unusable_times_switch_cupti_off_for_a_while),
        ROUND(time_off_begins_when_the_kinds_are_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
