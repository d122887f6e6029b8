/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_walk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"
#define NUMBER_BYTES "+-.eE0123456789"

/* An object or array that is open, and where its path and form end. */
struct level {
    size_t path_bytes;
    size_t form_bytes;
    size_t member_count;
    char close; /* '}' or ']' */
};

struct walk {
    const char *begin;
    char *at;
    rkt_json_value_fn fn;
    void *ctx;
    struct rkt_error *err;
    struct level levels[RKT_JSON_WALK_DEPTH_MAX];
    size_t depth;
    char path[RKT_JSON_WALK_PATH_BYTES];
    char form[RKT_JSON_WALK_PATH_BYTES];
};

static enum rkt_status fail_here(struct walk *walk, const char *expected)
{
    return rkt_fail(walk->err, RKT_ERR_FORMAT, "byte %zu is no JSON: %s expected",
                    (size_t)(walk->at - walk->begin), expected);
}

static void skip_space(struct walk *walk)
{
    walk->at += strspn(walk->at, SPACE);
}

/* ---- texts ---- */

/* Four hexadecimal digits. */
static bool read_unit(const char *text, unsigned *unit_out)
{
    char digits[5] = "";
    char *end = NULL;

    for (int i = 0; i < 4; i++) {
        if (!strchr("0123456789abcdefABCDEF", text[i]) || text[i] == '\0')
            return false;
        digits[i] = text[i];
    }
    *unit_out = (unsigned)strtoul(digits, &end, 16);
    return true;
}

/* UTF-8 of a unit below 2^16; half of a pair becomes U+FFFD. */
static char *put_unit(char *to, unsigned unit)
{
    if (unit >= 0xd800 && unit <= 0xdfff)
        unit = 0xfffd;
    if (unit < 0x80) {
        *to++ = (char)(unit == 0 ? ' ' : unit); /* texts end at a zero byte */
    } else if (unit < 0x800) {
        *to++ = (char)(0xc0 | (unit >> 6));
        *to++ = (char)(0x80 | (unit & 0x3f));
    } else {
        *to++ = (char)(0xe0 | (unit >> 12));
        *to++ = (char)(0x80 | ((unit >> 6) & 0x3f));
        *to++ = (char)(0x80 | (unit & 0x3f));
    }
    return to;
}

/* At the byte behind the backslash. Never longer than what it stands for. */
static enum rkt_status read_escape(struct walk *walk, char **to)
{
    static const char LETTERS[] = "\"\\/bfnrt";
    static const char MEANINGS[] = "\"\\/\b\f\n\r\t";
    const char *letter = *walk->at == '\0' ? NULL : strchr(LETTERS, *walk->at);
    unsigned unit;

    if (letter) {
        *(*to)++ = MEANINGS[letter - LETTERS];
        walk->at++;
        return RKT_OK;
    }
    if (*walk->at != 'u' || !read_unit(walk->at + 1, &unit))
        return fail_here(walk, "an escape");
    *to = put_unit(*to, unit);
    walk->at += 5;
    return RKT_OK;
}

/* From its opening quote to behind its closing one. */
static enum rkt_status read_text(struct walk *walk, const char **text_out)
{
    char *start = ++walk->at;
    char *to = start;
    enum rkt_status status = RKT_OK;

    while (*walk->at != '"' && status == RKT_OK) {
        if ((unsigned char)*walk->at < 0x20)
            return fail_here(walk, "the end of a text");
        if (*walk->at != '\\') {
            *to++ = *walk->at++;
            continue;
        }
        walk->at++;
        status = read_escape(walk, &to);
    }
    if (status != RKT_OK)
        return status;
    walk->at++;
    *to = '\0';
    *text_out = start;
    return RKT_OK;
}

/* ---- values ---- */

static enum rkt_status give(struct walk *walk, struct rkt_json_value value)
{
    value.path = walk->path;
    value.form = walk->form;
    return walk->fn(walk->ctx, &value, walk->err);
}

static enum rkt_status give_number(struct walk *walk)
{
    struct rkt_json_value value = {.type = RKT_JSON_NUMBER};
    size_t length = strspn(walk->at, NUMBER_BYTES);
    char *end = NULL;

    if (*walk->at != '-' && (*walk->at < '0' || *walk->at > '9'))
        return fail_here(walk, "a value");
    value.number = strtod(walk->at, &end);
    if (end != walk->at + length || !isfinite(value.number))
        return fail_here(walk, "a number");
    errno = 0;
    value.integer = strtoll(walk->at, &end, 10);
    value.is_integer = errno == 0 && end == walk->at + length;
    walk->at += length;
    return give(walk, value);
}

static enum rkt_status give_word(struct walk *walk)
{
    static const struct {
        const char *word;
        enum rkt_json_type type;
        double number;
    } WORDS[] = {{"null", RKT_JSON_NULL, (double)NAN},
                 {"true", RKT_JSON_BOOL, 1},
                 {"false", RKT_JSON_BOOL, 0}};

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        size_t length = strlen(WORDS[i].word);

        if (strncmp(walk->at, WORDS[i].word, length) != 0)
            continue;
        walk->at += length;
        return give(walk,
                    (struct rkt_json_value){.type = WORDS[i].type, .number = WORDS[i].number});
    }
    return give_number(walk);
}

static enum rkt_status open_level(struct walk *walk)
{
    char close = *walk->at == '{' ? '}' : ']';

    if (walk->depth == RKT_JSON_WALK_DEPTH_MAX)
        return rkt_fail(walk->err, RKT_ERR_FORMAT, "byte %zu nests deeper than %u levels",
                        (size_t)(walk->at - walk->begin), RKT_JSON_WALK_DEPTH_MAX);
    walk->levels[walk->depth++] = (struct level){strlen(walk->path), strlen(walk->form), 0, close};
    walk->at++;
    return give(walk, (struct rkt_json_value){.type = RKT_JSON_BEGIN, .number = (double)NAN});
}

static enum rkt_status read_value(struct walk *walk)
{
    struct rkt_json_value value = {.type = RKT_JSON_TEXT, .number = (double)NAN};
    enum rkt_status status;

    skip_space(walk);
    if (*walk->at == '{' || *walk->at == '[')
        return open_level(walk);
    if (*walk->at != '"')
        return give_word(walk);
    status = read_text(walk, &value.text);
    return status == RKT_OK ? give(walk, value) : status;
}

/* ---- members ---- */

static enum rkt_status close_level(struct walk *walk)
{
    const struct level *level = &walk->levels[--walk->depth];

    walk->path[level->path_bytes] = '\0';
    walk->form[level->form_bytes] = '\0';
    walk->at++;
    return give(walk, (struct rkt_json_value){.type = RKT_JSON_END, .number = (double)NAN});
}

/* Adds a key to the path and form of an object. */
static enum rkt_status add_key(struct walk *walk, const struct level *level, const char *key)
{
    size_t path_room = sizeof(walk->path) - level->path_bytes;
    size_t form_room = sizeof(walk->form) - level->form_bytes;
    int length = snprintf(walk->path + level->path_bytes, path_room, "%s%s",
                          level->path_bytes > 0 ? "." : "", key);

    if (length < 0 || (size_t)length >= path_room || (size_t)length >= form_room)
        return rkt_fail(walk->err, RKT_ERR_FORMAT, "byte %zu: a path is longer than %u bytes",
                        (size_t)(walk->at - walk->begin), RKT_JSON_WALK_PATH_BYTES);
    memcpy(walk->form + level->form_bytes, walk->path + level->path_bytes, (size_t)length + 1);
    return RKT_OK;
}

static enum rkt_status name_member(struct walk *walk, struct level *level)
{
    const char *key = NULL;
    enum rkt_status status;

    if (level->close == ']') {
        int length = snprintf(walk->path + level->path_bytes,
                              sizeof(walk->path) - level->path_bytes, "[%zu]", level->member_count);

        if (level->path_bytes + (size_t)length >= sizeof(walk->path))
            return rkt_fail(walk->err, RKT_ERR_FORMAT, "byte %zu: a path is longer than %u bytes",
                            (size_t)(walk->at - walk->begin), RKT_JSON_WALK_PATH_BYTES);
        memcpy(walk->form + level->form_bytes, "[]", 3); /* shorter than the path's */
        return RKT_OK;
    }
    if (*walk->at != '"')
        return fail_here(walk, "a key");
    status = read_text(walk, &key);
    if (status == RKT_OK)
        status = add_key(walk, level, key);
    if (status != RKT_OK)
        return status;
    skip_space(walk);
    if (*walk->at != ':')
        return fail_here(walk, "':'");
    walk->at++;
    return RKT_OK;
}

/* Of the level that is open: its end, or the next value. */
static enum rkt_status read_member(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth - 1];
    enum rkt_status status;

    skip_space(walk);
    if (*walk->at == level->close)
        return close_level(walk);
    if (level->member_count > 0) {
        if (*walk->at != ',')
            return fail_here(walk, "',' or an end");
        walk->at++;
        skip_space(walk);
    }
    status = name_member(walk, level);
    level->member_count++;
    return status == RKT_OK ? read_value(walk) : status;
}

enum rkt_status rkt_json_walk(char *text, rkt_json_value_fn fn, void *ctx, struct rkt_error *err)
{
    struct walk walk = {.begin = text, .fn = fn, .ctx = ctx, .err = err};
    enum rkt_status status;

    walk.at = text;
    status = read_value(&walk);
    while (status == RKT_OK && walk.depth > 0)
        status = read_member(&walk);
    skip_space(&walk);
    if (status == RKT_OK && *walk.at != '\0')
        status = fail_here(&walk, "the end");
    return status;
}
