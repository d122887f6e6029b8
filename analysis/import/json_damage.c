/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_damage.h"

#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/json_swallowed.h"

#define NUMBER_BYTES_USUAL 20u /* what is longer, and no text, may be an object or a list */

/* How many events began in what is lost: at least one. */
static uint64_t count_lost(const char *text, size_t len)
{
    static const char KEY[] = "\"ph\"";
    uint64_t count = 0;
    const char *end = text + len;

    while ((text = memmem(text, (size_t)(end - text), KEY, sizeof(KEY) - 1)) != NULL) {
        count++;
        text += sizeof(KEY) - 1;
    }
    return count > 0 ? count : 1;
}

/* Stretches that touch are one place. */
static void note_place(struct rkt_json_stats *stats, uint64_t position, uint64_t bytes,
                       uint64_t count)
{
    struct rkt_json_damage *last = NULL;

    if (stats->place_count > 0 && stats->place_count <= RKT_JSON_PLACES_MAX)
        last = &stats->places[stats->place_count - 1];
    if (last && last->position + last->bytes == position) {
        last->bytes += bytes;
        last->count += count;
        return;
    }
    if (stats->place_count < RKT_JSON_PLACES_MAX)
        stats->places[stats->place_count] = (struct rkt_json_damage){position, bytes, count};
    stats->place_count++;
}

void rkt_json_note_damage(struct rkt_json_stats *stats, const char *text, size_t bytes,
                          uint64_t position)
{
    uint64_t count;

    if (bytes == 0)
        return;
    if (stats->first_damage == UINT64_MAX)
        stats->first_damage = position;
    count = count_lost(text, bytes);
    note_place(stats, position, bytes, count);
    stats->damaged_count += count;
    stats->damaged_bytes += bytes;
}

static void note_merged(struct rkt_json_stats *stats, uint64_t position, uint64_t count)
{
    if (stats->first_damage == UINT64_MAX)
        stats->first_damage = position;
    note_place(stats, position, 0, count);
    stats->damaged_count += count;
}

static bool may_be_nested(const struct rkt_json_field *field)
{
    return field->value_bytes > NUMBER_BYTES_USUAL && !field->is_text;
}

static bool may_hide_events(const struct rkt_json_object *event)
{
    if (event->unread &&
        rkt_json_may_hold_event(event->unread + 1, (size_t)(event->text_end - event->unread - 1)))
        return true;
    for (size_t i = 0; i < event->count; i++) {
        const struct rkt_json_field *field = &event->fields[i];

        if (may_be_nested(field) && rkt_json_may_hold_event(field->value, field->value_bytes))
            return true;
    }
    return false;
}

static bool hides_events(struct rkt_json_parser *parser, const struct rkt_json_object *event,
                         size_t *lost_bytes_out)
{
    size_t len = (size_t)(event->text_end - event->text);
    size_t lost = rkt_json_find_swallowed(event->text, len, RKT_JSON_HOLDER_EVENT);

    if (lost == len && rkt_json_is_object(parser, event->text, len))
        return false;
    *lost_bytes_out = lost < len ? lost : rkt_json_find_sure_event(event->text, len, 1);
    return true;
}

bool rkt_json_check_event(struct rkt_json_stats *stats, struct rkt_json_parser *parser,
                          const struct rkt_json_object *event, uint64_t position,
                          size_t *lost_bytes_out)
{
    bool has_nested = event->unread != NULL;
    uint64_t phase_count = 0;

    for (size_t i = 0; i < event->count; i++) {
        const struct rkt_json_field *field = &event->fields[i];

        has_nested |= may_be_nested(field);
        phase_count += field->key_bytes == 2 && field->key[0] == 'p' && field->key[1] == 'h' &&
                       !field->in_args;
    }
    if (has_nested && may_hide_events(event) && hides_events(parser, event, lost_bytes_out))
        return false;
    if (phase_count > 1)
        note_merged(stats, position, phase_count - 1);
    return true;
}

static const char SQLITE_MAGIC[] = "SQLite format 3";

/* Only what nsys.h does not take comes here: what is packed, of a pipe, or no export. */
static const char *why_no_sqlite(bool is_packed)
{
    if (is_packed)
        return "a compressed SQLite export: unpack it first";
#ifdef RKT_HAVE_SQLITE
    return "an SQLite file: only exports of Nsight Systems are read, and not from a pipe";
#else
    return "an SQLite file, and this build has no SQLite: build it with libsqlite3-dev";
#endif
}

enum rkt_status rkt_json_refuse(const char *text, size_t len, bool is_packed, struct rkt_error *err)
{
    const struct {
        const char *magic;
        size_t bytes;
        const char *what;
    } known[] = {
        {"PK\3\4", 4, "a zip archive: unpack it first"},
        {"\xfd\x37zXZ", 5, "compressed by xz: decompress it first"},
        {"BZh", 3, "compressed by bzip2: decompress it first"},
        {SQLITE_MAGIC, sizeof(SQLITE_MAGIC) - 1, why_no_sqlite(is_packed)},
        {"RKTF", 4, "a ranktrace store already"},
        {"<", 1, "HTML or XML"},
    };

    if (len == 0)
        return rkt_fail(err, RKT_ERR_FORMAT, "is empty; export or copy it again");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (len >= known[i].bytes && memcmp(text, known[i].magic, known[i].bytes) == 0)
            return rkt_fail(err, RKT_ERR_FORMAT, "is no JSON; it looks like %s", known[i].what);
    }
    return rkt_fail(err, RKT_ERR_FORMAT,
                    "is no JSON: it begins with neither { nor [; give what torch.profiler exports");
}
