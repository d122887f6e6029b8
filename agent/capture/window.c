/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/window.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/capture/capture.h"
#include "agent/capture/cupti_source.h"
#include "agent/capture/nccl_source.h"
#include "agent/capture/steps.h"
#include "agent/capture/visit.h"
#include "common/clock.h"

struct rkt_window {
    /* set by create, then read only */
    bool is_constant; /* only orders change anything */

    _Atomic enum rkt_window_edge edge; /* the last one */

    pthread_mutex_t lock; /* guards the rule, and that one thread at a time switches */
    struct rkt_window_rule rule;
};

struct rkt_window *rkt_window_create(const struct rkt_capture_config *config)
{
    struct rkt_window *window = calloc(1, sizeof(*window));

    if (!window)
        return NULL;
    rkt_window_rule_init(&window->rule, config);
    window->is_constant = rkt_window_rule_is_constant(&window->rule);
    atomic_init(&window->edge, RKT_WINDOW_OPENED);
    if (pthread_mutex_init(&window->lock, NULL) != 0) {
        free(window);
        return NULL;
    }
    return window;
}

void rkt_window_destroy(struct rkt_window *window)
{
    if (!window)
        return;
    (void)pthread_mutex_destroy(&window->lock);
    free(window);
}

static void push_edge(struct rkt_capture *capture, enum rkt_window_edge edge, uint64_t step,
                      uint64_t now_ns)
{
    const struct rkt_thread *thread = rkt_threads_get(capture->threads);
    const struct rkt_event event = {
        .kind = RKT_EVENT_WINDOW,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)edge,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .thread_id = thread ? thread->thread_id : 0,
        .window.step = step,
    };

    (void)rkt_threads_push(capture->threads, &event);
}

/* With the lock held. */
static void apply(struct rkt_capture *capture, enum rkt_window_edge edge, uint64_t step,
                  uint64_t now_ns)
{
    struct rkt_window *window = capture->window;
    enum rkt_window_edge before = atomic_load_explicit(&window->edge, memory_order_relaxed);
    bool is_tracing = edge != RKT_WINDOW_CLOSED;

    if (edge == before)
        return;
    atomic_store_explicit(&window->edge, edge, memory_order_relaxed);
    if (is_tracing != (before != RKT_WINDOW_CLOSED)) {
        rkt_nccl_source_set_open(capture->nccl, is_tracing);
        (void)rkt_cupti_source_set_open(capture->cupti, is_tracing);
    }
    push_edge(capture, edge, step, now_ns);
}

void rkt_window_start(struct rkt_capture *capture)
{
    struct rkt_window *window = capture->window;

    (void)pthread_mutex_lock(&window->lock);
    apply(capture, rkt_window_rule_start(&window->rule), UINT64_MAX, rkt_now_raw_ns());
    (void)pthread_mutex_unlock(&window->lock);
}

void rkt_window_begin_step(struct rkt_capture *capture, const struct rkt_window_step *step,
                           uint64_t now_ns)
{
    struct rkt_window *window = capture->window;
    struct rkt_region_window_order order;
    bool has_order = rkt_region_window_order(capture->region, &order);
    struct rkt_visit visit;

    if (window->is_constant && !has_order)
        return;
    visit = rkt_visit_begin();
    (void)pthread_mutex_lock(&window->lock);
    apply(capture, rkt_window_rule_at(&window->rule, has_order ? &order : NULL, step), step->number,
          now_ns);
    (void)pthread_mutex_unlock(&window->lock);
    rkt_visit_end(visit);
}

void rkt_window_tick(struct rkt_capture *capture)
{
    struct rkt_window *window = capture->window;
    struct rkt_region_window_order order;

    if (rkt_steps_activity(capture->steps) > 0 ||
        !rkt_region_window_order(capture->region, &order) ||
        pthread_mutex_trylock(&window->lock) != 0)
        return;
    if (rkt_steps_activity(capture->steps) == 0)
        apply(capture, rkt_window_rule_now(&window->rule, &order), UINT64_MAX, rkt_now_raw_ns());
    (void)pthread_mutex_unlock(&window->lock);
}

void rkt_window_look(struct rkt_capture *capture)
{
    const struct rkt_window *window = capture->window;
    struct rkt_region_window_order order;
    struct rkt_visit visit;

    if (rkt_steps_activity(capture->steps) > 0 ||
        !rkt_region_window_order(capture->region, &order) ||
        atomic_load_explicit(&window->edge, memory_order_relaxed) ==
            (order.is_open ? RKT_WINDOW_OPENED : RKT_WINDOW_CLOSED) ||
        rkt_cupti_source_is_on(capture->cupti))
        return;
    visit = rkt_visit_begin();
    rkt_window_tick(capture);
    rkt_visit_end(visit);
}

bool rkt_window_is_tracing(const struct rkt_window *window)
{
    return atomic_load_explicit(&window->edge, memory_order_relaxed) != RKT_WINDOW_CLOSED;
}

bool rkt_window_stamp(struct rkt_capture *capture, struct rkt_event *event)
{
    const struct rkt_thread *thread;

    if (rkt_window_is_tracing(capture->window))
        return rkt_threads_stamp(capture->threads, event);
    thread = rkt_threads_get(capture->threads);
    event->thread_id = thread ? thread->thread_id : 0;
    return false;
}
