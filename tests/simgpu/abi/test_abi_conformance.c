/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The project's own declarations of CUDA, CUPTI, NCCL and NVML against the toolkit's headers: every
 * constant, size, offset and width that ours declare. Skipped (77) without the toolkit; the
 * comparison of the calls is abi_calls.c, done by the compiler.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/simgpu/abi/abi_table.h"
#include "tests/unit/rkt_test.h"

extern const struct rkt_abi_table rkt_abi_cuda_ours;
extern const struct rkt_abi_table rkt_abi_nccl_ours;
extern const struct rkt_abi_table rkt_abi_nvml_ours;

/* NULL: those headers were not found when this was built. */
#ifdef RKT_ABI_WITH_CUDA
extern const struct rkt_abi_table rkt_abi_cuda_real;
extern const struct rkt_abi_table rkt_abi_cuda_newest;
static const struct rkt_abi_table *const CUDA_REAL = &rkt_abi_cuda_real;
static const struct rkt_abi_table *const CUDA_NEWEST = &rkt_abi_cuda_newest;
#else
static const struct rkt_abi_table *const CUDA_REAL = NULL;
static const struct rkt_abi_table *const CUDA_NEWEST = NULL;
#endif
#ifdef RKT_ABI_WITH_NCCL
extern const struct rkt_abi_table rkt_abi_nccl_real;
static const struct rkt_abi_table *const NCCL_REAL = &rkt_abi_nccl_real;
#else
static const struct rkt_abi_table *const NCCL_REAL = NULL;
#endif
#ifdef RKT_ABI_WITH_NVML
extern const struct rkt_abi_table rkt_abi_nvml_real;
static const struct rkt_abi_table *const NVML_REAL = &rkt_abi_nvml_real;
#else
static const struct rkt_abi_table *const NVML_REAL = NULL;
#endif

static bool line_agrees(const struct rkt_abi_line *ours, const struct rkt_abi_line *real)
{
    if (ours->what != real->what || strcmp(ours->name, real->name) != 0)
        return false;
    if (ours->what == RKT_ABI_WHAT_RENAME)
        return strcmp(ours->renamed, real->renamed) == 0;
    return ours->value == real->value;
}

static void print_difference(const struct rkt_abi_line *ours, const struct rkt_abi_line *real)
{
    static const char *const WHAT[] = {"value", "size", "offset", "width", "exported name"};

    if (ours->what == RKT_ABI_WHAT_RENAME)
        print_error("%s: ours is exported as %s, theirs as %s\n", ours->name, ours->renamed,
                    real->renamed);
    else
        print_error("%s: %s is %llu in ours, %llu in theirs\n", ours->name, WHAT[ours->what],
                    (unsigned long long)ours->value, (unsigned long long)real->value);
}

static void assert_tables_agree(const struct rkt_abi_table *ours, const struct rkt_abi_table *real)
{
    size_t differences = 0;

    assert_non_null(real);
    assert_int_equal(ours->line_count, real->line_count);
    for (size_t i = 0; i < ours->line_count; i++) {
        if (!line_agrees(&ours->lines[i], &real->lines[i])) {
            print_difference(&ours->lines[i], &real->lines[i]);
            differences++;
        }
    }
    assert_int_equal(differences, 0);
}

static void own_tables_hold_something(void **state)
{
    (void)state;
    assert_true(rkt_abi_cuda_ours.line_count > 100);
    assert_true(rkt_abi_nccl_ours.line_count > 20);
    assert_true(rkt_abi_nvml_ours.line_count > 60);
}

static void cuda_and_cupti_agree_with_the_toolkit(void **state)
{
    (void)state;
    if (!CUDA_REAL)
        skip();
    assert_tables_agree(&rkt_abi_cuda_ours, CUDA_REAL);
}

static void nccl_agrees_with_its_header(void **state)
{
    (void)state;
    if (!NCCL_REAL)
        skip();
    assert_tables_agree(&rkt_abi_nccl_ours, NCCL_REAL);
}

/* The array that the caller sizes is longer in ours than in any toolkit's. */
static bool nvml_agrees(const struct rkt_abi_line *ours, const struct rkt_abi_line *real)
{
    bool is_length = ours->what == RKT_ABI_WHAT_SIZE || ours->what == RKT_ABI_WHAT_WIDTH;

    if (is_length && (strcmp(ours->name, "nvmlGpmMetricsGet_t") == 0 ||
                      strcmp(ours->name, "nvmlGpmMetricsGet_t.metrics") == 0))
        return ours->what == real->what && ours->value >= real->value;
    return line_agrees(ours, real);
}

static void assert_nvml_agrees(const struct rkt_abi_table *ours, const struct rkt_abi_table *real)
{
    assert_non_null(real);
    assert_int_equal(ours->line_count, real->line_count);
    for (size_t i = 0; i < ours->line_count; i++) {
        if (!nvml_agrees(&ours->lines[i], &real->lines[i])) {
            print_difference(&ours->lines[i], &real->lines[i]);
            fail();
        }
    }
}

static void nvml_agrees_with_its_header(void **state)
{
    (void)state;
    if (NVML_REAL == NULL) {
        skip();
        return; /* which the checker does not know */
    }
    assert_nvml_agrees(&rkt_abi_nvml_ours, NVML_REAL);
}

/* A newer layout may put a field where the declared one has padding, and is longer. */
static bool newest_begins_alike(const struct rkt_abi_line *ours, const struct rkt_abi_line *newest)
{
    if (ours->what == RKT_ABI_WHAT_SIZE)
        return ours->value <= newest->value;
    return strstr(ours->name, ".pad") || line_agrees(ours, newest);
}

static void newest_records_begin_with_the_declared_ones(void **state)
{
    const struct rkt_abi_table *ours = &rkt_abi_cuda_ours;

    (void)state;
    if (!CUDA_NEWEST)
        skip();
    assert_int_equal(ours->line_count, CUDA_NEWEST->line_count);
    for (size_t i = 0; i < ours->line_count; i++) {
        if (!newest_begins_alike(&ours->lines[i], &CUDA_NEWEST->lines[i])) {
            print_difference(&ours->lines[i], &CUDA_NEWEST->lines[i]);
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_tables_hold_something),
        cmocka_unit_test(cuda_and_cupti_agree_with_the_toolkit),
        cmocka_unit_test(newest_records_begin_with_the_declared_ones),
        cmocka_unit_test(nccl_agrees_with_its_header),
        cmocka_unit_test(nvml_agrees_with_its_header),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    if (failed == 0 && !CUDA_REAL) {
        printf("skipped: no CUDA toolkit headers at configure time to compare with\n");
        return 77;
    }
    return failed;
}
