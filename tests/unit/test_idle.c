/* SPDX-License-Identifier: Apache-2.0 */
/* Each cause of idle time, drawn. The device is busy before 10 us and again from x on. */
#include <stdlib.h>

#include "analysis/idle.h"
#include "analysis/range_name.h"
#include "fake_run.h"
#include "rkt_test.h"

#define US 1000ll
#define PIECES_MAX 8

struct piece {
    int64_t start_us;
    int64_t end_us;
    enum rkt_idle_cause cause;
};

struct pieces {
    struct piece items[PIECES_MAX];
    size_t count;
};

static enum rkt_status keep(void *ctx, int64_t start_ns, int64_t end_ns, enum rkt_idle_cause cause)
{
    struct pieces *pieces = ctx;

    assert_true(pieces->count < PIECES_MAX);
    assert_true(end_ns > start_ns);
    pieces->items[pieces->count++] = (struct piece){start_ns / US, end_ns / US, cause};
    return RKT_OK;
}

enum record_kind {
    NO_RECORD,
    BLOCKING,
    ALLOC,
    INPUT,
};

struct record {
    enum record_kind kind;
    int64_t start_us;
    int64_t end_us;
    uint32_t thread_id;
};

struct drawn {
    const char *what;
    struct record records[3];
    int64_t gap_end_us; /* the gap begins at 10 us */
    int64_t launch_us;
    int64_t launched_us; /* 0: no launch record */
    struct piece want[PIECES_MAX];
};

static const struct drawn TABLE[] = {
    /* device  ==========10.........20====     the host comes late and was in Python
     * host                  [15 17)           */
    {"host, launch, dependency",
     {{0}},
     20,
     15,
     17,
     {{10, 15, RKT_IDLE_HOST}, {15, 17, RKT_IDLE_LAUNCH}, {17, 20, RKT_IDLE_DEPENDENCY}}},
    {"the launch takes until the work starts",
     {{0}},
     20,
     15,
     40,
     {{10, 15, RKT_IDLE_HOST}, {15, 20, RKT_IDLE_LAUNCH}}},
    {"the launch had begun when the device fell idle",
     {{0}},
     20,
     8,
     14,
     {{10, 14, RKT_IDLE_LAUNCH}, {14, 20, RKT_IDLE_DEPENDENCY}}},
    {"launched long before: it waits for an event or a stream",
     {{0}},
     20,
     2,
     3,
     {{10, 20, RKT_IDLE_DEPENDENCY}}},
    {"launched long before, and the gap is as short as the device's own pace",
     {{0}},
     11,
     2,
     3,
     {{10, 11, RKT_IDLE_DEVICE}}},
    {"two microseconds are no longer the device's own pace",
     {{0}},
     12,
     2,
     3,
     {{10, 12, RKT_IDLE_DEPENDENCY}}},
    {"no launch record", {{0}}, 20, 0, 0, {{10, 20, RKT_IDLE_UNKNOWN}}},
    {"the work starts before its own launch (BR-57)", {{0}}, 20, 25, 26, {{10, 20, RKT_IDLE_HOST}}},

    /* The host entered at 4, six before the device ran dry, and returned at 12: of the five that
     * it then needs, all are the call's doing. */
    {"a blocking call and its tail",
     {{BLOCKING, 4, 12, 1}},
     20,
     17,
     18,
     {{10, 12, RKT_IDLE_SYNC},
      {12, 17, RKT_IDLE_SYNC},
      {17, 18, RKT_IDLE_LAUNCH},
      {18, 20, RKT_IDLE_DEPENDENCY}}},
    /* Entered at 9: one microsecond of lead is all that it destroyed. */
    {"a tail is no longer than the lead that the host had",
     {{BLOCKING, 9, 12, 1}},
     20,
     17,
     20,
     {{10, 12, RKT_IDLE_SYNC},
      {12, 13, RKT_IDLE_SYNC},
      {13, 17, RKT_IDLE_HOST},
      {17, 20, RKT_IDLE_LAUNCH}}},
    {"a call entered when the device was idle already has no tail",
     {{BLOCKING, 11, 13, 1}},
     20,
     17,
     20,
     {{10, 11, RKT_IDLE_HOST},
      {11, 13, RKT_IDLE_SYNC},
      {13, 17, RKT_IDLE_HOST},
      {17, 20, RKT_IDLE_LAUNCH}}},
    {"input after a sync stays input; its tail is of the host's part",
     {{BLOCKING, 4, 11, 1}, {INPUT, 11, 15, 1}},
     20,
     17,
     20,
     {{10, 11, RKT_IDLE_SYNC},
      {11, 15, RKT_IDLE_INPUT},
      {15, 17, RKT_IDLE_SYNC},
      {17, 20, RKT_IDLE_LAUNCH}}},
    {"a blocking call of another thread is not this launch's",
     {{BLOCKING, 4, 14, 2}},
     20,
     17,
     20,
     {{10, 17, RKT_IDLE_HOST}, {17, 20, RKT_IDLE_LAUNCH}}},
    {"a record without a thread counts for every thread",
     {{BLOCKING, 11, 14, 0}},
     20,
     17,
     20,
     {{10, 11, RKT_IDLE_HOST},
      {11, 14, RKT_IDLE_SYNC},
      {14, 17, RKT_IDLE_HOST},
      {17, 20, RKT_IDLE_LAUNCH}}},

    {"alloc",
     {{ALLOC, 5, 14, 1}},
     20,
     17,
     20,
     {{10, 14, RKT_IDLE_ALLOC}, {14, 17, RKT_IDLE_HOST}, {17, 20, RKT_IDLE_LAUNCH}}},
    {"a sync inside an alloc counts as sync",
     {{ALLOC, 11, 16, 1}, {BLOCKING, 12, 14, 1}},
     20,
     17,
     20,
     {{10, 11, RKT_IDLE_HOST},
      {11, 12, RKT_IDLE_ALLOC},
      {12, 14, RKT_IDLE_SYNC},
      {14, 16, RKT_IDLE_ALLOC},
      {16, 17, RKT_IDLE_HOST},
      {17, 20, RKT_IDLE_LAUNCH}}},
    {"input",
     {{INPUT, 5, 16, 1}},
     20,
     17,
     20,
     {{10, 16, RKT_IDLE_INPUT}, {16, 17, RKT_IDLE_HOST}, {17, 20, RKT_IDLE_LAUNCH}}},
};

static void draw(struct fake_run *run, const struct drawn *drawn)
{
    struct rkt_rank_trace *trace = &run->traces[0];
    struct rkt_work *work;

    fake_add_work(run, 0, (struct fake_work){RKT_WORK_COMPUTE, "before", 7, 0, 10 * US, 0, 0});
    fake_add_work(run, 0,
                  (struct fake_work){RKT_WORK_COMPUTE, "next", 7, drawn->gap_end_us * US,
                                     drawn->gap_end_us * US + 10 * US, 0, 0});
    work = &trace->works[1];
    if (drawn->launched_us != 0) {
        work->launch_start_ns = drawn->launch_us * US;
        work->launch_end_ns = drawn->launched_us * US;
        work->launch_thread_id = 1;
    }
    for (size_t i = 0; i < 3 && drawn->records[i].kind != NO_RECORD; i++) {
        const struct record *record = &drawn->records[i];

        if (record->kind == INPUT) {
            fake_add_range(run, 0, RKT_RANGE_INPUT, "", record->start_us * US, record->end_us * US);
            trace->ranges[trace->range_count - 1].thread_id = record->thread_id;
            continue;
        }
        fake_add_call(run, 0, record->kind == BLOCKING ? RKT_CALL_BLOCKING : RKT_CALL_ALLOC, "",
                      record->start_us * US, record->end_us * US);
        trace->calls[trace->call_count - 1].thread_id = record->thread_id;
    }
}

static void each_drawn_gap_has_its_causes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++) {
        const struct drawn *drawn = &TABLE[i];
        struct pieces got = {0};
        struct rkt_idle *idle;
        struct rkt_error err;
        struct fake_run run;

        fake_run_init(&run, 1);
        draw(&run, drawn);
        assert_rkt_ok(rkt_idle_create(&run.traces[0], &idle, &err), err);
        assert_rkt_status(rkt_idle_split(idle, 10 * US, drawn->gap_end_us * US,
                                         &run.traces[0].works[1], keep, &got),
                          RKT_OK);
        for (size_t k = 0; k < PIECES_MAX && (k < got.count || drawn->want[k].end_us != 0); k++) {
            const struct piece *want = &drawn->want[k];
            const struct piece *piece = &got.items[k];

            if (k >= got.count || want->start_us != piece->start_us ||
                want->end_us != piece->end_us || want->cause != piece->cause)
                fail_msg("%s: piece %zu is [%lld, %lld) %s, not [%lld, %lld) %s", drawn->what, k,
                         (long long)piece->start_us, (long long)piece->end_us,
                         rkt_idle_cause_name(piece->cause), (long long)want->start_us,
                         (long long)want->end_us, rkt_idle_cause_name(want->cause));
        }
        rkt_idle_destroy(idle);
        fake_run_release(&run);
    }
}

/* device  ====10  12===13  20=====     the call returned at 12, in the first gap: the second is
 * host    [4   11)    [13 15)          Python again */
static void a_tail_shows_in_the_first_gap_only(void **state)
{
    struct pieces first = {0};
    struct pieces second = {0};
    struct rkt_idle *idle;
    struct rkt_work next;
    struct rkt_error err;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "k", 7, 0, 10, 1, 0});
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 4 * US, 11 * US);
    assert_rkt_ok(rkt_idle_create(&run.traces[0], &idle, &err), err);
    next = run.traces[0].works[0];
    next.launch_start_ns = 12 * US;
    next.launch_end_ns = 12 * US;
    assert_rkt_status(rkt_idle_split(idle, 10 * US, 12 * US, &next, keep, &first), RKT_OK);
    assert_int_equal(first.count, 2);
    assert_int_equal(first.items[1].cause, RKT_IDLE_SYNC);
    next.launch_start_ns = 20 * US;
    next.launch_end_ns = 20 * US;
    assert_rkt_status(rkt_idle_split(idle, 13 * US, 20 * US, &next, keep, &second), RKT_OK);
    assert_int_equal(second.count, 1);
    assert_int_equal(second.items[0].cause, RKT_IDLE_HOST);
    rkt_idle_destroy(idle);
    fake_run_release(&run);
}

static void ranges_mean_what_their_names_say(void **state)
{
    static const struct {
        const char *name;
        enum rkt_range_type type;
        bool is_backward;
        bool is_input;
        bool is_autograd_op;
    } table[] = {
        {"", RKT_RANGE_BACKWARD, true, false, false},
        {"", RKT_RANGE_INPUT, false, true, false},
        {"", RKT_RANGE_FORWARD, false, false, false},
        {"backward", RKT_RANGE_ANNOTATION, true, false, false},
        {"## Backward ##", RKT_RANGE_ANNOTATION, true, false, false},
        {"loss.backward()", RKT_RANGE_NVTX, true, false, false},
        {"my_backward pass", RKT_RANGE_USER, true, false, false},
        {"AddmmBackward0", RKT_RANGE_NVTX, false, false, false},
        {"AddmmBackward0", RKT_RANGE_CPU_OP, false, false, false},
        {"backward", RKT_RANGE_CPU_OP, false, false, false},
        {"backward", RKT_RANGE_GPU_ANNOTATION, false, false, false},
        {"autograd::engine::evaluate_function: AddmmBackward0", RKT_RANGE_CPU_OP, false, false,
         true},
        {"autograd::engine::evaluate_function: AddmmBackward0, seq = 3", RKT_RANGE_NVTX, false,
         false, true},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", RKT_RANGE_ANNOTATION,
         false, true, false},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", RKT_RANGE_CPU_OP, false,
         true, false},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", RKT_RANGE_GPU_ANNOTATION,
         false, false, false},
        {"data", RKT_RANGE_NVTX, false, true, false},
        {"Input", RKT_RANGE_USER, false, true, false},
        {"## data copy ##", RKT_RANGE_ANNOTATION, false, true, false},
        {"dataloading", RKT_RANGE_USER, false, true, false},
        {"DataParallel.forward", RKT_RANGE_ANNOTATION, false, false, false},
        {"DistributedDataParallel.forward", RKT_RANGE_ANNOTATION, false, false, false},
        {"aten::data", RKT_RANGE_CPU_OP, false, false, false},
        {"input_dist", RKT_RANGE_CPU_OP, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct rkt_range range = {.type = (uint8_t)table[i].type};

        if (rkt_range_is_backward(&range, table[i].name) != table[i].is_backward ||
            rkt_range_is_input(&range, table[i].name) != table[i].is_input ||
            rkt_range_is_autograd_op(&range, table[i].name) != table[i].is_autograd_op)
            fail_msg("\"%s\" of type %d is taken for something else", table[i].name, table[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_drawn_gap_has_its_causes),
        cmocka_unit_test(a_tail_shows_in_the_first_gap_only),
        cmocka_unit_test(ranges_mean_what_their_names_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
