/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gap [e, x) before work X, which the host call [l0, l1) launched:
 *
 *   device  ====e                          x====X====
 *   host          sync  input  ...  [l0  l1)
 *               |-- before l0 ------|launch|dep|
 *
 * and with l0 <= e the host was ahead: launch up to l1, then dependency; or device, for a gap so
 * short that it is the device's own pace.
 */
#include "analysis/idle.h"

#include <stdlib.h>

#include "analysis/interval.h"
#include "analysis/key_index.h"
#include "analysis/layer.h"
#include "analysis/range_name.h"
#include "analysis/time_find.h"
#include "common/array.h"

#define DEVICE_GAP_NS 2000

/* What a host thread was doing, in the order in which it counts. */
enum host_state {
    HOST_BLOCKED,
    HOST_ALLOC,
    HOST_INPUT,
    HOST_STATE_COUNT
};

/* Thread 0 holds the records whose thread is unknown: they count for every thread. */
struct host_thread {
    uint32_t thread_id;
    struct rkt_interval_set states[HOST_STATE_COUNT];
};

struct rkt_idle {
    struct host_thread *threads; /* by thread_id; the first is thread 0 */
    size_t thread_count;
    uint32_t main_thread_id;
    int64_t last_gap_end_ns;
};

/* The lead that a blocking call destroyed and that its gap still shows. */
struct sync_tail {
    int64_t from_ns;
    int64_t left_ns;
};

static struct host_thread *find_thread(const struct rkt_idle *idle, uint32_t thread_id)
{
    size_t low = 0;
    size_t high = idle->thread_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (idle->threads[middle].thread_id < thread_id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < idle->thread_count && idle->threads[low].thread_id == thread_id)
        return &idle->threads[low];
    return NULL;
}

/* A thread for each that launches, the main thread and thread 0. */
static enum rkt_status make_threads(struct rkt_idle *idle, const struct rkt_rank_trace *trace)
{
    struct rkt_key_index *items = rkt_array_room(trace->work_count + 2, sizeof(*items));
    size_t count = 0;

    if (!items)
        return RKT_ERR_NOMEM;
    items[count++] = (struct rkt_key_index){0, 0};
    items[count++] = (struct rkt_key_index){trace->main_thread_id, 0};
    for (size_t i = 0; i < trace->work_count; i++) {
        uint32_t thread_id = trace->works[i].launch_thread_id;

        if (trace->works[i].launch_start_ns != RKT_TIME_UNKNOWN &&
            items[count - 1].key != thread_id) /* mostly that of the one before */
            items[count++] = (struct rkt_key_index){thread_id, 0};
    }
    if (rkt_key_index_sort(items, count) != RKT_OK)
        goto free_items;
    for (size_t i = 0; i < count; i++)
        idle->thread_count += i == 0 || items[i].key != items[i - 1].key;
    idle->threads = calloc(idle->thread_count, sizeof(*idle->threads));
    if (idle->threads) {
        for (size_t i = 0, at = 0; i < count; i++) {
            if (i == 0 || items[i].key != items[i - 1].key)
                idle->threads[at++].thread_id = (uint32_t)items[i].key;
        }
    }
free_items:
    free(items);
    return idle->threads ? RKT_OK : RKT_ERR_NOMEM;
}

static enum rkt_status fill_threads(struct rkt_idle *idle, const struct rkt_rank_trace *trace)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->call_count && status == RKT_OK; i++) {
        const struct rkt_call *call = &trace->calls[i];
        bool is_blocking = call->call_class == RKT_CALL_BLOCKING;
        struct host_thread *thread;

        if (!is_blocking && call->call_class != RKT_CALL_ALLOC)
            continue;
        thread = find_thread(idle, call->thread_id);
        if (thread)
            status = rkt_interval_set_add(&thread->states[is_blocking ? HOST_BLOCKED : HOST_ALLOC],
                                          call->start_ns, call->end_ns);
    }
    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        struct host_thread *thread = find_thread(idle, range->thread_id);

        if (thread && rkt_range_is_input(range, rkt_strtab_get(trace->names, range->name_id, NULL)))
            status =
                rkt_interval_set_add(&thread->states[HOST_INPUT], range->start_ns, range->end_ns);
    }
    for (size_t i = 0; i < idle->thread_count; i++) {
        for (size_t state = 0; state < HOST_STATE_COUNT; state++)
            rkt_interval_set_normalise(&idle->threads[i].states[state]);
    }
    return status;
}

enum rkt_status rkt_idle_create(const struct rkt_rank_trace *trace, struct rkt_idle **idle_out,
                                struct rkt_error *err)
{
    struct rkt_idle *idle = calloc(1, sizeof(*idle));

    if (!idle)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for causes of idle time");
    idle->main_thread_id = trace->main_thread_id;
    idle->last_gap_end_ns = INT64_MIN;
    if (make_threads(idle, trace) != RKT_OK || fill_threads(idle, trace) != RKT_OK) {
        rkt_idle_destroy(idle);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for what the host did in %zu calls",
                        trace->call_count);
    }
    *idle_out = idle;
    return RKT_OK;
}

void rkt_idle_rewind(struct rkt_idle *idle)
{
    idle->last_gap_end_ns = INT64_MIN;
}

void rkt_idle_destroy(struct rkt_idle *idle)
{
    if (!idle)
        return;
    for (size_t i = 0; i < idle->thread_count; i++) {
        for (size_t state = 0; state < HOST_STATE_COUNT; state++)
            rkt_interval_set_release(&idle->threads[i].states[state]);
    }
    free(idle->threads);
    free(idle);
}

/* The last call of the set that was entered before the gap began. */
static void tail_of_last(const struct rkt_interval_set *blocked, int64_t gap_start_ns,
                         int64_t *entered_ns, int64_t *returned_ns)
{
    size_t next = 0;

    if (blocked->count > 0)
        next = rkt_time_find(&blocked->items->start_ns, blocked->count, sizeof(*blocked->items),
                             gap_start_ns);
    if (next > 0 && blocked->items[next - 1].start_ns > *entered_ns) {
        *entered_ns = blocked->items[next - 1].start_ns;
        *returned_ns = blocked->items[next - 1].end_ns;
    }
}

/*
 * A call that waits for the device lets it run dry: what the host then needs to launch again is the
 * call's doing, up to the lead that the host had when it entered. That shows in the first
 * gap that is still open when the call returns, and in no later one.
 */
static struct sync_tail find_tail(const struct rkt_idle *idle, const struct host_thread *thread,
                                  int64_t gap_start_ns)
{
    struct sync_tail tail = {0};
    int64_t entered_ns = INT64_MIN;
    int64_t returned_ns = INT64_MIN;

    tail_of_last(&idle->threads[0].states[HOST_BLOCKED], gap_start_ns, &entered_ns, &returned_ns);
    tail_of_last(&thread->states[HOST_BLOCKED], gap_start_ns, &entered_ns, &returned_ns);
    if (entered_ns != INT64_MIN && returned_ns >= idle->last_gap_end_ns) {
        tail.from_ns = returned_ns;
        tail.left_ns = gap_start_ns - entered_ns;
    }
    return tail;
}

static enum rkt_status give(rkt_idle_piece_fn fn, void *ctx, int64_t start_ns, int64_t end_ns,
                            enum rkt_idle_cause cause)
{
    return end_ns > start_ns ? fn(ctx, start_ns, end_ns, cause) : RKT_OK;
}

static enum rkt_status give_host(struct sync_tail *tail, int64_t start_ns, int64_t end_ns,
                                 rkt_idle_piece_fn fn, void *ctx)
{
    int64_t sync_ns = 0;
    enum rkt_status status;

    if (start_ns >= tail->from_ns)
        sync_ns = tail->left_ns < end_ns - start_ns ? tail->left_ns : end_ns - start_ns;
    tail->left_ns -= sync_ns;
    status = give(fn, ctx, start_ns, start_ns + sync_ns, RKT_IDLE_SYNC);
    if (status == RKT_OK)
        status = give(fn, ctx, start_ns + sync_ns, end_ns, RKT_IDLE_HOST);
    return status;
}

/* What threads were doing, side by side; most of them did nothing of a kind all along. */
struct host_layers {
    struct rkt_layer layers[2 * HOST_STATE_COUNT + 1];
    size_t count;
    uint32_t of_state[HOST_STATE_COUNT]; /* bits of layers */
};

static void add_layer(struct host_layers *on, const struct host_thread *thread, int state)
{
    if (thread->states[state].count == 0)
        return;
    on->of_state[state] |= 1u << on->count;
    on->layers[on->count++] = (struct rkt_layer){&thread->states[state], 0};
}

/* The part of a gap before its launch: what the launching thread was doing. */
static enum rkt_status split_host(const struct rkt_idle *idle, const struct host_thread *thread,
                                  int64_t start_ns, int64_t end_ns, rkt_idle_piece_fn fn, void *ctx)
{
    const struct host_thread *unknown = &idle->threads[0];
    const struct host_thread *main_thread = find_thread(idle, idle->main_thread_id);
    struct host_layers on = {.count = 0};
    struct sync_tail tail = find_tail(idle, thread, start_ns);
    enum rkt_status status = RKT_OK;

    for (int state = 0; state < HOST_STATE_COUNT; state++) {
        add_layer(&on, thread, state);
        add_layer(&on, unknown, state);
    }
    add_layer(&on, main_thread, HOST_INPUT);
    rkt_layers_seek(on.layers, on.count, start_ns);
    for (int64_t time_ns = start_ns, next_ns; time_ns < end_ns && status == RKT_OK;
         time_ns = next_ns) {
        uint32_t active;

        next_ns = end_ns;
        active = rkt_layers_active(on.layers, on.count, time_ns, &next_ns);
        if (active & on.of_state[HOST_BLOCKED])
            status = give(fn, ctx, time_ns, next_ns, RKT_IDLE_SYNC);
        else if (active & on.of_state[HOST_ALLOC])
            status = give(fn, ctx, time_ns, next_ns, RKT_IDLE_ALLOC);
        else if (active != 0)
            status = give(fn, ctx, time_ns, next_ns, RKT_IDLE_INPUT);
        else
            status = give_host(&tail, time_ns, next_ns, fn, ctx);
    }
    return status;
}

static int64_t clamp(int64_t ns, int64_t low_ns, int64_t high_ns)
{
    return ns < low_ns ? low_ns : ns > high_ns ? high_ns : ns;
}

static enum rkt_status split(const struct rkt_idle *idle, int64_t start_ns, int64_t end_ns,
                             const struct rkt_work *next, rkt_idle_piece_fn fn, void *ctx)
{
    const struct host_thread *thread = find_thread(idle, next->launch_thread_id);
    int64_t launch_ns = clamp(next->launch_start_ns, start_ns, end_ns);
    int64_t launched_ns = clamp(next->launch_end_ns, launch_ns, end_ns);
    enum rkt_status status = RKT_OK;

    if (next->launch_start_ns == RKT_TIME_UNKNOWN || !thread)
        return give(fn, ctx, start_ns, end_ns, RKT_IDLE_UNKNOWN);
    if (next->launch_end_ns <= start_ns)
        return give(fn, ctx, start_ns, end_ns,
                    end_ns - start_ns < DEVICE_GAP_NS ? RKT_IDLE_DEVICE : RKT_IDLE_DEPENDENCY);
    if (next->launch_start_ns > start_ns)
        status = split_host(idle, thread, start_ns, launch_ns, fn, ctx);
    if (status == RKT_OK)
        status = give(fn, ctx, launch_ns, launched_ns, RKT_IDLE_LAUNCH);
    if (status == RKT_OK)
        status = give(fn, ctx, launched_ns, end_ns, RKT_IDLE_DEPENDENCY);
    return status;
}

enum rkt_status rkt_idle_split(struct rkt_idle *idle, int64_t start_ns, int64_t end_ns,
                               const struct rkt_work *next, rkt_idle_piece_fn fn, void *ctx)
{
    enum rkt_status status = split(idle, start_ns, end_ns, next, fn, ctx);

    idle->last_gap_end_ns = end_ns;
    return status;
}
