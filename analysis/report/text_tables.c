/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"
#include "analysis/steady.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_COLUMNS 9
#define NAME_COLUMNS_MIN 16

/* One table on the page. */
struct page_table {
    const struct rkt_result *result;
    const struct rkt_table_form *form;
    struct rkt_table table; /* rows are its own, in the order that is asked for */
    size_t columns[RKT_COLUMNS_MAX + 8];
    size_t column_count;
    size_t order;
};

/* Stored or derived. */
static void texts_of(const struct rkt_table_form *form, size_t column, const char **name_out,
                     const char **heading_out)
{
    bool is_stored = column < form->column_count;
    const struct rkt_derived *derived = &form->derived[is_stored ? 0 : column - form->column_count];

    *name_out = is_stored ? form->columns[column].name : derived->name;
    *heading_out = is_stored ? form->columns[column].heading : derived->heading;
}

static const char *name_of(const struct rkt_table_form *form, size_t column)
{
    const char *name, *heading;

    texts_of(form, column, &name, &heading);
    return name;
}

static bool has_heading(const struct rkt_table_form *form, size_t column)
{
    const char *name, *heading;

    texts_of(form, column, &name, &heading);
    return heading != NULL;
}

static const char *heading_of(const struct rkt_table_form *form, size_t column)
{
    const char *name, *heading;

    texts_of(form, column, &name, &heading);
    return heading ? heading : name;
}

/* Those that have a heading; that by which rows are ordered in any case. */
static void choose_columns(struct page_table *page)
{
    const struct rkt_table_form *form = page->form;

    for (size_t c = 0; c < form->column_count + form->derived_count; c++) {
        if (has_heading(form, c) || c == page->order)
            page->columns[page->column_count++] = c;
    }
}

static enum rkt_unit unit_of(const struct rkt_table_form *form, size_t column)
{
    return column < form->column_count ? form->columns[column].unit
                                       : form->derived[column - form->column_count].unit;
}

/* Room for its heading, or for its largest number, and a space. */
static int width_of(const struct rkt_table_form *form, size_t column)
{
    enum rkt_unit unit = unit_of(form, column);
    int numbers = unit == RKT_UNIT_NS || unit == RKT_UNIT_BYTES ? 10 : 8;
    int heading = (int)strlen(heading_of(form, column)) + 1;

    return heading > numbers ? heading : numbers;
}

static struct rkt_cell number_cell(double value)
{
    struct rkt_cell cell;

    (void)snprintf(cell.text, sizeof(cell.text), isfinite(value) ? "%.0f" : "n/a", value);
    return cell;
}

static struct rkt_cell ratio_cell(double value)
{
    struct rkt_cell cell;

    (void)snprintf(cell.text, sizeof(cell.text), isfinite(value) ? "%.1f" : "n/a", value);
    return cell;
}

static int64_t ns_of(double value)
{
    return isfinite(value) ? (int64_t)llround(value) : RKT_NA;
}

static struct rkt_cell cell_of(const struct page_table *page, const struct rkt_row *row,
                               size_t column)
{
    const struct rkt_table_form *form = page->form;
    double value = rkt_table_value(form, &page->table, row, column);
    bool is_share = column >= form->column_count &&
                    form->derived[column - form->column_count].derivation == RKT_DERIVE_SHARE;

    switch (unit_of(form, column)) {
    case RKT_UNIT_NS:
        return rkt_cell_duration(ns_of(value));
    case RKT_UNIT_BYTES:
        return rkt_cell_bytes(value > 0 ? (uint64_t)value : 0);
    case RKT_UNIT_BYTES_PER_S:
        return rkt_cell_gb_per_s(value);
    case RKT_UNIT_RATIO:
        return is_share ? rkt_cell_percent(value) : ratio_cell(value);
    case RKT_UNIT_COUNT:
        break;
    }
    return number_cell(value);
}

/* The rank with most of it, and by how much more than the median of the ranks that have it: "r3
 * +4%"; from ten times as much on how many times: "r3 12x". */
static struct rkt_cell most_of(const struct page_table *page, const struct rkt_row *row,
                               int64_t *room)
{
    struct rkt_cell cell = {""};
    size_t known = 0;
    size_t most = 0;
    int64_t median_ns;
    double ratio;

    for (size_t r = 0; r < page->result->rank_count; r++) {
        if (row->by_rank[r] == RKT_NA)
            continue;
        most = row->by_rank[most] == RKT_NA || row->by_rank[r] > row->by_rank[most] ? r : most;
        room[known++] = row->by_rank[r];
    }
    if (known == 0)
        return cell;
    median_ns = rkt_median_i64(room, known);
    ratio = known < 2 || median_ns <= 0 ? 0 : (double)row->by_rank[most] / (double)median_ns;
    if (ratio == 0)
        (void)snprintf(cell.text, sizeof(cell.text), "r%u", page->result->ranks[most].rank);
    else if (ratio < 10)
        (void)snprintf(cell.text, sizeof(cell.text), "r%u %+.0f%%", page->result->ranks[most].rank,
                       100 * (ratio - 1));
    else
        (void)snprintf(cell.text, sizeof(cell.text), "r%u %.0fx", page->result->ranks[most].rank,
                       ratio);
    return cell;
}

/* A kernel's own name: its result and parameters say little that fits. */
static int own_name(const char *name, char *text, size_t text_bytes)
{
    const char *end = strrchr(name, '(');

    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    if (!end || end <= name || end[-1] == ' ') /* "(anonymous namespace)::..." is no parameter */
        end = name + strlen(name);
    return snprintf(text, text_bytes, "%.*s", (int)(end - name), name);
}

/* "HtoD pinned to device, 4 MiB up": up to twice as much. */
static int copy_name(const struct rkt_row *row, char *text, size_t text_bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int64_t from = row->bin;
    size_t unit = 0;

    for (; from >= 1024 && unit + 1 < COUNT(UNITS); from /= 1024)
        unit++;
    return snprintf(text, text_bytes, "%s%s%s, %lld %s up", row->kind,
                    row->name[0] != '\0' ? " " : "", row->name, (long long)from, UNITS[unit]);
}

/* What is left of the line; a longer name ends in "..". */
static void print_name(const struct page_table *page, const struct rkt_row *row, size_t room,
                       FILE *out)
{
    char name[RKT_TEXT_COLUMNS + 1];
    int length;

    if (page->form == rkt_table_form(RKT_TABLE_COPIES))
        length = copy_name(row, name, sizeof(name));
    else if (page->form == rkt_table_form(RKT_TABLE_STREAMS))
        length = snprintf(name, sizeof(name), "%s %s", row->kind, row->name);
    else
        length = own_name(row->name, name, sizeof(name));
    rkt_text_make_ascii(name);
    if (length > 0 && (size_t)length > room)
        (void)snprintf(name + room - 2, 3, "..");
    (void)fprintf(out, "  %s\n", name);
}

/* Columns that are left for names. */
static size_t name_columns(const struct page_table *page)
{
    size_t used = 2 + (page->result->rank_count > 1 ? MOST_COLUMNS : 0);

    for (size_t i = 0; i < page->column_count; i++)
        used += (size_t)width_of(page->form, page->columns[i]);
    return used + NAME_COLUMNS_MIN < RKT_TEXT_COLUMNS ? RKT_TEXT_COLUMNS - used : NAME_COLUMNS_MIN;
}

static void print_head(const struct page_table *page, FILE *out)
{
    for (size_t i = 0; i < page->column_count; i++)
        (void)fprintf(out, "%*s", width_of(page->form, page->columns[i]),
                      heading_of(page->form, page->columns[i]));
    if (page->result->rank_count > 1)
        (void)fprintf(out, "%*s", MOST_COLUMNS, "most on");
    (void)fputc('\n', out);
}

static void print_rows(const struct page_table *page, size_t top, int64_t *room, FILE *out)
{
    size_t shown = page->table.row_count < top ? page->table.row_count : top;

    print_head(page, out);
    for (size_t i = 0; i < shown; i++) {
        const struct rkt_row *row = &page->table.rows[i];

        for (size_t c = 0; c < page->column_count; c++)
            (void)fprintf(out, "%*s", width_of(page->form, page->columns[c]),
                          cell_of(page, row, page->columns[c]).text);
        if (page->result->rank_count > 1)
            (void)fprintf(out, " %*s", MOST_COLUMNS - 1, most_of(page, row, room).text);
        print_name(page, row, name_columns(page), out);
    }
    if (page->table.row_count > shown)
        rkt_text_line(out, "  (%zu more; --top N shows N)", page->table.row_count - shown);
}

static void print_title(const struct page_table *page, FILE *out)
{
    char title[32];

    (void)snprintf(title, sizeof(title), "%s", page->form->name);
    for (char *at = title; *at != '\0'; at++)
        *at = (char)(*at - 'a' + 'A');
    rkt_text_line(out, "%s (%zu, by %s, all ranks)", title, page->table.row_count,
                  name_of(page->form, page->order));
}

static enum rkt_status print_table(const struct rkt_result *result, enum rkt_table_id id,
                                   const struct rkt_report_view *view, FILE *out,
                                   struct rkt_error *err)
{
    const struct rkt_table *table = &result->tables->of[id];
    struct page_table page = {.result = result, .form = rkt_table_form(id)};
    int64_t *room = calloc(result->rank_count + 1, sizeof(*room));
    size_t column = view->sort ? rkt_table_find_column(page.form, view->sort) : SIZE_MAX;

    page.order = column != SIZE_MAX ? column : page.form->order;
    page.table.rows = calloc(table->row_count + 1, sizeof(*page.table.rows));
    if (!room || !page.table.rows) {
        free(room);
        free(page.table.rows);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a table of %zu rows", table->row_count);
    }
    page.table.row_count = table->row_count;
    if (table->row_count > 0)
        memcpy(page.table.rows, table->rows, table->row_count * sizeof(*page.table.rows));
    rkt_table_sort(page.form, &page.table, page.order);
    choose_columns(&page);
    (void)fputc('\n', out);
    print_title(&page, out);
    if (table->row_count == 0)
        rkt_text_line(out, "  none were recorded");
    else
        print_rows(&page, view->top > 0 ? view->top : RKT_REPORT_TOP, room, out);
    free(page.table.rows);
    free(room);
    return RKT_OK;
}

enum rkt_status rkt_text_tables(const struct rkt_result *result, const struct rkt_report_view *view,
                                FILE *out, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (int id = 0; id < RKT_TABLE_COUNT && result->tables && status == RKT_OK; id++) {
        if (view->tables >> id & 1)
            status = print_table(result, (enum rkt_table_id)id, view, out, err);
    }
    return status;
}
