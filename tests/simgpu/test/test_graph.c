/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in driver: what is captured runs when its graph is launched, and as the streams would
 * have run it. Times are the model's own. */

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/simgpu/hooks.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull

static CUstream new_stream(void)
{
    CUstream stream;

    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUevent new_event(void)
{
    CUevent event;

    assert_cuda(cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

static void begin(CUstream stream)
{
    assert_cuda(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

static CUgraphExec end(CUstream stream)
{
    CUgraphExec exec;
    CUgraph graph;

    assert_cuda(cuStreamEndCapture(stream, &graph));
    assert_cuda(cuGraphInstantiate(&exec, graph, 0));
    assert_cuda(cuGraphDestroy(graph));
    return exec;
}

/* How long one launch takes on the device, whatever the machine is busy with. */
static float launch_ms(const struct test_gpu *gpu, CUgraphExec exec, CUstream stream)
{
    CUevent before = new_event();
    CUevent after = new_event();
    float ms;

    assert_cuda(test_gpu_hold(gpu, stream));
    assert_cuda(cuEventRecord(before, stream));
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(cuEventRecord(after, stream));
    test_gpu_let_go();
    assert_cuda(cuStreamSynchronize(stream));
    assert_cuda(cuEventElapsedTime(&ms, before, after));
    assert_cuda(cuEventDestroy(before));
    assert_cuda(cuEventDestroy(after));
    return ms;
}

static void count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;

    assert_cuda(cuStreamIsCapturing(stream, &status));
    return status;
}

static void captured_work_runs_at_each_launch_and_not_before(void **state)
{
    static _Atomic int count;
    CUstream stream = new_stream();
    CUgraphExec exec;

    begin(stream);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_cuda(test_gpu_launch(*state, stream, 2 * MS));
    assert_cuda(cuLaunchHostFunc(stream, count_up, &count));
    assert_cuda(test_gpu_launch(*state, stream, 3 * MS));
    exec = end(stream);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_cuda(cuStreamSynchronize(stream));
    assert_int_equal(count, 0);
    for (int i = 1; i <= 3; i++) {
        float ms = launch_ms(*state, exec, stream);

        assert_true(ms >= 5.0F && ms < 5.1F);
        assert_int_equal(count, i);
    }
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuStreamDestroy(stream));
}

/* main: 1 ms, fork, 4 ms, join; side: 10 ms after the fork. */
static CUgraphExec capture_two_streams(const struct test_gpu *gpu, CUstream main_stream,
                                       CUstream side)
{
    CUevent forked = new_event();
    CUevent joined = new_event();

    begin(main_stream);
    assert_cuda(test_gpu_launch(gpu, main_stream, 1 * MS));
    assert_cuda(cuEventRecord(forked, main_stream));
    assert_cuda(cuStreamWaitEvent(side, forked, 0));
    assert_int_equal(status_of(side), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_cuda(test_gpu_launch(gpu, side, 10 * MS));
    assert_cuda(cuEventRecord(joined, side));
    assert_cuda(test_gpu_launch(gpu, main_stream, 4 * MS));
    assert_cuda(cuStreamWaitEvent(main_stream, joined, 0));
    assert_int_equal(cuEventQuery(joined), CUDA_ERROR_CAPTURED_EVENT);
    assert_cuda(cuEventDestroy(forked));
    assert_cuda(cuEventDestroy(joined));
    return end(main_stream);
}

static void streams_of_a_capture_run_side_by_side_again(void **state)
{
    CUstream main_stream = new_stream();
    CUstream side = new_stream();
    CUgraphExec exec = capture_two_streams(*state, main_stream, side);

    assert_int_equal(status_of(side), CU_STREAM_CAPTURE_STATUS_NONE);
    for (int i = 0; i < 2; i++) {
        float ms = launch_ms(*state, exec, main_stream);

        assert_true(ms >= 11.0F && ms < 11.1F);
    }
    assert_cuda(cuStreamDestroy(side));
    assert_true(launch_ms(*state, exec, main_stream) >=
                11.0F); /* it needs the captured stream no more */
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuStreamDestroy(main_stream));
}

static void launches_of_one_graph_follow_one_another(void **state)
{
    CUstream one = new_stream();
    CUstream two = new_stream();
    CUevent before = new_event();
    CUevent after = new_event();
    CUgraphExec exec;
    float ms;

    begin(one);
    assert_cuda(test_gpu_launch(*state, one, 5 * MS));
    exec = end(one);
    assert_cuda(cuEventRecord(before, one));
    assert_cuda(cuGraphLaunch(exec, one));
    assert_cuda(cuGraphLaunch(exec, two));
    assert_cuda(cuEventRecord(after, two));
    assert_cuda(cuCtxSynchronize());
    assert_cuda(cuEventElapsedTime(&ms, before, after));
    assert_true(ms >= 10.0F);
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuEventDestroy(before));
    assert_cuda(cuEventDestroy(after));
    assert_cuda(cuStreamDestroy(one));
    assert_cuda(cuStreamDestroy(two));
}

static void a_capture_that_cannot_be_a_graph_is_refused(void **state)
{
    CUstream main_stream = new_stream();
    CUstream side = new_stream();
    CUevent inside = new_event();
    CUevent outside = new_event();
    CUgraph graph;

    assert_cuda(cuEventRecord(outside, side));
    begin(main_stream);
    assert_int_equal(cuStreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_cuda(cuEventRecord(inside, main_stream));
    assert_cuda(cuStreamWaitEvent(side, inside, 0));
    assert_cuda(test_gpu_launch(*state, side, 1000));
    assert_int_equal(cuStreamEndCapture(main_stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(graph);
    begin(main_stream);
    assert_int_equal(cuStreamWaitEvent(main_stream, outside, 0),
                     CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    assert_int_equal(cuStreamEndCapture(main_stream, &graph),
                     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(main_stream);
    assert_int_equal(cuStreamSynchronize(main_stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(status_of(main_stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(main_stream, &graph),
                     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_cuda(cuCtxSynchronize());
    assert_cuda(cuEventDestroy(inside));
    assert_cuda(cuEventDestroy(outside));
    assert_cuda(cuStreamDestroy(main_stream));
    assert_cuda(cuStreamDestroy(side));
}

static CUgraph capture_kernels(const struct test_gpu *gpu, CUstream stream, int count, uint64_t ns)
{
    CUgraph graph;

    begin(stream);
    for (int i = 0; i < count; i++)
        assert_cuda(test_gpu_launch(gpu, stream, ns));
    assert_cuda(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void an_executable_takes_other_parameters_but_no_other_nodes(void **state)
{
    CUstream stream = new_stream();
    CUgraph two = capture_kernels(*state, stream, 2, 1 * MS);
    CUgraph two_longer = capture_kernels(*state, stream, 2, 4 * MS);
    CUgraph three = capture_kernels(*state, stream, 3, 1 * MS);
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec;
    size_t node_count = 0;

    assert_cuda(cuGraphGetNodes(three, NULL, &node_count));
    assert_int_equal(node_count, 3);
    assert_cuda(cuGraphInstantiate(&exec, two, 0));
    assert_int_equal(cuGraphExecUpdate(exec, three, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    assert_true(launch_ms(*state, exec, stream) < 2.1F);
    assert_cuda(cuGraphExecUpdate(exec, two_longer, &info));
    assert_cuda(cuGraphDestroy(two));
    assert_cuda(cuGraphDestroy(two_longer));
    assert_cuda(cuGraphDestroy(three));
    assert_true(launch_ms(*state, exec, stream) >= 8.0F);
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuStreamDestroy(stream));
}

/* A kernel whose end another decides, as the collectives of the stand-in NCCL are. */
struct player {
    int gates;
    int releases;
    _Atomic int ends;
};

static void gate_started(void *arg, uint64_t start_ns)
{
    (void)arg;
    (void)start_ns;
}

static bool gate_ended(void *arg, uint64_t *end_ns)
{
    struct player *player = arg;

    *end_ns = 1; /* long ago */
    atomic_fetch_add(&player->ends, 1);
    return true;
}

static void gate_release(void *arg)
{
    (void)arg;
}

static bool make_gate(void *arg, struct simgpu_gate *gate_out)
{
    struct player *player = arg;

    player->gates++;
    *gate_out = (struct simgpu_gate){
        .arg = player, .started = gate_started, .ended = gate_ended, .release = gate_release};
    return true;
}

static void release(void *arg)
{
    ((struct player *)arg)->releases++;
}

static void a_captured_kernel_gets_a_gate_for_each_launch(void **state)
{
    static struct player player;
    const struct simgpu_replay replay = {
        .arg = &player, .make_gate = make_gate, .release = release};
    CUstream stream = new_stream();
    CUgraphExec exec;

    simgpuReplayNextLaunch(&replay); /* not captured: one gate, and done with */
    assert_cuda(test_gpu_launch(*state, stream, 1000));
    assert_int_equal(player.gates, 1);
    assert_int_equal(player.releases, 1);
    begin(stream);
    simgpuReplayNextLaunch(&replay);
    assert_cuda(test_gpu_launch(*state, stream, 1000));
    exec = end(stream);
    assert_int_equal(player.gates, 1);
    for (int i = 0; i < 3; i++)
        assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(cuStreamSynchronize(stream));
    assert_int_equal(player.gates, 4);
    assert_int_equal(player.ends, 4);
    assert_int_equal(player.releases, 1);
    assert_cuda(cuGraphExecDestroy(exec));
    assert_int_equal(player.releases, 2);
    assert_cuda(cuStreamDestroy(stream));
}

/* A node that is handed over late. */
struct late {
    uint64_t made_ns;
    _Atomic uint64_t start_ns;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void late_started(void *arg, uint64_t start_ns)
{
    atomic_store(&((struct late *)arg)->start_ns, start_ns);
}

static bool late_ended(void *arg, uint64_t *end_ns)
{
    *end_ns = atomic_load(&((struct late *)arg)->start_ns);
    return true;
}

static bool make_late_gate(void *arg, struct simgpu_gate *gate_out)
{
    uint64_t begin_ns = now_ns();
    struct late *late = arg;

    while (now_ns() - begin_ns < 5 * MS)
        ;
    late->made_ns = now_ns();
    *gate_out = (struct simgpu_gate){
        .arg = late, .started = late_started, .ended = late_ended, .release = gate_release};
    return true;
}

static void a_launch_reaches_the_device_as_a_whole(void **state)
{
    static struct late late;
    const struct simgpu_replay replay = {
        .arg = &late, .make_gate = make_late_gate, .release = gate_release};
    CUstream stream = new_stream();
    CUgraphExec exec;

    begin(stream);
    assert_cuda(test_gpu_launch(*state, stream, 1000));
    simgpuReplayNextLaunch(&replay);
    assert_cuda(test_gpu_launch(*state, stream, 1000));
    exec = end(stream);
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(cuStreamSynchronize(stream));
    assert_true(late.start_ns > 0 && late.start_ns < late.made_ns);
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuStreamDestroy(stream));
}

static void *end_elsewhere(void *arg)
{
    CUgraph graph;

    if (cuStreamEndCapture(arg, &graph) != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return NULL;
    return arg;
}

/* Many times as long as the device waits from one look at a gate to the next. */
static void a_held_stream_begins_nothing_before_it_is_let_go(void **state)
{
    CUstream stream = new_stream();
    CUevent before = new_event();
    CUevent after = new_event();
    float ms;

    assert_cuda(test_gpu_hold(*state, stream));
    assert_cuda(cuEventRecord(before, stream));
    assert_int_equal(nanosleep(&(struct timespec){.tv_nsec = 5 * MS}, NULL), 0);
    assert_int_equal(cuEventQuery(before), CUDA_ERROR_NOT_READY);
    assert_cuda(test_gpu_launch(*state, stream, 1 * MS));
    assert_cuda(cuEventRecord(after, stream));
    test_gpu_let_go();
    assert_cuda(cuStreamSynchronize(stream));
    assert_cuda(cuEventElapsedTime(&ms, before, after));
    assert_true(ms >= 1.0F && ms < 1.1F);
    assert_cuda(cuEventDestroy(before));
    assert_cuda(cuEventDestroy(after));
    assert_cuda(cuStreamDestroy(stream));
}

static void a_capture_ends_on_its_own_thread(void **state)
{
    CUstream stream = new_stream();
    pthread_t thread;
    void *result;

    (void)state;
    begin(stream);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, stream), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, stream);
    assert_cuda(cuGraphExecDestroy(end(stream)));
    assert_cuda(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_work_runs_at_each_launch_and_not_before),
        cmocka_unit_test(streams_of_a_capture_run_side_by_side_again),
        cmocka_unit_test(launches_of_one_graph_follow_one_another),
        cmocka_unit_test(a_capture_that_cannot_be_a_graph_is_refused),
        cmocka_unit_test(an_executable_takes_other_parameters_but_no_other_nodes),
        cmocka_unit_test(a_captured_kernel_gets_a_gate_for_each_launch),
        cmocka_unit_test(a_launch_reaches_the_device_as_a_whole),
        cmocka_unit_test(a_held_stream_begins_nothing_before_it_is_let_go),
        cmocka_unit_test(a_capture_ends_on_its_own_thread),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
