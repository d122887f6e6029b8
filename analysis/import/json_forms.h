/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_FORMS_H
#define RKT_ANALYSIS_IMPORT_JSON_FORMS_H

/*
 * json_forms - objects that are written like earlier ones, read without parsing them.
 *
 * Place:   json_events asks it first, and teaches it what only the parser could read.
 * Idea:    a program writes all events of a kind alike, to the blank: between two values stands
 *          the same text every time. These texts are the nodes of a tree, an object's way through
 *          it is its form. Where an object goes along a known way to its end, its texts are
 *          compared, its values are passed over, and that is all.
 *
 *              {"ph":"X  ","cat":"cpu_op"  ,"name":"  (text)  ","ts":  (number)  }
 *                        \ ","cat":"kernel"  ,"name":"  (text)  ","ts":  (number)  ,"dur": ...
 *              {"ph":"s  ","id":  (number)  ...
 *
 * Exact:   what is read comes out field by field as json_objects gives it. What has an escape, a
 *          byte above 127 or a control character in a text, an object among its values, or
 *          anything but letters, digits, signs and points where no quote is, is not read here:
 *          the parser has the say, and so it has on everything that is damaged.
 * Memory:  grows with the forms, up to RKT_JSON_FORM_NODES_MAX nodes; then nothing new is learned.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/import/json_objects.h"

#define RKT_JSON_FORM_NODES_MAX 2048u

struct rkt_json_forms;

/*
 * Bit m of `kind_meanings`: texts of keys with the meaning m are few and tell kinds of objects
 * apart; they are part of a form, and fields of theirs have a number as `kind`, below
 * RKT_JSON_FORM_NODES_MAX: all that have the same one have the same text. NULL when memory is out.
 */
struct rkt_json_forms *rkt_json_forms_create(rkt_json_meaning_fn meaning_of,
                                             uint64_t kind_meanings);
void rkt_json_forms_destroy(struct rkt_json_forms *forms);

/*
 * The object that begins at `text`, behind which RKT_JSON_PADDING zeros or more text must be
 * readable. The visitor is asked about args and not given the object; its fields are the forms'
 * own, until the next call. False, and nothing else, where it is not written like a known one.
 */
bool rkt_json_forms_read(struct rkt_json_forms *forms, const char *text,
                         const struct rkt_json_object_visitor *visitor,
                         struct rkt_json_object *object_out);

/* From now on objects that are written like this one are known, unless there are too many forms. */
void rkt_json_forms_learn(struct rkt_json_forms *forms, const struct rkt_json_object *object);

#endif
