/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the lane hangs on its host:
 *
 *     host      |--h--|l0|--h--|l1|--------h--------|l2|
 *     lane               |=0=|    |=1=|                |=2=|P      own work 3, idle 2; w = 2
 *                                                                 bound = to the launch of w, its lead,
 *                                                                         and what comes after w's start
 *
 * The host's place at an item is its last launch of what the lane works on up to there. Between two
 * of them it has work of its own, or waits for the lane: in a blocking call, or in a launch that
 * its full queue does not let return. The last idle gap before the item that a launch ended, with
 * the host not having waited since its place before, is where the bound holds in the run; idle time
 * up to there is what the bound stands for. Other launches would hold the lane up were it earlier
 * by their slack.
 */
#include <stdlib.h>

#include "analysis/lane_parts.h"
#include "analysis/time_find.h"
#include "analysis/time_sort.h"
#include "common/array.h"

/* A launch that takes so many times as long as the shortest, and so much more, waits for its queue:
 * where that is always full, all but the first do. */
#define LONG_FACTOR 2
#define LONG_NS 2000

/* A stretch of the host's time in which it waits; they are disjoint, in order. */
struct block {
    int64_t start_ns; /* start_ns and end_ns lead: time_sort */
    int64_t end_ns;
    int64_t before_ns; /* sum of those before */
};

/* One item's launches: [first, end) of the draft's. */
struct stretch {
    size_t first;
    size_t end;
    size_t last_gap; /* the last that ended a gap in which the host worked; `end`: none */
    int64_t from_ns;
    int64_t to_ns;
};

struct launcher {
    const struct rkt_rank_trace *trace;
    const struct rkt_lane_draft *draft;
    struct rkt_lane_item *items;
    const int64_t *at_ns; /* by item */
    int64_t *lane_ns; /* likewise in a replay: of what it waits for nothing shows before the join */
    size_t item_count;
    struct block *blocks;
    size_t block_count;
    size_t block_cap;
    size_t last_block;      /* the last answer of block_from */
    size_t last_piece;      /* likewise, of is_lane_busy */
    size_t last_wait;       /* likewise */
    int64_t short_ns;       /* length of a launch that does not wait */
    int64_t least_lead_ns;  /* from a launch's begin to the kernel's */
    int64_t host_ns;        /* its place; RKT_REPLAY_UNKNOWN */
    int64_t host_waited_ns; /* how long it has waited by then */
};

/* ---- the first that ends after a time, and the first that begins at one ---- */

static size_t piece_past(const struct rkt_lane_draft *draft, int64_t time_ns)
{
    return draft->piece_count == 0 ? 0
                                   : rkt_time_find_past(&draft->pieces->end_ns, draft->piece_count,
                                                        sizeof(*draft->pieces), time_ns);
}

static size_t wait_past(const struct rkt_lane_draft *draft, int64_t time_ns)
{
    return draft->wait_count == 0 ? 0
                                  : rkt_time_find_past(&draft->waits->end_ns, draft->wait_count,
                                                       sizeof(*draft->waits), time_ns);
}

/* Mostly of a time a little later than the last one that was asked for. */
static size_t block_from(struct launcher *launcher, int64_t time_ns)
{
    if (launcher->block_count > 0)
        launcher->last_block =
            rkt_time_find_near(&launcher->blocks->start_ns, launcher->block_count,
                               sizeof(*launcher->blocks), time_ns, launcher->last_block);
    return launcher->last_block;
}

/* ---- when the host waits ---- */

/* Whether the lane works, or waits itself, at time_ns. */
static bool is_lane_busy(struct launcher *launcher, int64_t time_ns)
{
    const struct rkt_lane_draft *draft = launcher->draft;
    const struct rkt_lane_piece *piece;

    if (draft->wait_count > 0)
        launcher->last_wait =
            rkt_time_find_past_near(&draft->waits->end_ns, draft->wait_count, sizeof(*draft->waits),
                                    time_ns, launcher->last_wait);
    if (launcher->last_wait < draft->wait_count &&
        draft->waits[launcher->last_wait].start_ns <= time_ns)
        return true;
    if (draft->piece_count == 0)
        return false;
    launcher->last_piece =
        rkt_time_find_past_near(&draft->pieces->end_ns, draft->piece_count, sizeof(*draft->pieces),
                                time_ns, launcher->last_piece);
    piece = &draft->pieces[launcher->last_piece];
    return launcher->last_piece < draft->piece_count && piece->start_ns <= time_ns &&
           (piece->cause == RKT_CAUSE_COMPUTE || piece->cause == RKT_CAUSE_COPY);
}

/* In an idle lane the host waits for nothing. */
static enum rkt_status add_block(struct launcher *launcher, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns || !is_lane_busy(launcher, start_ns))
        return RKT_OK;
    if (!rkt_array_reserve((void **)&launcher->blocks, &launcher->block_cap,
                           launcher->block_count + 1, sizeof(*launcher->blocks)))
        return RKT_ERR_NOMEM;
    launcher->blocks[launcher->block_count++] = (struct block){start_ns, end_ns, 0};
    return RKT_OK;
}

/* Joins those that touch. */
static enum rkt_status join_blocks(struct launcher *launcher)
{
    enum rkt_status status = rkt_time_sort(launcher->blocks, launcher->block_count,
                                           sizeof(*launcher->blocks), RKT_BY_START);
    size_t count = 0;

    if (status != RKT_OK)
        return status;
    for (size_t i = 0; i < launcher->block_count; i++) {
        struct block block = launcher->blocks[i];
        struct block *last = count > 0 ? &launcher->blocks[count - 1] : NULL;

        if (last && block.start_ns <= last->end_ns) {
            last->end_ns = block.end_ns > last->end_ns ? block.end_ns : last->end_ns;
            continue;
        }
        block.before_ns = last ? last->before_ns + last->end_ns - last->start_ns : 0;
        launcher->blocks[count++] = block;
    }
    launcher->block_count = count;
    return RKT_OK;
}

static enum rkt_status find_blocks(struct launcher *launcher)
{
    const struct rkt_lane_draft *draft = launcher->draft;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < launcher->trace->call_count && status == RKT_OK; i++) {
        const struct rkt_call *call = &launcher->trace->calls[i];

        if (call->call_class == RKT_CALL_BLOCKING)
            status = add_block(launcher, call->start_ns, call->end_ns);
    }
    for (size_t i = 0; i < draft->launch_count && status == RKT_OK; i++) {
        const struct rkt_lane_launch *launch = &draft->launches[i];

        if (launch->length_ns > LONG_FACTOR * launcher->short_ns + LONG_NS)
            status = add_block(launcher, launch->called_ns + launcher->short_ns,
                               launch->called_ns + launch->length_ns);
    }
    return status == RKT_OK ? join_blocks(launcher) : status;
}

/* How long the host has waited by time_ns. */
static int64_t waited_ns(struct launcher *launcher, int64_t time_ns)
{
    size_t past = block_from(launcher, time_ns);
    const struct block *last = past > 0 ? &launcher->blocks[past - 1] : NULL;

    if (!last)
        return 0;
    return last->before_ns + (last->end_ns < time_ns ? last->end_ns : time_ns) - last->start_ns;
}

/* Of the host from its place on, what it did not wait; back in time, all of it. */
static int64_t worked_ns(struct launcher *launcher, int64_t to_ns)
{
    int64_t time_ns = to_ns - launcher->host_ns;

    if (time_ns < 0)
        return time_ns;
    return time_ns - (waited_ns(launcher, to_ns) - launcher->host_waited_ns);
}

/* The part of the lane's waits in [from, to). */
static int64_t lane_waits_ns(const struct rkt_lane_draft *draft, int64_t from_ns, int64_t to_ns)
{
    size_t at = wait_past(draft, from_ns);
    int64_t sum_ns = 0;

    for (; at < draft->wait_count && draft->waits[at].start_ns < to_ns; at++) {
        int64_t start_ns =
            draft->waits[at].start_ns > from_ns ? draft->waits[at].start_ns : from_ns;
        int64_t end_ns = draft->waits[at].end_ns < to_ns ? draft->waits[at].end_ns : to_ns;

        sum_ns += end_ns - start_ns;
    }
    return sum_ns;
}

/* ---- an item ---- */

static bool is_of_host(uint8_t cause)
{
    return cause == RKT_CAUSE_HOST || cause == RKT_CAUSE_INPUT || cause == RKT_CAUSE_ALLOC ||
           cause == RKT_CAUSE_LAUNCH;
}

/* Idle time in [from, to) that the host worked, without the lane's waits in it. */
static int64_t host_idle_ns(const struct rkt_lane_draft *draft, int64_t from_ns, int64_t to_ns)
{
    size_t at = piece_past(draft, from_ns);
    int64_t sum_ns = 0;

    for (; at < draft->piece_count && draft->pieces[at].start_ns < to_ns; at++) {
        const struct rkt_lane_piece *piece = &draft->pieces[at];
        int64_t start_ns = piece->start_ns > from_ns ? piece->start_ns : from_ns;
        int64_t end_ns = piece->end_ns < to_ns ? piece->end_ns : to_ns;

        if (is_of_host(piece->cause))
            sum_ns += end_ns - start_ns - lane_waits_ns(draft, start_ns, end_ns);
    }
    return sum_ns;
}

/* Idle time of the stretch before this launch's work. */
static int64_t gap_idle_ns(const struct launcher *launcher, const struct stretch *stretch,
                           const struct rkt_lane_launch *launch)
{
    int64_t from_ns =
        launch->gap_start_ns > stretch->from_ns ? launch->gap_start_ns : stretch->from_ns;

    if (launch->gap_start_ns == launch->start_ns)
        return 0;
    return host_idle_ns(launcher->draft, from_ns, launch->start_ns);
}

static void find_last_gap(const struct launcher *launcher, struct stretch *stretch)
{
    size_t at = stretch->end;

    stretch->last_gap = stretch->end;
    while (at > stretch->first && stretch->last_gap == stretch->end) {
        at--;
        if (gap_idle_ns(launcher, stretch, &launcher->draft->launches[at]) > 0)
            stretch->last_gap = at;
    }
}

/* When the kernel of a post was launched, it may begin before the call returns; RKT_REPLAY_UNKNOWN
 * where the item is none. */
static int64_t posted_ns(const struct launcher *launcher, const struct rkt_lane_item *item)
{
    int64_t at_ns = launcher->at_ns[item - launcher->items];
    int64_t launched_ns;

    if (item->kind != RKT_REPLAY_POST)
        return RKT_REPLAY_UNKNOWN;
    launched_ns = launcher->trace->works[item->work].launch_end_ns;
    if (launched_ns == RKT_TIME_UNKNOWN)
        return RKT_REPLAY_UNKNOWN;
    return launched_ns < at_ns ? launched_ns : at_ns;
}

/* Of the lane from last_ns, the start of the work before, to the launch's, what it did not wait:
 * waits are in gaps. */
static int64_t lane_time_ns(const struct rkt_lane_draft *draft, int64_t last_ns,
                            const struct rkt_lane_launch *launch)
{
    int64_t time_ns = launch->start_ns - last_ns;

    if (draft->has_unlaunched || launch->gap_start_ns < launch->start_ns)
        time_ns -= lane_waits_ns(draft, last_ns, launch->start_ns);
    return time_ns;
}

/* How much host time lies between the host's place and the launch, and lane time from the work
 * on. */
static void set_bound(struct launcher *launcher, struct rkt_lane_item *item,
                      const struct stretch *stretch, int64_t own_ns)
{
    const struct rkt_lane_draft *draft = launcher->draft;
    int64_t posted = posted_ns(launcher, item);
    int64_t last_ns = stretch->from_ns, done_ns = 0, idle_ns = 0, most_ns = INT64_MIN;
    bool is_at_post = posted == stretch->to_ns;
    bool is_still = stretch->last_gap == stretch->end;
    int64_t held_ns = is_at_post ? posted
                      : is_still ? RKT_REPLAY_UNKNOWN
                                 : draft->launches[stretch->last_gap].called_ns;

    /* idle time goes only where the host has not waited since */
    if (held_ns != RKT_REPLAY_UNKNOWN &&
        worked_ns(launcher, held_ns) != held_ns - launcher->host_ns)
        held_ns = RKT_REPLAY_UNKNOWN;
    for (size_t i = stretch->first; i < stretch->end; i++) {
        const struct rkt_lane_launch *launch = &draft->launches[i];
        int64_t gap_ns = gap_idle_ns(launcher, stretch, launch);
        bool goes = held_ns != RKT_REPLAY_UNKNOWN && (is_at_post || i <= stretch->last_gap);
        int64_t lead_ns =
            gap_ns > 0 ? launch->start_ns - launch->called_ns : launcher->least_lead_ns;
        int64_t bound_ns;

        done_ns += lane_time_ns(draft, last_ns, launch);
        last_ns = launch->start_ns;
        idle_ns += goes ? gap_ns : 0;
        bound_ns = worked_ns(launcher, launch->called_ns) + lead_ns - (done_ns - idle_ns);
        most_ns = bound_ns > most_ns ? bound_ns : most_ns;
    }
    if (is_at_post && held_ns != RKT_REPLAY_UNKNOWN)
        idle_ns += host_idle_ns(draft, last_ns, stretch->to_ns);
    own_ns -= idle_ns;
    if (most_ns != INT64_MIN)
        most_ns += own_ns;
    if (posted != RKT_REPLAY_UNKNOWN && worked_ns(launcher, posted) > most_ns)
        most_ns = worked_ns(launcher, posted);
    item->host.bound_ns = most_ns == INT64_MIN ? RKT_REPLAY_UNKNOWN : most_ns;
    item->host_idle_ns = idle_ns;
}

/* Its last wait since its place before is for what the lane did then. */
static void set_wait(struct launcher *launcher, size_t at, int64_t place_ns)
{
    struct rkt_replay_host *host = &launcher->items[at].host;
    size_t past = block_from(launcher, place_ns);
    size_t before;
    int64_t end_ns;

    if (past == 0 || launcher->blocks[past - 1].end_ns <= launcher->host_ns)
        return;
    end_ns = launcher->blocks[past - 1].end_ns;
    before = rkt_time_find_past(launcher->at_ns, at, sizeof(*launcher->at_ns), end_ns);
    /* of the lane before its first item nothing is known, nor of a host that launches while it
     * waits */
    if (before == 0 || end_ns > place_ns) {
        host->own_ns = RKT_REPLAY_UNKNOWN;
        return;
    }
    host->wait_back = (uint32_t)(at - (before - 1));
    host->wait_ns = place_ns - launcher->lane_ns[before - 1];
}

/* Before the first piece it is not known whether the lane, and so the host, was busy. */
static bool is_known(const struct launcher *launcher, int64_t time_ns)
{
    return launcher->draft->piece_count > 0 && time_ns >= launcher->draft->pieces[0].start_ns;
}

/* A collective that is launched while the lane waits for another is posted then, and not before. */
static void set_lane_time(struct launcher *launcher, size_t at)
{
    const struct rkt_lane_item *item = &launcher->items[at];
    int64_t *now_ns = &launcher->lane_ns[at];

    *now_ns = (at > 0 ? now_ns[-1] : launcher->draft->start_ns) + rkt_lane_own_ns(item);
    if (item->kind == RKT_REPLAY_JOIN && launcher->at_ns[at] > *now_ns)
        *now_ns = launcher->at_ns[at];
    if (item->host.bound_ns != RKT_REPLAY_UNKNOWN &&
        launcher->host_ns + item->host.bound_ns > *now_ns)
        *now_ns = launcher->host_ns + item->host.bound_ns;
}

/* The host's last launch up to the item. */
static int64_t find_place(const struct launcher *launcher, const struct stretch *stretch,
                          int64_t posted)
{
    int64_t place_ns = launcher->host_ns;

    for (size_t i = stretch->first; i < stretch->end; i++) {
        int64_t called_ns = launcher->draft->launches[i].called_ns;

        if (called_ns > place_ns && is_known(launcher, called_ns))
            place_ns = called_ns;
    }
    if (posted != RKT_REPLAY_UNKNOWN && posted > place_ns && is_known(launcher, posted))
        place_ns = posted;
    return place_ns;
}

static void set_item(struct launcher *launcher, size_t at, const struct stretch *stretch,
                     bool is_split)
{
    struct rkt_lane_item *item = &launcher->items[at];
    int64_t place_ns = find_place(launcher, stretch, posted_ns(launcher, item));

    if (launcher->host_ns != RKT_REPLAY_UNKNOWN && !is_split)
        set_bound(launcher, item, stretch, rkt_lane_own_ns(item));
    set_lane_time(launcher, at);
    if (place_ns == RKT_REPLAY_UNKNOWN)
        return;
    if (launcher->host_ns != RKT_REPLAY_UNKNOWN) {
        item->host.own_ns = worked_ns(launcher, place_ns);
        set_wait(launcher, at, place_ns);
    }
    item->host.lead_ns = launcher->lane_ns[at] - place_ns;
    launcher->host_ns = place_ns;
    launcher->host_waited_ns = waited_ns(launcher, place_ns);
}

static void set_items(struct launcher *launcher)
{
    const struct rkt_lane_draft *draft = launcher->draft;
    struct stretch stretch = {.to_ns = draft->start_ns};
    bool is_split = false;

    while (stretch.end < draft->launch_count &&
           draft->launches[stretch.end].start_ns < draft->start_ns)
        stretch.end++;
    for (size_t i = 0; i < launcher->item_count; i++) {
        if (launcher->items[i].kind == RKT_REPLAY_WORK) { /* what is too long for one item */
            is_split = true;
            set_lane_time(launcher, i);
            continue;
        }
        stretch.first = stretch.end;
        stretch.from_ns = stretch.to_ns;
        stretch.to_ns = launcher->at_ns[i];
        while (stretch.end < draft->launch_count &&
               draft->launches[stretch.end].start_ns < stretch.to_ns)
            stretch.end++;
        find_last_gap(launcher, &stretch);
        set_item(launcher, i, &stretch, is_split);
        is_split = false;
    }
}

/* ---- all of it ---- */

/* Where the host is far ahead all the time no lead is the least that there can be: a launch's
 * length. */
static void find_least(struct launcher *launcher)
{
    launcher->least_lead_ns = launcher->short_ns = INT64_MAX;
    for (size_t i = 0; i < launcher->draft->launch_count; i++) {
        const struct rkt_lane_launch *launch = &launcher->draft->launches[i];
        int64_t lead_ns = launch->start_ns - launch->called_ns;

        if (lead_ns >= 0 && lead_ns < launcher->least_lead_ns)
            launcher->least_lead_ns = lead_ns;
        if (launch->length_ns < launcher->short_ns)
            launcher->short_ns = launch->length_ns;
    }
    if (launcher->short_ns < launcher->least_lead_ns)
        launcher->least_lead_ns = launcher->short_ns;
}

enum rkt_status rkt_lane_launches(const struct rkt_rank_trace *trace,
                                  const struct rkt_lane_draft *draft, struct rkt_lane_item *items,
                                  const int64_t *at_ns, size_t count)
{
    struct launcher launcher = {.trace = trace,
                                .draft = draft,
                                .items = items,
                                .at_ns = at_ns,
                                .item_count = count,
                                .host_ns = RKT_REPLAY_UNKNOWN};
    enum rkt_status status = RKT_ERR_NOMEM;

    launcher.lane_ns = calloc(count + 1, sizeof(*launcher.lane_ns));
    if (launcher.lane_ns) {
        find_least(&launcher);
        status = find_blocks(&launcher);
    }
    if (status == RKT_OK)
        set_items(&launcher);
    free(launcher.lane_ns);
    free(launcher.blocks);
    return status;
}
