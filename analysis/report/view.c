/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analysis/key_table.h"
#include "analysis/report/report.h"

#define KEY_TABLES ((1u << RKT_TABLE_COUNT) - 1)
#define ALL_TABLES (KEY_TABLES | RKT_REPORT_BUCKETS)

static const char BUCKETS[] = "buckets";

static bool is_word(const char *word, size_t len_bytes, const char *name)
{
    return strlen(name) == len_bytes && memcmp(name, word, len_bytes) == 0;
}

/* "kernels, operators, ..." */
static void list_tables(char *text, size_t text_bytes)
{
    size_t used = 0;

    for (int id = 0; id < RKT_TABLE_COUNT && used < text_bytes; id++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s, ",
                                 rkt_table_form((enum rkt_table_id)id)->name);
    (void)snprintf(text + used, text_bytes - used, "%s, ", BUCKETS);
}

static bool add_table(const char *word, size_t len_bytes, uint32_t *tables)
{
    for (int id = 0; id < RKT_TABLE_COUNT; id++) {
        if (is_word(word, len_bytes, rkt_table_form((enum rkt_table_id)id)->name)) {
            *tables |= 1u << id;
            return true;
        }
    }
    if (is_word(word, len_bytes, BUCKETS))
        *tables |= RKT_REPORT_BUCKETS;
    else if (is_word(word, len_bytes, "all"))
        *tables = ALL_TABLES;
    else
        return false;
    return true;
}

static enum rkt_status parse_tables(const char *text, uint32_t *tables, struct rkt_error *err)
{
    while (*text != '\0') {
        size_t len_bytes = strcspn(text, ",");
        char known[128];

        if (!add_table(text, len_bytes, tables)) {
            list_tables(known, sizeof(known));
            return rkt_fail(err, RKT_ERR_INVALID, "unknown table '%.*s': there are %sand all",
                            (int)len_bytes, text, known);
        }
        text += len_bytes;
        text += *text == ',';
    }
    return RKT_OK;
}

/* Of the first of the tables, which has it as little as the others. */
static enum rkt_status refuse_column(const char *name, uint32_t tables, struct rkt_error *err)
{
    const struct rkt_table_form *form = rkt_table_form((enum rkt_table_id)__builtin_ctz(
        (tables & KEY_TABLES) != 0 ? tables & KEY_TABLES : KEY_TABLES));
    char known[192] = "";
    size_t used = 0;

    for (size_t i = 0; i < form->column_count + form->derived_count && used < sizeof(known); i++)
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "",
                             i < form->column_count ? form->columns[i].name
                                                    : form->derived[i - form->column_count].name);
    return rkt_fail(err, RKT_ERR_INVALID, "no column '%s': %s have %s", name, form->name, known);
}

enum rkt_status rkt_report_view_parse(const char *tables, const char *sort, uint32_t top,
                                      struct rkt_report_view *view_out, struct rkt_error *err)
{
    struct rkt_report_view view = {.sort = sort, .top = top};
    enum rkt_status status = RKT_OK;
    bool is_known = sort == NULL;

    if (tables)
        status = parse_tables(tables, &view.tables, err);
    else if (sort || top > 0)
        view.tables = ALL_TABLES;
    if (status != RKT_OK)
        return status;
    for (int id = 0; id < RKT_TABLE_COUNT; id++)
        is_known |= (view.tables >> id & 1) != 0 && sort &&
                    rkt_table_find_column(rkt_table_form((enum rkt_table_id)id), sort) != SIZE_MAX;
    if (!is_known)
        return refuse_column(sort, view.tables, err);
    *view_out = view;
    return RKT_OK;
}
