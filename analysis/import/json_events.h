/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_EVENTS_H
#define RKT_ANALYSIS_IMPORT_JSON_EVENTS_H

/*
 * json_events - the list of events of a trace: by their forms where these are known, else whole
 *               windows where they parse, else one by one.
 *
 * Place:   json_window -> [json_events] -> handler; json_reader reads what stands around the list.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/import/json_forms.h"
#include "analysis/import/json_objects.h"
#include "analysis/import/json_reader.h"
#include "analysis/import/json_window.h"
#include "common/status.h"

/* A reading under way; zeroed but for what is given below. */
struct rkt_json_reading {
    struct rkt_json_window window;
    const struct rkt_json_handler *handler; /* given */
    struct rkt_json_stats *stats;           /* given */
    struct rkt_error *err;                  /* given */
    struct rkt_json_parser *parser;         /* given; the owner's to destroy */
    struct rkt_json_forms *forms;           /* likewise; NULL: every event is parsed */
    size_t piece_bytes;                     /* of what is parsed where a form is unknown */
    size_t lost_bytes;   /* of the event that the parser stopped at, up to another in it; else 0 */
    uint64_t slow_until; /* up to here event by event, as the window did not parse */
    char *scratch;       /* for repaired events; the owner's to free */
    size_t scratch_cap;
    enum rkt_status status; /* of the handler */
};

/* From the place behind the list's '[' to that behind its ']', or to the end of the text. */
enum rkt_status rkt_json_read_events(struct rkt_json_reading *reading);

/* Gives up what lies between the place in the window and `end`, and counts it. */
void rkt_json_skip_damage(struct rkt_json_reading *reading, size_t end);

#endif
