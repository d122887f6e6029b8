/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library as the plugin of the stand-in NCCL, in one process with several devices: what NCCL
 * tells on its own threads, at each level, with all that it gets wrong.
 */
#include <cuda.h>
#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>

#include "capture_job.h"
#include "common/clock.h"
#include "rkt_test.h"

#define DEVICES 3
#define ROUNDS 4
#define REPLAYS 3
#define FLOATS 1024

/* The leak check of gcc 12 crashes over thread-local variables of libraries loaded later. */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static int make_job(void **state)
{
    unsetenv("SIMGPU_NCCL_MODE");
    unsetenv("SIMGPU_NCCL_VERSION");
    return job_set_up(state);
}

/* ---- the job ---- */

static void must(int is_true)
{
    if (!is_true)
        abort();
}

struct devices {
    CUcontext contexts[DEVICES];
    ncclComm_t comms[DEVICES];
};

static void open_devices(struct devices *devices)
{
    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    must(cuInit(0) == CUDA_SUCCESS);
    for (int i = 0; i < DEVICES; i++)
        must(cuDevicePrimaryCtxRetain(&devices->contexts[i], i) == CUDA_SUCCESS);
}

/* All at once, each on a thread of NCCL's. */
static void open_comms(struct devices *devices)
{
    ncclConfig_t config = {.commName = "default_pg:0"};
    ncclUniqueId id;

    must(ncclGetUniqueId(&id) == ncclSuccess);
    must(ncclGroupStart() == ncclSuccess);
    for (int i = 0; i < DEVICES; i++) {
        must(cuCtxSetCurrent(devices->contexts[i]) == CUDA_SUCCESS);
        must(ncclCommInitRankConfig(&devices->comms[i], DEVICES, id, i, &config) == ncclSuccess);
    }
    must(ncclGroupEnd() == ncclSuccess);
}

static void all_reduce(ncclComm_t comm, CUstream stream)
{
    static float buffer[FLOATS];

    must(ncclAllReduce(buffer, buffer, FLOATS, ncclFloat32, ncclSum, comm, stream) == ncclSuccess);
}

static void reduce_everywhere(struct devices *devices, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        must(ncclGroupStart() == ncclSuccess);
        for (int i = 0; i < DEVICES; i++)
            all_reduce(devices->comms[i], NULL);
        must(ncclGroupEnd() == ncclSuccess);
    }
}

static void close_comms(struct devices *devices)
{
    for (int i = 0; i < DEVICES; i++) {
        must(cuCtxSetCurrent(devices->contexts[i]) == CUDA_SUCCESS);
        must(cuCtxSynchronize() == CUDA_SUCCESS);
    }
    for (int i = 0; i < DEVICES; i++)
        must(ncclCommDestroy(devices->comms[i]) == ncclSuccess);
}

/* The plugin is unloaded in between, and loaded again. */
static void two_lives(void)
{
    struct devices devices;

    open_devices(&devices);
    for (int life = 0; life < 2; life++) {
        open_comms(&devices);
        reduce_everywhere(&devices, ROUNDS);
        close_comms(&devices);
    }
}

static void run(struct job *job, enum rkt_nccl_level level, void (*function)(void))
{
    job->capture.nccl_level = level;
    job->config.ring_count = 64; /* NCCL's threads come and go */
    job_run(job, function);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        assert_int_equal(job->losses.ring_full[kind], 0);
    assert_int_equal(job->losses.no_ring_count, 0);
}

static size_t count_type(const struct job *job, enum rkt_nccl_type type)
{
    return job_count(job, RKT_EVENT_NCCL, (int)type, NULL);
}

/* ---- communicators ---- */

static void communicators_made_at_once_are_all_known(void **state)
{
    struct job *job = *state;
    const struct rkt_event *first;
    unsigned int ranks = 0;

    run(job, RKT_NCCL_LEVEL_BASIC, two_lives);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, &first), 2 * DEVICES);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_COMM || event->comm.comm_id != first->comm.comm_id)
            continue;
        ranks |= 1u << event->comm.rank;
        assert_int_equal(event->comm.rank_count, DEVICES);
        assert_int_equal(event->comm.node_count, 1);
        assert_string_equal(job_name(job, event->name_id), "default_pg:0");
    }
    assert_int_equal(ranks, (1u << DEVICES) - 1);
    assert_int_equal(count_type(job, RKT_NCCL_COLL), 2 * ROUNDS * DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_COLL_API), 2 * ROUNDS * DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_KERNEL_LAUNCH), 2 * ROUNDS * DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_GROUP), 0);
    assert_int_equal(count_type(job, RKT_NCCL_KERNEL_CH), 0);
}

static void *split_once(void *arg)
{
    ncclComm_t half = NULL;
    ncclComm_t comm = *(const ncclComm_t *)arg;
    CUcontext context;
    int device;

    must(ncclCommCuDevice(comm, &device) == ncclSuccess);
    must(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    must(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    must(ncclCommSplit(comm, device == 0, 0, &half, NULL) == ncclSuccess);
    must(ncclCommDestroy(half) == ncclSuccess);
    return NULL;
}

static void split_comms(void)
{
    struct devices devices;
    pthread_t threads[DEVICES];

    open_devices(&devices);
    open_comms(&devices);
    for (int i = 0; i < DEVICES; i++)
        pthread_create(&threads[i], NULL, split_once, &devices.comms[i]);
    for (int i = 0; i < DEVICES; i++)
        pthread_join(threads[i], NULL);
    close_comms(&devices);
}

static void a_split_has_a_communicator_of_its_own_for_each_color(void **state)
{
    struct job *job = *state;
    size_t by_size[DEVICES + 1] = {0};

    run(job, RKT_NCCL_LEVEL_BASIC, split_comms);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_COMM)
            continue;
        assert_in_range(event->comm.rank_count, 1, DEVICES);
        by_size[event->comm.rank_count]++;
        assert_int_equal(event->name_id != 0, event->comm.rank_count == DEVICES);
    }
    assert_int_equal(by_size[1], 1);
    assert_int_equal(by_size[2], 2);
    assert_int_equal(by_size[3], DEVICES);
}

/* ---- levels ---- */

static void one_life(void)
{
    struct devices devices;

    open_devices(&devices);
    open_comms(&devices);
    reduce_everywhere(&devices, ROUNDS);
    close_comms(&devices);
}

static void check_channels(const struct job *job, uint8_t flags)
{
    size_t seqs[ROUNDS] = {0};

    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_NCCL || event->type != RKT_NCCL_KERNEL_CH)
            continue;
        assert_int_equal(event->clock_id, RKT_CLOCK_GLOBALTIMER);
        assert_int_equal(event->flags, flags);
        assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
        assert_int_equal(event->nccl.peer, 0);
        assert_int_equal(event->nccl.count, FLOATS);
        assert_in_range(event->nccl.seq, 0, ROUNDS - 1);
        assert_true(flags == 0 ? event->start_ns < event->end_ns
                               : event->start_ns == event->end_ns);
        seqs[event->nccl.seq]++;
    }
    for (size_t seq = 0; seq < ROUNDS; seq++)
        assert_int_equal(seqs[seq], DEVICES);
}

static void channels_belong_to_their_collectives(void **state)
{
    static const char *const VERSIONS[] = {"2.27.7", "2.28.9", "2.30.7", "2.31.2"};
    struct job *job = *state;

    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        job_free(job);
        job_init(job);
        setenv("SIMGPU_NCCL_VERSION", VERSIONS[i], 1);
        run(job, RKT_NCCL_LEVEL_KERNEL, one_life);
        check_channels(job, 0);
        assert_int_equal(count_type(job, RKT_NCCL_PROXY_OP), 0);
        assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
    }
}

static void channels_that_end_at_no_time_have_no_end(void **state)
{
    struct job *job = *state;

    setenv("SIMGPU_NCCL_MODE", "zero-stop", 1);
    run(job, RKT_NCCL_LEVEL_KERNEL, one_life);
    check_channels(job, RKT_FLAG_NO_END);
}

/* Each ends by the handle of the one before, if at all. */
static void channels_that_end_before_they_begin_do_no_harm(void **state)
{
    struct job *job = *state;

    setenv("SIMGPU_NCCL_MODE", "early-stop", 1);
    run(job, RKT_NCCL_LEVEL_KERNEL, two_lives);
    assert_int_equal(count_type(job, RKT_NCCL_COLL), 2 * ROUNDS * DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_KERNEL_CH), 2 * (ROUNDS - 1) * DEVICES);
}

static void network_work_belongs_to_its_collective(void **state)
{
    struct job *job = *state;
    size_t of_state[32] = {0};

    setenv("SIMGPU_NCCL_MODE", "net", 1);
    run(job, RKT_NCCL_LEVEL_PROXY, one_life);
    assert_int_equal(count_type(job, RKT_NCCL_PROXY_OP), 2 * ROUNDS * DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_NET_PLUGIN), 2 * 2 * ROUNDS * DEVICES);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_NCCL || event->type != RKT_NCCL_PROXY_STEP)
            continue;
        assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
        assert_in_range(event->nccl.seq, 0, ROUNDS - 1);
        assert_in_range(event->nccl.algo, 8, 20);
        of_state[event->nccl.algo]++;
    }
    for (size_t i = 0; i < sizeof(of_state) / sizeof(of_state[0]); i++)
        assert_int_equal(of_state[i], (i >= 8 && i <= 12) || i == 20 ? 2 * ROUNDS * DEVICES : 0);
}

static void work_for_another_process_is_of_no_collective_here(void **state)
{
    struct job *job = *state;
    size_t unknown = 0;

    setenv("SIMGPU_NCCL_MODE", "net,pxn", 1);
    run(job, RKT_NCCL_LEVEL_PROXY, one_life);
    for (size_t i = 0; i < job->event_count; i++)
        unknown += job->events[i].kind == RKT_EVENT_NCCL &&
                   job->events[i].type == RKT_NCCL_PROXY_OP &&
                   job->events[i].nccl.seq == UINT64_MAX;
    assert_int_equal(unknown, 2 * ROUNDS * DEVICES);
}

/* ---- graphs ---- */

static void captured(void)
{
    struct devices devices;
    CUstream streams[DEVICES];
    CUgraphExec execs[DEVICES];

    open_devices(&devices);
    open_comms(&devices);
    for (int i = 0; i < DEVICES; i++) {
        CUgraph graph;

        must(cuCtxSetCurrent(devices.contexts[i]) == CUDA_SUCCESS);
        must(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        must(cuStreamBeginCapture(streams[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
        all_reduce(devices.comms[i], streams[i]);
        must(cuStreamEndCapture(streams[i], &graph) == CUDA_SUCCESS);
        must(cuGraphInstantiate(&execs[i], graph, 0) == CUDA_SUCCESS);
        must(cuGraphDestroy(graph) == CUDA_SUCCESS);
    }
    for (int replay = 0; replay < REPLAYS; replay++) {
        for (int i = 0; i < DEVICES; i++) {
            must(cuCtxSetCurrent(devices.contexts[i]) == CUDA_SUCCESS);
            must(cuGraphLaunch(execs[i], streams[i]) == CUDA_SUCCESS);
        }
    }
    for (int i = 0; i < DEVICES; i++) {
        must(cuCtxSetCurrent(devices.contexts[i]) == CUDA_SUCCESS);
        must(cuStreamSynchronize(streams[i]) == CUDA_SUCCESS);
        must(cuGraphExecDestroy(execs[i]) == CUDA_SUCCESS);
    }
    close_comms(&devices);
}

static void a_captured_collective_is_marked_and_told_once(void **state)
{
    struct job *job = *state;
    const struct rkt_event *call;

    run(job, RKT_NCCL_LEVEL_BASIC, captured);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &call), DEVICES);
    assert_int_equal(call->flags, RKT_FLAG_GRAPH);
    assert_int_equal(count_type(job, RKT_NCCL_KERNEL_LAUNCH), DEVICES);
    assert_int_equal(count_type(job, RKT_NCCL_COLL), 0);
}

static void replays_are_told_where_channels_are(void **state)
{
    struct job *job = *state;
    const struct rkt_event *coll;
    const struct rkt_event *call;

    run(job, RKT_NCCL_LEVEL_KERNEL, captured);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &call), DEVICES);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, &coll), DEVICES * REPLAYS);
    assert_int_not_equal(coll->thread_id, call->thread_id); /* the driver's */
    assert_int_equal(count_type(job, RKT_NCCL_KERNEL_CH), DEVICES * REPLAYS);
}

#define WITH_JOB(test) cmocka_unit_test_setup_teardown(test, make_job, job_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_JOB(communicators_made_at_once_are_all_known),
        WITH_JOB(a_split_has_a_communicator_of_its_own_for_each_color),
        WITH_JOB(channels_belong_to_their_collectives),
        WITH_JOB(channels_that_end_at_no_time_have_no_end),
        WITH_JOB(channels_that_end_before_they_begin_do_no_harm),
        WITH_JOB(network_work_belongs_to_its_collective),
        WITH_JOB(work_for_another_process_is_of_no_collective_here),
        WITH_JOB(a_captured_collective_is_marked_and_told_once),
        WITH_JOB(replays_are_told_where_channels_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
