/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_window.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_objects.h"
#include "analysis/import/json_reader.h"

#define FRONT_BYTES 64u /* before the text; one would do, more keeps it aligned */

static enum rkt_status grow(struct rkt_json_window *window, size_t cap, struct rkt_error *err)
{
    char *memory = realloc(window->memory, FRONT_BYTES + cap + RKT_JSON_PADDING);

    if (!memory)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a window of %zu bytes", cap);
    window->memory = memory;
    window->text = memory + FRONT_BYTES;
    window->cap = cap;
    return RKT_OK;
}

enum rkt_status rkt_json_window_init(struct rkt_json_window *window, struct rkt_text_source *source,
                                     size_t bytes, struct rkt_error *err)
{
    memset(window, 0, sizeof(*window));
    window->source = source;
    return grow(window, bytes, err);
}

void rkt_json_window_release(struct rkt_json_window *window)
{
    free(window->memory);
    memset(window, 0, sizeof(*window));
}

enum rkt_status rkt_json_window_refill(struct rkt_json_window *window, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    memmove(window->text, window->text + window->at, window->len - window->at);
    window->text_start += window->at;
    window->len -= window->at;
    window->at = 0;
    if (window->len > window->cap / 2)
        status = grow(window, window->cap * 2, err);
    while (status == RKT_OK && window->len < window->cap && !window->has_all) {
        size_t got = 0;

        status = rkt_text_source_read(window->source, window->text + window->len,
                                      window->cap - window->len, &got, err);
        window->has_all = status == RKT_END;
        if (status == RKT_END)
            status = RKT_OK;
        window->len += got;
        window->json_bytes += got;
    }
    memset(window->text + window->len, 0, RKT_JSON_PADDING);
    return status;
}

enum rkt_status rkt_json_window_next(struct rkt_json_window *window, char *c_out,
                                     struct rkt_error *err)
{
    for (;;) {
        enum rkt_status status;

        window->at = rkt_json_skip_blank(window->text, window->len, window->at);
        if (window->at < window->len) {
            *c_out = window->text[window->at];
            return RKT_OK;
        }
        *c_out = '\0';
        if (window->has_all)
            return RKT_OK;
        status = rkt_json_window_refill(window, err);
        if (status != RKT_OK)
            return status;
    }
}

enum rkt_status rkt_json_window_value(struct rkt_json_window *window,
                                      enum rkt_scan_result *result_out, size_t *end_out,
                                      struct rkt_error *err)
{
    for (;;) {
        enum rkt_status status;

        *end_out = window->len;
        *result_out = rkt_json_scan_value(window->text, window->len, window->at, end_out);
        if (*result_out != RKT_SCAN_MORE)
            return RKT_OK;
        *end_out = window->len;
        if (window->has_all || window->len - window->at >= RKT_JSON_VALUE_BYTES_MAX)
            return RKT_OK;
        status = rkt_json_window_refill(window, err);
        if (status != RKT_OK)
            return status;
    }
}
