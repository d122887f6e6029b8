/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library in rank 0 of a training job of two ranks, simgpu_train, in all three roles at
 * once: CUDA's injection, NCCL's profiler plugin, and marks. What reaches the sidecar is held
 * against what the program does by its own account.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "rkt_test.h"

#define STEPS 6u
#define LAYERS 4u
#define BUCKETS 3u
#define BUCKET_BYTES 400000u
#define COLLECTIVES ((size_t)STEPS * BUCKETS)
#define KERNELS ((size_t)STEPS * (2 * LAYERS + BUCKETS) + COLLECTIVES)
#define JOIN_NS 5000000 /* how far the two clocks of a host may drift apart during the test */

static struct job job;

static void become_train(const char *rank)
{
    setenv("RANK", rank, 1);
    setenv("LOCAL_RANK", rank, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0",
           1); /* the stand-in driver keeps modules, as drivers do */
    if (!freopen("/dev/null", "w", stdout))
        abort();
    execl(RKT_TEST_TRAIN, RKT_TEST_TRAIN, "--steps", "6", "--layers", "4", "--buckets", "3",
          "--bytes", "400000", "--compute-us", "4000", NULL);
    abort();
}

static void train_with(const char *nccl_version)
{
    char port[16];
    pid_t other;

    snprintf(port, sizeof(port), "%d", 20000 + (int)getpid() % 20000);
    setenv("MASTER_PORT", port, 1);
    setenv("WORLD_SIZE", "2", 1);
    if (nccl_version)
        setenv("SIMGPU_NCCL_VERSION", nccl_version, 1);
    other = fork();
    if (other == 0) { /* rank 1 is not watched */
        unsetenv(RKT_ENV_SOCKET);
        become_train("1");
    }
    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    become_train("0");
}

static void train(void)
{
    train_with(NULL);
}

static int run_train(void **state)
{
    (void)state;
    job_init(&job);
    job_run(&job, train);
    return 0;
}

static int free_job(void **state)
{
    (void)state;
    job_free(&job);
    return 0;
}

/* ---- looking things up ---- */

static bool is_nccl_kernel(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_KERNEL &&
           strstr(job_name(&job, event->name_id), "ncclDevKernel");
}

static const struct rkt_event *call_of(const struct rkt_event *work)
{
    for (size_t i = 0; i < job.event_count; i++) {
        if (job.events[i].kind == RKT_EVENT_API &&
            job.events[i].correlation_id == work->correlation_id)
            return &job.events[i];
    }
    return NULL;
}

static const char *thread_name(uint32_t thread_id)
{
    for (size_t i = 0; i < job.event_count; i++) {
        if (job.events[i].kind == RKT_EVENT_NAME && job.events[i].type == RKT_NAMED_THREAD &&
            job.events[i].name.object_id == thread_id)
            return job_name(&job, job.events[i].name_id);
    }
    return "";
}

static int by_start(const void *left, const void *right)
{
    const struct rkt_event *const *a = left;
    const struct rkt_event *const *b = right;

    return ((*a)->start_ns > (*b)->start_ns) - ((*a)->start_ns < (*b)->start_ns);
}

/* All events for which is_wanted holds, by start; returns how many. */
static size_t collect(bool (*is_wanted)(const struct rkt_event *), const struct rkt_event **out,
                      size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < job.event_count; i++) {
        if (!is_wanted(&job.events[i]))
            continue;
        assert_true(count < max);
        out[count++] = &job.events[i];
    }
    qsort(out, count, sizeof(void *), by_start);
    return count;
}

static bool is_launch(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_NCCL && event->type == RKT_NCCL_KERNEL_LAUNCH;
}

static bool is_coll(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_NCCL && event->type == RKT_NCCL_COLL;
}

static bool is_coll_api(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_NCCL && event->type == RKT_NCCL_COLL_API;
}

static bool is_step(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_RANGE && event->type == RKT_RANGE_STEP;
}

/* ---- tests ---- */

static void the_run_ends_well_and_loses_nothing(void **state)
{
    (void)state;
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_true(job.was_closed);
    assert_int_equal(job.hello.rank, 0);
    assert_int_equal(job.hello.world_size, 2);
    assert_int_equal(job_count(&job, RKT_EVENT_LOSS, -1, NULL), 0);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        assert_int_equal(job.losses.ring_full[kind], 0);
}

static void every_kernel_joins_its_launch(void **state)
{
    size_t collectives = 0;

    (void)state;
    assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, NULL), KERNELS);
    for (size_t i = 0; i < job.event_count; i++) {
        const struct rkt_event *kernel = &job.events[i];
        const struct rkt_event *call;

        if (kernel->kind != RKT_EVENT_KERNEL)
            continue;
        call = call_of(kernel);
        assert_non_null(call);
        assert_int_equal(strncmp(job_name(&job, call->name_id), "cuLaunchKernel", 14), 0);
        assert_int_not_equal(kernel->kernel.shape_id, 0);
        collectives += is_nccl_kernel(kernel);
    }
    assert_int_equal(collectives, COLLECTIVES);
}

static void collectives_are_numbered_and_come_from_autograd(void **state)
{
    const struct rkt_event *comm;
    const struct rkt_event *colls[COLLECTIVES];
    const struct rkt_event *calls[COLLECTIVES];

    (void)state;
    assert_int_equal(job_count(&job, RKT_EVENT_COMM, -1, &comm), 1);
    assert_int_equal(comm->comm.rank, 0);
    assert_int_equal(comm->comm.rank_count, 2);
    assert_int_equal(collect(is_coll, colls, COLLECTIVES), COLLECTIVES);
    assert_int_equal(collect(is_coll_api, calls, COLLECTIVES), COLLECTIVES);
    for (size_t i = 0; i < COLLECTIVES; i++) {
        assert_int_equal(colls[i]->nccl.seq, i);
        assert_int_equal(colls[i]->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
        assert_int_equal(colls[i]->nccl.count, BUCKET_BYTES / 4);
        assert_int_equal(rkt_datatype_bytes(colls[i]->nccl.datatype), 4);
        assert_int_not_equal(colls[i]->nccl.algo, RKT_ALGO_UNKNOWN);
        assert_int_equal(colls[i]->nccl.comm_id, comm->comm.comm_id);
        assert_int_equal(calls[i]->nccl.count, BUCKET_BYTES / 4);
        assert_string_equal(thread_name(calls[i]->thread_id), "pt_autograd_0");
    }
}

/* The clocks differ, so the bracket is looked for where one clock would be in the other. */
static void launch_brackets_enclose_the_launches_of_nccl_kernels(void **state)
{
    const struct rkt_event *launches[COLLECTIVES];
    const struct rkt_event *kernels[COLLECTIVES];
    uint64_t real_minus_raw_ns = rkt_now_real_ns() - rkt_now_raw_ns();
    const struct rkt_event *calls[COLLECTIVES];

    (void)state;
    assert_int_equal(collect(is_launch, launches, COLLECTIVES), COLLECTIVES);
    assert_int_equal(collect(is_nccl_kernel, kernels, COLLECTIVES), COLLECTIVES);
    for (size_t i = 0; i < COLLECTIVES; i++)
        calls[i] = call_of(kernels[i]);
    qsort(calls, COLLECTIVES, sizeof(void *), by_start);
    for (size_t i = 0; i < COLLECTIVES; i++) {
        uint64_t begin_ns = launches[i]->start_ns + real_minus_raw_ns;
        uint64_t end_ns = launches[i]->end_ns + real_minus_raw_ns;

        assert_int_equal(calls[i]->thread_id, launches[i]->thread_id);
        assert_true(begin_ns <= calls[i]->start_ns + JOIN_NS);
        assert_true(calls[i]->end_ns <= end_ns + JOIN_NS);
        assert_true(calls[i]->end_ns - calls[i]->start_ns <= end_ns - begin_ns + 1000);
    }
}

static void steps_phases_and_buckets_are_marked(void **state)
{
    const struct rkt_event *steps[STEPS];

    (void)state;
    assert_int_equal(collect(is_step, steps, STEPS), STEPS);
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(steps[i]->range.value, i);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, RKT_RANGE_FORWARD, NULL), STEPS);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, RKT_RANGE_BACKWARD, NULL), STEPS);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, RKT_RANGE_OPTIMIZER, NULL), STEPS);
    assert_int_equal(job_count(&job, RKT_EVENT_BUCKET, -1, NULL), COLLECTIVES);
    for (size_t i = 0; i < job.event_count; i++) {
        const struct rkt_event *event = &job.events[i];

        if (event->kind != RKT_EVENT_BUCKET)
            continue;
        assert_int_equal(event->bucket.bytes, BUCKET_BYTES);
        assert_true(event->bucket.step < STEPS);
        assert_int_equal(event->flags, 0);
    }
}

/* ---- other releases of NCCL ---- */

static void train_v3(void)
{
    train_with("2.26.2");
}

static void train_v4(void)
{
    train_with("2.27.3");
}

static void train_v6(void)
{
    train_with("2.29.7");
}

static void train_v7(void)
{
    train_with("2.31.2");
}

static void each_release_of_nccl_tells_its_collectives(void **state)
{
    static const struct {
        const char *what;
        void (*train)(void);
        size_t api_count;
        size_t comm_count;
    } cases[] = {
        {"2.26, plugin v3: the stand-in does not tell the communicator", train_v3, 0, 0},
        {"2.27, plugin v4: no API events yet", train_v4, 0, 1},
        {"2.29, plugin v6", train_v6, COLLECTIVES, 1},
        {"2.31, plugin v7", train_v7, COLLECTIVES, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rkt_event *colls[COLLECTIVES];

        job_free(&job);
        job_init(&job);
        job_run(&job, cases[i].train);
        assert_int_equal(job.wait_status, 0);
        assert_string_equal(job.stderr_text, "");
        if (job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, NULL) != cases[i].api_count ||
            job_count(&job, RKT_EVENT_COMM, -1, NULL) != cases[i].comm_count)
            fail_msg("%s: other events than expected", cases[i].what);
        assert_int_equal(collect(is_coll, colls, COLLECTIVES), COLLECTIVES);
        for (size_t n = 0; n < COLLECTIVES; n++) {
            assert_int_equal(colls[n]->nccl.seq, n);
            assert_int_equal(colls[n]->nccl.comm_id != 0, cases[i].comm_count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_ends_well_and_loses_nothing),
        cmocka_unit_test(every_kernel_joins_its_launch),
        cmocka_unit_test(collectives_are_numbered_and_come_from_autograd),
        cmocka_unit_test(launch_brackets_enclose_the_launches_of_nccl_kernels),
        cmocka_unit_test(steps_phases_and_buckets_are_marked),
        cmocka_unit_test(each_release_of_nccl_tells_its_collectives),
    };

    return cmocka_run_group_tests(tests, run_train, free_job);
}
