/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/nsys_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct rkt_nsys_file {
    sqlite3 *db;
    sqlite3_stmt *string; /* by id; NULL: the file has none */
};

struct rkt_nsys_table {
    sqlite3_stmt *rows;
    int at[RKT_NSYS_COLUMNS_MAX]; /* by number of the caller's list; -1: not in this file */
    size_t column_count;
};

static enum rkt_status fail(sqlite3 *db, int code, struct rkt_error *err)
{
    enum rkt_status status = RKT_ERR_IO;

    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        status = RKT_ERR_FORMAT;
    else if (code == SQLITE_NOMEM)
        status = RKT_ERR_NOMEM;
    return rkt_fail(err, status, "SQLite: %s", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

enum rkt_status rkt_nsys_open(const char *path, struct rkt_nsys_file **file_out,
                              struct rkt_error *err)
{
    struct rkt_nsys_file *file = calloc(1, sizeof(*file));
    enum rkt_status status;
    int code;

    if (!file)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to open an SQLite file");
    code = sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) /* reads the file for the first time */
        code = sqlite3_exec(file->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_prepare_v2(file->db, "SELECT value FROM StringIds WHERE id = ?", -1,
                                 &file->string, NULL);
        *file_out = file;
        return RKT_OK;
    }
    status = fail(file->db, code, err);
    rkt_nsys_close(file);
    return status;
}

void rkt_nsys_close(struct rkt_nsys_file *file)
{
    if (!file)
        return;
    (void)sqlite3_finalize(file->string);
    (void)sqlite3_close(file->db);
    free(file);
}

const char *rkt_nsys_string(struct rkt_nsys_file *file, int64_t id)
{
    const char *text = NULL;

    if (!file->string)
        return "";
    (void)sqlite3_reset(file->string);
    (void)sqlite3_bind_int64(file->string, 1, id);
    if (sqlite3_step(file->string) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(file->string, 0);
    return text ? text : "";
}

static bool has_table(struct rkt_nsys_file *file, const char *name)
{
    sqlite3_stmt *find = NULL;
    bool is_found;

    if (sqlite3_prepare_v2(
            file->db, "SELECT 1 FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')",
            -1, &find, NULL) != SQLITE_OK)
        return false;
    (void)sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
    is_found = sqlite3_step(find) == SQLITE_ROW;
    (void)sqlite3_finalize(find);
    return is_found;
}

static void find_columns(struct rkt_nsys_table *table, const char *const *columns)
{
    int count = sqlite3_column_count(table->rows);

    for (size_t i = 0; i < table->column_count; i++) {
        table->at[i] = -1;
        for (int k = 0; k < count; k++) {
            if (strcmp(sqlite3_column_name(table->rows, k), columns[i]) == 0)
                table->at[i] = k;
        }
    }
}

enum rkt_status rkt_nsys_table_open(struct rkt_nsys_file *file, const char *name,
                                    const char *const *columns, size_t column_count,
                                    struct rkt_nsys_table **table_out, struct rkt_error *err)
{
    struct rkt_nsys_table *table;
    char query[128];
    int code;

    assert(column_count <= RKT_NSYS_COLUMNS_MAX);
    *table_out = NULL;
    if (!has_table(file, name))
        return RKT_OK;
    table = calloc(1, sizeof(*table));
    if (!table)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to read a table");
    table->column_count = column_count;
    (void)snprintf(query, sizeof(query), "SELECT * FROM \"%s\"", name);
    code = sqlite3_prepare_v2(file->db, query, -1, &table->rows, NULL);
    if (code != SQLITE_OK) {
        free(table);
        return fail(file->db, code, err);
    }
    find_columns(table, columns);
    *table_out = table;
    return RKT_OK;
}

void rkt_nsys_table_close(struct rkt_nsys_table *table)
{
    if (!table)
        return;
    (void)sqlite3_finalize(table->rows);
    free(table);
}

enum rkt_status rkt_nsys_next(struct rkt_nsys_table *table, struct rkt_error *err)
{
    int code = sqlite3_step(table->rows);

    if (code == SQLITE_ROW)
        return RKT_OK;
    return code == SQLITE_DONE ? RKT_END : fail(sqlite3_db_handle(table->rows), code, err);
}

bool rkt_nsys_is_null(const struct rkt_nsys_table *table, size_t column)
{
    return table->at[column] < 0 ||
           sqlite3_column_type(table->rows, table->at[column]) == SQLITE_NULL;
}

int64_t rkt_nsys_number(const struct rkt_nsys_table *table, size_t column, int64_t fallback)
{
    return rkt_nsys_is_null(table, column) ? fallback
                                           : sqlite3_column_int64(table->rows, table->at[column]);
}

const char *rkt_nsys_text(const struct rkt_nsys_table *table, size_t column)
{
    const char *text = NULL;

    if (table->at[column] >= 0)
        text = (const char *)sqlite3_column_text(table->rows, table->at[column]);
    return text ? text : "";
}
