/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_JSON_WRITER_H
#define RKT_COMMON_JSON_WRITER_H

/*
 * json_writer - valid JSON to a FILE, one value after the other.
 *
 * Keys are texts inside an object and NULL inside an array and for the first value. Texts may
 * hold any bytes: what JSON forbids is escaped, and each byte that is not UTF-8 becomes U+FFFD.
 * Objects and arrays down to `break_depth` levels put each member on a line of its own; deeper
 * ones stay on one line. 0 gives one long line.
 *
 *     rkt_json_init(&json, out, 2);
 *     rkt_json_begin_object(&json, NULL);
 *     rkt_json_i64(&json, "window_ns", 12);
 *     rkt_json_end(&json);
 *     status = rkt_json_finish(&json, err);
 *
 * Threads: one at a time. Memory: none of its own.
 * On error: writes go on and do nothing; rkt_json_finish says what the stream said.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

#define RKT_JSON_DEPTH_MAX 32u

struct rkt_json {
    FILE *out;
    unsigned depth;
    unsigned break_depth;
    struct {
        bool is_object;
        bool has_members;
    } levels[RKT_JSON_DEPTH_MAX]; /* [depth] is the one that is open; [0] is the document */
};

void rkt_json_init(struct rkt_json *json, FILE *out, unsigned break_depth);

void rkt_json_begin_object(struct rkt_json *json, const char *key);
void rkt_json_begin_array(struct rkt_json *json, const char *key);
void rkt_json_end(struct rkt_json *json); /* of the object or array that is open */

void rkt_json_null(struct rkt_json *json, const char *key);
void rkt_json_bool(struct rkt_json *json, const char *key, bool value);
void rkt_json_i64(struct rkt_json *json, const char *key, int64_t value);
void rkt_json_u64(struct rkt_json *json, const char *key, uint64_t value);
/* Six significant digits; null for what is not finite. */
void rkt_json_double(struct rkt_json *json, const char *key, double value);
/* Nanoseconds as microseconds with exactly three decimals, without a double. */
void rkt_json_us(struct rkt_json *json, const char *key, int64_t value_ns);
void rkt_json_text(struct rkt_json *json, const char *key, const char *text);
void rkt_json_bytes(struct rkt_json *json, const char *key, const char *text, size_t len_bytes);

/* Ends the line and flushes. RKT_ERR_IO when any write failed; the stream stays open. */
enum rkt_status rkt_json_finish(struct rkt_json *json, struct rkt_error *err);

#endif
