/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices whose begin and end are events of their own: B and E of a thread, b and e (or S and F)
 * of an id.
 *
 * An end that is named closes the innermost open begin of its track with that name, so that
 * slices which overlap keep their own ends; one without a name closes the innermost.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/import/kineto_parts.h"
#include "common/array.h"

#define NAMES_TRIED_MAX 256u /* an end looks no deeper: time stays linear */

/* The head of the track's list of open slices; NULL when memory is out. */
static uint32_t *head_of(struct rkt_kineto *kineto, uint32_t track)
{
    if (!rkt_array_reserve((void **)&kineto->open_heads, &kineto->open_head_cap, (size_t)track + 1,
                           sizeof(*kineto->open_heads)))
        return NULL;
    for (; kineto->open_head_count <= track; kineto->open_head_count++)
        kineto->open_heads[kineto->open_head_count] = RKT_KINETO_OPEN_NONE;
    return &kineto->open_heads[track];
}

static uint32_t take_slot(struct rkt_kineto *kineto)
{
    uint32_t slot = kineto->free_open;

    if (slot != RKT_KINETO_OPEN_NONE) {
        kineto->free_open = kineto->opens[slot].next;
        return slot;
    }
    if (!rkt_array_reserve((void **)&kineto->opens, &kineto->open_cap, kineto->open_count + 1,
                           sizeof(*kineto->opens)))
        return RKT_KINETO_OPEN_NONE;
    return (uint32_t)kineto->open_count++;
}

enum rkt_status rkt_kineto_begin(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 bool is_async, struct rkt_error *err)
{
    enum rkt_kineto_class class = rkt_kineto_class(kineto, fields->of[RKT_KEY_CAT]);
    uint32_t track =
        is_async ? rkt_kineto_async_track(kineto, fields) : rkt_kineto_thread(kineto, fields);
    struct rkt_event event;
    enum rkt_status status;
    int64_t start_ns;
    uint32_t *head;
    uint32_t slot;

    if (rkt_kineto_is_left_out(kineto, class))
        return RKT_OK; /* so is its end, as one without a begin */
    status = rkt_kineto_fill(kineto, fields, class, &event, err);
    if (status != RKT_OK)
        return status;
    if (is_async)
        event.thread_id = track;
    if (!rkt_kineto_start(kineto, fields, &start_ns)) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_TIME, (enum rkt_event_kind)event.kind);
        return RKT_OK;
    }
    event.start_ns = (uint64_t)start_ns;
    head = head_of(kineto, track);
    slot = head ? take_slot(kineto) : RKT_KINETO_OPEN_NONE;
    if (slot == RKT_KINETO_OPEN_NONE)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for open slices");
    kineto->opens[slot] = (struct rkt_kineto_open){event, *head, (uint8_t) class};
    *head = slot;
    kineto->open_now++;
    return RKT_OK;
}

/* Takes the begin that this end closes off its track's list; NONE where there is none. */
static uint32_t find_begin(struct rkt_kineto *kineto, uint32_t *head, uint32_t name_id)
{
    uint32_t *link = head;

    for (unsigned i = 0; *link != RKT_KINETO_OPEN_NONE && i < NAMES_TRIED_MAX; i++) {
        uint32_t slot = *link;

        if (name_id == 0 || kineto->opens[slot].event.name_id == name_id) {
            *link = kineto->opens[slot].next;
            return slot;
        }
        link = &kineto->opens[slot].next;
    }
    return RKT_KINETO_OPEN_NONE;
}

enum rkt_status rkt_kineto_close(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 bool is_async, struct rkt_error *err)
{
    uint32_t track =
        is_async ? rkt_kineto_async_track(kineto, fields) : rkt_kineto_thread(kineto, fields);
    uint32_t *head = head_of(kineto, track);
    struct rkt_event event;
    int64_t end_ns;
    uint32_t slot;

    if (!head)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for open slices");
    if (rkt_kineto_is_left_out(kineto, rkt_kineto_class(kineto, fields->of[RKT_KEY_CAT])))
        return RKT_OK;
    slot = find_begin(kineto, head, rkt_kineto_intern(kineto, fields->of[RKT_KEY_NAME]));
    if (slot == RKT_KINETO_OPEN_NONE) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_BEGIN, RKT_EVENT_NONE);
        return RKT_OK;
    }
    event = kineto->opens[slot].event;
    kineto->opens[slot].next = kineto->free_open;
    kineto->free_open = slot;
    kineto->open_now--;
    if (!rkt_kineto_start(kineto, fields, &end_ns) || (uint64_t)end_ns < event.start_ns) {
        kineto->facts.fates[RKT_FATE_REVERSED]++; /* the end; one slice is lost, not two */
        rkt_kineto_reject(kineto, RKT_FATE_REVERSED, (enum rkt_event_kind)event.kind);
        return RKT_OK;
    }
    event.end_ns = (uint64_t)end_ns;
    kineto->facts.fates[RKT_FATE_JOINED]++;
    return rkt_kineto_store(kineto, fields, (enum rkt_kineto_class)kineto->opens[slot].class,
                            &event, err);
}

void rkt_kineto_end_opens(struct rkt_kineto *kineto)
{
    for (size_t i = 0; i < kineto->open_now; i++)
        rkt_kineto_reject(kineto, RKT_FATE_NO_END, RKT_EVENT_NONE);
    for (size_t i = 0; i < kineto->open_head_count; i++)
        kineto->open_heads[i] = RKT_KINETO_OPEN_NONE;
    kineto->open_now = 0;
    kineto->open_count = 0;
    kineto->free_open = RKT_KINETO_OPEN_NONE;
}
