/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "analysis/rank_trace.h"

static void kernels_are_classed_by_name(void **state)
{
    static const struct {
        const char *name;
        enum rkt_work_class want;
    } table[] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         RKT_WORK_COMM},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", RKT_WORK_COMM},
        {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", RKT_WORK_COMM},
        {"NCCLDEVKERNEL_x", RKT_WORK_COMM},
        {"ncclSymkDevKernel_AllReduce_AGxLL_R", RKT_WORK_COMM},
        {"void ncclSymkRun<1>()", RKT_WORK_COMM},
        {"void rcclGenericKernel()", RKT_WORK_COMPUTE}, /* only a leading rccl is named */
        {"rcclGenericKernel", RKT_WORK_COMM},
        {"mscclKernel_Sum", RKT_WORK_COMM},
        {"oneccl_allreduce_kernel", RKT_WORK_COMM},
        {"void vllm::cross_device_reduce_1stage<__half, 2>", RKT_WORK_COMM},
        {"nvshmemi_barrier_kernel", RKT_WORK_COMM},
        {"void multimem_all_reduce_kernel<float>", RKT_WORK_COMM},
        {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", RKT_WORK_COMM},
        /* BR-91: AMD names are not communication for beginning with hip */
        {"hipLaunchKernel_add", RKT_WORK_COMPUTE},
        {"hipblasLtMatmul_bf16", RKT_WORK_COMPUTE},
        {"hip_kernel_reduce", RKT_WORK_COMPUTE},
        {"hcclKernel", RKT_WORK_COMPUTE},
        {"ampere_sgemm_128x64_tn", RKT_WORK_COMPUTE},
        {"void at::native::reduce_kernel<512, 1>", RKT_WORK_COMPUTE},
        {"triton_poi_fused_add_0", RKT_WORK_COMPUTE},
        {"", RKT_WORK_COMPUTE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        enum rkt_work_class got = rkt_work_class_of_kernel(table[i].name);

        if (got != table[i].want)
            fail_msg("\"%s\" is of class %d, not %d", table[i].name, got, table[i].want);
    }
}

static void calls_are_classed_by_name(void **state)
{
    static const struct {
        const char *name;
        enum rkt_call_class want;
    } table[] = {
        {"cudaLaunchKernel", RKT_CALL_LAUNCH},
        {"cudaLaunchKernelExC_v11060", RKT_CALL_LAUNCH},
        {"cudaLaunchCooperativeKernel", RKT_CALL_LAUNCH},
        {"cuLaunchKernel", RKT_CALL_LAUNCH},
        {"cuLaunchKernelEx", RKT_CALL_LAUNCH},
        {"cudaGraphLaunch_v10000", RKT_CALL_LAUNCH},
        {"cuGraphLaunch_ptsz", RKT_CALL_LAUNCH},
        {"hipGraphLaunch", RKT_CALL_LAUNCH},
        {"hipLaunchKernel", RKT_CALL_LAUNCH},
        {"hipExtModuleLaunchKernel", RKT_CALL_LAUNCH},
        {"hipModuleLaunchKernel", RKT_CALL_LAUNCH},
        {"cudaMemcpyAsync", RKT_CALL_LAUNCH},
        {"cudaMemcpyPeerAsync", RKT_CALL_LAUNCH},
        {"cuMemcpyHtoDAsync_v2", RKT_CALL_LAUNCH},
        {"hipMemcpyAsync", RKT_CALL_LAUNCH},
        {"cudaMemsetAsync", RKT_CALL_LAUNCH},
        {"cuMemsetD8Async", RKT_CALL_LAUNCH},
        {"hipMemsetAsync", RKT_CALL_LAUNCH},
        {"cudaMemcpy", RKT_CALL_BLOCKING},
        {"cudaMemcpy_v3020", RKT_CALL_BLOCKING},
        {"cuMemcpyDtoH_v2", RKT_CALL_BLOCKING},
        {"hipMemcpyWithStream", RKT_CALL_BLOCKING},
        {"cudaStreamSynchronize", RKT_CALL_BLOCKING},
        {"cudaStreamSynchronize_v3020", RKT_CALL_BLOCKING},
        {"cudaDeviceSynchronize", RKT_CALL_BLOCKING},
        {"cudaEventSynchronize", RKT_CALL_BLOCKING},
        {"cuCtxSynchronize", RKT_CALL_BLOCKING},
        {"cuStreamSynchronize_ptsz", RKT_CALL_BLOCKING},
        {"hipDeviceSynchronize", RKT_CALL_BLOCKING},
        {"hipStreamSynchronize", RKT_CALL_BLOCKING},
        {"cudaMalloc", RKT_CALL_ALLOC},
        {"cudaMallocAsync_v11020", RKT_CALL_ALLOC},
        {"cudaFree", RKT_CALL_ALLOC},
        {"cudaFreeHost", RKT_CALL_ALLOC},
        {"cudaHostAlloc", RKT_CALL_ALLOC},
        {"cuMemAlloc_v2", RKT_CALL_ALLOC},
        {"cuMemSetAccess", RKT_CALL_ALLOC},
        {"cuMemCreate", RKT_CALL_ALLOC},
        {"hipMalloc", RKT_CALL_ALLOC},
        {"hipHostFree", RKT_CALL_ALLOC},
        {"cudaStreamWaitEvent", RKT_CALL_OTHER},
        {"cudaEventRecord", RKT_CALL_OTHER},
        {"cudaEventQuery", RKT_CALL_OTHER},
        {"cudaGraphAddMemcpyNode", RKT_CALL_OTHER},
        {"cudaLaunchHostFunc", RKT_CALL_OTHER},
        {"cudaGetDevice", RKT_CALL_OTHER},
        {"", RKT_CALL_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        enum rkt_call_class got = rkt_call_class_of_name(table[i].name);

        if (got != table[i].want)
            fail_msg("\"%s\" is of class %d, not %d", table[i].name, got, table[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_classed_by_name),
        cmocka_unit_test(calls_are_classed_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
