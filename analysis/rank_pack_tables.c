/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_pack_tables.h"

#include <string.h>

#include "common/strtab.h"

_Static_assert(sizeof(struct rkt_row) == 40 + RKT_COLUMNS_MAX * 8, "a member more: pack it, too");
_Static_assert(sizeof(struct rkt_place) == 40, "a member more: pack it, too");

/* Kind and name come before, by number. A row of one rank has no by_rank. */
static const struct rkt_packed_member ROW[] = {
    RKT_PACKED(struct rkt_row, bin),
    RKT_PACKED(struct rkt_row, segment),
    RKT_PACKED_ARRAY(struct rkt_row, values),
};
static const struct rkt_packed_table ROWS = RKT_PACKED_TABLE(struct rkt_row, ROW);

static const struct rkt_packed_member PLACE[] = {
    RKT_PACKED(struct rkt_place, start_ns),
    RKT_PACKED(struct rkt_place, end_ns),
    RKT_PACKED(struct rkt_place, kind),
    RKT_PACKED(struct rkt_place, segment),
};
static const struct rkt_packed_table PLACES = RKT_PACKED_TABLE(struct rkt_place, PLACE);

static uint32_t number_of(struct rkt_strtab *texts, const char *text)
{
    return rkt_strtab_intern(texts, text, strlen(text));
}

/* ---- tables: their texts, each once, then the rows ---- */

static void pack_texts(const struct rkt_tables *tables, struct rkt_strtab *texts,
                       struct rkt_packed *packed)
{
    for (size_t id = 0; id < RKT_TABLE_COUNT; id++) {
        for (size_t i = 0; i < tables->of[id].row_count; i++) {
            (void)number_of(texts, tables->of[id].rows[i].kind);
            (void)number_of(texts, tables->of[id].rows[i].name);
        }
    }
    rkt_packed_u64(packed, rkt_strtab_count(texts));
    for (uint32_t i = 0; i < rkt_strtab_count(texts); i++) {
        size_t len_bytes;
        const char *text = rkt_strtab_get(texts, i, &len_bytes);

        rkt_packed_text(packed, text, len_bytes);
    }
}

static void pack_table(const struct rkt_table *table, struct rkt_strtab *texts,
                       struct rkt_packed *packed)
{
    rkt_packed_u64(packed, table->row_count);
    for (size_t i = 0; i < table->row_count; i++) {
        rkt_packed_u64(packed, number_of(texts, table->rows[i].kind));
        rkt_packed_u64(packed, number_of(texts, table->rows[i].name));
        rkt_packed_structs(packed, &ROWS, &table->rows[i], 1);
    }
}

void rkt_tables_pack(const struct rkt_tables *tables, struct rkt_packed *packed)
{
    struct rkt_strtab *texts;

    rkt_packed_u64(packed, tables != NULL);
    if (!tables)
        return;
    texts = rkt_strtab_create();
    if (!texts) {
        packed->has_failed = true;
        return;
    }
    pack_texts(tables, texts, packed);
    for (size_t id = 0; id < RKT_TABLE_COUNT; id++)
        pack_table(&tables->of[id], texts, packed);
    rkt_strtab_destroy(texts);
}

/* By number. */
struct texts {
    const char **items;
    size_t count;
};

static const char *copy_text(struct rkt_unpacking *from, struct rkt_arena *arena)
{
    struct rkt_bytes text = rkt_unpack_text(from);
    const char *copy = rkt_arena_strndup(arena, (const char *)text.at, text.len_bytes);

    from->has_failed |= copy == NULL;
    return copy ? copy : "";
}

static bool unpack_texts(struct rkt_unpacking *from, struct rkt_arena *arena, struct texts *texts)
{
    size_t count = rkt_unpack_count(from);

    texts->items = RKT_ARENA_ARRAY(arena, const char *, count + 1);
    if (!texts->items)
        return false;
    for (size_t i = 0; i < count; i++)
        texts->items[i] = copy_text(from, arena);
    texts->count = count;
    return true;
}

static const char *unpack_number(struct rkt_unpacking *from, const struct texts *texts)
{
    uint64_t number = rkt_unpack_u64(from);

    if (number < texts->count)
        return texts->items[number];
    from->has_failed = true;
    return "";
}

static bool unpack_table(struct rkt_unpacking *from, struct rkt_arena *arena,
                         const struct texts *texts, struct rkt_table *table)
{
    size_t count = rkt_unpack_count(from);

    table->rows = RKT_ARENA_ARRAY(arena, struct rkt_row, count + 1);
    if (!table->rows)
        return false;
    for (size_t i = 0; i < count && !from->has_failed; i++) {
        table->rows[i].kind = unpack_number(from, texts);
        table->rows[i].name = unpack_number(from, texts);
        rkt_unpack_structs(from, &ROWS, &table->rows[i], 1);
    }
    table->row_count = count;
    return true;
}

const struct rkt_tables *rkt_tables_unpack(struct rkt_unpacking *from, struct rkt_arena *arena)
{
    struct rkt_tables *tables;
    struct texts texts = {0};
    bool has_memory;

    if (rkt_unpack_u64(from) == 0)
        return NULL;
    tables = RKT_ARENA_ARRAY(arena, struct rkt_tables, 1);
    has_memory = tables && unpack_texts(from, arena, &texts);
    for (size_t id = 0; id < RKT_TABLE_COUNT && has_memory; id++)
        has_memory = unpack_table(from, arena, &texts, &tables->of[id]);
    from->has_failed |= !has_memory;
    return tables;
}

/* ---- places ---- */

void rkt_places_pack(const struct rkt_places *places, struct rkt_packed *packed)
{
    rkt_packed_u64(packed, places != NULL);
    if (!places)
        return;
    rkt_packed_u64(packed, places->count);
    for (size_t i = 0; i < places->count; i++) {
        rkt_packed_structs(packed, &PLACES, &places->items[i], 1);
        rkt_packed_text(packed, places->items[i].what, strlen(places->items[i].what));
        rkt_packed_text(packed, places->items[i].line, strlen(places->items[i].line));
    }
}

const struct rkt_places *rkt_places_unpack(struct rkt_unpacking *from, struct rkt_arena *arena)
{
    struct rkt_places *places;
    size_t count;

    if (rkt_unpack_u64(from) == 0)
        return NULL;
    count = rkt_unpack_count(from);
    places = RKT_ARENA_ARRAY(arena, struct rkt_places, 1);
    if (places)
        places->items = RKT_ARENA_ARRAY(arena, struct rkt_place, count + 1);
    if (!places || !places->items) {
        from->has_failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count && !from->has_failed; i++) {
        rkt_unpack_structs(from, &PLACES, &places->items[i], 1);
        places->items[i].what = copy_text(from, arena);
        places->items[i].line = copy_text(from, arena);
    }
    places->count = count;
    return places;
}
