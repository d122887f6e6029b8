/* SPDX-License-Identifier: Apache-2.0 */
/* Which key tables a report shows, and how they look on a page. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/key_table.h"
#include "analysis/report/report.h"
#include "analysis/report/text_parts.h"
#include "fake_run.h"
#include "rkt_test.h"

#define US INT64_C(1000)

static const char LONG_NAME[] = "void at::native::vectorized_elementwise_kernel<4, "
                                "at::native::CUDAFunctor_add<float>, 3>(int, float)";

static int64_t by_rank[4][3] = {
    {30 * US, 40 * US, RKT_NA}, {10 * US, RKT_NA, RKT_NA}, {0, 0, 0}, {1, 40 * US, RKT_NA}};

static struct rkt_row kernels[] = {
    {"compute", LONG_NAME, 0, 0, {7, 70 * US, 8 * US, 12 * US, 0, 7, 35 * US}, by_rank[0]},
    {"comm", "nccl\x01kernel", 0, 0, {5, 10 * US, 2 * US, 3 * US, 5, 0, 0}, by_rank[1]},
    {"compute", "empty", 0, 0, {1, 0, 0, 0, 1, 0, 0}, by_rank[2]},
};

static struct rkt_row copies[] = {
    {"HtoD", "pinned to device", 4 << 20, 0, {2, 336 * US, 8 << 20, 300 * US, 1}, by_rank[0]},
    {"Memset", "", 0, 0, {2, 2 * US, 0, 0, 0}, by_rank[3]},
};

static const struct rkt_tables TABLES = {.of = {
                                             [RKT_TABLE_KERNELS] = {kernels, 3},
                                             [RKT_TABLE_COPIES] = {copies, 2},
                                         }};

static void check_tables(const struct rkt_report_view *view, const char *want)
{
    struct fake_run run;
    struct rkt_error err;
    char *text = NULL;
    size_t len_bytes = 0;
    FILE *out = open_memstream(&text, &len_bytes);

    assert_non_null(out);
    fake_run_init(&run, 3);
    run.result.tables = &TABLES;
    assert_rkt_ok(rkt_text_tables(&run.result, view, out, &err), err);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
    fake_run_release(&run);
}

static void rows_are_cut_to_the_page_and_to_what_is_asked_for(void **state)
{
    const struct rkt_report_view view = {.tables = 1u << RKT_TABLE_KERNELS, .top = 2};

    (void)state;
    check_tables(&view,
                 "\n"
                 "KERNELS (3, by total_ns, all ranks)\n"
                 "   count     total   short    launch   share      mean  most on\n"
                 "       7  70.00 us       0  35.00 us   87.5%  10.00 us  r1 +33%  "
                 "at::native::vectorized_elementwis..\n"
                 "       5  10.00 us       5      0 ns   12.5%  2.000 us       r0  nccl?kernel\n"
                 "  (1 more; --top N shows N)\n");
}

static void the_column_of_the_order_is_shown(void **state)
{
    const struct rkt_report_view view = {.tables = 1u << RKT_TABLE_KERNELS, .sort = "min_ns"};

    (void)state;
    check_tables(
        &view,
        "\n"
        "KERNELS (3, by min_ns, all ranks)\n"
        "   count     total    min_ns   short    launch   share      mean  most on\n"
        "       7  70.00 us  8.000 us       0  35.00 us   87.5%  10.00 us  r1 +33%  "
        "at::native::vectorized_..\n"
        "       5  10.00 us  2.000 us       5      0 ns   12.5%  2.000 us       r0  nccl?kernel\n"
        "       1      0 ns      0 ns       1      0 ns    0.0%      0 ns       r0  empty\n");
}

/* A table that lacks the column stands as it does. */
static void copies_have_their_kinds_and_sizes_for_names(void **state)
{
    const struct rkt_report_view view = {.tables = 1u << RKT_TABLE_COPIES | 1u << RKT_TABLE_CALLS,
                                         .sort = "min_ns"};

    (void)state;
    check_tables(
        &view,
        "\n"
        "COPIES (2, by total_ns, all ranks)\n"
        "   count     total     bytes   exposed   waits    GB/s  most on\n"
        "       2  336.0 us 8.000 MiB  300.0 us       1   24.97  r1 +33%  HtoD pinned to device, "
        "4 MiB up\n"
        "       2  2.000 us       n/a      0 ns       0    0.00 r1 40000x  Memset, 0 B up\n"
        "\n"
        "CALLS (0, by total_ns, all ranks)\n"
        "  none were recorded\n");
}

static void a_view_is_what_was_typed(void **state)
{
    static const struct {
        const char *tables;
        const char *sort;
        uint32_t top;
        uint32_t want; /* tables; UINT32_MAX: refused */
    } CASES[] = {
        {NULL, NULL, 0, 0},
        {NULL, NULL, 5, 127},
        {NULL, "exposed_ns", 0, 127},
        {"kernels", NULL, 0, 1},
        {"copies,kernels", "max_ns", 0, 5},
        {"buckets,copies", NULL, 0, RKT_REPORT_BUCKETS | 4},
        {"all", NULL, 0, 127},
        {"kernels,all", NULL, 0, 127},
        {"", NULL, 0, 0},
        {"kernel", NULL, 0, UINT32_MAX},
        {"all,kernel", NULL, 0, UINT32_MAX},
        {"kernels", "exposed_ns", 0, UINT32_MAX},
        {"buckets", "exposed_ns", 0, UINT32_MAX},
        {NULL, "colour", 0, UINT32_MAX},
        {"", "max_ns", 0, UINT32_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_report_view view = {.tables = UINT32_MAX};
        struct rkt_error err;
        enum rkt_status status =
            rkt_report_view_parse(CASES[i].tables, CASES[i].sort, CASES[i].top, &view, &err);

        if (status != (CASES[i].want == UINT32_MAX ? RKT_ERR_INVALID : RKT_OK))
            fail_msg("case %zu: %s", i, rkt_status_name(status));
        if (view.tables != CASES[i].want)
            fail_msg("case %zu: tables %x, not %x", i, view.tables, CASES[i].want);
    }
}

static void what_is_not_known_is_named_with_what_there_is(void **state)
{
    struct rkt_report_view view;
    struct rkt_error err;

    (void)state;
    (void)rkt_report_view_parse("kernel", NULL, 0, &view, &err);
    assert_string_equal(err.text, "unknown table 'kernel': there are kernels, operators, copies, "
                                  "calls, streams, idle, buckets, and all");
    (void)rkt_report_view_parse("copies", "colour", 0, &view, &err);
    assert_string_equal(err.text, "no column 'colour': copies have count, total_ns, bytes, "
                                  "exposed_ns, wait_count, shared_count, mean_ns, bytes_per_s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_cut_to_the_page_and_to_what_is_asked_for),
        cmocka_unit_test(the_column_of_the_order_is_shown),
        cmocka_unit_test(copies_have_their_kinds_and_sizes_for_names),
        cmocka_unit_test(a_view_is_what_was_typed),
        cmocka_unit_test(what_is_not_known_is_named_with_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
