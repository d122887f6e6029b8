/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/range_name.h"
#include "analysis/segment.h"
#include "analysis/time_find.h"

#define LOOK_BACK 256u /* records before a moment among which what it is of is looked for */
#define TEXT_BYTES 256u
#define LINE_BYTES 128u
#define BEST_COUNT ((size_t)RKT_PLACE_KIND_COUNT * RKT_SEGMENT_COUNT * RKT_PLACES_SHOWN)

/* A place while it is made, and where the host was. */
struct found {
    struct rkt_place place;
    int64_t host_ns;
    uint32_t thread_id;
};

struct finder {
    const struct rkt_rank_result *rank;
    struct rkt_arena *arena;
    /* the longest first; length 0: free */
    struct rkt_place best[BEST_COUNT];
};

/* Of a kind in a segment, RKT_PLACES_SHOWN of them. */
static struct rkt_place *best_of(struct finder *finder, unsigned kind, unsigned segment)
{
    return &finder->best[((size_t)kind * RKT_SEGMENT_COUNT + segment) * RKT_PLACES_SHOWN];
}

/* ---- the longest ---- */

static int64_t length_of(const struct rkt_place *place)
{
    return place->end_ns - place->start_ns;
}

static void keep_if_long(struct rkt_place *best, const struct rkt_place *place)
{
    size_t at = RKT_PLACES_SHOWN;

    while (at > 0 && length_of(place) > length_of(&best[at - 1]))
        at--;
    if (at == RKT_PLACES_SHOWN)
        return;
    for (size_t i = RKT_PLACES_SHOWN - 1; i > at; i--)
        best[i] = best[i - 1];
    best[at] = *place;
}

static void keep_pieces(struct finder *finder)
{
    const struct rkt_activity *activity = finder->rank->activity;

    for (size_t i = 0; i < activity->piece_count; i++) {
        const struct rkt_piece *piece = &activity->pieces[i];
        unsigned kind =
            piece->part < RKT_PART_IDLE ? RKT_PLACE_COPY : (unsigned)piece->part - RKT_PART_IDLE;

        if (piece->part < RKT_PART_COPY)
            continue;
        for (int64_t from_ns = piece->start_ns, to_ns; from_ns < piece->end_ns; from_ns = to_ns) {
            struct rkt_place place = {.start_ns = from_ns, .kind = (uint8_t)kind};
            unsigned segment;

            to_ns = piece->end_ns;
            segment = rkt_segment_of_device(finder->rank, from_ns, &to_ns);
            place.end_ns = to_ns;
            place.segment = (uint8_t)segment;
            keep_if_long(best_of(finder, kind, segment), &place);
        }
    }
}

static size_t collect(const struct finder *finder, struct found *all)
{
    size_t count = 0;

    for (size_t i = 0; i < BEST_COUNT; i++) {
        if (length_of(&finder->best[i]) > 0)
            all[count++] = (struct found){.place = finder->best[i]};
    }
    return count;
}

/* ---- what it is of ---- */

/* The first that begins when the idle time is over, or later. */
static const struct rkt_work *next_work(const struct rkt_rank_trace *trace, int64_t time_ns)
{
    for (size_t i = rkt_time_find(&trace->works->start_ns, trace->work_count, sizeof(*trace->works),
                                  time_ns);
         i < trace->work_count; i++) {
        if (trace->works[i].end_ns > trace->works[i].start_ns)
            return &trace->works[i];
    }
    return NULL;
}

static const struct rkt_work *copy_at(const struct rkt_rank_trace *trace, int64_t time_ns)
{
    size_t i = rkt_time_find_past(&trace->works->start_ns, trace->work_count, sizeof(*trace->works),
                                  time_ns);

    for (size_t looked = 0; i-- > 0 && looked < LOOK_BACK; looked++) {
        if (trace->works[i].work_class == RKT_WORK_COPY && trace->works[i].end_ns > time_ns)
            return &trace->works[i];
    }
    return NULL;
}

/* The last of that class that was entered before the idle time ended. */
static const struct rkt_call *call_before(const struct rkt_rank_trace *trace, uint8_t call_class,
                                          int64_t time_ns)
{
    size_t i = 0;

    if (trace->call_count > 0)
        i = rkt_time_find(&trace->calls->start_ns, trace->call_count, sizeof(*trace->calls),
                          time_ns);
    for (size_t looked = 0; i-- > 0 && looked < LOOK_BACK; looked++) {
        if (trace->calls[i].call_class == call_class)
            return &trace->calls[i];
    }
    return NULL;
}

static const struct rkt_range *input_before(const struct rkt_rank_trace *trace, int64_t time_ns)
{
    size_t i = 0;

    if (trace->range_count > 0)
        i = rkt_time_find(&trace->ranges->start_ns, trace->range_count, sizeof(*trace->ranges),
                          time_ns);
    for (size_t looked = 0; i-- > 0 && looked < LOOK_BACK; looked++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (rkt_range_is_input(range, rkt_strtab_get(trace->names, range->name_id, NULL)))
            return range;
    }
    return NULL;
}

static void set_text(struct finder *finder, struct found *found, const char *text)
{
    found->place.what = rkt_arena_strndup(finder->arena, text, strnlen(text, TEXT_BYTES));
}

static void set_copy(struct finder *finder, struct found *found)
{
    const struct rkt_work *copy = copy_at(finder->rank->trace, found->place.start_ns);
    char text[TEXT_BYTES];

    if (!copy)
        return;
    (void)snprintf(text, sizeof(text), "%s of %llu bytes",
                   rkt_copy_part_name(rkt_copy_part_of(copy)), (unsigned long long)copy->bytes);
    set_text(finder, found, text);
    if (copy->launch_start_ns == RKT_TIME_UNKNOWN)
        return;
    found->host_ns = copy->launch_start_ns;
    found->thread_id = copy->launch_thread_id;
}

static void set_call(struct finder *finder, struct found *found, uint8_t call_class)
{
    const struct rkt_rank_trace *trace = finder->rank->trace;
    const struct rkt_call *call = call_before(trace, call_class, found->place.end_ns);

    if (!call)
        return;
    set_text(finder, found, rkt_strtab_get(trace->names, call->name_id, NULL));
    found->host_ns = call->start_ns;
    found->thread_id = call->thread_id;
}

static void set_input(struct finder *finder, struct found *found)
{
    const struct rkt_rank_trace *trace = finder->rank->trace;
    const struct rkt_range *range = input_before(trace, found->place.end_ns);

    if (range)
        set_text(finder, found, rkt_strtab_get(trace->names, range->name_id, NULL));
}

static void set_next(struct finder *finder, struct found *found)
{
    const struct rkt_rank_trace *trace = finder->rank->trace;
    const struct rkt_work *work = next_work(trace, found->place.end_ns);

    if (!work)
        return;
    if (work->work_class != RKT_WORK_COPY)
        set_text(finder, found, rkt_strtab_get(trace->names, work->name_id, NULL));
    else
        set_text(finder, found, rkt_copy_part_name(rkt_copy_part_of(work)));
    found->thread_id = work->launch_thread_id;
}

static void describe(struct finder *finder, struct found *found)
{
    found->place.what = found->place.line = "";
    found->host_ns = found->place.start_ns;
    switch (found->place.kind) {
    case RKT_PLACE_COPY:
        set_copy(finder, found);
        return;
    case RKT_IDLE_SYNC:
        set_call(finder, found, RKT_CALL_BLOCKING);
        return;
    case RKT_IDLE_ALLOC:
        set_call(finder, found, RKT_CALL_ALLOC);
        return;
    case RKT_IDLE_INPUT:
        set_input(finder, found);
        return;
    default: /* the others are told by what ends them */
        set_next(finder, found);
        return;
    }
}

/* ---- lines ---- */

static bool is_of_library(const char *path)
{
    static const char *const PARTS[] = {"site-packages/", "dist-packages/", "lib/python", "/torch/",
                                        "<"};

    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strstr(path, PARTS[i]))
            return true;
    }
    return strncmp(path, "torch/", 6) == 0;
}

bool rkt_line_of_frame(const char *frame, char *line, size_t line_bytes)
{
    static const char EXTENSION[] = ".py(";
    const char *end = strstr(frame, EXTENSION);
    char path[TEXT_BYTES];
    const char *base;
    const char *number;
    size_t digits;

    if (!end || (size_t)(end - frame) >= sizeof(path))
        return false;
    number = end + sizeof(EXTENSION) - 1;
    digits = strspn(number, "0123456789");
    if (digits == 0)
        return false;
    memcpy(path, frame, (size_t)(end - frame));
    path[end - frame] = '\0';
    if (is_of_library(path))
        return false;
    base = strrchr(path, '/');
    (void)snprintf(line, line_bytes, "%s.py:%.*s", base ? base + 1 : path, (int)digits, number);
    return true;
}

/* "train.py:123" of a range that tells one. */
static bool line_of_range(const struct rkt_rank_trace *trace, const struct rkt_range *range,
                          char line[LINE_BYTES])
{
    if (range->type == RKT_RANGE_SYNC_CALL) {
        (void)snprintf(line, LINE_BYTES, "%s",
                       rkt_strtab_get(trace->names, range->domain_id, NULL));
        return line[0] != '\0';
    }
    return range->type == RKT_RANGE_PYTHON &&
           rkt_line_of_frame(rkt_strtab_get(trace->names, range->name_id, NULL), line, LINE_BYTES);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;

    return (x->host_ns > y->host_ns) - (x->host_ns < y->host_ns);
}

/* Ranges come by start: the last that holds a place is the innermost. */
static enum rkt_status find_lines(struct finder *finder, struct found *all, size_t count)
{
    const struct rkt_rank_trace *trace = finder->rank->trace;

    qsort(all, count, sizeof(*all), compare_hosts);
    for (size_t i = 0; i < trace->range_count && count > 0; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        char line[LINE_BYTES];
        const char *kept = NULL;

        if (range->type != RKT_RANGE_SYNC_CALL && range->type != RKT_RANGE_PYTHON)
            continue;
        for (size_t k = rkt_time_find(&all->host_ns, count, sizeof(*all),
                                      range->start_ns - trace->clock_error_ns);
             k < count && all[k].host_ns < range->end_ns; k++) {
            if (all[k].thread_id != range->thread_id ||
                (!kept && !line_of_range(trace, range, line)))
                continue;
            if (!kept)
                kept = rkt_arena_strndup(finder->arena, line, strlen(line));
            if (!kept)
                return RKT_ERR_NOMEM;
            all[k].place.line = kept;
        }
    }
    return RKT_OK;
}

/* ---- all of it ---- */

static int compare_places(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;

    if (x->place.start_ns != y->place.start_ns)
        return x->place.start_ns < y->place.start_ns ? -1 : 1;
    return (int)x->place.kind - (int)y->place.kind;
}

static enum rkt_status make_places(struct finder *finder, struct found *all,
                                   struct rkt_places *places)
{
    size_t count = collect(finder, all);
    enum rkt_status status;

    for (size_t i = 0; i < count; i++) {
        describe(finder, &all[i]);
        if (!all[i].place.what)
            return RKT_ERR_NOMEM;
    }
    status = find_lines(finder, all, count);
    if (status != RKT_OK)
        return status;
    qsort(all, count, sizeof(*all), compare_places);
    places->items = RKT_ARENA_ARRAY(finder->arena, struct rkt_place, count + 1);
    if (!places->items)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        places->items[places->count++] = all[i].place;
    return RKT_OK;
}

enum rkt_status rkt_find_places(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                const struct rkt_places **places_out, struct rkt_error *err)
{
    struct rkt_places *places = RKT_ARENA_ARRAY(arena, struct rkt_places, 1);
    struct finder *finder = calloc(1, sizeof(*finder));
    struct found *all =
        calloc((size_t)RKT_PLACE_KIND_COUNT * RKT_SEGMENT_COUNT * RKT_PLACES_SHOWN, sizeof(*all));
    enum rkt_status status = places && finder && all ? RKT_OK : RKT_ERR_NOMEM;

    if (status == RKT_OK && rank->activity) {
        finder->rank = rank;
        finder->arena = arena;
        keep_pieces(finder);
        status = make_places(finder, all, places);
    }
    free(finder);
    free(all);
    if (status != RKT_OK)
        return rkt_fail(err, status, "no memory for the places of rank %u", rank->rank);
    *places_out = places;
    return RKT_OK;
}
