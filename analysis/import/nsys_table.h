/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_NSYS_TABLE_H
#define RKT_ANALYSIS_IMPORT_NSYS_TABLE_H

/*
 * nsys_table - the tables of an SQLite file that Nsight Systems exported, row by row.
 *
 * Versions differ in the tables and columns that they write: one that is not there reads as a
 * column of NULL, or a table without rows. The only code of the import that knows SQLite.
 *
 * Threads: one at a time per file. Memory: SQLite's page cache; texts are valid until the next row.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_NSYS_COLUMNS_MAX 32u

struct rkt_nsys_file;
struct rkt_nsys_table;

/* Read only. RKT_ERR_FORMAT: this is no SQLite file. */
enum rkt_status rkt_nsys_open(const char *path, struct rkt_nsys_file **file_out,
                              struct rkt_error *err);
void rkt_nsys_close(struct rkt_nsys_file *file); /* NULL is fine */

/* The text of an id in StringIds; "" where there is none. */
const char *rkt_nsys_string(struct rkt_nsys_file *file, int64_t id);

/*
 * All rows of a table with these columns, by number as they stand in the list. *table_out is NULL,
 * and RKT_OK returned, where the file has no such table.
 */
enum rkt_status rkt_nsys_table_open(struct rkt_nsys_file *file, const char *name,
                                    const char *const *columns, size_t column_count,
                                    struct rkt_nsys_table **table_out, struct rkt_error *err);
void rkt_nsys_table_close(struct rkt_nsys_table *table); /* NULL is fine */

/* RKT_OK: the next row. RKT_END: no more. RKT_ERR_FORMAT: the file is damaged here. */
enum rkt_status rkt_nsys_next(struct rkt_nsys_table *table, struct rkt_error *err);

bool rkt_nsys_is_null(const struct rkt_nsys_table *table, size_t column);
int64_t rkt_nsys_number(const struct rkt_nsys_table *table, size_t column, int64_t fallback);
const char *rkt_nsys_text(const struct rkt_nsys_table *table, size_t column); /* "" for none */

#endif
