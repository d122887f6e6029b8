/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/fail_if.h"
#include "fake_run.h"
#include "rkt_test.h"

static void conditions_are_read_and_refused(void **state)
{
    static const struct {
        const char *text;
        const char *path; /* NULL: refused */
        const char *operation;
        double limit;
    } CASES[] = {
        {"a.b > 0.05", "a.b", ">", 0.05},
        {"a.b>=5%", "a.b", ">=", 0.05},
        {"  ranks[*].x  !=  -2", "ranks[*].x", "!=", -2},
        {"a == 1e3", "a", "==", 1000},
        {"a < 120ms", "a", "<", 120e6},
        {"a <= 0", "a", "<=", 0},
        {"a", NULL, "", 0},
        {"> 1", NULL, "", 0},
        {"a > ", NULL, "", 0},
        {"a > b", NULL, "", 0},
        {"a = 1", NULL, "", 0},
        {"a ! 1", NULL, "", 0},
        {"a <> 1", NULL, "", 0},
        {"a >== 1", NULL, "", 0},
        {"a > 1 x", NULL, "", 0},
        {"a > nan", NULL, "", 0},
        {"", NULL, "", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_condition condition = {.path = "before"};
        struct rkt_error err;
        enum rkt_status status = rkt_condition_parse(CASES[i].text, &condition, &err);

        if (status != (CASES[i].path ? RKT_OK : RKT_ERR_INVALID))
            fail_msg("'%s' is %s", CASES[i].text, rkt_status_name(status));
        assert_string_equal(condition.path, CASES[i].path ? CASES[i].path : "before");
        if (!CASES[i].path)
            continue;
        assert_string_equal(condition.operation, CASES[i].operation);
        assert_true(fabs(condition.limit - CASES[i].limit) < 1e-9);
    }
}

/* What is said, and whether the run fails; status of the check. */
static enum rkt_status check(const char *text, char **said_out, bool *failed_out)
{
    struct rkt_condition condition;
    struct fake_run run;
    struct rkt_error err;
    enum rkt_status status;
    size_t len_bytes = 0;
    FILE *out = open_memstream(said_out, &len_bytes);

    assert_non_null(out);
    fake_run_init(&run, 3);
    run.result.whatif.why_not = "";
    run.result.event_count = 1234;
    run.result.summary.comm_share = 0.25;
    run.result.summary.overlap = (double)NAN;
    run.result.ranks[1].is_cut_short = true;
    (void)snprintf(run.info.command, sizeof(run.info.command), "a \"quoted\" {name: 1}");
    assert_rkt_ok(rkt_condition_parse(text, &condition, &err), err);
    *failed_out = false;
    status = rkt_check_conditions(&run.result, &condition, 1, out, failed_out, &err);
    assert_int_equal(fclose(out), 0);
    fake_run_release(&run);
    return status;
}

static void numbers_of_the_report_are_compared(void **state)
{
    static const struct {
        const char *text;
        const char *said; /* NULL: refused */
        bool fails;
    } CASES[] = {
        {"summary.comm_share > 0.25", "", false},
        {"summary.comm_share >= 25%", "summary.comm_share is 0.25: the limit is >= 0.25\n", true},
        {"summary.comm_share < 0.3", "summary.comm_share is 0.25: the limit is < 0.3\n", true},
        {"summary.comm_share <= 0.2", "", false},
        {"summary.comm_share != 0.25", "", false},
        {"run.event_count == 1234", "run.event_count is 1234: the limit is == 1234\n", true},
        {"summary.overlap < 0.5", "summary.overlap is n/a: not compared with 0.5\n", false},
        {"ranks[*].rank > 0", "ranks[1].rank is 1: the limit is > 0 (and 1 more)\n", true},
        {"ranks[0].rank > 0", "", false},
        {"ranks[*].is_cut_short == 1", "ranks[1].is_cut_short is 1: the limit is == 1\n", true},
        {"summary.comm_shares > 0", NULL, false},
        {"ranks[7].rank > 0", NULL, false},
        {"run.command > 0", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char *said = NULL;
        bool fails = false;
        enum rkt_status status = check(CASES[i].text, &said, &fails);

        if (status != (CASES[i].said ? RKT_OK : RKT_ERR_INVALID) || fails != CASES[i].fails ||
            strcmp(said, CASES[i].said ? CASES[i].said : "") != 0)
            fail_msg("%s: %s, fails %d, says '%s'", CASES[i].text, rkt_status_name(status), fails,
                     said);
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_read_and_refused),
        cmocka_unit_test(numbers_of_the_report_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
