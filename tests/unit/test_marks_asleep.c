/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a process without a GPU tell how long their thread slept (agent/capture/asleep.h). */
#include "agent/include/ranktrace.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "capture_job.h"
#include "rkt_test.h"

static void sleep_ms(long ms)
{
    struct timespec left = {.tv_nsec = ms * 1000000};

    while (nanosleep(&left, &left) != 0)
        if (errno != EINTR)
            abort();
}

static void sleeps(void)
{
    ranktrace_phase_begin(RANKTRACE_BACKWARD);
    ranktrace_range_push("hook");
    sleep_ms(100);
    ranktrace_range_pop();
    ranktrace_phase_begin(RANKTRACE_COMM_WAIT);
    sleep_ms(100);
    ranktrace_phase_end(RANKTRACE_COMM_WAIT);
    ranktrace_phase_end(RANKTRACE_BACKWARD);
    ranktrace_phase_begin(RANKTRACE_OPTIMIZER);
    ranktrace_phase_end(RANKTRACE_OPTIMIZER);
}

static void phases_tell_how_long_their_thread_slept(void **state)
{
    struct job *job = *state;
    const bool is_known = access("/proc/thread-self/schedstat", R_OK) == 0;
    const uint64_t least_ns = is_known ? 20000000 : 0; /* of 100 ms each */
    const struct rkt_event *backward;
    const struct rkt_event *wait;
    const struct rkt_event *optimizer;

    job_run(job, sleeps);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_BACKWARD, &backward), 1);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_COMM_WAIT, &wait), 1);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_OPTIMIZER, &optimizer), 1);
    assert_in_range(wait->range.value, least_ns, wait->end_ns - wait->start_ns);
    assert_in_range(backward->range.value, wait->range.value + least_ns,
                    backward->end_ns - backward->start_ns);
    assert_in_range(optimizer->range.value, 0, optimizer->end_ns - optimizer->start_ns);
    assert_int_equal(job_find(job, RKT_EVENT_RANGE, "hook")->range.value, 0); /* not asked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(phases_tell_how_long_their_thread_slept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
