/* SPDX-License-Identifier: Apache-2.0 */
#include "key_tables.h"

#include <math.h>

#include "analysis/activity.h"
#include "rkt_test.h"

const struct rkt_tables *key_tables_make(struct fake_run *run)
{
    struct rkt_result *result = &run->result;
    struct rkt_error err;

    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_activity *activity = NULL;

        if (run->traces[r].has_gpu)
            assert_rkt_ok(rkt_activity_create(&run->traces[r], &activity, &err), err);
        result->ranks[r].activity = activity;
        assert_rkt_ok(
            rkt_rank_tables_make(&result->ranks[r], &run->arena, &result->ranks[r].tables, &err),
            err);
        result->ranks[r].activity = NULL;
        rkt_activity_destroy(activity);
    }
    assert_rkt_ok(rkt_join_tables(result, &run->arena, &err), err);
    return result->tables;
}

const struct rkt_row *key_tables_row(const struct rkt_tables *tables, enum rkt_table_id id,
                                     const char *name)
{
    for (size_t i = 0; i < tables->of[id].row_count; i++) {
        if (strcmp(tables->of[id].rows[i].name, name) == 0)
            return &tables->of[id].rows[i];
    }
    fail_msg("no row '%s' in %s", name, rkt_table_form(id)->name);
    return NULL;
}

double key_tables_value(const struct rkt_tables *tables, enum rkt_table_id id, const char *name,
                        const char *column)
{
    const struct rkt_table_form *form = rkt_table_form(id);
    size_t at = rkt_table_find_column(form, column);

    assert_true(at != SIZE_MAX);
    return rkt_table_value(form, &tables->of[id], key_tables_row(tables, id, name), at);
}

void check_key_value(const struct rkt_tables *tables, enum rkt_table_id id, const char *name,
                     const char *column, double want)
{
    double got = key_tables_value(tables, id, name, column);

    if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%s, %s: %s is %g, not %g", rkt_table_form(id)->name, name, column, got, want);
}

struct rkt_work *key_tables_add_kernel(struct fake_run *run, size_t rank, const char *name,
                                       uint32_t step, int64_t start_ns, int64_t end_ns)
{
    uint32_t index = fake_add_work(run, rank,
                                   (struct fake_work){.name = name,
                                                      .stream_id = 7,
                                                      .start_ns = start_ns,
                                                      .end_ns = end_ns,
                                                      .launch_ns = start_ns - 2000});

    run->traces[rank].works[index].step = step;
    return &run->traces[rank].works[index];
}
