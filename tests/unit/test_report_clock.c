/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of how clocks are aligned. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/report.h"
#include "common/clock_curve.h"
#include "fake_job.h"
#include "rkt_test.h"
#include "written_report.h"

static void check_has(const struct fake_run *run, const char *format, const char *what)
{
    char *text = written_report(run, format);

    if (!strstr(text, what))
        fail_msg("no '%s' in: %s", what, text);
    free(text);
}

static void a_bound_that_rests_on_a_claim_of_true_time_says_so(void **state)
{
    struct fake_run run;
    struct rkt_rank_result *second;
    char *text;

    (void)state;
    fake_job_make_run(&run);
    second = &run.result.ranks[2];
    for (size_t r = 0; r < 2; r++) {
        second[r].align_state = RKT_ALIGN_MEASURED;
        second[r].bound_ns = 9500;
        second[r].likely_ns = 3900;
    }
    check_has(&run, "text", "clock: aligned, guaranteed +- 9.500 us, likely +- 3.900 us");
    check_has(&run, "json", "\"claims\": \"none\"");
    text = written_report(&run, "text");
    assert_null(strstr(text, "--ptp-bound"));
    free(text);
    second[0].align_flags = second[1].align_flags = RKT_CLOCK_CLAIM_USED;
    check_has(&run, "text", "likely +- 3.900 us; by --ptp-bound on 2 ranks");
    check_has(&run, "json", "\"claims\": \"used\"");
    second[1].align_flags = RKT_CLOCK_CLAIM_WRONG;
    check_has(&run, "text", "; WRONG --ptp-bound left out on 1 rank");
    check_has(&run, "json", "\"claims\": \"left out\"");
    fake_run_release(&run);
}

static void the_ranks_that_are_not_aligned_are_named(void **state)
{
    struct fake_run run;

    (void)state;
    fake_job_make_run(&run);
    run.result.ranks[1].align_state = RKT_ALIGN_UNALIGNED;
    check_has(&run, "text", "clock: rank 1 is not aligned; between ranks only durations");
    run.result.ranks[2].align_state = RKT_ALIGN_UNALIGNED;
    check_has(&run, "text", "clock: ranks 1, 2 are not aligned; between");
    fake_run_release(&run);
    fake_run_init(&run, 12);
    for (size_t r = 1; r < 12; r++)
        run.result.ranks[r].align_state = RKT_ALIGN_UNALIGNED;
    check_has(&run, "text", "clock: ranks 1, 2, 3, 4, 5, 6, 7, 8, ... are not aligned; between");
    run.result.ranks[0].align_state = RKT_ALIGN_UNALIGNED;
    check_has(&run, "text", "clock: 12 ranks are not aligned; between");
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_that_rests_on_a_claim_of_true_time_says_so),
        cmocka_unit_test(the_ranks_that_are_not_aligned_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
