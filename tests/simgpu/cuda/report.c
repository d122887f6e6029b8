/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/report.h"

#include <stdatomic.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"

static const struct simgpu_hooks *_Atomic current; /* never goes back to NULL */

static const struct simgpu_hooks *hooks_now(void)
{
    /* pairs with the release in simgpuSetHooks: the table's contents */
    return atomic_load_explicit(&current, memory_order_acquire);
}

void simgpuSetHooks(const struct simgpu_hooks *hooks)
{
    atomic_store_explicit(&current, hooks, memory_order_release);
}

void sim_report_enter(struct simgpu_call *call, uint32_t cbid)
{
    const struct simgpu_hooks *table = hooks_now();

    memset(call, 0, sizeof(*call));
    call->cbid = cbid;
    if (!table)
        return;
    table->enter(call);
    call->start_ns = sim_clock_to_realtime_ns(sim_clock_now_ns());
}

CUresult sim_report_exit(const struct simgpu_call *call, CUresult result)
{
    if (call->is_recorded)
        hooks_now()->exit(call, sim_clock_to_realtime_ns(sim_clock_now_ns()), result);
    return result;
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
