/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's progress thread tells at the levels kernel and proxy, with all that it gets wrong. */
#include <pthread.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "nccl_host.h"
#include "rkt_test.h"

#define DEVICE_NS 1700000000000000000ull /* like the Unix epoch, and not ours */

static void *start_channel(void *comm, void *parent, uint8_t channel, uint64_t timer_ns)
{
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_KERNEL_CH,
                                   .parent = parent,
                                   .kernel_ch = {.channel_id = channel, .timer_ns = timer_ns}};

    return nccl_start_descr(comm, &descr);
}

static void *coll_enqueued(void *comm)
{
    void *coll = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL);

    nccl_stop(coll);
    return coll;
}

static void one_channel(void *comm, void *coll, uint8_t channel, uint64_t start_ns, uint64_t end_ns)
{
    void *handle = start_channel(comm, coll, channel, start_ns);

    nccl_state(handle, RKT_NCCL_STATE_KERNEL_CH_STOP, end_ns);
    nccl_stop(handle);
}

/* The nth event of a type, in the order in which they came. */
static const struct rkt_event *nth(const struct job *job, enum rkt_nccl_type type, size_t n)
{
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind == RKT_EVENT_NCCL && event->type == type && n-- == 0)
            return event;
    }
    fail_msg("there is no event %zu of type %d", n, (int)type);
    return NULL;
}

static size_t losses(const struct job *job, enum rkt_loss_reason reason)
{
    return job_count(job, RKT_EVENT_LOSS, (int)reason, NULL);
}

static void run(struct job *job, enum rkt_nccl_level level, void (*function)(void))
{
    job->capture.nccl_level = level;
    job->config.ring_capacity = 65536; /* nothing may be dropped, however late the sidecar looks */
    job_run(job, function);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
}

/* ---- levels ---- */

static void *begin(const char *name, int wanted_mask)
{
    int mask = -1;
    void *comm;

    nccl_v5 = nccl_table(name);
    comm = nccl_init(0xabc, &mask);
    nccl_must(mask == wanted_mask);
    return comm;
}

/* NCCL offers more than was asked for: parents, or what an operator of NCCL turned on. */
static void every_type_at_basic(void)
{
    void *comm = begin("ncclProfiler_v7", NCCL_MASK_BASIC);

    for (unsigned int bit = 0; bit < 64; bit++) {
        uint64_t type = 1ull << bit;
        void *handle = nccl_start(comm, type, NULL);

        nccl_must((handle != NULL) == ((type & NCCL_MASK_BASIC) != 0));
        nccl_state(handle, (int)bit, DEVICE_NS);
        nccl_stop(handle);
    }
    nccl_must(nccl_start(comm, 0, NULL) == NULL);
    nccl_must(nccl_start(comm, NCCL_MASK_BASIC, NULL) == NULL);
}

static void only_what_was_asked_for_is_recorded(void **state)
{
    struct job *job = *state;

    run(job, RKT_NCCL_LEVEL_BASIC, every_type_at_basic);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 6);
    assert_int_equal(losses(job, RKT_LOSS_BAD_STAMP), 0);
}

static void phase_at_proxy(void)
{
    void *comm = begin("ncclProfiler_v7", NCCL_MASK_PROXY);

    nccl_must(nccl_start(comm, RKT_NCCL_EVENT_KERNEL_PHASE, NULL) == NULL);
    nccl_must(nccl_start(comm, RKT_NCCL_EVENT_GROUP, NULL) == NULL);
}

static void phases_of_kernels_are_never_asked_for(void **state)
{
    run(*state, RKT_NCCL_LEVEL_PROXY, phase_at_proxy);
}

/* ---- channels ---- */

static void *sees_channels_late(void *arg)
{
    void *const *both = arg; /* communicator, collective that was stopped */

    one_channel(both[0], both[1], 7, DEVICE_NS, DEVICE_NS + 320);
    return NULL;
}

static void channel_after_its_collective(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_KERNEL);
    void *both[2] = {comm, coll_enqueued(comm)};
    pthread_t progress;

    for (int i = 0; i < 4000; i++) /* others are enqueued meanwhile */
        coll_enqueued(comm);
    pthread_create(&progress, NULL, sees_channels_late, both);
    pthread_join(progress, NULL);
    one_channel(comm, NULL, 8, DEVICE_NS, DEVICE_NS + 64); /* an operation that had no slot */
}

static void a_channel_comes_after_its_collectives_stop_and_knows_it(void **state)
{
    struct job *job = *state;
    const struct rkt_event *channel;

    run(job, RKT_NCCL_LEVEL_KERNEL, channel_after_its_collective);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_CH, &channel), 2);
    channel = nth(job, RKT_NCCL_KERNEL_CH, 0);
    if (channel->nccl.peer != 7) /* of another ring */
        channel = nth(job, RKT_NCCL_KERNEL_CH, 1);
    assert_int_equal(channel->clock_id, RKT_CLOCK_GLOBALTIMER);
    assert_int_equal(channel->start_ns, DEVICE_NS);
    assert_int_equal(channel->end_ns, DEVICE_NS + 320);
    assert_int_equal(channel->flags, 0);
    assert_int_equal(channel->nccl.peer, 7);
    assert_int_equal(channel->nccl.comm_id, 0xabc);
    assert_int_equal(channel->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(channel->nccl.seq, 41);
    assert_int_equal(channel->nccl.count, 1000);
    assert_int_equal(channel->nccl.datatype, 9);
    assert_int_equal(channel->nccl.algo, RKT_ALGO_NVLS_TREE);
    assert_true(channel->thread_id != job->hello.pid);
}

static void channel_of_a_parent_that_is_none(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_KERNEL);
    int none = 0;
    void *coll = coll_enqueued(comm);

    for (int i = 0; i < 3 * 4096; i++) /* its slot is another's by now */
        coll_enqueued(comm);
    one_channel(comm, coll, 0, DEVICE_NS, DEVICE_NS + 32);
    one_channel(comm, (char *)coll + 50, 1, DEVICE_NS, DEVICE_NS + 32);
    one_channel(comm, &none, 2, DEVICE_NS, DEVICE_NS + 32);
}

static void a_parent_that_is_not_there_any_more_is_unknown(void **state)
{
    struct job *job = *state;

    run(job, RKT_NCCL_LEVEL_KERNEL, channel_of_a_parent_that_is_none);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_CH, NULL), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct rkt_event *channel = nth(job, RKT_NCCL_KERNEL_CH, i);

        assert_int_equal(channel->nccl.comm_id, 0xabc);
        assert_int_equal(channel->nccl.func, RKT_NCCL_FUNC_UNKNOWN);
        assert_int_equal(channel->nccl.seq, UINT64_MAX);
    }
}

static void stop_before_start(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_KERNEL);
    void *coll = coll_enqueued(comm);
    void *handle = start_channel(comm, coll, 0, DEVICE_NS);

    nccl_state(handle, RKT_NCCL_STATE_KERNEL_CH_STOP, DEVICE_NS + 64);
    nccl_stop(handle);
    /* NCCL sees the next one end first: it has no handle, or still the last one. */
    nccl_state(NULL, RKT_NCCL_STATE_KERNEL_CH_STOP, DEVICE_NS + 128);
    nccl_stop(NULL);
    nccl_state(handle, RKT_NCCL_STATE_KERNEL_CH_STOP, DEVICE_NS + 128);
    nccl_stop(handle);
    start_channel(comm, coll, 0, DEVICE_NS + 96); /* is never ended */
    for (int i = 0; i < 4096; i++)
        nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_GROUP_API, NULL));
    for (int i = 0; i < 4096; i++) /* nothing else may suffer from it */
        nccl_must(start_channel(comm, coll, 1, DEVICE_NS) != NULL);
}

static void a_channel_that_stops_before_it_starts_hurts_no_other(void **state)
{
    struct job *job = *state;
    const struct rkt_event *channel;
    const struct rkt_event *first;

    run(job, RKT_NCCL_LEVEL_KERNEL, stop_before_start);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, NULL), 4096);
    first = nth(job, RKT_NCCL_KERNEL_CH, 0);
    assert_int_equal(first->end_ns, DEVICE_NS + 64);
    channel = nth(job, RKT_NCCL_KERNEL_CH, 1);
    assert_int_equal(channel->start_ns, DEVICE_NS + 96);
    assert_int_equal(channel->end_ns, DEVICE_NS + 96);
    assert_int_equal(channel->flags, RKT_FLAG_NO_END);
}

static void wrong_stamps(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_KERNEL);
    void *coll = coll_enqueued(comm);
    void *never;

    one_channel(comm, coll, 0, DEVICE_NS, 0);             /* goes out without an end */
    one_channel(comm, coll, 1, 0, DEVICE_NS);             /* 1: no start */
    one_channel(comm, coll, 2, DEVICE_NS, DEVICE_NS - 1); /* 2: before its start */
    one_channel(comm, coll, 3, UINT64_MAX, UINT64_MAX);   /* 3 */
    one_channel(comm, coll, 4, DEVICE_NS, UINT64_MAX);    /* 4 */
    never = start_channel(comm, coll, 5, DEVICE_NS);
    nccl_stop(never); /* the state never came: without an end, too */
    /* Stamps of 64 operations later were there already; then the own ones come again. */
    one_channel(comm, coll, 6, DEVICE_NS + 6400, DEVICE_NS + 6464);
    one_channel(comm, coll, 6, DEVICE_NS + 100, DEVICE_NS + 164); /* 5 */
    one_channel(comm, coll, 6, DEVICE_NS + 200, DEVICE_NS + 264);
    /* The two halves of a send and receive share a kernel. */
    one_channel(comm, coll, 7, DEVICE_NS, DEVICE_NS + 32);
    one_channel(comm, coll, 7, DEVICE_NS, DEVICE_NS + 32);
    one_channel(comm, coll, 255, DEVICE_NS, DEVICE_NS + 32); /* more channels than NCCL has */
}

static void stamps_that_cannot_be_are_counted(void **state)
{
    struct job *job = *state;
    const struct rkt_event *loss;

    run(job, RKT_NCCL_LEVEL_KERNEL, wrong_stamps);
    assert_int_equal(losses(job, RKT_LOSS_BAD_STAMP), 5);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, &loss), 5);
    assert_int_equal(loss->loss.lost_kind, RKT_EVENT_NCCL);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_CH, NULL), 7);
    assert_int_equal(nth(job, RKT_NCCL_KERNEL_CH, 0)->flags, RKT_FLAG_NO_END);
    assert_int_equal(nth(job, RKT_NCCL_KERNEL_CH, 1)->flags, RKT_FLAG_NO_END);
    assert_int_equal(nth(job, RKT_NCCL_KERNEL_CH, 1)->nccl.peer, 5);
    assert_int_equal(nth(job, RKT_NCCL_KERNEL_CH, 3)->start_ns, DEVICE_NS + 200);
    for (size_t i = 0; i < 7; i++)
        assert_true(nth(job, RKT_NCCL_KERNEL_CH, i)->end_ns >=
                    nth(job, RKT_NCCL_KERNEL_CH, i)->start_ns);
}

/* ---- copy engines ---- */

static void copy_engine_collective(void)
{
    void *comm = begin("ncclProfiler_v6", NCCL_MASK_KERNEL);
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_CE_COLL,
        .ce_coll = {.seq = 6, .func = "AllGather", .count = 77, .datatype = "ncclFloat32"}};
    void *coll = nccl_start_descr(comm, &descr);
    void *batch;

    nccl_must(coll != NULL);
    nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_CE_SYNC, coll));
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_CE_BATCH, .parent = coll};
    descr.ce_batch.bytes = 4096;
    batch = nccl_start_descr(comm, &descr);
    nccl_state(batch, 29, 0); /* begins, of no use here */
    nccl_stop(batch);
    nccl_stop(coll);
}

static void a_copy_engine_collective_has_its_parts(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    run(job, RKT_NCCL_LEVEL_KERNEL, copy_engine_collective);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_CE_COLL, &event), 1);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLGATHER);
    assert_int_equal(event->nccl.seq, 6);
    assert_int_equal(event->nccl.count, 77);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_CE_SYNC, &event), 1);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLGATHER);
    assert_int_equal(event->nccl.seq, 6);
    assert_int_equal(event->nccl.count, UINT64_MAX);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_CE_BATCH, &event), 1);
    assert_int_equal(event->nccl.seq, 6);
    assert_int_equal(event->nccl.count, 4096);
}

/* ---- network ---- */

static void *start_proxy_op(void *comm, void *parent, pid_t pid, int steps)
{
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_PROXY_OP,
                                   .parent = parent,
                                   .proxy_op = {.pid = pid,
                                                .channel_id = 3,
                                                .peer = 2,
                                                .step_count = steps,
                                                .chunk_bytes = 1024,
                                                .is_send = 1}};

    return nccl_start_descr(comm, &descr);
}

static void network_work(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_PROXY);
    void *coll = coll_enqueued(comm);
    void *op = start_proxy_op(comm, coll, getpid(), 4);
    void *step;
    void *net;

    nccl_state(op, RKT_NCCL_STATE_PROXY_OP_IN_PROGRESS, 0);
    step = nccl_start(comm, RKT_NCCL_EVENT_PROXY_STEP, op);
    nccl_state(step, RKT_NCCL_STATE_STEP_SEND_GPU_WAIT, 0);
    nccl_state(step, RKT_NCCL_STATE_STEP_SEND_PEER_WAIT, 0);
    nccl_state(step, RKT_NCCL_STATE_STEP_SEND_WAIT, 1000);
    net = nccl_start(comm, RKT_NCCL_EVENT_NET_PLUGIN, step);
    nccl_state(net, 21, 0);
    nccl_stop(net);
    nccl_stop(NULL); /* NCCL does not ask whether the event began */
    nccl_stop(step);
    nccl_stop(op);
    nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_PROXY_STEP, op)); /* without a state */
}

static void each_state_of_a_step_has_its_time(void **state)
{
    static const uint8_t states[] = {8, 20, 9, 0};
    struct job *job = *state;
    const struct rkt_event *op;
    const struct rkt_event *net;

    run(job, RKT_NCCL_LEVEL_PROXY, network_work);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_STEP, NULL), 4);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_OP, &op), 1);
    assert_int_equal(op->nccl.count, 4096);
    assert_int_equal(op->nccl.datatype, 3); /* the channel */
    assert_int_equal(op->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    for (size_t i = 0; i < 4; i++) {
        const struct rkt_event *step = nth(job, RKT_NCCL_PROXY_STEP, i);

        assert_int_equal(step->nccl.algo, states[i]);
        assert_int_equal(step->flags, RKT_FLAG_SEND);
        assert_int_equal(step->nccl.peer, 2);
        assert_int_equal(step->nccl.datatype, 3);
        assert_int_equal(step->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
        assert_int_equal(step->nccl.seq, 41);
        assert_int_equal(step->clock_id, RKT_CLOCK_MONOTONIC_RAW);
        if (i == 1 || i == 2)
            assert_int_equal(step->start_ns, nth(job, RKT_NCCL_PROXY_STEP, i - 1)->end_ns);
    }
    assert_int_equal(nth(job, RKT_NCCL_PROXY_STEP, 2)->nccl.count, 1000);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_NET_PLUGIN, &net), 1);
    assert_int_equal(net->nccl.seq, 41);
    assert_int_equal(net->nccl.peer, 2);
}

static void foreign_parent(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_PROXY);
    void *coll = coll_enqueued(comm);

    /* Another process of the node asks us to send for it; its handle looks like one of ours. */
    nccl_stop(start_proxy_op(comm, coll, getppid(), 4));
    nccl_stop(start_proxy_op(comm, coll, 0, -1));
}

static void a_parent_of_another_process_is_not_looked_at(void **state)
{
    struct job *job = *state;
    const struct rkt_event *foreign;
    const struct rkt_event *own;

    run(job, RKT_NCCL_LEVEL_PROXY, foreign_parent);
    foreign = nth(job, RKT_NCCL_PROXY_OP, 0);
    assert_int_equal(foreign->nccl.func, RKT_NCCL_FUNC_UNKNOWN);
    assert_int_equal(foreign->nccl.seq, UINT64_MAX);
    assert_int_equal(foreign->nccl.peer, 2);
    own = nth(job, RKT_NCCL_PROXY_OP, 1);
    assert_int_equal(own->nccl.seq, 41);
    assert_int_equal(own->nccl.count, UINT64_MAX); /* a negative number of steps */
}

static void progress_thread(void)
{
    void *comm = begin("ncclProfiler_v5", NCCL_MASK_PROXY);
    void *sleep = nccl_start(comm, RKT_NCCL_EVENT_PROXY_CTRL, NULL);

    nccl_state(sleep, RKT_NCCL_STATE_CTRL_SLEEP, 0);
    nccl_state(sleep, RKT_NCCL_STATE_CTRL_WAKEUP, 0);
    nccl_stop(sleep);
    nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_PROXY_CTRL, NULL)); /* a turn of its loop */
}

static void the_progress_threads_turns_without_news_are_not_recorded(void **state)
{
    struct job *job = *state;
    const struct rkt_event *control;

    run(job, RKT_NCCL_LEVEL_PROXY, progress_thread);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_CTRL, &control), 1);
    assert_int_equal(control->nccl.algo, RKT_NCCL_STATE_CTRL_SLEEP);
}

/* ---- many at once ---- */

#define COMM_COUNT 3
#define ROUNDS 300

static void *progresses(void *arg)
{
    void *comm = arg;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        void *coll = coll_enqueued(comm);
        void *op = start_proxy_op(comm, coll, getpid(), 1);
        void *step = nccl_start(comm, RKT_NCCL_EVENT_PROXY_STEP, op);

        nccl_state(step, RKT_NCCL_STATE_STEP_SEND_WAIT, i);
        one_channel(comm, coll, 0, DEVICE_NS + i, DEVICE_NS + i + 1);
        nccl_stop(step);
        nccl_stop(op);
    }
    return NULL;
}

static void several_communicators(void)
{
    pthread_t threads[COMM_COUNT];
    int masks[COMM_COUNT];

    nccl_v5 = nccl_table("ncclProfiler_v5");
    for (uint64_t i = 0; i < COMM_COUNT; i++)
        pthread_create(&threads[i], NULL, progresses, nccl_init(i + 1, &masks[i]));
    for (size_t i = 0; i < COMM_COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void communicators_progress_side_by_side(void **state)
{
    struct job *job = *state;

    run(job, RKT_NCCL_LEVEL_PROXY, several_communicators);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_STEP, NULL),
                     COMM_COUNT * ROUNDS);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_CH, NULL), COMM_COUNT * ROUNDS);
    assert_int_equal(losses(job, RKT_LOSS_BAD_STAMP), 0); /* channels are the communicator's own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(only_what_was_asked_for_is_recorded),
        JOB_TEST(phases_of_kernels_are_never_asked_for),
        JOB_TEST(a_channel_comes_after_its_collectives_stop_and_knows_it),
        JOB_TEST(a_parent_that_is_not_there_any_more_is_unknown),
        JOB_TEST(a_channel_that_stops_before_it_starts_hurts_no_other),
        JOB_TEST(stamps_that_cannot_be_are_counted),
        JOB_TEST(a_copy_engine_collective_has_its_parts),
        JOB_TEST(each_state_of_a_step_has_its_time),
        JOB_TEST(a_parent_of_another_process_is_not_looked_at),
        JOB_TEST(the_progress_threads_turns_without_news_are_not_recorded),
        JOB_TEST(communicators_progress_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
