/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INDENT_SPACES 2u

/* Bytes of the UTF-8 sequence at `text` (at most `left`); 0 when it is none. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char mask, lead, second_min, second_max;
        size_t length;
    } FORMS[] = {
        {0xff, 0xe0, 0xa0, 0xbf, 3}, /* no overlong forms */
        {0xff, 0xed, 0x80, 0x9f, 3}, /* no surrogates */
        {0xf0, 0xe0, 0x80, 0xbf, 3}, {0xff, 0xf0, 0x90, 0xbf, 4},
        {0xff, 0xf4, 0x80, 0x8f, 4}, /* up to U+10FFFF */
        {0xfc, 0xf0, 0x80, 0xbf, 4}, {0xe0, 0xc0, 0x80, 0xbf, 2},
    };

    if (text[0] < 0x80)
        return 1;
    if (text[0] < 0xc2)
        return 0;
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        if ((text[0] & FORMS[i].mask) != FORMS[i].lead)
            continue;
        if (left < FORMS[i].length || text[1] < FORMS[i].second_min ||
            text[1] > FORMS[i].second_max)
            return 0;
        for (size_t k = 2; k < FORMS[i].length; k++) {
            if ((text[k] & 0xc0) != 0x80)
                return 0;
        }
        return FORMS[i].length;
    }
    return 0;
}

static void put_escaped(FILE *out, unsigned char byte)
{
    switch (byte) {
    case '"':
        fputs("\\\"", out);
        return;
    case '\\':
        fputs("\\\\", out);
        return;
    case '\n':
        fputs("\\n", out);
        return;
    case '\t':
        fputs("\\t", out);
        return;
    default:
        fprintf(out, "\\u%04x", byte);
    }
}

static void put_string(FILE *out, const char *text, size_t len_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t plain = 0; /* bytes before i that can go out as they are */
    size_t i = 0;

    putc('"', out);
    while (i < len_bytes) {
        size_t length = utf8_length(at + i, len_bytes - i);

        if (length > 0 && at[i] >= 0x20 && at[i] != '"' && at[i] != '\\' && at[i] != 0x7f) {
            i += length;
            continue;
        }
        fwrite(at + plain, 1, i - plain, out);
        if (length == 0)
            fputs("\\ufffd", out);
        else
            put_escaped(out, at[i]);
        plain = ++i;
    }
    fwrite(at + plain, 1, len_bytes - plain, out);
    putc('"', out);
}

static void break_line(const struct rkt_json *json)
{
    putc('\n', json->out);
    for (unsigned i = 0; i < json->depth * INDENT_SPACES; i++)
        putc(' ', json->out);
}

/* The comma, the line break and the key that go before a value. */
static void begin_value(struct rkt_json *json, const char *key)
{
    bool is_broken = json->depth > 0 && json->depth <= json->break_depth;

    assert(json->levels[json->depth].is_object == (key != NULL));
    if (json->levels[json->depth].has_members)
        fputs(is_broken ? "," : ", ", json->out);
    if (is_broken)
        break_line(json);
    json->levels[json->depth].has_members = true;
    if (key != NULL) {
        put_string(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

static void begin_container(struct rkt_json *json, const char *key, bool is_object)
{
    begin_value(json, key);
    putc(is_object ? '{' : '[', json->out);
    assert(json->depth + 1 < RKT_JSON_DEPTH_MAX);
    json->depth++;
    json->levels[json->depth].is_object = is_object;
    json->levels[json->depth].has_members = false;
}

void rkt_json_init(struct rkt_json *json, FILE *out, unsigned break_depth)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
    json->break_depth = break_depth;
}

void rkt_json_begin_object(struct rkt_json *json, const char *key)
{
    begin_container(json, key, true);
}

void rkt_json_begin_array(struct rkt_json *json, const char *key)
{
    begin_container(json, key, false);
}

void rkt_json_end(struct rkt_json *json)
{
    bool is_object = json->levels[json->depth].is_object;
    bool is_broken = json->levels[json->depth].has_members && json->depth <= json->break_depth;

    assert(json->depth > 0);
    json->depth--;
    if (is_broken)
        break_line(json);
    putc(is_object ? '}' : ']', json->out);
}

void rkt_json_null(struct rkt_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

void rkt_json_bool(struct rkt_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void rkt_json_i64(struct rkt_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void rkt_json_u64(struct rkt_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void rkt_json_double(struct rkt_json *json, const char *key, double value)
{
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.6g", value);
    else
        fputs("null", json->out);
}

void rkt_json_us(struct rkt_json *json, const char *key, int64_t value_ns)
{
    uint64_t magnitude = value_ns < 0 ? 0 - (uint64_t)value_ns : (uint64_t)value_ns;

    begin_value(json, key);
    fprintf(json->out, "%s%" PRIu64 ".%03" PRIu64, value_ns < 0 ? "-" : "", magnitude / 1000,
            magnitude % 1000);
}

void rkt_json_text(struct rkt_json *json, const char *key, const char *text)
{
    rkt_json_bytes(json, key, text, strlen(text));
}

void rkt_json_bytes(struct rkt_json *json, const char *key, const char *text, size_t len_bytes)
{
    begin_value(json, key);
    put_string(json->out, text, len_bytes);
}

enum rkt_status rkt_json_finish(struct rkt_json *json, struct rkt_error *err)
{
    assert(json->depth == 0);
    putc('\n', json->out);
    if (fflush(json->out) != 0 || ferror(json->out))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write JSON");
    return RKT_OK;
}
