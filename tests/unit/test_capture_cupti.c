/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI can tell beyond kernels and copies, and what CUPTI and other tools can do to us: a job
 * on the stand-ins, or on a libcupti that does harm.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "gpu_job.h"
#include "rkt_test.h"

#define KERNEL_COUNT 10u
#define MEMORY_BYTES ((size_t)1 << 20)

static size_t count_named(const struct job *job, enum rkt_event_kind kind, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < job->event_count; i++)
        count +=
            job->events[i].kind == kind && strcmp(job_name(job, job->events[i].name_id), name) == 0;
    return count;
}

/* ---- memory and overhead ---- */

static void take_and_give_back_memory(void)
{
    CUdeviceptr device, pooled;
    void *host;

    (void)start_gpu();
    must(cuMemAlloc(&device, MEMORY_BYTES) == CUDA_SUCCESS);
    must(cuMemAllocAsync(&pooled, 2 * MEMORY_BYTES, NULL) == CUDA_SUCCESS);
    must(cuMemHostAlloc(&host, 3 * MEMORY_BYTES, 0) == CUDA_SUCCESS);
    must(cuMemFreeHost(host) == CUDA_SUCCESS);
    must(cuMemFreeAsync(pooled, NULL) == CUDA_SUCCESS);
    must(cuMemFree(device) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

/* The one record of this operation and size. */
static const struct rkt_event *memory_of(const struct job *job, enum rkt_memory_operation type,
                                         uint64_t bytes)
{
    const struct rkt_event *found = NULL;

    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_MEMORY || event->type != type || event->memory.bytes != bytes)
            continue;
        assert_null(found);
        found = event;
    }
    assert_non_null(found);
    return found;
}

static void memory_is_recorded_with_the_calls_that_wait_for_it(void **state)
{
    static const char *const calls[] = {"cuMemAlloc",    "cuMemAllocAsync", "cuMemHostAlloc",
                                        "cuMemFreeHost", "cuMemFreeAsync",  "cuMemFree"};
    struct job *job = *state;
    const struct rkt_event *taken;
    const struct rkt_event *freed;

    job_run(job, take_and_give_back_memory);
    assert_nothing_lost(job);
    taken = memory_of(job, RKT_MEMORY_ALLOC, MEMORY_BYTES);
    freed = memory_of(job, RKT_MEMORY_FREE, MEMORY_BYTES);
    assert_int_equal(taken->memory.memory_kind, RKT_MEMORY_DEVICE);
    assert_int_equal(taken->memory.address, freed->memory.address);
    assert_int_equal(taken->flags, 0);
    assert_true(taken->start_ns < freed->start_ns);
    assert_string_equal(job_name(job, launch_of(job, taken)->name_id), "cuMemAlloc");
    assert_int_equal(memory_of(job, RKT_MEMORY_ALLOC, 2 * MEMORY_BYTES)->flags, RKT_FLAG_ASYNC);
    assert_int_equal(memory_of(job, RKT_MEMORY_ALLOC, 3 * MEMORY_BYTES)->memory.memory_kind,
                     RKT_MEMORY_PINNED);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        assert_int_equal(count_named(job, RKT_EVENT_API, calls[i]), 1);
}

static void memory_and_overhead_come_only_when_asked_for(void **state)
{
    static const struct {
        uint32_t mask;
        bool has_memory;
        bool has_overhead;
    } cases[] = {{RKT_CAPTURE_CUPTI, false, false},
                 {RKT_CAPTURE_USUAL, true, false},
                 {RKT_CAPTURE_ALL, true, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job;

        job_init(&job);
        job.capture.mask = cases[i].mask;
        job_run(&job, take_and_give_back_memory);
        assert_nothing_lost(&job);
        assert_int_equal(job_count(&job, RKT_EVENT_MEMORY, -1, NULL) > 0, cases[i].has_memory);
        assert_int_equal(job_count(&job, RKT_EVENT_OVERHEAD, -1, NULL) > 0, cases[i].has_overhead);
        job_free(&job);
    }
}

/* ---- graphs ---- */

static void launch_a_graph_twice(void)
{
    struct test_gpu *gpu = start_gpu();
    CUdeviceptr memory;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;

    must(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    must(test_gpu_launch(gpu, stream, 1000) == CUDA_SUCCESS);
    must(cuMemsetD8Async(memory, 0, 100, stream) == CUDA_SUCCESS);
    must(test_gpu_launch(gpu, stream, 1000) == CUDA_SUCCESS);
    must(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    must(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
    must(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    must(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    must(test_gpu_launch(gpu, stream, 1000) == CUDA_SUCCESS);
    must(cuStreamSynchronize(stream) == CUDA_SUCCESS);
}

static void nodes_of_a_graph_are_kernels_that_say_which(void **state)
{
    struct job *job = *state;
    size_t in_graph = 0;

    job_run(job, launch_a_graph_twice);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 5);
    assert_int_equal(job_count(job, RKT_EVENT_MEMSET, -1, NULL), 2);
    assert_int_equal(job_count(job, RKT_EVENT_GRAPH, -1, NULL), 0);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];
        const char *call;

        if (event->kind == RKT_EVENT_MEMSET)
            assert_true(event->memset.graph_id != 0 && event->flags & RKT_FLAG_GRAPH);
        if (event->kind != RKT_EVENT_KERNEL)
            continue;
        call = job_name(job, launch_of(job, event)->name_id);
        in_graph += (event->flags & RKT_FLAG_GRAPH) != 0;
        if (event->flags & RKT_FLAG_GRAPH) {
            assert_string_equal(call, "cuGraphLaunch");
            assert_true(event->kernel.graph_id != 0 && event->kernel.graph_node_id != 0);
        } else {
            assert_string_equal(call, "cuLaunchKernel");
            assert_true(event->kernel.graph_id == 0 && event->kernel.graph_node_id == 0);
        }
    }
    assert_int_equal(in_graph, 4);
    assert_int_equal(count_named(job, RKT_EVENT_API, "cuGraphInstantiateWithFlags"), 1);
}

static void graph_by_launch_is_one_piece(void **state)
{
    struct job *job = *state;
    const struct rkt_event *graph;

    job->capture.graph_level = RKT_GRAPH_LEVEL_LAUNCH;
    job_run(job, launch_a_graph_twice);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_GRAPH, -1, &graph), 2);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 1); /* the one outside */
    assert_int_equal(job_count(job, RKT_EVENT_MEMSET, -1, NULL), 0);
    assert_true(graph->end_ns - graph->start_ns >= 2000);
    assert_int_not_equal(graph->graph.graph_id, 0);
    assert_string_equal(job_name(job, launch_of(job, graph)->name_id), "cuGraphLaunch");
}

/* ---- who and where ---- */

static void *launch_and_end(void *arg)
{
    const struct test_gpu *gpu = arg;

    pthread_setname_np(pthread_self(), "short_lived");
    must(cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS);
    for (unsigned i = 0; i < KERNEL_COUNT; i++)
        must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    return NULL;
}

static void launch_on_a_thread_that_ends(void)
{
    struct test_gpu *gpu = start_gpu();
    pthread_t thread;

    must(pthread_create(&thread, NULL, launch_and_end, gpu) == 0);
    must(pthread_join(thread, NULL) == 0);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void thread_that_ended_before_its_records_came_has_a_name(void **state)
{
    struct job *job = *state;
    const struct rkt_event *kernel;

    job_run(job, launch_on_a_thread_that_ends);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, &kernel), KERNEL_COUNT);
    assert_string_equal(thread_name(job, launch_of(job, kernel)->thread_id), "short_lived");
}

static void launch_some(void)
{
    struct test_gpu *gpu = start_gpu();

    for (unsigned i = 0; i < KERNEL_COUNT; i++)
        must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void device_is_told_from_all_other_gpus(void **state)
{
    struct job *job = *state;
    const struct rkt_event *device;
    const struct rkt_event *name;

    job_run(job, launch_some);
    assert_nothing_lost(job);
    assert_int_equal(job_count(job, RKT_EVENT_DEVICE, -1, &device), 1);
    assert_int_equal(job_count(job, RKT_EVENT_NAME, RKT_NAMED_DEVICE, &name), 1);
    assert_int_equal(device->device.device_id, name->name.object_id);
    assert_int_equal(device->device.uuid_high, 0x73696d6770750000); /* "simgpu" */
    assert_int_equal(device->device.uuid_low, 0);
    assert_int_not_equal(device->device.pci_bus, 0);
}

/* ---- more threads than buffers ---- */

#define CROWD_COUNT 60u /* each fills a buffer of its own; the pool has 48 */

static pthread_barrier_t crowd_has_launched;

static void *launch_and_stay(void *arg)
{
    (void)launch_and_end(arg);
    pthread_barrier_wait(&crowd_has_launched);
    pthread_barrier_wait(&crowd_has_launched); /* until the main thread is here too */
    return NULL;
}

static void launch_on_many_threads(void)
{
    struct test_gpu *gpu = start_gpu();
    pthread_t threads[CROWD_COUNT];

    pthread_barrier_init(&crowd_has_launched, NULL, CROWD_COUNT + 1);
    for (size_t i = 0; i < CROWD_COUNT; i++)
        must(pthread_create(&threads[i], NULL, launch_and_stay, gpu) == 0);
    pthread_barrier_wait(&crowd_has_launched);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
    pthread_barrier_wait(&crowd_has_launched);
    for (size_t i = 0; i < CROWD_COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void records_of_threads_beyond_the_pool_are_lost_and_counted(void **state)
{
    struct job *job = *state;
    uint64_t lost = 0;
    size_t kept;

    job_run(job, launch_on_many_threads);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind == RKT_EVENT_LOSS && job->events[i].type == RKT_LOSS_CUPTI_DROPPED)
            lost += job->events[i].loss.count;
    }
    kept = job_count(job, RKT_EVENT_KERNEL, -1, NULL) +
           count_named(job, RKT_EVENT_API, "cuLaunchKernel");
    assert_true(lost > 0);
    assert_true(kept >= (size_t)40 * KERNEL_COUNT * 2);
    assert_true(kept + lost >= (size_t)CROWD_COUNT * KERNEL_COUNT * 2);
}

/* ---- bad libraries: the one that is mapped already goes first, whatever its name ---- */

static void load_and_launch(const char *path)
{
    must(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
    launch_some();
}

static void launch_with_old_cupti(void)
{
    load_and_launch(RKT_TEST_OLD_CUPTI);
}

static void launch_with_hostile_cupti(void)
{
    load_and_launch(RKT_TEST_HOSTILE_CUPTI);
}

static void assert_one_line(const struct job *job, const char *part)
{
    const char *end = strchr(job->stderr_text, '\n');

    assert_int_equal(job->wait_status, 0);
    assert_non_null(strstr(job->stderr_text, part));
    assert_non_null(end);
    assert_string_equal(end + 1, "");
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 0);
}

static void cupti_that_is_too_old_is_said_in_one_line(void **state)
{
    struct job *job = *state;

    job_run(job, launch_with_old_cupti);
    assert_one_line(job, "libcupti.so is older than CUDA 11");
}

static void cupti_that_refuses_is_said_in_one_line_or_none(void **state)
{
    static const struct {
        const char *code;
        const char *says; /* NULL: nothing, as there is no GPU */
    } cases[] = {{"15", NULL},
                 {"999", NULL},
                 {"39", "another tool has CUPTI (code 39)"},
                 {"14", "another tool has CUPTI (code 14)"},
                 {"35", "CUPTI refused with code 35"},
                 {"12345", "CUPTI refused with code 12345"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job;

        job_init(&job);
        setenv("HOSTILE_CUPTI", cases[i].code, 1);
        job_run(&job, launch_with_hostile_cupti);
        unsetenv("HOSTILE_CUPTI");
        if (cases[i].says)
            assert_one_line(&job, cases[i].says);
        else
            assert_nothing_lost(&job);
        job_free(&job);
    }
}

static void cupti_that_lies_does_not_harm_the_job(void **state)
{
    struct job *job = *state;

    setenv("HOSTILE_CUPTI", "lies", 1);
    job_run(job, launch_with_hostile_cupti);
    unsetenv("HOSTILE_CUPTI");
    assert_int_equal(job->wait_status, 0);
    assert_true(job->was_closed);
    assert_true(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_CUPTI_DROPPED, NULL) > 0);
    assert_int_equal(job_count(job, RKT_EVENT_KERNEL, -1, NULL), 0);
}

/* The walk and the sizes of a library that is otherwise as it should be. */
static void cupti_that_walks_astray_is_followed_no_further(void **state)
{
    static const struct {
        const char *mode;
        bool is_lost; /* else all is there that can be */
    } cases[] = {{"endless", true},
                 {"misaligned", true},
                 {"beyond", false},
                 {"no-record", true},
                 {"too-valid", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job;
        bool has_loss;

        job_init(&job);
        setenv("SIMGPU_CUPTI_MODE", cases[i].mode, 1);
        job_run(&job, launch_some);
        unsetenv("SIMGPU_CUPTI_MODE");
        assert_int_equal(job.wait_status, 0);
        assert_string_equal(job.stderr_text, "");
        has_loss = job_count(&job, RKT_EVENT_LOSS, RKT_LOSS_CUPTI_DROPPED, NULL) > 0;
        print_message("%s: %zu kernels, loss %d\n", cases[i].mode,
                      job_count(&job, RKT_EVENT_KERNEL, -1, NULL), has_loss);
        if (cases[i].is_lost)
            assert_true(has_loss);
        else
            assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, NULL), KERNEL_COUNT);
        job_free(&job);
    }
}

static void cupti_that_fails_in_everything_means_no_gpu(void **state)
{
    static const char *const modes[] = {"no-gpu", "not-initialized", "errors"};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct job job;

        job_init(&job);
        setenv("SIMGPU_CUPTI_MODE", modes[i], 1);
        job_run(&job, launch_some);
        unsetenv("SIMGPU_CUPTI_MODE");
        assert_nothing_lost(&job);
        assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, NULL), 0);
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(memory_is_recorded_with_the_calls_that_wait_for_it),
        cmocka_unit_test(memory_and_overhead_come_only_when_asked_for),
        JOB_TEST(nodes_of_a_graph_are_kernels_that_say_which),
        JOB_TEST(graph_by_launch_is_one_piece),
        JOB_TEST(thread_that_ended_before_its_records_came_has_a_name),
        JOB_TEST(device_is_told_from_all_other_gpus),
        JOB_TEST(records_of_threads_beyond_the_pool_are_lost_and_counted),
        JOB_TEST(cupti_that_is_too_old_is_said_in_one_line),
        cmocka_unit_test(cupti_that_refuses_is_said_in_one_line_or_none),
        cmocka_unit_test(cupti_that_walks_astray_is_followed_no_further),
        cmocka_unit_test(cupti_that_fails_in_everything_means_no_gpu),
        JOB_TEST(cupti_that_lies_does_not_harm_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
