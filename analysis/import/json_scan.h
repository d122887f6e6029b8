/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_SCAN_H
#define RKT_ANALYSIS_IMPORT_JSON_SCAN_H

/*
 * json_scan - where JSON values end, without parsing them; and texts to bytes.
 *
 * Place:   json_reader uses it to cut a trace into windows, and to walk event by event
 *          where a window does not parse.
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rkt_scan_result {
    RKT_SCAN_FOUND,
    RKT_SCAN_MORE,   /* the text ends before the value does */
    RKT_SCAN_BROKEN, /* another event begins inside: a brace or a quote is missing */
};

/* First byte at or after `from` that is no JSON blank; `len` if there is none. */
size_t rkt_json_skip_blank(const char *text, size_t len, size_t from);

/* The same for blanks and NULs. */
size_t rkt_json_skip_padding(const char *text, size_t len, size_t from);

/*
 * The end of the value at text[from]. FOUND: *end_out is one past it. BROKEN: *end_out is
 * where the other event begins. A number or word that runs up to `len` is MORE.
 */
enum rkt_scan_result rkt_json_scan_value(const char *text, size_t len, size_t from,
                                         size_t *end_out);

/* The same by JSON's rules alone: never BROKEN. */
enum rkt_scan_result rkt_json_scan_strictly(const char *text, size_t len, size_t from,
                                            size_t *end_out);

/* Where an object with such a key as events have first, {"ph": or {"name": ..., begins at or after
 * `from`; `len` if nowhere. */
size_t rkt_json_find_event(const char *text, size_t len, size_t from);

/* The same for one that is whole up to its "ph", within so many bytes: no other object has one. */
size_t rkt_json_find_sure_event(const char *text, size_t len, size_t from);
#define RKT_JSON_SURE_EVENT_BYTES ((size_t)1024)

/*
 * The first ']' at or after `from` behind which only members and the end of an object come, up
 * to `len`, and one of them belongs to a trace's outer object; `len` if there is none.
 */
size_t rkt_json_find_list_end(const char *text, size_t len, size_t from);

/*
 * One past the last '}' in [from, len) that is followed by a comma and a '{': most likely
 * the end of an event. `from` when there is none.
 */
size_t rkt_json_find_cut(const char *text, size_t len, size_t from);

/*
 * A copy that parses where text has control characters inside strings, NULs between
 * values, or bytes that are no UTF-8 (each becomes U+FFFD). At most 6 bytes per byte.
 * Returns the copy's length.
 */
size_t rkt_json_sanitise(const char *text, size_t len, char *out);
#define RKT_JSON_SANITISE_FACTOR 6u

/*
 * The bytes that a string token (without its quotes) stands for. `out` has room for `len`; returns
 * the length. A wrong escape stays as it is.
 */
size_t rkt_json_unescape(const char *token, size_t len, char *out);

/* A number token, or the text of one in quotes: "12", "0x0" is none. */
bool rkt_json_to_u64(const char *token, size_t len, uint64_t *out);
bool rkt_json_to_i64(const char *token, size_t len, int64_t *out);

#endif
