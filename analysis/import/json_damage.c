/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_damage.h"

#include <string.h>

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
