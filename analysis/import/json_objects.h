/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_OBJECTS_H
#define RKT_ANALYSIS_IMPORT_JSON_OBJECTS_H

/*
 * json_objects - JSON objects as flat lists of raw tokens: the C face of simdjson.
 *
 * Place:   json_reader -> [json_objects] -> kineto.
 *          Its .cc is the only C++ file of the project and the only one that knows simdjson.
 * Fields:  in the order of the text; those inside the member "args" come with in_args.
 *          Tokens point into the text: strings without their quotes and with their escapes as
 *          they are, everything else (also whole arrays and objects) as written.
 * Threads: one at a time per parser.
 * Speed:   simdjson's first pass, which checks the characters and finds all tokens with the best
 *          instruction set at run time, is all that is used of it: raw tokens are told apart by
 *          what it found. What a key means is asked once per key and not once per field.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RKT_JSON_PADDING 64u /* readable bytes that must follow a text */

/* What is sure of a value. */
enum rkt_json_shape {
    RKT_JSON_ANYTHING,
    RKT_JSON_DIGITS,     /* and nothing else */
    RKT_JSON_DECIMAL,    /* digits, a point, digits */
    RKT_JSON_PLAIN_TEXT, /* a string without escapes */
};

struct rkt_json_field {
    const char *key; /* without quotes, escapes as they are */
    const char *value;
    size_t value_bytes;
    uint32_t key_bytes;
    uint16_t meaning; /* of the key, as the parser's user has it */
    uint8_t shape;    /* enum rkt_json_shape */
    uint16_t kind;    /* number of the text, where it tells kinds apart: json_forms.h; else 0 */
    bool is_text;     /* a string: value is what stands between its quotes */
    bool in_args;
};

struct rkt_json_object {
    const struct rkt_json_field *fields;
    size_t count;
    const char *text;     /* its '{' */
    const char *text_end; /* behind its '}' */
    const char *unread;   /* the first args that nobody wanted; NULL: none */
};

struct rkt_json_parser;

/* What a key means: any number, always the same for the same key. */
typedef uint16_t (*rkt_json_meaning_fn)(const char *key, size_t bytes, bool in_args);

/* `meaning_of` NULL: fields have the meaning 0. NULL when memory is out. */
struct rkt_json_parser *rkt_json_parser_create(rkt_json_meaning_fn meaning_of);
void rkt_json_parser_destroy(struct rkt_json_parser *parser);

struct rkt_json_object_visitor {
    void *ctx;
    /* Are the fields in args wanted? Gets those before args. NULL: always. */
    bool (*wants_args)(void *ctx, const struct rkt_json_field *fields, size_t count);
    /* Gets each whole object; false stops. */
    bool (*object)(void *ctx, const struct rkt_json_object *object);
};

enum rkt_json_outcome {
    RKT_JSON_DONE,    /* all of the text */
    RKT_JSON_ENDED,   /* the array ends before the text does */
    RKT_JSON_WRONG,   /* an element is no object or does not parse */
    RKT_JSON_STOPPED, /* the visitor said so */
    RKT_JSON_NOMEM,
};

/* How far an array was read. */
struct rkt_json_progress {
    const char *last; /* where the last element that was begun begins; NULL: none was */
    bool was_given;   /* the visitor had it: what is wrong comes behind it */
};

/* `text` is an array of objects. */
enum rkt_json_outcome rkt_json_parse_array(struct rkt_json_parser *parser, const char *text,
                                           size_t len,
                                           const struct rkt_json_object_visitor *visitor,
                                           struct rkt_json_progress *progress_out);
/* `text` is one object. ENDED: it was given, and ends before the text does, at text[*end_out]. */
enum rkt_json_outcome rkt_json_parse_object(struct rkt_json_parser *parser, const char *text,
                                            size_t len,
                                            const struct rkt_json_object_visitor *visitor,
                                            size_t *end_out);

/* Is all of `text` one object by JSON's rules? The parsers above pass over what nobody asked
 * for. */
bool rkt_json_is_object(struct rkt_json_parser *parser, const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
