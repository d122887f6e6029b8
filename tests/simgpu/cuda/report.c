/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/report.h"

#include <stdatomic.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"

static const struct simgpu_hooks *_Atomic current; /* never goes back to NULL */

static _Thread_local uint32_t runtime_correlation_id; /* of the call of the runtime around */

static const struct simgpu_hooks *hooks_now(void)
{
    /* pairs with the release in simgpuSetHooks: the table's contents */
    return atomic_load_explicit(&current, memory_order_acquire);
}

void simgpuSetHooks(const struct simgpu_hooks *hooks)
{
    atomic_store_explicit(&current, hooks, memory_order_release);
    if (sim_context_exists())
        hooks->made_context();
}

static void enter(struct simgpu_call *call)
{
    const struct simgpu_hooks *table = hooks_now();
    CUcontext context = sim_context_current();

    if (!table)
        return;
    call->context = context;
    call->context_id = context ? context->id : 0;
    table->enter(call);
    call->start_ns = sim_clock_to_realtime_ns(sim_clock_now_ns());
}

static void leave(struct simgpu_call *call, uint32_t result)
{
    if (call->is_recorded || call->is_told)
        hooks_now()->exit(call, sim_clock_to_realtime_ns(sim_clock_now_ns()), result);
}

void sim_report_enter(struct simgpu_call *call, uint32_t cbid)
{
    memset(call, 0, sizeof(*call));
    call->cbid = cbid;
    call->correlation_id = runtime_correlation_id;
    enter(call);
}

CUresult sim_report_exit(struct simgpu_call *call, CUresult result)
{
    leave(call, result);
    return result;
}

void simgpuRuntimeEnter(struct simgpu_call *call, uint32_t cbid)
{
    memset(call, 0, sizeof(*call));
    call->cbid = cbid;
    call->is_runtime = true;
    enter(call);
    runtime_correlation_id = call->correlation_id;
}

void simgpuRuntimeExit(struct simgpu_call *call, uint32_t result)
{
    runtime_correlation_id = 0;
    leave(call, result);
}

void sim_report_context(void)
{
    const struct simgpu_hooks *table = hooks_now();

    if (table)
        table->made_context();
}

void sim_report_unloaded(const char *kernel_name)
{
    const struct simgpu_hooks *table = hooks_now();

    if (table)
        table->unloaded(kernel_name);
}

void *sim_report_reserve(const struct simgpu_call *call, struct simgpu_activity *activity)
{
    const struct simgpu_hooks *table = hooks_now();

    if (!table)
        return NULL;
    activity->correlation_id = call->correlation_id;
    return table->reserve(activity);
}

void sim_report_complete(void *slot, uint64_t start_ns, uint64_t end_ns)
{
    if (slot)
        hooks_now()->complete(slot, sim_clock_to_realtime_ns(start_ns),
                              sim_clock_to_realtime_ns(end_ns));
}

void sim_report_sync(const struct simgpu_call *call, struct simgpu_sync *sync)
{
    const struct simgpu_hooks *table = hooks_now();

    if (!table)
        return;
    sync->correlation_id = call->correlation_id;
    sync->start_ns = sim_clock_to_realtime_ns(sync->start_ns);
    sync->end_ns = sim_clock_to_realtime_ns(sync->end_ns);
    table->sync(sync);
}

void sim_report_memory(const struct simgpu_call *call, struct simgpu_memory *memory)
{
    const struct simgpu_hooks *table = hooks_now();

    if (!table)
        return;
    memory->correlation_id = call->correlation_id;
    memory->time_ns = sim_clock_to_realtime_ns(memory->time_ns);
    table->memory(memory);
}

void sim_report_overhead(const struct simgpu_call *call, uint32_t kind, uint64_t start_ns)
{
    const struct simgpu_hooks *table = hooks_now();
    struct simgpu_overhead overhead = {.kind = kind, .correlation_id = call->correlation_id};

    if (!table)
        return;
    overhead.start_ns = sim_clock_to_realtime_ns(start_ns);
    overhead.end_ns = sim_clock_to_realtime_ns(sim_clock_now_ns());
    table->overhead(&overhead);
}
