/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_swallowed.h"

#include <string.h>

#include "analysis/import/json_scan.h"

#define LEVELS_MAX 64u

/* An object or a list that is open. */
struct level {
    size_t start;
    bool is_list;
    bool may_list_events; /* it is, or is in, args or a member */
    bool has_other;       /* a list: than events */
    bool has_args_next;   /* the value that follows is that of "args" */
    bool has_phase;
    bool has_name; /* or time */
};

struct walk {
    const char *text;
    size_t len;
    struct level levels[LEVELS_MAX];
    size_t depth;
};

static bool is_key(const char *text, size_t bytes, const char *key)
{
    return bytes == strlen(key) && memcmp(text, key, bytes) == 0;
}

/* The key text[from, end), with its quotes, and the colon at `colon`. */
static void note_key(struct walk *walk, size_t from, size_t end, size_t colon)
{
    struct level *level = &walk->levels[walk->depth - 1];
    const char *key = walk->text + from;
    size_t bytes = end - from;
    size_t value = rkt_json_skip_blank(walk->text, walk->len, colon + 1);
    bool is_one_char = walk->len - value >= 3 && walk->text[value] == '"' &&
                       walk->text[value + 1] != '\\' && walk->text[value + 2] == '"';

    level->has_phase |= is_key(key, bytes, "\"ph\"") && is_one_char;
    level->has_name |= is_key(key, bytes, "\"name\"") || is_key(key, bytes, "\"ts\"");
    level->has_args_next = is_key(key, bytes, "\"args\"");
}

/* A string at `at`: a key or a value. Returns the place behind it. */
static size_t pass_string(struct walk *walk, size_t at)
{
    struct level *level = &walk->levels[walk->depth - 1];
    size_t end = walk->len;
    size_t colon;

    if (rkt_json_scan_strictly(walk->text, walk->len, at, &end) != RKT_SCAN_FOUND)
        return walk->len;
    colon = rkt_json_skip_blank(walk->text, walk->len, end);
    if (level->is_list)
        level->has_other = true;
    else if (colon < walk->len && walk->text[colon] == ':')
        note_key(walk, at, end, colon);
    return end;
}

static bool open_level(struct walk *walk, size_t at, enum rkt_json_holder holder)
{
    struct level *parent = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
    bool is_args = walk->depth == 1 && holder == RKT_JSON_HOLDER_EVENT && parent->has_args_next;

    if (walk->depth == LEVELS_MAX)
        return false;
    walk->levels[walk->depth++] = (struct level){
        .start = at,
        .is_list = walk->text[at] == '[',
        .may_list_events =
            parent ? parent->may_list_events || is_args : holder == RKT_JSON_HOLDER_MEMBER,
    };
    return true;
}

/* Leaves the innermost level; true when it is a swallowed event. */
static bool close_level(struct walk *walk)
{
    const struct level *level = &walk->levels[--walk->depth];
    bool is_event = level->has_phase && level->has_name;
    struct level *parent;

    if (walk->depth == 0)
        return false;
    parent = &walk->levels[walk->depth - 1];
    if (is_event && (!level->may_list_events || (parent->is_list && parent->has_other)))
        return true;
    parent->has_other |= !is_event;
    return false;
}

size_t rkt_json_find_swallowed(const char *text, size_t len, enum rkt_json_holder holder)
{
    struct walk walk = {.text = text, .len = len};
    size_t at = 0;

    do {
        char c = text[at];

        if (c == '{' || c == '[') {
            if (!open_level(&walk, at, holder))
                return len;
        } else if (c == '}' || c == ']') {
            if (close_level(&walk))
                return walk.levels[walk.depth].start;
        } else if (c == '"') {
            at = pass_string(&walk, at);
            continue;
        } else if (!strchr(" \t\r\n,:", c)) {
            walk.levels[walk.depth - 1].has_other = true; /* of a list; objects are not asked */
        }
        at++;
    } while (walk.depth > 0 && at < len);
    return len;
}

bool rkt_json_may_hold_event(const char *text, size_t len)
{
    const char *object = memchr(text, '{', len);

    return object && memmem(object, len - (size_t)(object - text), "\"ph\"", 4) != NULL;
}
