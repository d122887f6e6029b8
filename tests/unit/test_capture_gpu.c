/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library in a process with a GPU, which the stand-ins of tests/simgpu play: the driver
 * loads it by CUDA_INJECTION64_PATH, and what reaches the sidecar is held against what was
 * launched.
 */
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/include/ranktrace.h"
#include "common/clock.h"
#include "gpu_job.h"
#include "rkt_test.h"

#define FORWARD_COUNT 300u
#define BACKWARD_COUNT 200u
#define COPY_BYTES 4096u
#define MANY 8000u /* records for eight buffers, and for 16 small rings */

struct autograd {
    struct test_gpu *gpu;
    pthread_barrier_t is_done;
};

/* As PyTorch's: it lives until the process ends. */
static void *launch_backward(void *arg)
{
    struct autograd *autograd = arg;
    struct test_gpu *gpu = autograd->gpu;

    pthread_setname_np(pthread_self(), "pt_autograd_0");
    must(cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS);
    for (unsigned i = 0; i < BACKWARD_COUNT; i++)
        must(cuLaunchKernel(gpu->other_kernel, 16, 2, 1, 64, 2, 1, 512, NULL, NULL, NULL) ==
             CUDA_SUCCESS);
    pthread_barrier_wait(&autograd->is_done);
    for (;;)
        pause();
    return NULL;
}

static void one_step(void)
{
    static char host[COPY_BYTES];
    struct test_gpu *gpu = start_gpu();
    static struct autograd autograd;
    CUdeviceptr device;
    pthread_t thread;

    must(cuMemAlloc(&device, COPY_BYTES) == CUDA_SUCCESS);
    must(cuMemcpyHtoDAsync(device, host, COPY_BYTES, NULL) == CUDA_SUCCESS);
    must(cuMemsetD8Async(device, 1, COPY_BYTES, NULL) == CUDA_SUCCESS);
    for (unsigned i = 0; i < FORWARD_COUNT; i++)
        must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    autograd.gpu = gpu;
    pthread_barrier_init(&autograd.is_done, NULL, 2);
    pthread_create(&thread, NULL, launch_backward, &autograd);
    pthread_barrier_wait(&autograd.is_done);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
    must(cuMemcpyDtoH(host, device, COPY_BYTES) == CUDA_SUCCESS);
    must(cuMemFree(device) == CUDA_SUCCESS);
}

/* ---- what came ---- */

static const struct rkt_event *shape_of(const struct job *job, uint32_t shape_id)
{
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind == RKT_EVENT_SHAPE && job->events[i].shape.shape_id == shape_id)
            return &job->events[i];
    }
    return NULL;
}

static void assert_kernel_is_whole(const struct job *job, const struct rkt_event *kernel)
{
    const struct rkt_event *launch = launch_of(job, kernel);
    const struct rkt_event *shape = shape_of(job, kernel->kernel.shape_id);
    bool is_backward = strcmp(job_name(job, kernel->name_id), "other_kernel") == 0;

    assert_non_null(launch);
    assert_string_equal(job_name(job, launch->name_id), "cuLaunchKernel");
    assert_int_equal(launch->type, RKT_API_DRIVER);
    assert_int_equal(kernel->clock_id, RKT_CLOCK_REALTIME);
    assert_true(launch->start_ns <= kernel->start_ns && kernel->start_ns <= kernel->end_ns);
    assert_non_null(shape);
    assert_int_equal(shape->name_id, kernel->name_id);
    assert_int_equal(shape->shape.grid_x, is_backward ? 16 : 8);
    assert_int_equal(shape->shape.block_x, is_backward ? 64 : 128);
    assert_int_equal(shape->shape.dynamic_shared_bytes, is_backward ? 512 : 0);
    assert_int_equal(strcmp(thread_name(job, launch->thread_id), "pt_autograd_0") == 0,
                     is_backward);
    assert_int_equal(launch->thread_id == job->hello.pid, !is_backward);
}

static void assert_step_is_whole(const struct job *job)
{
    const struct rkt_event *event;
    size_t backward = 0;

    assert_nothing_lost(job);
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind != RKT_EVENT_KERNEL)
            continue;
        assert_kernel_is_whole(job, &job->events[i]);
        backward += strcmp(job_name(job, job->events[i].name_id), "other_kernel") == 0;
    }
    assert_int_equal(backward, BACKWARD_COUNT);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), FORWARD_COUNT + BACKWARD_COUNT);
    assert_int_equal(job_count(job, RKT_EVENT_SHAPE, -1, NULL), 2);
    assert_int_equal(job_count(job, RKT_EVENT_MEMCPY, -1, &event), 2);
    assert_int_equal(event->memcpy.bytes, COPY_BYTES);
    assert_int_equal(job_count(job, RKT_EVENT_MEMSET, -1, NULL), 1);
    assert_int_equal(job_count(job, RKT_EVENT_SYNC, RKT_SYNC_CONTEXT, NULL), 1);
    assert_non_null(job_find(job, RKT_EVENT_API, "cuCtxSynchronize"));
    assert_non_null(job_find(job, RKT_EVENT_API, "cuMemAlloc"));
    assert_null(job_find(job, RKT_EVENT_API, "cuModuleGetFunction")); /* nobody asks for it */
    assert_int_equal(job_count(job, RKT_EVENT_NAME, RKT_NAMED_DEVICE, &event), 1);
    assert_int_equal(event->name.object_id, 0);
    assert_true(strlen(job_name(job, event->name_id)) > 0);
}

static void every_launch_has_its_kernel_thread_and_shape(void **state)
{
    struct job *job = *state;

    job_run(job, one_step);
    assert_step_is_whole(job);
}

static void sleep_in_a_phase(void)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    (void)start_gpu();
    ranktrace_phase_begin(RANKTRACE_BACKWARD);
    (void)nanosleep(&pause, NULL);
    ranktrace_phase_end(RANKTRACE_BACKWARD);
}

/* What the host did not do shows between kernels; the phases then cost no system call. */
static void with_a_gpu_phases_do_not_ask_for_sleep(void **state)
{
    struct job *job = *state;
    const struct rkt_event *phase;

    job_run(job, sleep_in_a_phase);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_BACKWARD, &phase), 1);
    assert_int_equal(phase->range.value, 0);
}

static void records_of_every_cupti_are_read(void **state)
{
    static const char *const versions[] = {"18", "19", "22", "26", "130001", "130300"};

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct job job;

        job_init(&job);
        setenv("SIMGPU_CUPTI_VERSION", versions[i], 1);
        job_run(&job, one_step);
        unsetenv("SIMGPU_CUPTI_VERSION");
        assert_step_is_whole(&job);
        job_free(&job);
    }
}

static void buffers_may_come_late_in_any_order_and_empty(void **state)
{
    static const char *const modes[] = {
        "late", "unordered", "empty", "late,unordered,empty", "first-context", "null-aborts"};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct job job;

        job_init(&job);
        setenv("SIMGPU_CUPTI_MODE", modes[i], 1);
        job_run(&job, one_step);
        unsetenv("SIMGPU_CUPTI_MODE");
        assert_step_is_whole(&job);
        job_free(&job);
    }
}

/* ---- much, and broken ---- */

static void many_launches(void)
{
    struct test_gpu *gpu = start_gpu();

    for (unsigned i = 0; i < MANY; i++)
        must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

/* A buffer holds several times what the ring does: conversion has to wait for the sidecar. */
static void a_burst_larger_than_the_ring_is_kept(void **state)
{
    struct job *job = *state;

    job->config.ring_capacity = 1024;
    job_run(job, many_launches);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), MANY);
}

static void sidecar_that_stands_still_does_not_hold_the_job(void **state)
{
    struct job *job = *state;
    size_t kept;

    job->config.ring_capacity = 256;
    job->does_not_drain = true;
    job_run(job, many_launches);
    assert_int_equal(job->wait_status, 0);
    kept = job_count(job, RKT_EVENT_KERNEL, -1, NULL);
    assert_int_equal(kept + job->losses.ring_full[RKT_EVENT_KERNEL], MANY);
    assert_true(job->losses.ring_full[RKT_EVENT_KERNEL] > 0);
}

static void kill_after_taking_the_only_ring(void)
{
    struct test_gpu *gpu = start_gpu();

    ranktrace_mark("mine"); /* the main thread has the ring, CUPTI's threads get none */
    for (unsigned i = 0; i < FORWARD_COUNT; i++)
        must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
    while (ranktrace_is_active())
        pause();
}

static bool has_counted_all(const struct job *job)
{
    return job->losses.no_ring_count >= (uint64_t)2 * FORWARD_COUNT;
}

static void records_that_find_no_ring_are_counted_one_by_one(void **state)
{
    struct job *job = *state;

    job->config.ring_count = 1;
    job->should_kill = has_counted_all;
    job_run(job, kill_after_taking_the_only_ring);
    assert_true(job->losses.no_ring_count >=
                (uint64_t)2 * FORWARD_COUNT); /* kernels and their calls */
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 0);
}

static void assert_bad_stamps_are_counted(struct job *job, const char *variable)
{
    const struct rkt_event *loss;
    uint64_t lost = 0;

    setenv(variable, "10", 1);
    job_run(job, one_step);
    unsetenv(variable);
    assert_int_equal(job->wait_status, 0);
    for (size_t i = 0; i < job->event_count; i++) {
        loss = &job->events[i];
        assert_true(loss->start_ns <= loss->end_ns);
        if (loss->kind == RKT_EVENT_LOSS && loss->type == RKT_LOSS_BAD_STAMP &&
            loss->loss.lost_kind == RKT_EVENT_KERNEL)
            lost += loss->loss.count;
    }
    assert_true(lost > 0);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL) + lost,
                     FORWARD_COUNT + BACKWARD_COUNT);
}

static void zero_stamps_are_counted_not_kept(void **state)
{
    assert_bad_stamps_are_counted(*state, "SIMGPU_CUPTI_ZERO_EVERY");
}

static void garbage_stamps_are_counted_not_kept(void **state)
{
    assert_bad_stamps_are_counted(*state, "SIMGPU_CUPTI_GARBAGE_EVERY");
}

/* ---- how a process ends ---- */

static void launch_and_wait_to_be_killed(void)
{
    struct test_gpu *gpu = start_gpu();

    for (unsigned i = 0; i < FORWARD_COUNT; i++)
        must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
    for (;;)
        pause();
}

static bool has_all_kernels(const struct job *job)
{
    return job_count(job, RKT_EVENT_KERNEL, -1, NULL) == FORWARD_COUNT;
}

/* Were there no flush, the kernels would never come and this would not end. */
static void records_leave_a_process_that_does_not_end(void **state)
{
    struct job *job = *state;

    job->should_kill = has_all_kernels;
    job_run(job, launch_and_wait_to_be_killed);
    assert_true(WIFSIGNALED(job->wait_status));
    assert_false(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), FORWARD_COUNT);
}

static void launch_until_capture_is_off(void)
{
    struct test_gpu *gpu = start_gpu();

    while (ranktrace_is_active())
        must(test_gpu_launch(gpu, NULL, 1000000) == CUDA_SUCCESS &&
             cuCtxSynchronize() == CUDA_SUCCESS);
    must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void death_of_the_sidecar_turns_capture_off_with_one_line(void **state)
{
    struct job *job = *state;
    const char *end;

    job->does_hang_up = true;
    job_run(job, launch_until_capture_is_off);
    assert_int_equal(job->wait_status, 0);
    assert_non_null(strstr(job->stderr_text, "the sidecar is gone"));
    end = strchr(job->stderr_text, '\n');
    assert_non_null(end);
    assert_string_equal(end + 1, "");
}

static void fork_between_launches(void)
{
    struct test_gpu *gpu = start_gpu();
    int wait_status = -1;
    pid_t pid;

    must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    pid = fork();
    if (pid == 0)
        exit(0); /* exit handlers of the parent's making run here too */
    must(waitpid(pid, &wait_status, 0) == pid && wait_status == 0);
    must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void forked_child_ends_without_touching_the_trace(void **state)
{
    struct job *job = *state;

    job_run(job, fork_between_launches);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 2);
}

static int files[16];

/* They are still open, and nobody has written to them. */
static void expect_files_as_they_were(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct stat file;

        must(fstat(files[i], &file) == 0 && file.st_size == 0);
    }
}

/* As daemons do. What the job then opens gets the numbers that were ours. */
static void close_all_and_reuse_the_numbers(void)
{
    struct test_gpu *gpu;
    int wait_status = -1;
    pid_t pid;

    must(atexit(expect_files_as_they_were) == 0); /* first of all: it runs after ours */
    gpu = start_gpu();
    must(test_gpu_launch(gpu, NULL, 1) == CUDA_SUCCESS);
    must(close_range(STDERR_FILENO + 1, ~0u, 0) == 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        must((files[i] = memfd_create("file", 0)) >= 0);
    pid = fork();
    if (pid == 0) {
        expect_files_as_they_were();
        _exit(0);
    }
    must(waitpid(pid, &wait_status, 0) == pid && wait_status == 0);
}

static void descriptors_of_the_job_under_our_numbers_are_left_alone(void **state)
{
    struct job *job = *state;

    job_run(job, close_all_and_reuse_the_numbers);
    assert_int_equal(job->wait_status, 0);
}

/* ---- off ---- */

static void gpu_that_is_not_wanted_is_left_alone(void **state)
{
    struct job *job = *state;

    job->capture.mask = RKT_CAPTURE_MARKS;
    job_run(job, one_step);
    assert_nothing_lost(job);
    assert_int_equal(job->event_count, 0);
}

static void cupti_without_a_gpu_is_silent(void **state)
{
    struct job *job = *state;

    setenv("SIMGPU_CUPTI_MODE", "no-gpu", 1);
    job_run(job, one_step);
    unsetenv("SIMGPU_CUPTI_MODE");
    assert_nothing_lost(job);
    assert_int_equal(job->event_count, 0);
}

static void process_that_is_not_watched_runs_as_ever(void **state)
{
    struct job *job = *state;

    job->has_no_variable = true;
    job_run(job, one_step);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(every_launch_has_its_kernel_thread_and_shape),
        JOB_TEST(with_a_gpu_phases_do_not_ask_for_sleep),
        cmocka_unit_test(records_of_every_cupti_are_read),
        cmocka_unit_test(buffers_may_come_late_in_any_order_and_empty),
        JOB_TEST(a_burst_larger_than_the_ring_is_kept),
        JOB_TEST(sidecar_that_stands_still_does_not_hold_the_job),
        JOB_TEST(records_that_find_no_ring_are_counted_one_by_one),
        JOB_TEST(zero_stamps_are_counted_not_kept),
        JOB_TEST(garbage_stamps_are_counted_not_kept),
        JOB_TEST(records_leave_a_process_that_does_not_end),
        JOB_TEST(death_of_the_sidecar_turns_capture_off_with_one_line),
        JOB_TEST(forked_child_ends_without_touching_the_trace),
        JOB_TEST(descriptors_of_the_job_under_our_numbers_are_left_alone),
        JOB_TEST(gpu_that_is_not_wanted_is_left_alone),
        JOB_TEST(cupti_without_a_gpu_is_silent),
        JOB_TEST(process_that_is_not_watched_runs_as_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
