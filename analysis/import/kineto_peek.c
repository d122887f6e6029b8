/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/kineto_peek.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto.h"
#include "analysis/import/kineto_parts.h"

#define PEEK_WINDOW_BYTES ((size_t)64 << 10)
#define TAIL_BYTES ((size_t)64 << 10) /* what follows the events fits in it */

static const char BASE_KEY[] = "\"baseTimeNanoseconds\"";

static enum rkt_status drop_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    (void)ctx;
    (void)frame;
    (void)frame_bytes;
    (void)err;
    return RKT_OK;
}

enum rkt_status rkt_kineto_peek(struct rkt_text_source *source, struct rkt_trace_facts *facts_out,
                                struct rkt_error *err)
{
    static const struct rkt_source_info INFO = {.producer = RKT_PRODUCER_KINETO};
    struct rkt_kineto_options options = {.window_bytes = PEEK_WINDOW_BYTES, .is_peek = true};
    struct rkt_source_writer *writer = NULL;
    struct rkt_kineto *kineto = NULL;
    enum rkt_status status = rkt_source_writer_create(&INFO, drop_frame, NULL, &writer, err);

    if (status == RKT_OK)
        status = rkt_kineto_create(&options, writer, &kineto, err);
    if (status == RKT_OK)
        status = rkt_kineto_read(kineto, source, 0, facts_out, err);
    rkt_kineto_destroy(kineto);
    rkt_source_writer_destroy(writer);
    return status;
}

/* The last value of the key in a text; false: none. */
static bool base_in(const char *text, size_t len, int64_t *base_ns_out)
{
    const char *end = text + len;
    bool is_found = false;

    while ((text = memmem(text, (size_t)(end - text), BASE_KEY, sizeof(BASE_KEY) - 1)) != NULL) {
        const char *from = text + sizeof(BASE_KEY) - 1;

        while (from < end && (strchr(" \t\r\n:", *from)))
            from++;
        for (text = from; text < end && ((*text >= '0' && *text <= '9') || *text == '-');)
            text++;
        is_found |= rkt_json_to_i64(from, (size_t)(text - from), base_ns_out);
    }
    return is_found;
}

enum rkt_status rkt_kineto_find_base(struct rkt_text_source *source, int64_t *base_ns_out,
                                     bool *has_base_out, struct rkt_error *err)
{
    char *text = malloc(2 * TAIL_BYTES);
    enum rkt_status status = RKT_OK;
    size_t used = 0;

    if (!text)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to look for a base time");
    while (status == RKT_OK) {
        size_t got = 0;

        if (used == 2 * TAIL_BYTES) {
            memmove(text, text + TAIL_BYTES, TAIL_BYTES);
            used = TAIL_BYTES;
        }
        status = rkt_text_source_read(source, text + used, 2 * TAIL_BYTES - used, &got, err);
        used += status == RKT_OK ? got : 0;
    }
    *has_base_out = base_in(text, used, base_ns_out);
    free(text);
    return status == RKT_END ? RKT_OK : status;
}
