/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events read by their forms are those that the parser reads, field by field, and damage is found
 * where it finds it: any text is read both ways, in windows of several sizes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_reader.h"
#include "analysis/import/kineto_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What came out of a reading. */
struct seen {
    uint64_t *digests; /* of events and members, in order */
    size_t count;
    size_t cap;
    struct rkt_json_stats stats;
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static uint64_t digest(uint64_t sum, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return (sum ^ len) * UINT64_C(0x100000001b3);
}

static void keep(struct seen *seen, uint64_t sum)
{
    if (seen->count == seen->cap) {
        seen->cap = seen->cap ? 2 * seen->cap : 64;
        seen->digests = realloc(seen->digests, seen->cap * sizeof(*seen->digests));
        if (!seen->digests)
            fail("no memory");
    }
    seen->digests[seen->count++] = sum;
}

/* What is said of a value must be so. */
static void check_shape(const struct rkt_json_field *field)
{
    size_t digits = 0;
    size_t points = 0;

    for (size_t i = 0; i < field->value_bytes; i++) {
        digits += field->value[i] >= '0' && field->value[i] <= '9';
        points += i > 0 && i + 1 < field->value_bytes && field->value[i] == '.';
    }
    if (field->shape == RKT_JSON_PLAIN_TEXT &&
        (!field->is_text || memchr(field->value, '\\', field->value_bytes)))
        fail("a text is called plain");
    if (field->shape == RKT_JSON_DIGITS && (field->is_text || digits != field->value_bytes))
        fail("a value is called digits");
    if (field->shape == RKT_JSON_DECIMAL &&
        (field->is_text || points != 1 || digits + 1 != field->value_bytes))
        fail("a value is called decimal");
}

static uint64_t digest_field(uint64_t sum, const struct rkt_json_field *field)
{
    check_shape(field);
    sum = digest(sum, field->key, field->key_bytes);
    sum = digest(sum, field->value, field->value_bytes);
    sum = digest(sum, &field->meaning, sizeof(field->meaning));
    return digest(sum, &field->is_text, 1) * 3 + field->in_args;
}

static enum rkt_status take_event(void *ctx, const struct rkt_json_object *event,
                                  struct rkt_error *err)
{
    uint64_t sum = 1;

    (void)err;
    for (size_t i = 0; i < event->count; i++)
        sum = digest_field(sum, &event->fields[i]);
    sum = digest(sum, event->text, (size_t)(event->text_end - event->text));
    if (event->unread)
        sum = digest(sum, event->unread, (size_t)(event->text_end - event->unread));
    keep(ctx, sum);
    return RKT_OK;
}

static enum rkt_status take_member(void *ctx, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    (void)err;
    keep(ctx, digest_field(2, member));
    return RKT_OK;
}

/* As kineto: it hangs on what comes before args. */
static bool wants_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    (void)ctx;
    return count == 0 || fields[count - 1].value_bytes % 2 == 0;
}

static enum rkt_status read_all(const uint8_t *data, size_t size, size_t window_bytes,
                                bool parses_all, struct seen *seen)
{
    struct rkt_json_handler handler = {
        .ctx = seen,
        .wants_args = wants_args,
        .event = take_event,
        .member = take_member,
        .meaning_of = rkt_kineto_meaning,
        .kind_meanings = UINT64_C(1) << RKT_KEY_PH | UINT64_C(1) << RKT_KEY_CAT,
        .parses_all = parses_all,
    };
    struct rkt_text_source *source = rkt_text_source_from_memory(data, size);
    enum rkt_status status;

    if (!source)
        fail("no memory");
    status = rkt_json_read(source, window_bytes, &handler, &seen->stats, NULL);
    rkt_text_source_close(source);
    return status;
}

/* Of damage the first place: into how many stretches it falls depends on where windows end. */
static bool are_same(const struct rkt_json_stats *a, const struct rkt_json_stats *b)
{
    return a->json_bytes == b->json_bytes && a->event_count == b->event_count &&
           a->repaired_count == b->repaired_count && a->first_damage == b->first_damage &&
           (a->damaged_count > 0) == (b->damaged_count > 0) && a->has_events == b->has_events &&
           a->is_object == b->is_object && a->is_cut == b->is_cut && a->has_rest == b->has_rest;
}

static void compare(const uint8_t *data, size_t size, size_t window_bytes)
{
    struct seen parsed = {0};
    struct seen known = {0};

    if (read_all(data, size, window_bytes, true, &parsed) !=
        read_all(data, size, window_bytes, false, &known))
        fail("one way it is JSON, the other way not");
    for (size_t i = 0; i < parsed.count && i < known.count; i++) {
        if (parsed.digests[i] != known.digests[i])
            fail("an event is another one");
    }
    if (parsed.count != known.count)
        fail("more events one way than the other");
    if (!are_same(&parsed.stats, &known.stats))
        fail("another account of damage");
    free(parsed.digests);
    free(known.digests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    compare(data, size, RKT_JSON_WINDOW_BYTES_MIN);
    compare(data, size, (size_t)4 * RKT_JSON_WINDOW_BYTES_MIN);
    compare(data, size, 0);
    return 0;
}
