/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/row_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum rkt_status rkt_row_list_init(struct rkt_row_list *list, size_t key_count)
{
    *list = (struct rkt_row_list){.key_count = key_count};
    list->place_of_key = calloc(key_count + 1, sizeof(*list->place_of_key));
    return list->place_of_key ? RKT_OK : RKT_ERR_NOMEM;
}

void rkt_row_list_release(struct rkt_row_list *list)
{
    free(list->rows);
    free(list->places);
    free(list->place_of_key);
    *list = (struct rkt_row_list){0};
}

static uint32_t *place_of(const struct rkt_row_list *list, size_t key)
{
    return &list->place_of_key[key < list->key_count ? key : list->key_count]; /* no maker's key */
}

struct rkt_row *rkt_row_list_find(const struct rkt_row_list *list, size_t key, unsigned segment)
{
    uint32_t place = *place_of(list, key);
    uint32_t known = place > 0 ? list->places[place - 1].rows[segment] : 0;

    return known > 0 ? &list->rows[known - 1] : NULL;
}

/* NULL: memory is out. */
static uint32_t *make_place(struct rkt_row_list *list, size_t key, unsigned segment)
{
    uint32_t *place = place_of(list, key);

    if (*place == 0) {
        if (!rkt_array_reserve((void **)&list->places, &list->place_cap, list->place_count + 1,
                               sizeof(*list->places)))
            return NULL;
        list->places[list->place_count] = (struct rkt_row_place){{0}};
        *place = (uint32_t)++list->place_count;
    }
    return &list->places[*place - 1].rows[segment];
}

struct rkt_row *rkt_row_list_get(struct rkt_row_list *list, size_t key, unsigned segment,
                                 bool *is_new_out)
{
    uint32_t *known = make_place(list, key, segment);

    *is_new_out = known && *known == 0;
    if (!known)
        return NULL;
    if (*known > 0)
        return &list->rows[*known - 1];
    if (!rkt_array_reserve((void **)&list->rows, &list->row_cap, list->row_count + 1,
                           sizeof(*list->rows)))
        return NULL;
    list->rows[list->row_count] = (struct rkt_row){.kind = "", .name = "", .segment = segment};
    *known = (uint32_t)++list->row_count;
    return &list->rows[list->row_count - 1];
}

static bool is_empty(const struct rkt_row *row)
{
    for (size_t i = 0; i < RKT_COLUMNS_MAX; i++) {
        if (row->values[i] != 0)
            return false;
    }
    return true;
}

enum rkt_status rkt_row_list_finish(const struct rkt_row_list *list, struct rkt_arena *arena,
                                    struct rkt_table *table_out)
{
    struct rkt_table table = {RKT_ARENA_ARRAY(arena, struct rkt_row, list->row_count + 1), 0};

    if (!table.rows)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < list->row_count; i++) {
        struct rkt_row *row = &table.rows[table.row_count];

        if (is_empty(&list->rows[i]))
            continue;
        *row = list->rows[i];
        row->name = rkt_arena_strndup(arena, row->name, strlen(row->name));
        if (!row->name)
            return RKT_ERR_NOMEM;
        table.row_count++;
    }
    *table_out = table;
    return RKT_OK;
}
