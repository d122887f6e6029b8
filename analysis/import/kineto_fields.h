/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_FIELDS_H
#define RKT_ANALYSIS_IMPORT_KINETO_FIELDS_H

/*
 * kineto_fields - the fields of a Kineto event that mean something here, by number.
 *
 * Threads: any; no state. Memory: points into the object that it was picked from.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/import/json_objects.h"
#include "common/digits.h"

enum rkt_kineto_key {
    /* of the event */
    RKT_KEY_PH,
    RKT_KEY_CAT,
    RKT_KEY_NAME,
    RKT_KEY_PID,
    RKT_KEY_TID,
    RKT_KEY_TS,
    RKT_KEY_DUR,
    RKT_KEY_ID,
    /* of its args */
    RKT_KEY_ARG_NAME,
    RKT_KEY_DEVICE,
    RKT_KEY_CONTEXT,
    RKT_KEY_STREAM,
    RKT_KEY_CORRELATION,
    RKT_KEY_EXTERNAL_ID,
    RKT_KEY_GRID,
    RKT_KEY_BLOCK,
    RKT_KEY_REGISTERS,
    RKT_KEY_SHARED_BYTES,
    RKT_KEY_GRAPH_ID,
    RKT_KEY_GRAPH_NODE_ID,
    RKT_KEY_BYTES,
    RKT_KEY_KIND,
    RKT_KEY_CBID,
    RKT_KEY_SYNC_KIND,
    RKT_KEY_SYNC_EVENT,
    RKT_KEY_COLLECTIVE,
    RKT_KEY_IN_COUNT,
    RKT_KEY_OUT_COUNT,
    RKT_KEY_DTYPE,
    RKT_KEY_SEQ,
    RKT_KEY_SRC_RANK,
    RKT_KEY_DST_RANK,
    RKT_KEY_ROOT_RANK,
    RKT_KEY_RANK,
    RKT_KEY_GROUP_SIZE,
    RKT_KEY_GROUP_NAME,
    RKT_KEY_GROUP_ID,
    RKT_KEY_GROUP_RANKS,
    RKT_KEY_GROUP_TEXT,
    RKT_KEY_ALLOCATED_BYTES, /* signed: a free is negative */
    RKT_KEY_ADDRESS,
    RKT_KEY_MEMORY_DEVICE,
    RKT_KEY_MEMORY_DEVICE_TYPE,
    RKT_KEY_TOTAL_ALLOCATED,
    RKT_KEY_TOTAL_RESERVED,
    RKT_KEY_INPUT_SIZES,
    RKT_KEY_INPUT_TYPES,
    RKT_KEY_COUNT
};

struct rkt_kineto_fields {
    const struct rkt_json_field *of[RKT_KEY_COUNT + 1]; /* NULL: absent; last: any other key */
    const struct rkt_json_field *all;                   /* as they were given */
    size_t all_count;
    const char *unread; /* args that were passed over, up to unread_end; NULL: none */
    const char *unread_end;
};

/* Which key this is, for the JSON reader; RKT_KEY_COUNT: none of them. */
uint16_t rkt_kineto_meaning(const char *key, size_t bytes, bool in_args);

/* By their meaning; of two fields of one the last counts. `out` has none yet; see `clear`. */
void rkt_kineto_pick(const struct rkt_json_field *fields, size_t count,
                     struct rkt_kineto_fields *out);
/* Takes out what was picked last, which the parser has not touched yet: less work than all. */
void rkt_kineto_clear(struct rkt_kineto_fields *fields);

/* False, *out untouched: no such number. A number in quotes is one. */
bool rkt_kineto_to_u64(const struct rkt_json_field *field, uint64_t *out);

#define RKT_KINETO_DIGITS_MAX ((size_t)2 * RKT_EIGHT_DIGITS)

/* text[0, count), 1 to RKT_KINETO_DIGITS_MAX of them, which are digits, in a JSON text. */
static inline uint64_t rkt_kineto_digits(const char *text, size_t count)
{
    const char *rest = text + count - RKT_EIGHT_DIGITS;

    if (count <= RKT_EIGHT_DIGITS)
        return rkt_few_digits(text, count);
    return rkt_few_digits(text, count - RKT_EIGHT_DIGITS) * RKT_EIGHT_DIGITS_RANGE +
           rkt_few_digits(rest, RKT_EIGHT_DIGITS);
}

/* The number, where it is sure to be digits, not too many. */
static inline bool rkt_kineto_plain_digits(const struct rkt_json_field *field, uint64_t *out)
{
    if (field->shape != RKT_JSON_DIGITS || field->value_bytes > RKT_KINETO_DIGITS_MAX)
        return false;
    *out = rkt_kineto_digits(field->value, field->value_bytes);
    return true;
}

/* Of these false, *out untouched, also where it is absent. */
static inline bool rkt_kineto_u64(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key,
                                  uint64_t *out)
{
    const struct rkt_json_field *field = fields->of[key];

    return field && (rkt_kineto_plain_digits(field, out) || rkt_kineto_to_u64(field, out));
}

bool rkt_kineto_i64(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key, int64_t *out);
/* `fallback` where it is absent, negative or too large. */
uint32_t rkt_kineto_u32(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key,
                        uint32_t fallback);

/* Is the value this text? Case counts in `equals`, not in `equals_any_case`. */
static inline bool rkt_kineto_equals(const struct rkt_json_field *field, const char *text)
{
    size_t bytes = strlen(text); /* known when it is compiled, most often */

    return field && field->value_bytes == bytes && memcmp(field->value, text, bytes) == 0;
}
bool rkt_kineto_equals_any_case(const struct rkt_json_field *field, const char *text);

/*
 * What an operator says of its inputs, `[[32, 64], []]` and `["float", "Scalar"]`, also where its
 * args were passed over: these are then searched for both, which costs a fraction of reading them.
 * False: no sizes. A list that is not there has value NULL.
 */
bool rkt_kineto_inputs(const struct rkt_kineto_fields *fields, struct rkt_json_field *sizes_out,
                       struct rkt_json_field *types_out);

/* Up to `cap` numbers of "[1, 2, 3]"; returns how many. */
size_t rkt_kineto_list(const struct rkt_json_field *field, uint64_t *out, size_t cap);

/* What a cat means. Of kernels to syncs are those that have a correlation. */
enum rkt_kineto_class {
    RKT_KINETO_OTHER,
    RKT_KINETO_KERNEL,
    RKT_KINETO_MEMCPY,
    RKT_KINETO_MEMSET,
    RKT_KINETO_RUNTIME,
    RKT_KINETO_DRIVER,
    RKT_KINETO_SYNC,
    RKT_KINETO_CPU_OP,
    RKT_KINETO_ANNOTATION,
    RKT_KINETO_GPU_ANNOTATION,
    RKT_KINETO_PYTHON,
    RKT_KINETO_OVERHEAD,
    RKT_KINETO_COUNTERS, /* a slice whose args are values of counters */
};

enum rkt_kineto_class rkt_kineto_class_of(const struct rkt_json_field *cat); /* NULL: OTHER */

#endif
