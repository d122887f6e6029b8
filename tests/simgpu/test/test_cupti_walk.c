/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A buffer of the stand-in, walked by the real CUPTI of CUDA 13.0: same records at the same places.
 * Skipped (77) where there is no real library of that version.
 */

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/simgpu/hooks.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define BUFFER_BYTES 65536u
#define TEXT_BYTES 65536u

#ifndef SIMGPU_REAL_CUPTI
#define SIMGPU_REAL_CUPTI ""
#endif

static char file_path[] = "/tmp/simgpu-walk-XXXXXX";
static char own_walk[TEXT_BYTES];

static void requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *record_max = 0;
}

/* Keeps the buffer in the file, and how the stand-in itself walks it. */
static void completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    CUpti_Activity *record = NULL;
    FILE *file = fopen(file_path, "we");
    CUptiResult result;
    size_t at = 0;

    (void)context;
    (void)stream_id;
    (void)bytes;
    if (file) {
        fwrite(buffer, 1, valid_bytes, file);
        fclose(file);
    }
    while ((result = cuptiActivityGetNextRecord(buffer, valid_bytes, &record)) == CUPTI_SUCCESS)
        at += (size_t)snprintf(own_walk + at, TEXT_BYTES - at, "%d %zu\n", (int)record->kind,
                               (size_t)((uint8_t *)record - buffer));
    snprintf(own_walk + at, TEXT_BYTES - at, "end %d\n", (int)result);
    free(buffer);
}

/* Kernels that are nodes of a graph; with kind GRAPH_TRACE the launch as a whole. */
static void launch_graph(const struct test_gpu *gpu)
{
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;

    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_cuda(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_cuda(test_gpu_launch(gpu, stream, 1000));
    assert_cuda(cuStreamEndCapture(stream, &graph));
    assert_cuda(cuGraphInstantiate(&exec, graph, 0));
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(cuStreamSynchronize(stream));
    assert_cuda(cuGraphExecDestroy(exec));
    assert_cuda(cuGraphDestroy(graph));
    assert_cuda(cuStreamDestroy(stream));
}

/* As a program of the CUDA runtime launches under a profiler that pushes ids. */
static void launch_by_runtime(const struct test_gpu *gpu)
{
    struct simgpu_call call;

    assert_int_equal(
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1),
        CUPTI_SUCCESS);
    simgpuRuntimeEnter(&call, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    simgpuRuntimeExit(&call, CUDA_SUCCESS);
    assert_int_equal(
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL),
        CUPTI_SUCCESS);
}

static void fill_one_buffer(const struct test_gpu *gpu)
{
    static const CUpti_ActivityKind KINDS[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_DRIVER,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
    static char host[64];
    CUdeviceptr device;

    assert_int_equal(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        assert_int_equal(cuptiActivityEnable(KINDS[i]), CUPTI_SUCCESS);
    assert_cuda(cuMemAlloc(&device, sizeof(host)));
    for (int i = 0; i < 20; i++) {
        assert_cuda(cuMemcpyHtoDAsync(device, host, sizeof(host), NULL));
        assert_cuda(test_gpu_launch(gpu, NULL, 1000));
        assert_cuda(cuMemsetD8Async(device, 1, sizeof(host), NULL));
        assert_cuda(cuStreamSynchronize(NULL));
    }
    assert_cuda(cuMemFree(device));
    launch_by_runtime(gpu);
    launch_graph(gpu);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

static bool own_walk_has(CUpti_ActivityKind kind)
{
    char line[16];

    snprintf(line, sizeof(line), "\n%d ", (int)kind);
    return strstr(own_walk, line) != NULL;
}

static void the_real_library_walks_the_stand_ins_buffer_alike(void **state)
{
    static char real_walk[TEXT_BYTES];
    char command[1024];
    size_t bytes;
    FILE *pipe;
    int fd = mkstemp(file_path);

    assert_true(fd >= 0);
    close(fd);
    fill_one_buffer(*state);
    snprintf(command, sizeof(command), "'%s' '%s' '%s'", SIMGPU_WALK, SIMGPU_REAL_CUPTI, file_path);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): paths of the build */
    assert_non_null(pipe);
    bytes = fread(real_walk, 1, sizeof(real_walk) - 1, pipe);
    real_walk[bytes] = '\0';
    assert_int_equal(pclose(pipe), 0);
    unlink(file_path);
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_MEMCPY));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_MEMSET));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_DRIVER));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_MEMORY2));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_OVERHEAD));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_RUNTIME));
    assert_true(own_walk_has(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
    assert_string_equal(own_walk, real_walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_real_library_walks_the_stand_ins_buffer_alike),
    };

    if (SIMGPU_REAL_CUPTI[0] == '\0') {
        printf("skipped: no libcupti.so.13 of CUDA 13.0 at configure time\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
