/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_DAMAGE_H
#define RKT_ANALYSIS_IMPORT_JSON_DAMAGE_H

/*
 * json_damage - the account of what of a JSON text could not be read, or why none of it. Threads:
 * as the stats.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/import/json_reader.h"

/* text[0, bytes) stands at `position` and is given up. */
void rkt_json_note_damage(struct rkt_json_stats *stats, const char *text, size_t bytes,
                          uint64_t position);

/*
 * Is this one event? The parser looks neither into args that nobody wants nor into values that are
 * nested: where brackets are missing whole events may lie in there. True if none do. False if some
 * are there that damage has swallowed, or seem to be and the object is not right by JSON's rules:
 * it is to be given up from its begin for *lost_bytes_out. An object with two "ph" is two events
 * with what stood between them lost: taken as one, and the other is counted.
 */
bool rkt_json_check_event(struct rkt_json_stats *stats, struct rkt_json_parser *parser,
                          const struct rkt_json_object *event, uint64_t position,
                          size_t *lost_bytes_out);

/* RKT_ERR_FORMAT: what a text that begins neither as an object nor as an array looks like. */
enum rkt_status rkt_json_refuse(const char *text, size_t len, bool is_packed,
                                struct rkt_error *err);

#endif
