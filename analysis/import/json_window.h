/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_WINDOW_H
#define RKT_ANALYSIS_IMPORT_JSON_WINDOW_H

/*
 * json_window - the piece of a JSON text that is in memory, and the place in it.
 *
 * Owner:  json_reader, which reads `text`, `len` and `at` directly. Everything before
 *         `at` is done with; a call that may fetch more text moves the rest to the front.
 * Memory: grows only while one value is larger than the window.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/text_source.h"
#include "common/status.h"

struct rkt_json_window {
    struct rkt_text_source *source;
    char *memory;
    char *text; /* one byte before it, and RKT_JSON_PADDING behind its end, may be written */
    size_t cap;
    size_t len;
    size_t at;
    uint64_t text_start; /* of text[0] in the JSON */
    uint64_t json_bytes; /* taken from the source */
    bool has_all;        /* the source has ended */
};

enum rkt_status rkt_json_window_init(struct rkt_json_window *window, struct rkt_text_source *source,
                                     size_t bytes, struct rkt_error *err);
void rkt_json_window_release(struct rkt_json_window *window);

/* Drop what is done with and fill up; more than half full of what is not done: grow first. */
enum rkt_status rkt_json_window_refill(struct rkt_json_window *window, struct rkt_error *err);

/* Go to the next byte that is no blank. At the end of the JSON: '\0', and at == len. */
enum rkt_status rkt_json_window_next(struct rkt_json_window *window, char *c_out,
                                     struct rkt_error *err);

/*
 * The extent of the value at `at`, with more text fetched as needed. *result_out is MORE at the
 * end of the JSON, or when the value is larger than RKT_JSON_VALUE_BYTES_MAX.
 */
enum rkt_status rkt_json_window_value(struct rkt_json_window *window,
                                      enum rkt_scan_result *result_out, size_t *end_out,
                                      struct rkt_error *err);

static inline uint64_t rkt_json_window_position(const struct rkt_json_window *window)
{
    return window->text_start + window->at;
}

#endif
