/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/stamps.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/simgpu/clock/shift.h"
#include "tests/simgpu/cupti/settings.h"

static _Atomic CUpti_TimestampCallbackFunc client_clock;
static _Atomic uint32_t registered_count;
static _Atomic uint32_t spoilt_count; /* records to come */
static _Atomic uint32_t work_count;
static _Atomic uint32_t pool_used;

static uint64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* With the preloaded clock the kernel's is asked, so that nothing is shifted twice. */
uint64_t sim_stamp_now_ns(void)
{
    int64_t shift_ns = sim_shift_ns(read_ns(CLOCK_MONOTONIC));

    if (shift_ns == 0)
        return read_ns(CLOCK_REALTIME);
    return sim_shift_true_realtime_ns() + (uint64_t)shift_ns;
}

uint64_t sim_stamp_of(uint64_t realtime_ns)
{
    CUpti_TimestampCallbackFunc client = atomic_load(&client_clock);

    return client ? client() - (sim_stamp_now_ns() - realtime_ns) : realtime_ns;
}

void sim_stamp_set_client(CUpti_TimestampCallbackFunc client)
{
    atomic_store(&client_clock, client);
    if (client && atomic_fetch_add(&registered_count, 1) > 0)
        atomic_fetch_add(&spoilt_count, 1);
}

static bool take_spoilt(void)
{
    uint32_t count = atomic_load(&spoilt_count);

    while (count > 0 && !atomic_compare_exchange_weak(&spoilt_count, &count, count - 1))
        ;
    return count > 0;
}

/* Kernels of graphs use up the device buffers, which are then missing to all. */
static bool is_pool_empty(bool is_in_graph)
{
    uint32_t pool = sim_settings_pool();

    if (pool == 0)
        return false;
    if (is_in_graph)
        return atomic_fetch_add(&pool_used, 1) >= pool;
    return atomic_load(&pool_used) >= pool;
}

void sim_stamp_refill_pool(void)
{
    atomic_store(&pool_used, 0);
}

static bool is_nth(uint32_t number, uint32_t every)
{
    return every > 0 && number % every == 0;
}

void sim_stamp_work(bool is_in_graph, uint64_t *start_ns, uint64_t *end_ns)
{
    uint32_t number = atomic_fetch_add_explicit(&work_count, 1, memory_order_relaxed) + 1;
    uint32_t garbage_every = sim_settings_garbage_every();
    bool is_lost = is_nth(number, sim_settings_zero_every());

    is_lost = is_pool_empty(is_in_graph) || is_lost;
    is_lost = take_spoilt() || is_lost;
    if (is_lost) {
        *start_ns = 0;
        *end_ns = 0;
        return;
    }
    *start_ns = sim_stamp_of(*start_ns);
    *end_ns = sim_stamp_of(*end_ns);
    if (!is_nth(number, garbage_every))
        return;
    if (number / garbage_every % 2 == 1)
        *end_ns = *start_ns - 1;
    else
        *end_ns = 1ull << 63;
}
