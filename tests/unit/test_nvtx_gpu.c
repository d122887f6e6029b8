/* SPDX-License-Identifier: Apache-2.0 */
/* Names that NVTX gives to what CUPTI's records know by number, on a GPU that is a stand-in. */
#include <cuda.h>
#include <stdlib.h>

#include "capture_job.h"
#include "gpu_job.h"
#include "nvtx_host.h"
#include "rkt_test.h"
#include "tests/simgpu/test/gpu.h"

static struct nvtx_host host;

static void named_streams(void)
{
    struct test_gpu *gpu = start_gpu();
    struct rkt_nvtx_resource resource = {.version = 3,
                                         .bytes = sizeof(resource),
                                         .type = RKT_NVTX_RESOURCE_CUDA_STREAM,
                                         .message_type = RKT_NVTX_MESSAGE_ASCII,
                                         .message.ascii = "by resource"};
    CUstream copies;
    CUstream sums;

    must(nvtx_host_load(&host) == 1);
    must(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    must(cuStreamCreate(&sums, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    host.name_custream_a(copies, "copies");
    resource.id.pointer = sums;
    (void)host.resource_create(NULL, &resource);
    must(test_gpu_launch(gpu, copies, 1000) == CUDA_SUCCESS);
    must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void a_stream_is_named_by_the_number_that_its_kernels_have(void **state)
{
    const struct rkt_event *kernel;
    const struct rkt_event *copies;
    const struct rkt_event *sums;
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, named_streams);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, &kernel), 1);
    copies = job_find(&job, RKT_EVENT_NAME, "copies");
    sums = job_find(&job, RKT_EVENT_NAME, "by resource");
    assert_non_null(copies);
    assert_non_null(sums);
    assert_int_equal(copies->type, RKT_NAMED_STREAM);
    assert_int_equal(copies->name.object_id, kernel->kernel.stream_id);
    assert_true(sums->name.object_id != copies->name.object_id);
    job_free(&job);
}

static void streams_without_a_gpu(void)
{
    must(nvtx_host_load(&host) == 1);
    host.name_custream_a((void *)&host, "no CUPTI");
}

static void a_stream_is_not_named_where_cupti_is_off(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, streams_without_a_gpu);
    assert_int_equal(job.wait_status, 0);
    assert_null(job_find(&job, RKT_EVENT_NAME, "no CUPTI"));
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_named_by_the_number_that_its_kernels_have),
        cmocka_unit_test(a_stream_is_not_named_where_cupti_is_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
