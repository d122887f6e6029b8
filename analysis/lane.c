/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/lane.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/lane_parts.h"
#include "common/array.h"

enum rkt_status rkt_lane_add_piece(struct rkt_lane_draft *draft, int64_t start_ns, int64_t end_ns,
                                   enum rkt_cause cause)
{
    struct rkt_lane_piece *last =
        draft->piece_count > 0 ? &draft->pieces[draft->piece_count - 1] : NULL;

    if (end_ns <= start_ns)
        return RKT_OK;
    if (last && last->cause == cause && last->end_ns == start_ns) {
        last->end_ns = end_ns;
        return RKT_OK;
    }
    if (!rkt_array_reserve((void **)&draft->pieces, &draft->piece_cap, draft->piece_count + 1,
                           sizeof(*draft->pieces)))
        return RKT_ERR_NOMEM;
    draft->pieces[draft->piece_count++] = (struct rkt_lane_piece){start_ns, end_ns, (uint8_t)cause};
    return RKT_OK;
}

enum rkt_status rkt_lane_add_wait(struct rkt_lane_draft *draft, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&draft->waits, &draft->wait_cap, draft->wait_count + 1,
                           sizeof(*draft->waits)))
        return RKT_ERR_NOMEM;
    draft->waits[draft->wait_count++] = (struct rkt_lane_wait){start_ns, end_ns};
    return RKT_OK;
}

enum rkt_status rkt_lane_add_mark(struct rkt_lane_draft *draft, struct rkt_lane_mark mark)
{
    if (!rkt_array_reserve((void **)&draft->marks, &draft->mark_cap, draft->mark_count + 1,
                           sizeof(*draft->marks)))
        return RKT_ERR_NOMEM;
    draft->marks[draft->mark_count++] = mark;
    return RKT_OK;
}

enum rkt_status rkt_lane_add_launch(struct rkt_lane_draft *draft, struct rkt_lane_launch launch)
{
    if (!rkt_array_reserve((void **)&draft->launches, &draft->launch_cap, draft->launch_count + 1,
                           sizeof(*draft->launches)))
        return RKT_ERR_NOMEM;
    draft->launches[draft->launch_count++] = launch;
    return RKT_OK;
}

/* ---- from marks to items ---- */

/* Walks along pieces and waits side by side. */
struct walk {
    const struct rkt_lane_draft *draft;
    int64_t now_ns;
    size_t piece; /* the first that ends after now */
    size_t wait;
};

/* Goes on to the next boundary, to_ns at most, and says what the time until then went to: NONE for
 * waiting. */
static enum rkt_cause walk_on(struct walk *walk, int64_t to_ns)
{
    const struct rkt_lane_draft *draft = walk->draft;
    enum rkt_cause cause = RKT_CAUSE_OTHER; /* outside all pieces nothing is known */

    while (walk->piece < draft->piece_count && draft->pieces[walk->piece].end_ns <= walk->now_ns)
        walk->piece++;
    while (walk->wait < draft->wait_count && draft->waits[walk->wait].end_ns <= walk->now_ns)
        walk->wait++;
    if (walk->piece < draft->piece_count) {
        const struct rkt_lane_piece *piece = &draft->pieces[walk->piece];
        bool is_inside = piece->start_ns <= walk->now_ns;
        int64_t boundary_ns = is_inside ? piece->end_ns : piece->start_ns;

        cause = is_inside ? (enum rkt_cause)piece->cause : cause;
        to_ns = boundary_ns < to_ns ? boundary_ns : to_ns;
    }
    if (walk->wait < draft->wait_count) {
        const struct rkt_lane_wait *wait = &draft->waits[walk->wait];
        bool is_inside = wait->start_ns <= walk->now_ns;
        int64_t boundary_ns = is_inside ? wait->end_ns : wait->start_ns;

        cause = is_inside ? RKT_CAUSE_NONE : cause;
        to_ns = boundary_ns < to_ns ? boundary_ns : to_ns;
    }
    walk->now_ns = to_ns;
    return cause;
}

static void walk_to(struct walk *walk, int64_t to_ns, int64_t own_ns[RKT_CAUSE_OTHER + 1])
{
    while (walk->now_ns < to_ns) {
        int64_t from_ns = walk->now_ns;
        enum rkt_cause cause = walk_on(walk, to_ns);

        own_ns[cause] += walk->now_ns - from_ns;
    }
}

struct items {
    struct rkt_lane_item *items;
    size_t count;
    size_t cap;
    int64_t *at_ns; /* by item: where the lane is after it */
    size_t at_cap;
};

static enum rkt_status append(struct items *items, const struct rkt_lane_item *item, int64_t at_ns)
{
    if (!rkt_array_reserve((void **)&items->items, &items->cap, items->count + 1,
                           sizeof(*items->items)) ||
        !rkt_array_reserve((void **)&items->at_ns, &items->at_cap, items->count + 1,
                           sizeof(*items->at_ns)))
        return RKT_ERR_NOMEM;
    items->at_ns[items->count] = at_ns;
    items->items[items->count++] = *item;
    return RKT_OK;
}

/* What does not fit into one item comes before it in another, in whole 2^32 ns. */
static enum rkt_status add_item(struct items *items, const struct rkt_lane_mark *mark,
                                int64_t at_ns, const int64_t own_ns[RKT_CAUSE_OTHER + 1])
{
    const struct rkt_lane_item nothing = {
        .work = RKT_INDEX_NONE,
        .kind = RKT_REPLAY_WORK,
        .host = {.bound_ns = RKT_REPLAY_UNKNOWN, .lead_ns = RKT_REPLAY_UNKNOWN}};
    struct rkt_lane_item item = nothing;
    struct rkt_lane_item before = nothing;
    bool is_long = false;

    for (int cause = 1; cause <= RKT_CAUSE_OTHER; cause++) {
        item.own[cause - 1] = (uint32_t)own_ns[cause];
        before.own[cause - 1] = (uint32_t)(own_ns[cause] >> 32);
        is_long |= before.own[cause - 1] > 0;
    }
    item.kind = mark->kind;
    item.work = mark->work;
    before.is_coarse = true;
    if (is_long && append(items, &before, at_ns) != RKT_OK)
        return RKT_ERR_NOMEM;
    return append(items, &item, at_ns);
}

static int compare_marks(const void *a, const void *b)
{
    const struct rkt_lane_mark *x = a;
    const struct rkt_lane_mark *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->called_ns != y->called_ns)
        return x->called_ns < y->called_ns ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static enum rkt_status add_step_ends(struct rkt_lane_draft *draft, size_t step_count,
                                     int64_t *ends_ns)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < draft->mark_count; i++) {
        const struct rkt_lane_mark *mark = &draft->marks[i];

        if (mark->at_ns > ends_ns[mark->step])
            ends_ns[mark->step] = mark->at_ns;
    }
    for (uint32_t s = 0; s < step_count && status == RKT_OK; s++)
        status = rkt_lane_add_mark(draft, (struct rkt_lane_mark){.at_ns = ends_ns[s],
                                                                 .step = s,
                                                                 .work = RKT_INDEX_NONE,
                                                                 .kind = RKT_REPLAY_STEP_END});
    return status;
}

static void add_own_work(struct rkt_step_result *step, const int64_t own_ns[RKT_CAUSE_OTHER + 1])
{
    for (int cause = 1; cause <= RKT_CAUSE_OTHER; cause++) {
        step->own_by_cause_ns[cause] += own_ns[cause];
        step->own_work_ns += own_ns[cause];
    }
}

/* A place before one that comes first (work of a step that overtook the end of the step before) is
 * as late as that. */
static enum rkt_status make_items(struct rkt_lane_draft *draft, struct rkt_rank_result *rank,
                                  struct items *items)
{
    struct walk walk = {.draft = draft, .now_ns = draft->start_ns};
    enum rkt_status status = RKT_OK;

    qsort(draft->marks, draft->mark_count, sizeof(*draft->marks), compare_marks);
    for (size_t i = 0; i < draft->mark_count && status == RKT_OK; i++) {
        const struct rkt_lane_mark *mark = &draft->marks[i];
        int64_t own_ns[RKT_CAUSE_OTHER + 1] = {0};

        walk_to(&walk, mark->at_ns, own_ns);
        add_own_work(&rank->steps[mark->step], own_ns);
        status = add_item(items, mark, walk.now_ns, own_ns);
    }
    return status;
}

static enum rkt_status draft_and_make(const struct rkt_rank_trace *trace,
                                      struct rkt_rank_result *rank, struct rkt_lane_draft *draft,
                                      int64_t *ends_ns, struct items *items)
{
    enum rkt_status status;

    for (size_t s = 0; s < rank->step_count; s++) {
        ends_ns[s] = INT64_MIN;
        rank->steps[s].own_work_ns = 0;
        memset(rank->steps[s].own_by_cause_ns, 0, sizeof(rank->steps[s].own_by_cause_ns));
    }
    draft->start_ns = rank->steps[0].window.start_ns;
    status = trace->has_gpu ? rkt_lane_draft_gpu(trace, rank, draft, ends_ns)
                            : rkt_lane_draft_host(trace, rank, draft, ends_ns);
    if (status == RKT_OK)
        status = add_step_ends(draft, rank->step_count, ends_ns);
    if (status == RKT_OK)
        status = make_items(draft, rank, items);
    if (status == RKT_OK && trace->has_gpu)
        status = rkt_lane_launches(trace, draft, items->items, items->at_ns, items->count);
    return status;
}

enum rkt_status rkt_lane_find(struct rkt_rank_trace *trace, struct rkt_rank_result *rank,
                              struct rkt_error *err)
{
    int64_t *ends_ns = calloc(rank->step_count + 1, sizeof(*ends_ns));
    struct rkt_lane_draft draft = {0};
    struct items items = {0};
    struct rkt_lane_item *shrunk;
    enum rkt_status status =
        ends_ns ? draft_and_make(trace, rank, &draft, ends_ns, &items) : RKT_ERR_NOMEM;

    free(ends_ns);
    free(draft.pieces);
    free(draft.waits);
    free(draft.marks);
    free(draft.launches);
    free(items.at_ns);
    if (status != RKT_OK) {
        free(items.items);
        return rkt_fail(err, status, "no memory for the lane of rank %u", rank->rank);
    }
    /* Kept until all ranks are there: up to half of it is room to grow. */
    shrunk = realloc(items.items, (items.count + 1) * sizeof(*shrunk));
    free(trace->lane);
    trace->lane = shrunk ? shrunk : items.items;
    trace->lane_count = items.count;
    return RKT_OK;
}

int64_t rkt_lane_own_ns(const struct rkt_lane_item *item)
{
    int64_t sum_ns = 0;

    for (int cause = 1; cause <= RKT_LANE_CAUSE_COUNT; cause++)
        sum_ns += rkt_lane_own_by_ns(item, cause);
    return sum_ns;
}
