/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/batches.h"
#include "analysis/json_known.h"
#include "analysis/report/json_parts.h"

/* Times are whole ns, also where they are a quotient. */
static void put_derived(struct rkt_json *json, const struct rkt_derived *derived, double value)
{
    if (derived->unit == RKT_UNIT_NS && isfinite(value))
        rkt_json_i64(json, derived->name, llround(value));
    else
        rkt_json_double(json, derived->name, value);
}

/* None of what does not compute. */
static void put_times(struct rkt_json *json, const char *key, const struct rkt_batches *batches,
                      const int64_t *times_ns)
{
    rkt_json_begin_array(json, key);
    for (size_t b = 0; times_ns && b < batches->count; b++)
        rkt_json_i64(json, NULL, times_ns[b]);
    rkt_json_end(json);
}

static void put_row(struct rkt_json *json, const struct rkt_table_form *form,
                    const struct rkt_table *table, const struct rkt_row *row,
                    const struct rkt_result *result)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "name", row->name);
    rkt_json_text(json, "kind", row->kind);
    if (form->bin)
        rkt_json_i64(json, form->bin, row->bin);
    for (size_t c = 0; c < form->column_count; c++)
        rkt_json_known(json, form->columns[c].name, row->values[c]);
    for (size_t d = 0; d < form->derived_count; d++)
        put_derived(json, &form->derived[d],
                    rkt_table_value(form, table, row, form->column_count + d));
    rkt_json_begin_array(json, "total_ns_by_rank");
    for (size_t r = 0; row->by_rank && r < result->rank_count; r++)
        rkt_json_known(json, NULL, row->by_rank[r]);
    rkt_json_end(json);
    if (table == &result->tables->of[RKT_TABLE_KERNELS] && result->batches)
        put_times(json, "total_ns_by_batch", result->batches,
                  result->batches->kernels[row - table->rows]);
    if (table == &result->tables->of[RKT_TABLE_OPERATORS] && result->batches) {
        put_times(json, "self_device_ns_by_batch", result->batches,
                  result->batches->device[row - table->rows]);
        put_times(json, "self_host_ns_by_batch", result->batches,
                  result->batches->host[row - table->rows]);
    }
    rkt_json_end(json);
}

static void put_batches(struct rkt_json *json, const struct rkt_batches *batches)
{
    if (!batches) {
        rkt_json_null(json, "batches");
        return;
    }
    rkt_json_begin_object(json, "batches");
    rkt_json_u64(json, "rank_count", batches->rank_count);
    rkt_json_begin_array(json, "items");
    for (size_t b = 0; b < batches->count; b++) {
        rkt_json_begin_object(json, NULL);
        rkt_json_u64(json, "first_step", batches->items[b].first_step);
        rkt_json_u64(json, "last_step", batches->items[b].last_step);
        rkt_json_u64(json, "step_count", batches->items[b].step_count);
        rkt_json_end(json);
    }
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_json_put_tables(struct rkt_json *json, const struct rkt_result *result)
{
    put_batches(json, result->batches);
    rkt_json_begin_object(json, "tables");
    for (int id = 0; id < RKT_TABLE_COUNT && result->tables; id++) {
        const struct rkt_table_form *form = rkt_table_form((enum rkt_table_id)id);
        const struct rkt_table *table = &result->tables->of[id];

        rkt_json_begin_array(json, form->name);
        for (size_t i = 0; i < table->row_count; i++)
            put_row(json, form, table, &table->rows[i], result);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}
