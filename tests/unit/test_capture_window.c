/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture windows in a process with a GPU, which the stand-ins play: what is recorded is what was
 * launched inside them, and outside CUPTI is not even asked for a buffer.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "rkt_test.h"
#include "tests/simgpu/test/gpu.h"

#define STEPS 13u
#define KERNELS 20u /* of a step, on each of two threads */
#define AHEAD 200u  /* steps from an order to its step: more than the two can be apart */
#define STEPS_MAX 5000u
#define EPOCH_STEPS 7u /* the job numbers its steps again from 0 */
#define MAX_EDGES 16

/* The leak check of gcc 12 crashes over thread-local variables of libraries loaded later. */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* ---- the job ---- */

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static struct test_gpu *start_gpu(void)
{
    void *gpu;

    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(test_gpu_setup(&gpu) == 0);
    return gpu;
}

static void *launch_some(void *arg)
{
    const struct test_gpu *gpu = arg;

    must(cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS);
    for (unsigned i = 0; i < KERNELS; i++)
        must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    return NULL;
}

/* On this thread, and on one that has never launched: CUPTI would ask for a buffer for it. */
static void run_step(struct test_gpu *gpu)
{
    pthread_t other;

    launch_some(gpu);
    must(pthread_create(&other, NULL, launch_some, gpu) == 0);
    must(pthread_join(other, NULL) == 0);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

typedef uint64_t (*request_count_fn)(void);

static request_count_fn find_request_count(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    request_count_fn request_count = NULL;

    must(library != NULL);
    *(void **)&request_count = dlsym(library, "simgpuCuptiRequestCount");
    must(request_count != NULL);
    return request_count;
}

/* wait 2, warmup 1, active 2, twice: traced are steps 2 to 4 and 7 to 9. */
static void scheduled_steps(void)
{
    struct test_gpu *gpu = start_gpu();
    request_count_fn request_count = find_request_count();

    run_step(gpu);
    for (uint64_t step = 0; step < STEPS; step++) {
        bool is_traced = (step >= 2 && step <= 4) || (step >= 7 && step <= 9);
        uint64_t before;

        ranktrace_step(step + 100);
        before = request_count();
        ranktrace_range_push("range");
        ranktrace_phase_begin(RANKTRACE_FORWARD);
        ranktrace_mark("mark");
        run_step(gpu);
        ranktrace_phase_end(RANKTRACE_FORWARD);
        ranktrace_range_pop();
        ranktrace_bucket_end(ranktrace_bucket_begin(0, 1, 1));
        must((request_count() > before) == is_traced);
    }
    ranktrace_step_end();
}

/* ---- what came ---- */

struct edges {
    const struct rkt_event *items[MAX_EDGES];
    size_t count;
};

static struct edges edges_of(const struct job *job)
{
    struct edges edges = {0};

    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind != RKT_EVENT_WINDOW)
            continue;
        assert_true(edges.count < MAX_EDGES);
        edges.items[edges.count++] = &job->events[i];
    }
    return edges;
}

static const struct rkt_event *step_event(const struct job *job, uint64_t step)
{
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind == RKT_EVENT_RANGE && event->type == RKT_RANGE_STEP &&
            event->range.value == step)
            return event;
    }
    fail_msg("step %llu is not marked", (unsigned long long)step);
    return NULL;
}

static void what_is_launched_inside_a_schedule_is_recorded_and_no_more(void **state)
{
    static const struct {
        enum rkt_window_edge edge;
        uint64_t step;
    } expected[] = {
        {RKT_WINDOW_CLOSED, UINT64_MAX}, {RKT_WINDOW_WARMUP, 102}, {RKT_WINDOW_OPENED, 103},
        {RKT_WINDOW_CLOSED, 105},        {RKT_WINDOW_WARMUP, 107}, {RKT_WINDOW_OPENED, 108},
        {RKT_WINDOW_CLOSED, 110},
    };
    struct job *job = *state;
    struct edges edges;

    job->capture.schedule = (struct rkt_schedule){.wait = 2, .warmup = 1, .active = 2, .cycles = 2};
    job_run(job, scheduled_steps);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, NULL), STEPS);
    edges = edges_of(job);
    assert_int_equal(edges.count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < edges.count; i++) {
        assert_int_equal(edges.items[i]->type, expected[i].edge);
        assert_int_equal(edges.items[i]->window.step, expected[i].step);
        if (expected[i].step != UINT64_MAX)
            assert_int_equal(edges.items[i]->start_ns, step_event(job, expected[i].step)->start_ns);
    }
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 6 * 2 * KERNELS);
    assert_int_equal(job_count(job, RKT_EVENT_SYNC, -1, NULL), 6);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_USER, NULL), 6);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_FORWARD, NULL), 6);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 6);
    assert_int_equal(job_count(job, RKT_EVENT_BUCKET, -1, NULL), 6);
}

/* Launched just before the window closes, and still running then. */
static void close_over_a_running_kernel(void)
{
    struct test_gpu *gpu = start_gpu();

    ranktrace_step(0);
    must(test_gpu_launch(gpu, NULL, 20000000) == CUDA_SUCCESS);
    ranktrace_step(1);
    must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void work_that_outlasts_its_window_is_kept(void **state)
{
    struct job *job = *state;
    const struct rkt_event *kernel;

    job->capture.schedule = (struct rkt_schedule){.active = 1, .cycles = 1, .by_step_number = 1};
    job_run(job, close_over_a_running_kernel);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, &kernel), 1);
    assert_true(kernel->end_ns - kernel->start_ns >= 20000000);
}

/* ---- orders ---- */

static void steps_until_killed(void)
{
    struct test_gpu *gpu = start_gpu();

    for (uint64_t step = 0; step < STEPS_MAX; step++) {
        ranktrace_step(step % EPOCH_STEPS);
        must(test_gpu_launch(gpu, NULL, 1000000) == CUDA_SUCCESS);
        must(cuCtxSynchronize() == CUDA_SUCCESS);
    }
}

static struct rkt_region_window_order given;

/* One order, as soon as the process marks steps. */
static void order_to_open(const struct job *job, struct rkt_region *region)
{
    uint64_t step;

    (void)job;
    if (given.is_open || !rkt_region_step(region, &step))
        return;
    given = (struct rkt_region_window_order){.from_step = step + AHEAD, .is_open = true};
    rkt_region_order_window(region, &given);
}

static bool has_recorded(const struct job *job)
{
    return job_count(job, RKT_EVENT_WINDOW, RKT_WINDOW_OPENED, NULL) > 0 &&
           job_count(job, RKT_EVENT_KERNEL, -1, NULL) > 1;
}

static void an_order_opens_at_its_step_after_a_warmup(void **state)
{
    struct job *job = *state;
    struct edges edges;

    memset(&given, 0, sizeof(given));
    job->capture.is_closed = 1;
    job->tend = order_to_open;
    job->should_kill = has_recorded;
    job_run(job, steps_until_killed);
    assert_true(WIFSIGNALED(job->wait_status));
    edges = edges_of(job);
    assert_int_equal(edges.count, 3);
    assert_int_equal(edges.items[0]->type, RKT_WINDOW_CLOSED);
    assert_int_equal(edges.items[1]->type, RKT_WINDOW_WARMUP);
    assert_int_equal(edges.items[1]->window.step, (given.from_step - 1) % EPOCH_STEPS);
    assert_int_equal(edges.items[2]->type, RKT_WINDOW_OPENED);
    assert_int_equal(edges.items[2]->window.step, given.from_step % EPOCH_STEPS);
}

static void launch_until_killed(void)
{
    struct test_gpu *gpu = start_gpu();

    for (;;) {
        must(test_gpu_launch(gpu, NULL, 1000000) == CUDA_SUCCESS);
        must(cuCtxSynchronize() == CUDA_SUCCESS);
    }
}

static void order_to_close_a_step(const struct job *job, struct rkt_region *region)
{
    const struct rkt_region_window_order close = {.from_step = 1000};

    (void)job;
    rkt_region_order_window(region, &close);
}

static bool has_edge(const struct job *job)
{
    return job_count(job, RKT_EVENT_WINDOW, -1, NULL) > 0;
}

static void without_steps_an_order_holds_within_about_a_second(void **state)
{
    struct job *job = *state;
    struct edges edges;

    job->tend = order_to_close_a_step;
    job->should_kill = has_edge;
    job_run(job, launch_until_killed);
    edges = edges_of(job);
    assert_int_equal(edges.count, 1);
    assert_int_equal(edges.items[0]->type, RKT_WINDOW_CLOSED);
    assert_int_equal(edges.items[0]->window.step, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(what_is_launched_inside_a_schedule_is_recorded_and_no_more),
        JOB_TEST(work_that_outlasts_its_window_is_kept),
        JOB_TEST(an_order_opens_at_its_step_after_a_warmup),
        JOB_TEST(without_steps_an_order_holds_within_about_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
