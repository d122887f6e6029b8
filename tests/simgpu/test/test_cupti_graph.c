/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI: graphs node by node, or launch by launch. */

#include <cuda.h>
#include <cupti.h>

#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull
#define KERNEL CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

static CUstream stream;

/* Two kernels, with a set between them. */
static CUgraphExec capture(const struct test_gpu *gpu)
{
    static CUdeviceptr memory;
    CUgraphExec exec;
    CUgraph graph;

    if (!stream) {
        assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        assert_cuda(cuMemAlloc(&memory, 100));
    }
    assert_cuda(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_cuda(test_gpu_launch(gpu, stream, 2 * MS));
    assert_cuda(cuMemsetD8Async(memory, 0, 100, stream));
    assert_cuda(test_gpu_launch(gpu, stream, 3 * MS));
    assert_cuda(cuStreamEndCapture(stream, &graph));
    assert_cuda(cuGraphInstantiate(&exec, graph, 0));
    assert_cuda(cuGraphDestroy(graph));
    return exec;
}

static void capturing_is_calls_without_kernels(void **state)
{
    CUgraphExec exec;

    test_enable(KERNEL);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
    exec = capture(*state);
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_DRIVER), 2);
    assert_int_equal(test_client_count(&test_client, KERNEL), 0);
    assert_cuda(cuGraphExecDestroy(exec));
}

static void each_launch_tells_each_node_and_which_it_is(void **state)
{
    CUgraphExec exec = capture(*state);
    const CUpti_ActivityKernel5 *first;
    const CUpti_ActivityKernel5 *second;
    const CUpti_ActivityAPI *launch;

    test_enable(KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, 1),
                     CUPTI_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_cuda(cuGraphLaunch(exec, stream));
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, KERNEL), 4);
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_MEMSET), 2);
    first = &test_client_record(KERNEL, 0)->graph_kernel;
    second = &test_client_record(KERNEL, 1)->graph_kernel;
    launch = &test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api;
    assert_int_equal(first->end - first->start, 2 * MS);
    assert_int_equal(second->end - second->start, 3 * MS);
    assert_true(first->graphId != 0);
    assert_int_equal(second->graphId, first->graphId);
    assert_int_equal(second->graphNodeId, first->graphNodeId + 2); /* the set is between */
    assert_int_equal(first->correlationId, launch->correlationId);
    assert_int_equal(second->correlationId, launch->correlationId);
    assert_int_equal(test_client_record(KERNEL, 2)->graph_kernel.graphNodeId, first->graphNodeId);
    assert_int_equal(test_client_record(KERNEL, 2)->graph_kernel.correlationId,
                     test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 1)->api.correlationId);
    assert_cuda(cuGraphExecDestroy(exec));
}

static void graph_trace_is_one_record_per_launch_and_none_inside(void **state)
{
    CUgraphExec exec = capture(*state);
    const CUpti_ActivityGraphTrace *graph;

    test_enable(KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_MEMSET);
    test_enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, 1),
                     CUPTI_SUCCESS);
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(test_gpu_launch(*state, stream, 1000)); /* outside of any graph */
    assert_cuda(cuGraphLaunch(exec, stream));
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 2);
    assert_int_equal(test_client_count(&test_client, KERNEL), 1);
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_MEMSET), 0);
    graph = &test_client_record(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0)->graph;
    assert_true(graph->end - graph->start >= 5 * MS && graph->end - graph->start < 6 * MS);
    assert_true(graph->graphId != 0);
    assert_int_equal(graph->correlationId,
                     test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api.correlationId);
    assert_true(test_client_record(KERNEL, 0)->kernel.start >= graph->end);
    assert_int_equal(test_client_record(KERNEL, 0)->graph_kernel.graphId, 0);
    assert_cuda(cuGraphExecDestroy(exec));
}

/* The launch's record holds its buffer back until the last node is over. */
static void a_launch_under_way_is_not_complete(void **state)
{
    CUgraphExec exec = capture(*state);

    test_enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    assert_cuda(test_gpu_hold(*state, stream));
    assert_cuda(cuGraphLaunch(exec, stream));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.completed_count, 0);
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(test_client_record(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0)->graph.end, 0);
    test_gpu_let_go();
    assert_cuda(cuCtxSynchronize());
    assert_cuda(cuGraphExecDestroy(exec));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(capturing_is_calls_without_kernels, test_client_setup),
        cmocka_unit_test_setup(each_launch_tells_each_node_and_which_it_is, test_client_setup),
        cmocka_unit_test_setup(graph_trace_is_one_record_per_launch_and_none_inside,
                               test_client_setup),
        cmocka_unit_test_setup(a_launch_under_way_is_not_complete, test_client_setup),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
