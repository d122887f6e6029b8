/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_READER_H
#define RKT_ANALYSIS_IMPORT_JSON_READER_H

/*
 * json_reader - a trace file of any size as a stream of events and members.
 *
 * Place:   text_source -> [json_reader] -> kineto.
 * Form:    {"traceEvents": [ ... ], other members before and after} or the bare array; or events
 *          alone, one a line, which is no JSON as a whole.
 * Windows: about 256 KiB of events is parsed at a time, cut where one event ends. Events that are
 *          written like earlier ones are not parsed at all, but compared (json_forms). A window
 *          that does not parse is walked event by event, and text that only breaks JSON's
 *          rules for characters is repaired; so a bad byte costs the event that it is in. Memory
 *          does not grow with the file.
 * Damage:  what could not be read is counted and its first place kept; never passed over. Of
 *          damaged events in a row two may run together and count as one. Good JSON can be damage
 *          too: events that lie where none belong are taken out (json_swallowed).
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/import/json_objects.h"
#include "analysis/import/text_source.h"
#include "common/status.h"

#define RKT_JSON_WINDOW_BYTES (256u << 10) /* stays in a core's own cache */
#define RKT_JSON_WINDOW_BYTES_MIN 256u
#define RKT_JSON_VALUE_BYTES_MAX (64u << 20) /* one event, or one other member */

struct rkt_json_handler {
    void *ctx;
    /* As in json_objects.h. */
    bool (*wants_args)(void *ctx, const struct rkt_json_field *fields, size_t count);
    enum rkt_status (*event)(void *ctx, const struct rkt_json_object *event, struct rkt_error *err);
    /* A member beside traceEvents; the field's tokens as in json_objects.h. */
    enum rkt_status (*member)(void *ctx, const struct rkt_json_field *member,
                              struct rkt_error *err);
    rkt_json_meaning_fn meaning_of; /* of the keys of events; NULL: all 0 */
    uint64_t kind_meanings;         /* as in json_forms.h */
    bool parses_all;                /* uses no forms: the same comes out, only later */
};

#define RKT_JSON_PLACES_MAX 16u

/* A stretch of text that could not be read. */
struct rkt_json_damage {
    uint64_t position; /* in the JSON text */
    uint64_t bytes;
    uint64_t count; /* of events in it: at least one */
};

struct rkt_json_stats {
    uint64_t json_bytes;
    uint64_t event_count;    /* given to the handler */
    uint64_t repaired_count; /* of those, with characters that JSON forbids */
    uint64_t damaged_count;  /* events that could not be read; at least one per damaged place */
    uint64_t damaged_bytes;
    uint64_t first_damage; /* byte of the JSON text; UINT64_MAX: none */
    struct rkt_json_damage places[RKT_JSON_PLACES_MAX]; /* the first ones */
    size_t place_count;                                 /* of all */
    bool has_events; /* traceEvents was there, or the file is an array */
    bool is_object;  /* the object form */
    bool is_lines;   /* events without anything around them or between, mostly one a line */
    bool is_cut;     /* the text ends before the JSON does */
    bool has_rest;   /* something stands behind the end of the JSON */
};

/*
 * Reads all of `source`. RKT_ERR_FORMAT: this is no JSON; the text says what it looks like. An
 * error of the handler ends the walk and is passed on. `window_bytes` 0: the usual.
 */
enum rkt_status rkt_json_read(struct rkt_text_source *source, size_t window_bytes,
                              const struct rkt_json_handler *handler,
                              struct rkt_json_stats *stats_out, struct rkt_error *err);

#endif
