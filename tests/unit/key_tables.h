/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_KEY_TABLES_H
#define RKT_TESTS_UNIT_KEY_TABLES_H

/* key_tables - the tables of a fake run, and what stands in them. What is not there fails the
 * test. */

#include "analysis/rank_tables.h"
#include "fake_run.h"

/* Of all ranks; the run's. */
const struct rkt_tables *key_tables_make(struct fake_run *run);
const struct rkt_row *key_tables_row(const struct rkt_tables *tables, enum rkt_table_id id,
                                     const char *name);
double key_tables_value(const struct rkt_tables *tables, enum rkt_table_id id, const char *name,
                        const char *column);
/* `want`: NAN, the value is unknown. */
void check_key_value(const struct rkt_tables *tables, enum rkt_table_id id, const char *name,
                     const char *column, double want);

struct rkt_work *key_tables_add_kernel(struct fake_run *run, size_t rank, const char *name,
                                       uint32_t step, int64_t start_ns, int64_t end_ns);

#endif
