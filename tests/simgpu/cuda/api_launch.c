/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: modules, functions, launches. */

#include <cuda.h>
#include <cupti.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/ptx.h"
#include "tests/simgpu/cuda/report.h"
#include "tests/simgpu/cuda/work.h"

#define NO_PARAMETER_NS 5000u /* what a kernel takes whose text names no duration */

struct CUfunc_st {
    struct CUfunc_st *next;
    bool has_duration;
    _Atomic bool has_run;
    char name[]; /* terminated */
};

struct CUmod_st {
    struct CUfunc_st *functions;
};

/* Of simgpuGateNextLaunch; `ended` NULL: none. */
static _Thread_local struct simgpu_gate next_gate;

void simgpuGateNextLaunch(const struct simgpu_gate *gate)
{
    memset(&next_gate, 0, sizeof(next_gate));
    if (gate)
        next_gate = *gate;
}

/* Of simgpuReplayNextLaunch; `make_gate` NULL: none. */
static _Thread_local struct simgpu_replay next_replay;

void simgpuReplayNextLaunch(const struct simgpu_replay *replay)
{
    memset(&next_replay, 0, sizeof(next_replay));
    if (replay)
        next_replay = *replay;
}

static void module_free(CUmodule module)
{
    while (module->functions) {
        struct CUfunc_st *function = module->functions;

        module->functions = function->next;
        free(function);
    }
    free(module);
}

static bool module_add(CUmodule module, const struct sim_ptx_entry *entry)
{
    struct CUfunc_st *function = calloc(1, sizeof(*function) + entry->name_len + 1);

    if (!function)
        return false;
    memcpy(function->name, entry->name, entry->name_len);
    function->has_duration = entry->has_duration;
    function->next = module->functions;
    module->functions = function;
    return true;
}

static CUresult module_load(const struct simgpu_call *call, CUmodule *module, const char *text)
{
    uint64_t start_ns = sim_clock_now_ns();
    struct sim_ptx_entry entry;
    CUmodule made;

    if (!sim_context_current())
        return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    if (!module || !text)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_ptx_is_text(text))
        return CUDA_ERROR_INVALID_IMAGE;
    made = calloc(1, sizeof(*made));
    while (made && sim_ptx_next(&text, &entry)) {
        if (!module_add(made, &entry)) {
            module_free(made);
            made = NULL;
        }
    }
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *module = made;
    sim_report_overhead(call, CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, start_ns);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
    return sim_report_exit(&call, module_load(&call, module, image));
}

static CUresult module_unload(CUmodule module)
{
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (const struct CUfunc_st *function = module->functions; function; function = function->next)
        sim_report_unloaded(function->name);
    module_free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
    return sim_report_exit(&call, module_unload(module));
}

static CUresult module_get_function(CUfunction *function, CUmodule module, const char *name)
{
    if (!function || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (struct CUfunc_st *at = module->functions; at; at = at->next) {
        if (strcmp(at->name, name) == 0) {
            *function = at;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction);
    return sim_report_exit(&call, module_get_function(function, module, name));
}

static CUresult check_launch(const CUlaunchConfig *config, CUfunction function, void **params,
                             void **extra)
{
    bool has_size = config->gridDimX && config->gridDimY && config->gridDimZ && config->blockDimX &&
                    config->blockDimY && config->blockDimZ;

    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (extra)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!has_size || (function->has_duration && !params))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static uint64_t launch_duration_ns(CUfunction function, void **params)
{
    uint64_t duration_ns = NO_PARAMETER_NS;

    if (function->has_duration)
        memcpy(&duration_ns, params[0], sizeof(duration_ns));
    return duration_ns < SIM_DURATION_MAX_NS ? duration_ns : SIM_DURATION_MAX_NS;
}

static void describe(const CUlaunchConfig *config, CUfunction function,
                     struct simgpu_activity *activity)
{
    activity->kind = SIMGPU_KERNEL;
    activity->name = function->name;
    activity->grid[0] = config->gridDimX;
    activity->grid[1] = config->gridDimY;
    activity->grid[2] = config->gridDimZ;
    activity->block[0] = config->blockDimX;
    activity->block[1] = config->blockDimY;
    activity->block[2] = config->blockDimZ;
    activity->shared_bytes = config->sharedMemBytes;
}

/* Functions are loaded when they are first needed. */
static void report_first_run(const struct simgpu_call *call, CUfunction function)
{
    if (!atomic_exchange_explicit(&function->has_run, true, memory_order_relaxed))
        sim_report_overhead(call, CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
                            sim_clock_now_ns());
}

static CUresult launch_submit(const struct simgpu_call *call, const CUlaunchConfig *config,
                              CUfunction function, void **params)
{
    struct sim_work work = {.activity.is_async = true,
                            .op = {.kind = SIM_OP_WORK, .gate = next_gate},
                            .replay = next_replay};
    struct sim_submitted submitted;

    describe(config, function, &work.activity);
    report_first_run(call, function);
    work.op.duration_ns = launch_duration_ns(function, params);
    return sim_work_submit(call, config->hStream, &work, &submitted);
}

/* A launch that fails gives its gate or replay back unused. */
static CUresult launch(const struct simgpu_call *call, const CUlaunchConfig *config,
                       CUfunction function, void **params, void **extra)
{
    CUresult result = check_launch(config, function, params, extra);

    if (result == CUDA_SUCCESS)
        result = launch_submit(call, config, function, params);
    if (result != CUDA_SUCCESS && next_gate.ended)
        next_gate.release(next_gate.arg);
    if (result != CUDA_SUCCESS && next_replay.make_gate)
        next_replay.release(next_replay.arg);
    simgpuGateNextLaunch(NULL);
    simgpuReplayNextLaunch(NULL);
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **params, void **extra)
{
    CUlaunchConfig config = {.gridDimX = grid_x,
                             .gridDimY = grid_y,
                             .gridDimZ = grid_z,
                             .blockDimX = block_x,
                             .blockDimY = block_y,
                             .blockDimZ = block_z,
                             .sharedMemBytes = shared_bytes,
                             .hStream = stream};
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    return sim_report_exit(&call, launch(&call, &config, function, params, extra));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra)
{
    struct simgpu_call call;

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
    return sim_report_exit(&call, launch(&call, config, function, params, extra));
}

static CUresult launch_host_function(const struct simgpu_call *call, CUstream stream,
                                     CUhostFn function, void *user_data)
{
    struct sim_work work = {
        .op = {.kind = SIM_OP_HOST, .host_fn = function, .host_arg = user_data}};
    struct sim_submitted submitted;

    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_work_submit(call, stream, &work, &submitted);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user_data)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc);
    return sim_report_exit(&call, launch_host_function(&call, stream, function, user_data));
}
