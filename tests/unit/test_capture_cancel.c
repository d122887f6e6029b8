/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job ends threads of its own by pthread_cancel, and the request is pending while the thread is
 * in a call of ours. It then ends at the job's next cancellation point, never inside: the job
 * expects no end there, and what the thread holds of ours would be held for ever.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "rkt_test.h"

#define LIMIT_S 30 /* who hangs dies of SIGALRM */

static void must(int is_true)
{
    if (!is_true)
        abort();
}

/* ---- the job ---- */

struct cancelled {
    void (*call)(void);
    _Atomic bool is_asked;
    _Atomic bool has_returned;
};

static void *call_it(void *arg)
{
    struct cancelled *cancelled = arg;

    must(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
    while (!atomic_load(&cancelled->is_asked))
        sched_yield();
    must(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
    cancelled->call();
    atomic_store(&cancelled->has_returned, true);
    pthread_testcancel();
    return NULL;
}

/* By a thread that should end: the call comes back, and then the thread ends. */
static void call_while_cancelled(void (*call)(void))
{
    struct cancelled cancelled = {.call = call};
    pthread_t thread;
    void *result;

    must(pthread_create(&thread, NULL, call_it, &cancelled) == 0);
    must(pthread_cancel(thread) == 0);
    atomic_store(&cancelled.is_asked, true);
    must(pthread_join(thread, &result) == 0);
    must(atomic_load(&cancelled.has_returned));
    must(result == PTHREAD_CANCELED);
}

static void mark(void)
{
    ranktrace_mark("of the thread");
}

static void first_call_of_the_job(void)
{
    (void)alarm(LIMIT_S);
    call_while_cancelled(mark);
    must(ranktrace_is_active());
    ranktrace_mark("of the job");
}

static void begin_step_1(void)
{
    ranktrace_step(1);
}

static void first_step_of_a_window(void)
{
    (void)alarm(LIMIT_S);
    ranktrace_step(0);
    ranktrace_step_end();
    call_while_cancelled(begin_step_1);
    ranktrace_step(2);
    ranktrace_step_end();
}

/* ---- what came ---- */

static void run(struct job *job, void (*function)(void))
{
    job_run(job, function);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
}

static void the_thread_that_starts_capture_may_be_cancelled(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    run(&job, first_call_of_the_job);
    assert_non_null(job_find(&job, RKT_EVENT_RANGE, "of the thread"));
    assert_non_null(job_find(&job, RKT_EVENT_RANGE, "of the job"));
    job_free(&job);
}

static void the_thread_that_opens_a_window_may_be_cancelled(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    job.capture.schedule = (struct rkt_schedule){.wait = 1, .active = 1};
    run(&job, first_step_of_a_window);
    assert_int_equal(job_count(&job, RKT_EVENT_WINDOW, RKT_WINDOW_OPENED, NULL), 1);
    assert_int_equal(job_count(&job, RKT_EVENT_WINDOW, RKT_WINDOW_CLOSED, NULL), 2);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, RKT_RANGE_STEP, NULL), 3);
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_that_starts_capture_may_be_cancelled),
        cmocka_unit_test(the_thread_that_opens_a_window_may_be_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
