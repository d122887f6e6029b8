/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/steps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/capture/capture.h"
#include "agent/capture/visit.h"
#include "agent/capture/window.h"
#include "common/clock.h"
#include "common/step_name.h"

struct rkt_steps {
    _Atomic uint64_t begun_count;
    _Atomic uint64_t step;
    _Atomic uint64_t start_ns; /* 0: no step is open */

    _Atomic uint32_t range_thread_id; /* whose step ranges count; 0: none yet */
    _Atomic bool is_range_open;
    uint64_t range_count; /* that thread's own; its heir goes on with it */
};

struct rkt_steps *rkt_steps_create(void)
{
    return calloc(1, sizeof(struct rkt_steps));
}

void rkt_steps_destroy(struct rkt_steps *steps)
{
    free(steps);
}

/* End the open step, if any, at end_ns; 0: its end was not seen. */
static void end_step(struct rkt_capture *capture, uint64_t end_ns)
{
    struct rkt_steps *steps = capture->steps;
    uint64_t start_ns = atomic_exchange_explicit(&steps->start_ns, 0, memory_order_relaxed);
    struct rkt_event event;

    if (start_ns == 0)
        return;
    event = (struct rkt_event){
        .kind = RKT_EVENT_RANGE,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = RKT_RANGE_STEP,
        .flags = end_ns ? 0 : RKT_FLAG_NO_END,
        .start_ns = start_ns,
        .end_ns = end_ns ? end_ns : start_ns,
        .range.value = atomic_load_explicit(&steps->step, memory_order_relaxed),
    };
    (void)rkt_threads_stamp(capture->threads, &event);
}

/* All that follows from the beginning of a step, however it was told. */
static void begin_step(struct rkt_capture *capture, uint64_t step, uint64_t now_ns)
{
    struct rkt_steps *steps = capture->steps;
    struct rkt_window_step window_step = {.number = step};

    end_step(capture, now_ns);
    atomic_store_explicit(&steps->step, step, memory_order_relaxed);
    atomic_store_explicit(&steps->start_ns, now_ns, memory_order_relaxed);
    window_step.index = atomic_fetch_add_explicit(&steps->begun_count, 1, memory_order_relaxed);
    rkt_region_set_step(capture->region, window_step.index);
    rkt_window_begin_step(capture, &window_step, now_ns);
}

static bool are_ranges(const struct rkt_capture *capture)
{
    return capture->config.step_range[0] != '\0';
}

void rkt_steps_begin(struct rkt_capture *capture, uint64_t step)
{
    if (!are_ranges(capture))
        begin_step(capture, step, rkt_now_raw_ns());
}

void rkt_steps_end(struct rkt_capture *capture)
{
    if (!are_ranges(capture))
        end_step(capture, rkt_now_raw_ns());
}

uint64_t rkt_steps_now(const struct rkt_steps *steps)
{
    return atomic_load_explicit(&steps->step, memory_order_relaxed);
}

uint64_t rkt_steps_activity(const struct rkt_steps *steps)
{
    return atomic_load_explicit(&steps->begun_count, memory_order_relaxed);
}

/* ---- ranges ---- */

/* What follows the step range's name in this name; NULL when it is another one. */
static const char *rest_of_name(const struct rkt_capture *capture, uint32_t name_id,
                                size_t *rest_bytes_out)
{
    const char *prefix = capture->config.step_range;
    size_t prefix_bytes = strlen(prefix);
    const char *name;
    size_t len_bytes;

    if (!rkt_region_name(capture->region, name_id, &name, &len_bytes) || len_bytes < prefix_bytes ||
        memcmp(name, prefix, prefix_bytes) != 0)
        return NULL;
    *rest_bytes_out = len_bytes - prefix_bytes;
    return name + prefix_bytes;
}

static bool has_thread_ended(uint32_t thread_id)
{
    struct rkt_visit visit = rkt_visit_begin();
    bool has_ended = syscall(SYS_tgkill, getpid(), (pid_t)thread_id, 0) != 0 && errno == ESRCH;

    rkt_visit_end(visit);
    return has_ended;
}

/* A step that the ended thread left open is the heir's to end, with its first one. */
static bool inherit(struct rkt_steps *steps, uint32_t from_id, uint32_t thread_id)
{
    if (!has_thread_ended(from_id) ||
        !atomic_compare_exchange_strong_explicit(&steps->range_thread_id, &from_id, thread_id,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    atomic_store_explicit(&steps->is_range_open, false, memory_order_relaxed);
    return true;
}

static bool does_thread_count(struct rkt_steps *steps, uint32_t thread_id)
{
    uint32_t first = 0;

    return atomic_compare_exchange_strong_explicit(&steps->range_thread_id, &first, thread_id,
                                                   memory_order_relaxed, memory_order_relaxed) ||
           first == thread_id || inherit(steps, first, thread_id);
}

/* Whether a step begins with this name here; it has begun then. */
static bool begin_by_name(struct rkt_capture *capture, uint32_t thread_id, uint32_t name_id,
                          uint64_t now_ns)
{
    struct rkt_steps *steps = capture->steps;
    size_t rest_bytes;
    const char *rest = are_ranges(capture) ? rest_of_name(capture, name_id, &rest_bytes) : NULL;

    if (!rest || thread_id == 0 || !does_thread_count(steps, thread_id) ||
        atomic_load_explicit(&steps->is_range_open, memory_order_relaxed))
        return false;
    begin_step(capture, rkt_step_name_number(rest, rest_bytes, steps->range_count), now_ns);
    steps->range_count++;
    return true;
}

bool rkt_steps_range_pushed(struct rkt_capture *capture, uint32_t thread_id, uint32_t name_id,
                            uint64_t now_ns)
{
    if (!begin_by_name(capture, thread_id, name_id, now_ns))
        return false;
    atomic_store_explicit(&capture->steps->is_range_open, true, memory_order_relaxed);
    return true;
}

void rkt_steps_range_popped(struct rkt_capture *capture, uint64_t now_ns)
{
    atomic_store_explicit(&capture->steps->is_range_open, false, memory_order_relaxed);
    end_step(capture, now_ns);
}

void rkt_steps_marked(struct rkt_capture *capture, uint32_t thread_id, uint32_t name_id,
                      uint64_t now_ns)
{
    (void)begin_by_name(capture, thread_id, name_id, now_ns);
}

void rkt_steps_close(struct rkt_capture *capture)
{
    end_step(capture, 0);
}
