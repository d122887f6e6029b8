/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_SWALLOWED_H
#define RKT_ANALYSIS_IMPORT_JSON_SWALLOWED_H

/*
 * json_swallowed - events of the list that lie inside a value, because damage opened it.
 *
 * A bracket too many in one event and one too few in a later one make good JSON of both and of all
 * events between them, so the rules of JSON do not tell. What events look like does:
 *  - outside its args an event holds no other event;
 *  - a list in args, or beside the list of events, may be one of events (of another tracer, say),
 *    but then of nothing else. Damage leaves a piece of the damaged event in front, as it needs one
 *    before the comma that every event of the list follows.
 * An event here is an object with a "ph" of one character and a "name" or "ts". So a value of
 * events alone is taken as it is: those of a trace that damage wraps in args of its own making,
 * with nothing else in them, are not told from it.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>

enum rkt_json_holder {
    RKT_JSON_HOLDER_EVENT,
    RKT_JSON_HOLDER_MEMBER, /* beside the list of events */
};

/*
 * Where in text[0, len), which begins as an object or a list, the first swallowed event begins;
 * `len` if there is none. Brackets need not match. What is nested deeper than 64 levels is not
 * looked into.
 */
size_t rkt_json_find_swallowed(const char *text, size_t len, enum rkt_json_holder holder);

/* Can there be an event in it at all? Cheap where no object is in it. */
bool rkt_json_may_hold_event(const char *text, size_t len);

#endif
