/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/include/ranktrace.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "rkt_test.h"

/* ---- steps ---- */

static void three_steps(void)
{
    ranktrace_step(10);
    ranktrace_step(11);
    ranktrace_step_end();
    ranktrace_step_end(); /* nothing is open: does nothing */
    ranktrace_step(12);
    ranktrace_step_end();
}

static void a_step_ends_where_the_next_begins(void **state)
{
    struct job *job = *state;
    const struct rkt_event *step;

    job_run(job, three_steps);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, &step), 3);
    assert_int_equal(step[0].range.value, 10);
    assert_int_equal(step[0].end_ns, step[1].start_ns);
    assert_int_equal(step[1].range.value, 11);
    assert_true(step[1].end_ns <= step[2].start_ns);
    assert_int_equal(step[0].clock_id, RKT_CLOCK_MONOTONIC_RAW);
    assert_int_equal(step[0].thread_id, job->hello.pid); /* the main thread */
    assert_int_equal(step[0].flags, 0);
    assert_int_equal(job->last_step, 2); /* the third: what the sidecar decides on windows by */
}

static void *other_thread_trains(void *arg)
{
    (void)arg;
    ranktrace_range_push("train_step");
    ranktrace_range_pop();
    return NULL;
}

static void steps_by_range(void)
{
    pthread_t thread;

    ranktrace_step(70); /* does nothing: the range says what a step is */
    ranktrace_range_push("train");
    ranktrace_range_push("train_step");
    ranktrace_range_push("train_step"); /* inside a step: no other step */
    ranktrace_range_pop();
    ranktrace_step_end();
    ranktrace_range_pop();
    pthread_create(&thread, NULL, other_thread_trains, NULL);
    pthread_join(thread, NULL);
    ranktrace_range_push("train_step");
    ranktrace_range_pop();
    ranktrace_range_push("train_step 17");
    ranktrace_range_pop();
    ranktrace_mark("train_step");
    ranktrace_range_push("train_step");
    ranktrace_range_pop();
    ranktrace_range_pop();
}

static void ranges_of_the_asked_name_are_the_steps(void **state)
{
    static const uint64_t numbers[] = {0, 1, 17, 3, 4};
    struct job *job = *state;
    struct rkt_event steps[5] = {0};
    size_t count = 0;

    strcpy(job->capture.step_range, "train_step");
    job_run(job, steps_by_range);
    assert_job_good(job);
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind != RKT_EVENT_RANGE || job->events[i].type != RKT_RANGE_STEP)
            continue;
        assert_true(count < 5);
        assert_int_equal(job->events[i].range.value, numbers[count]);
        steps[count++] = job->events[i];
    }
    assert_int_equal(count, 5);
    assert_true(steps[0].end_ns <= steps[1].start_ns);    /* it ended with its range */
    assert_int_equal(steps[3].end_ns, steps[4].start_ns); /* a mark: the next one ends it */
    assert_int_equal(job->last_step, 4);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_USER, NULL), 7);
}

static void *trains_and_ends(void *tid_out)
{
    *(pid_t *)tid_out = (pid_t)syscall(SYS_gettid);
    ranktrace_range_push("train_step");
    ranktrace_range_pop();
    ranktrace_range_push("train_step"); /* an exception leaves it open */
    return NULL;
}

/* A thread that was joined is there for a moment still. */
static void wait_until_gone(pid_t tid)
{
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        usleep(1000);
}

static void steps_by_range_of_an_ended_thread(void)
{
    pthread_t thread;
    pid_t tid;

    pthread_create(&thread, NULL, trains_and_ends, &tid);
    pthread_join(thread, NULL);
    wait_until_gone(tid);
    ranktrace_range_push("train_step");
    ranktrace_range_pop();
    pthread_create(&thread, NULL, other_thread_trains, NULL); /* this one lives: not its heir */
    pthread_join(thread, NULL);
}

static void step_ranges_of_an_ended_thread_are_taken_over(void **state)
{
    struct job *job = *state;
    const struct rkt_event *step;

    strcpy(job->capture.step_range, "train_step");
    job_run(job, steps_by_range_of_an_ended_thread);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, &step), 3);
    assert_int_equal(job->last_step, 2); /* numbered on */
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_USER, NULL), 3);
}

static void step_without_an_end(void)
{
    ranktrace_step(1);
    ranktrace_step(2);
}

static void step_that_is_open_at_exit_is_kept_without_an_end(void **state)
{
    struct job *job = *state;
    const struct rkt_event *step;

    job_run(job, step_without_an_end);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, &step), 2);
    assert_int_equal(step[1].range.value, 2);
    assert_int_equal(step[1].flags, RKT_FLAG_NO_END);
    assert_int_equal(step[1].start_ns, step[1].end_ns);
}

/* ---- windows where there are neither steps nor a GPU ---- */

static void marks_for_a_while(void)
{
    for (unsigned i = 0; i < 200; i++) {
        ranktrace_mark("mark");
        usleep(1000);
    }
}

static void order_to_open(const struct job *job, struct rkt_region *region)
{
    (void)job;
    rkt_region_order_window(region, &(struct rkt_region_window_order){.is_open = true});
}

static void a_window_opens_at_the_next_mark_without_steps_and_gpu(void **state)
{
    struct job *job = *state;

    job->capture.is_closed = 1;
    job->tend = order_to_open;
    job_run(job, marks_for_a_while);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_int_equal(job_count(job, RKT_EVENT_WINDOW, RKT_WINDOW_OPENED, NULL), 1);
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "mark"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(a_step_ends_where_the_next_begins),
        JOB_TEST(ranges_of_the_asked_name_are_the_steps),
        JOB_TEST(step_ranges_of_an_ended_thread_are_taken_over),
        JOB_TEST(step_that_is_open_at_exit_is_kept_without_an_end),
        JOB_TEST(a_window_opens_at_the_next_mark_without_steps_and_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
