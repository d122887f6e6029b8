/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_JSON_WALK_H
#define RKT_COMMON_JSON_WALK_H

/*
 * json_walk - reads one JSON value from memory, member by member, in the order of the text.
 *
 * Place:   a JSON report -> [json_walk] -> who looks for some of its values. The other direction is
 *          json_writer.
 * Each value is named twice: ranks[3].run.gpu_util is its path, ranks[].run.gpu_util its form.
 * Threads: any; no state. Memory: none of its own; no recursion.
 * On error: RKT_ERR_FORMAT with the byte at which the text is no JSON, nests deeper than
 *          RKT_JSON_WALK_DEPTH_MAX or has a path longer than RKT_JSON_WALK_PATH_BYTES.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_JSON_WALK_DEPTH_MAX 32u
#define RKT_JSON_WALK_PATH_BYTES 512u

enum rkt_json_type {
    RKT_JSON_NULL,
    RKT_JSON_BOOL,
    RKT_JSON_NUMBER,
    RKT_JSON_TEXT,
    RKT_JSON_BEGIN, /* of an object or array: its members follow */
    RKT_JSON_END,   /* of one; its path and form are those of its begin */
};

struct rkt_json_value {
    const char *path; /* "" of the whole text */
    const char *form;
    enum rkt_json_type type;
    double number;   /* of NUMBER; 1 or 0 of BOOL; else NAN */
    bool is_integer; /* and `integer` is its exact value */
    int64_t integer;
    const char *text; /* of TEXT: UTF-8, ends with a zero byte; on loan during the call */
};

/* Not RKT_OK: the walk ends and returns that. */
typedef enum rkt_status (*rkt_json_value_fn)(void *ctx, const struct rkt_json_value *value,
                                             struct rkt_error *err);

/* `text` ends with a zero byte, and is overwritten: escapes are undone in place. */
enum rkt_status rkt_json_walk(char *text, rkt_json_value_fn fn, void *ctx, struct rkt_error *err);

#endif
