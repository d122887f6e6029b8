/* SPDX-License-Identifier: Apache-2.0 */
/* Times in which CUPTI does not record for us: another tool has it, or it is of no use. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "agent/include/ranktrace.h"
#include "gpu_job.h"
#include "rkt_test.h"

/* ---- other tools ---- */

static _Atomic unsigned thief_count;

static void steal_request(uint8_t **buffer, size_t *size, size_t *record_count)
{
    static _Alignas(8) uint8_t memory[1 << 16];

    thief_count++;
    *buffer = memory;
    *size = sizeof(memory);
    *record_count = 0;
}

static void steal_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
                            size_t valid)
{
    (void)context;
    (void)stream_id;
    memset(buffer, 0, valid < size ? valid : size);
}

static void wait_until_s(const struct timespec *start, time_t seconds)
{
    struct timespec until = {.tv_sec = start->tv_sec + seconds, .tv_nsec = start->tv_nsec};

    must(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
}

/* As torch.profiler begins a session, and does not end it before the process does. */
static void lose_the_callbacks(void)
{
    struct test_gpu *gpu = start_gpu();
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    __typeof__(&cuptiActivityRegisterCallbacks) register_callbacks = NULL;
    struct timespec start;

    must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS);
    if (cupti)
        *(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    clock_gettime(CLOCK_MONOTONIC, &start);
    wait_until_s(&start, 2); /* ours has come: a first record is needed to miss the next */
    must(register_callbacks && register_callbacks(steal_request, steal_completed) == CUPTI_SUCCESS);
    for (unsigned i = 0; i < 100; i++) {
        struct timespec step;

        ranktrace_mark("still here"); /* what shows that the job goes on */
        must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
        must(cuCtxSynchronize() == CUDA_SUCCESS);
        clock_gettime(CLOCK_MONOTONIC, &step);
        if (step.tv_sec > start.tv_sec + 10)
            break;
        step.tv_nsec = 100000000;
        step.tv_sec = 0;
        nanosleep(&step, NULL);
    }
    must(thief_count > 0); /* its session went on until the end: the kinds were on */
}

static void gap_of_another_tools_session_is_marked(void **state)
{
    struct job *job = *state;
    const struct rkt_event *loss;

    job_run(job, lose_the_callbacks);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_CAPTURE_OFF, &loss), 1);
    assert_string_equal(job_name(job, loss->name_id), "another tool had CUPTI");
    assert_true(loss->end_ns - loss->start_ns > 5000000000u);
}

/* ---- unusable times ---- */

#define GRAPH_NODE_COUNT 100u

static CUgraphExec make_graph(const struct test_gpu *gpu, CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;

    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    for (unsigned i = 0; i < GRAPH_NODE_COUNT; i++)
        must(test_gpu_launch(gpu, stream, 1000) == CUDA_SUCCESS);
    must(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    must(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
    return exec;
}

/* Until the sidecar has seen what it waits for, and kills it. */
static void launch_graphs_for_ever(void)
{
    struct test_gpu *gpu = start_gpu();
    CUstream stream;
    CUgraphExec exec;

    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    exec = make_graph(gpu, stream);
    for (;;) {
        must(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
        must(cuStreamSynchronize(stream) == CUDA_SUCCESS);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

/* The first time that is marked as off and has a length; NULL: there is none yet. */
static const struct rkt_event *off_time(const struct job *job)
{
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind == RKT_EVENT_LOSS && event->type == RKT_LOSS_CAPTURE_OFF &&
            event->end_ns > event->start_ns)
            return event;
    }
    return NULL;
}

static bool has_kernels_after_the_alarm(const struct job *job)
{
    const struct rkt_event *off = off_time(job);

    for (size_t i = 0; off && i < job->event_count; i++) {
        if (job->events[i].kind == RKT_EVENT_KERNEL && job->events[i].start_ns > off->end_ns)
            return true;
    }
    return false;
}

static size_t kernels_within(const struct job *job, const struct rkt_event *time)
{
    size_t count = 0;

    for (size_t i = 0; i < job->event_count; i++)
        count += job->events[i].kind == RKT_EVENT_KERNEL &&
                 job->events[i].start_ns > time->start_ns && job->events[i].end_ns < time->end_ns;
    return count;
}

/* Were CUPTI never switched off, or never on again, this would not end. */
static void exhausted_device_memory_is_let_go_and_tried_again(void **state)
{
    struct job *job = *state;
    const struct rkt_event *off;

    setenv("SIMGPU_CUPTI_POOL", "500", 1);
    job->should_kill = has_kernels_after_the_alarm;
    job_run(job, launch_graphs_for_ever);
    unsetenv("SIMGPU_CUPTI_POOL");
    off = off_time(job);
    assert_string_equal(job_name(job, off->name_id), "CUPTI gave unusable times");
    /* Of the graph that was under way then, and of none later. */
    assert_in_range(kernels_within(job, off), 0, GRAPH_NODE_COUNT);
    assert_true(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_BAD_STAMP, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(gap_of_another_tools_session_is_marked),
        JOB_TEST(exhausted_device_memory_is_let_go_and_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
