/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/phase_backward.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/key_index.h"
#include "analysis/layer.h"
#include "analysis/range_name.h"

struct launches {
    struct rkt_launch *items;
    size_t count;
};

struct threads {
    struct rkt_key_index *items; /* by number */
    size_t count;
};

/* What a trace knows of its backward pass. */
struct evidence {
    struct threads named;  /* "pt_autograd_0"; in imports "thread 7 (pt_autograd_0)" */
    struct threads engine; /* that ran autograd's operators, the main thread left out */
    struct rkt_interval_set marks;
    struct rkt_interval_set on_main; /* autograd's operators on the main thread */
};

static void evidence_release(struct evidence *evidence)
{
    free(evidence->named.items);
    free(evidence->engine.items);
    rkt_interval_set_release(&evidence->marks);
    rkt_interval_set_release(&evidence->on_main);
}

static void add_thread(struct threads *threads, uint32_t thread_id)
{
    /* An operator mostly follows one of its own thread. */
    if (threads->count > 0 && threads->items[threads->count - 1].key == thread_id)
        return;
    threads->items[threads->count++] = (struct rkt_key_index){thread_id, 0};
}

static void read_names(const struct rkt_rank_trace *trace, struct evidence *evidence)
{
    for (size_t i = 0; i < trace->named_count; i++) {
        const struct rkt_named *named = &trace->named[i];

        if (named->type == RKT_NAMED_THREAD && named->object_id <= UINT32_MAX &&
            strstr(rkt_strtab_get(trace->names, named->name_id, NULL), "pt_autograd_"))
            add_thread(&evidence->named, (uint32_t)named->object_id);
    }
}

static enum rkt_status read_ranges(const struct rkt_rank_trace *trace, struct evidence *evidence)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        const char *name = rkt_strtab_get(trace->names, range->name_id, NULL);

        if (rkt_range_is_backward(range, name))
            status = rkt_interval_set_add(&evidence->marks, range->start_ns, range->end_ns);
        else if (!rkt_range_is_autograd_op(range, name))
            continue;
        else if (range->thread_id == trace->main_thread_id)
            status = rkt_interval_set_add(&evidence->on_main, range->start_ns, range->end_ns);
        else
            add_thread(&evidence->engine, range->thread_id);
    }
    return status;
}

/* On failure as on success, release is the caller's. */
static enum rkt_status evidence_init(struct evidence *evidence, const struct rkt_rank_trace *trace)
{
    *evidence = (struct evidence){0};
    evidence->named.items = calloc(trace->named_count + 1, sizeof(*evidence->named.items));
    evidence->engine.items = calloc(trace->range_count + 1, sizeof(*evidence->engine.items));
    if (!evidence->named.items || !evidence->engine.items)
        return RKT_ERR_NOMEM;
    read_names(trace, evidence);
    if (read_ranges(trace, evidence) != RKT_OK)
        return RKT_ERR_NOMEM;
    if (rkt_key_index_sort(evidence->named.items, evidence->named.count) != RKT_OK ||
        rkt_key_index_sort(evidence->engine.items, evidence->engine.count) != RKT_OK)
        return RKT_ERR_NOMEM;
    rkt_interval_set_normalise(&evidence->marks);
    rkt_interval_set_normalise(&evidence->on_main);
    return RKT_OK;
}

static bool has_thread(const struct threads *threads, uint32_t thread_id)
{
    size_t at = rkt_key_index_find(threads->items, threads->count, thread_id);

    return at < threads->count && threads->items[at].key == thread_id;
}

/* True when any launch is of one of the threads. */
static bool mark_by_thread(const struct launches *launches, const struct threads *threads)
{
    bool found = false;

    for (size_t i = 0; i < launches->count; i++) {
        struct rkt_launch *launch = &launches->items[i];

        launch->is_backward = has_thread(threads, launch->thread_id);
        found = found || launch->is_backward;
    }
    return found;
}

/* Launches that begin inside the set. `thread_id` NULL: of any thread. */
static bool mark_by_time(const struct launches *launches, const struct rkt_interval_set *set,
                         const uint32_t *thread_id)
{
    struct rkt_layer layer = {set, 0};
    bool found = false;

    for (size_t i = 0; i < launches->count; i++) {
        struct rkt_launch *launch = &launches->items[i];
        int64_t next_ns = INT64_MAX;

        if (thread_id && launch->thread_id != *thread_id)
            continue;
        launch->is_backward = rkt_layers_active(&layer, 1, launch->start_ns, &next_ns) != 0;
        found = found || launch->is_backward;
    }
    return found;
}

enum rkt_status rkt_find_backward(const struct rkt_rank_trace *trace, struct rkt_launch *launches,
                                  size_t count, enum rkt_phase_source *source_out)
{
    const struct launches all = {launches, count};
    struct evidence evidence;
    enum rkt_status status = evidence_init(&evidence, trace);

    *source_out = RKT_PHASES_NONE;
    if (status == RKT_OK) {
        if (mark_by_thread(&all, &evidence.named)) {
            *source_out = RKT_PHASES_THREAD_NAME;
        } else if (mark_by_time(&all, &evidence.marks, NULL)) {
            *source_out = RKT_PHASES_MARKS;
        } else {
            bool on_engine = mark_by_thread(&all, &evidence.engine);
            bool on_main = mark_by_time(&all, &evidence.on_main, &trace->main_thread_id);

            if (on_engine || on_main)
                *source_out = RKT_PHASES_AUTOGRAD_OPS;
        }
    }
    evidence_release(&evidence);
    return status;
}
