/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/include/ranktrace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "rkt_test.h"

#define THREAD_COUNT ((size_t)64)
#define RANGES_PER_THREAD ((size_t)50)

/* ---- ranges and phases ---- */

static void nested_ranges(void)
{
    ranktrace_phase_begin(RANKTRACE_FORWARD);
    ranktrace_range_push("layer");
    ranktrace_range_push("attention");
    ranktrace_mark("here");
    ranktrace_range_pop();
    ranktrace_range_pop();
    ranktrace_range_pop(); /* one too many: the phase is not a range */
    ranktrace_phase_end(RANKTRACE_FORWARD);
    ranktrace_phase_end(RANKTRACE_BACKWARD);            /* never begun */
    ranktrace_phase_begin((enum ranktrace_phase)0);     /* no such phase */
    ranktrace_phase_begin((enum ranktrace_phase)70000); /* nor this */
    ranktrace_range_push(NULL);
    ranktrace_range_pop();
}

static void ranges_nest_and_carry_their_names(void **state)
{
    struct job *job = *state;
    const struct rkt_event *phase;
    const struct rkt_event *layer;
    const struct rkt_event *attention;
    const struct rkt_event *mark;

    job_run(job, nested_ranges);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL), 5);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_FORWARD, &phase), 1);
    layer = job_find(job, RKT_EVENT_RANGE, "layer");
    attention = job_find(job, RKT_EVENT_RANGE, "attention");
    mark = job_find(job, RKT_EVENT_RANGE, "here");
    assert_non_null(layer);
    assert_non_null(attention);
    assert_non_null(mark);
    assert_true(phase->start_ns <= layer->start_ns && layer->start_ns <= attention->start_ns);
    assert_true(attention->end_ns <= layer->end_ns && layer->end_ns <= phase->end_ns);
    assert_int_equal(mark->type, RKT_RANGE_MARK);
    assert_int_equal(mark->start_ns, mark->end_ns);
    assert_true(attention->start_ns <= mark->start_ns && mark->end_ns <= attention->end_ns);
}

static void range_left_open_in_a_phase(void)
{
    ranktrace_phase_begin(RANKTRACE_OPTIMIZER);
    ranktrace_range_push("forgotten");
    ranktrace_phase_end(RANKTRACE_OPTIMIZER);
    ranktrace_range_pop();
}

static void end_of_a_phase_ends_what_was_forgotten_in_it(void **state)
{
    struct job *job = *state;
    const struct rkt_event *phase;
    const struct rkt_event *forgotten;

    job_run(job, range_left_open_in_a_phase);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_OPTIMIZER, &phase), 1);
    forgotten = job_find(job, RKT_EVENT_RANGE, "forgotten");
    assert_non_null(forgotten);
    assert_int_equal(forgotten->end_ns, phase->end_ns);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL), 2);
}

static void seventy_deep(void)
{
    for (int i = 0; i < 70; i++)
        ranktrace_range_push("deep");
    for (int i = 0; i < 70; i++)
        ranktrace_range_pop();
    ranktrace_range_push("after");
    ranktrace_range_pop();
}

static void ranges_beyond_the_limit_are_counted_not_kept(void **state)
{
    struct job *job = *state;

    job_run(job, seventy_deep);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL), 64 + 1);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_TOO_MANY_OPEN, NULL), 6);
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "after"));
}

/* ---- buckets ---- */

static void *end_bucket(void *arg)
{
    ranktrace_bucket_end(*(uint64_t *)arg);
    ranktrace_bucket_end(*(uint64_t *)arg); /* once only */
    return NULL;
}

static void buckets(void)
{
    uint64_t first;
    uint64_t second;
    pthread_t other;

    ranktrace_step(3);
    first = ranktrace_bucket_begin(0, 1 << 20, 7);
    second = ranktrace_bucket_begin(1, 25 << 20, 60);
    if (first == 0 || second == 0 || first == second)
        abort();
    ranktrace_bucket_end(second);
    if (ranktrace_bucket_begin(2, 1, 1) == second)
        abort();
    ranktrace_bucket_end(second); /* of an earlier use: does nothing */
    pthread_create(&other, NULL, end_bucket, &first);
    pthread_join(other, NULL);
    ranktrace_bucket_end(0);
    ranktrace_bucket_end(UINT64_MAX);
}

static void buckets_end_on_any_thread_and_once(void **state)
{
    struct job *job = *state;
    const struct rkt_event *bucket;
    size_t no_end = 0;

    job_run(job, buckets);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_BUCKET, -1, &bucket), 3);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_BUCKET)
            continue;
        assert_int_equal(event->bucket.step, 3);
        assert_int_equal(event->thread_id, job->hello.pid); /* who handed it over */
        no_end += event->flags == RKT_FLAG_NO_END;
        assert_int_equal(event->flags == RKT_FLAG_NO_END, event->bucket.index == 2);
        if (event->bucket.index == 1)
            assert_int_equal(event->bucket.bytes, 25 << 20);
        if (event->bucket.index == 0)
            assert_int_equal(event->bucket.param_count, 7);
    }
    assert_int_equal(no_end, 1);
}

static void calls_that_wait(void)
{
    uint64_t start_ns = rkt_now_raw_ns();

    ranktrace_sync_call(start_ns, "Tensor.item", "train.py:123");
    ranktrace_sync_call(UINT64_MAX, NULL, NULL); /* a start that is none */
}

static void a_call_that_waits_is_kept_with_its_site(void **state)
{
    struct job *job = *state;
    const struct rkt_event *call;

    job_run(job, calls_that_wait);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_SYNC_CALL, &call), 2);
    assert_string_equal(job_name(job, call->name_id), "Tensor.item");
    assert_string_equal(job_name(job, call->range.domain_id), "train.py:123");
    assert_true(call->start_ns < call->end_ns);
    assert_int_equal(call->thread_id, job->hello.pid);
    assert_int_equal(call[1].name_id, 0);
    assert_int_equal(call[1].start_ns, call[1].end_ns);
}

static void too_many_buckets(void)
{
    for (uint32_t i = 0; i < 1030; i++)
        (void)ranktrace_bucket_begin(i, 1, 1);
}

static void open_buckets_beyond_the_limit_are_counted(void **state)
{
    struct job *job = *state;

    job_run(job, too_many_buckets);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_BUCKET, -1, NULL), 1024);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_TOO_MANY_OPEN, NULL), 6);
}

/* ---- how a process ends ---- */

static void killed_after_a_hundred_marks(void)
{
    char name[32];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "mark %d", i);
        ranktrace_mark(name);
    }
    raise(SIGKILL);
}

static void all_marks_before_a_kill_are_there(void **state)
{
    struct job *job = *state;

    job_run(job, killed_after_a_hundred_marks);
    assert_true(WIFSIGNALED(job->wait_status));
    assert_false(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 100);
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "mark 0"));
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "mark 99"));
}

/* As the last thread of the child: thread destructors and exit handlers both run. */
static void end_child(void)
{
#if defined(__SANITIZE_ADDRESS__)
    _exit(0); /* it reports what belongs to the threads that fork did not copy */
#elif defined(__SANITIZE_THREAD__)
    exit(0);
#else
    pthread_exit(NULL);
#endif
}

static void *mark_other(void *arg)
{
    ranktrace_mark("other");
    return arg;
}

static void *fork_from_a_thread(void *arg)
{
    pthread_t other;
    pid_t pid;

    ranktrace_mark("before fork");
    pid = fork();
    if (pid == 0) {
        int was_active = ranktrace_is_active();

        ranktrace_mark("child");
        ranktrace_step(99);
        if (was_active)
            abort();
        end_child();
    }
    if (waitpid(pid, arg, 0) != pid)
        abort();
    pthread_create(&other, NULL, mark_other, NULL);
    pthread_join(other, NULL);
    ranktrace_mark("after fork");
    return NULL;
}

static void fork_in_a_thread(void)
{
    pthread_t thread;
    int wait_status = -1;

    ranktrace_mark("start");
    ranktrace_step(1);
    pthread_create(&thread, NULL, fork_from_a_thread, &wait_status);
    pthread_join(thread, NULL);
    if (wait_status != 0)
        abort();
    ranktrace_mark("end");
}

/* Nor does its thread, in ending, give back the ring that is its parent's: there is no third. */
static void child_of_a_fork_writes_nothing(void **state)
{
    struct job *job = *state;

    job->config.ring_count = 2;
    job_run(job, fork_in_a_thread);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    assert_true(job->losses.no_ring_count > 0);
    assert_null(job_find(job, RKT_EVENT_RANGE, "other"));
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "before fork"));
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "after fork"));
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "end"));
    assert_null(job_find(job, RKT_EVENT_RANGE, "child"));
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, NULL), 1);
}

/* ---- threads ---- */

static void *many_ranges(void *arg)
{
    char name[16];

    snprintf(name, sizeof(name), "worker_%u", *(const unsigned *)arg);
    pthread_setname_np(pthread_self(), name);
    for (unsigned i = 0; i < (unsigned)RANGES_PER_THREAD; i++) {
        ranktrace_range_push(name);
        ranktrace_range_push("inner");
        ranktrace_range_pop();
        ranktrace_range_pop();
    }
    return NULL;
}

static void start_and_join(void *(*run)(void *))
{
    pthread_t threads[THREAD_COUNT];
    unsigned numbers[THREAD_COUNT];

    if (!ranktrace_is_active()) /* who comes while another thread starts capture is not kept */
        abort();
    for (unsigned i = 0; i < (unsigned)THREAD_COUNT; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, run, &numbers[i]);
    }
    for (unsigned i = 0; i < (unsigned)THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void many_threads(void)
{
    start_and_join(many_ranges);
}

static pthread_barrier_t all_are_through;

static void *many_ranges_and_wait(void *arg)
{
    (void)many_ranges(arg);
    (void)pthread_barrier_wait(&all_are_through);
    return NULL;
}

static void many_threads_at_once(void)
{
    pthread_barrier_init(&all_are_through, NULL, THREAD_COUNT);
    start_and_join(many_ranges_and_wait);
}

static void sixty_four_threads_lose_nothing(void **state)
{
    struct job *job = *state;

    job->config.ring_count = (uint32_t)THREAD_COUNT;
    job_run(job, many_threads);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL),
                     2 * THREAD_COUNT * RANGES_PER_THREAD);
    for (unsigned i = 0; i < (unsigned)THREAD_COUNT; i++) {
        char name[32];
        const struct rkt_event *named;
        const struct rkt_event *range;

        snprintf(name, sizeof(name), "worker_%u", i);
        named = job_find(job, RKT_EVENT_NAME, name);
        range = job_find(job, RKT_EVENT_RANGE, name);
        assert_non_null(named);
        assert_non_null(range);
        assert_int_equal(named->type, RKT_NAMED_THREAD);
        assert_int_equal(named->name.object_id, range->thread_id);
    }
}

static void more_threads_than_rings_are_counted(void **state)
{
    struct job *job = *state;
    size_t kept;

    job->config.ring_count = 2;
    job_run(job, many_threads_at_once);
    assert_int_equal(job->wait_status, 0);
    kept = job_count(job, RKT_EVENT_RANGE, -1, NULL);
    assert_true(kept <= RANGES_PER_THREAD * 4);
    assert_int_equal(kept + job->losses.no_ring_count, 2 * THREAD_COUNT * RANGES_PER_THREAD);
}

static void threads_one_after_the_other(void)
{
    (void)ranktrace_is_active();
    for (unsigned i = 0; i < 200; i++) {
        pthread_t thread;

        pthread_create(&thread, NULL, many_ranges, &i);
        pthread_join(thread, NULL);
    }
}

/* Even while nobody reads: all that 200 threads make has room in 8 rings. */
static void rings_of_ended_threads_are_used_again(void **state)
{
    struct job *job = *state;

    job->config.ring_count = 8;
    job->does_not_drain = true;
    job_run(job, threads_one_after_the_other);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL), RANGES_PER_THREAD * 400);
}

/* ---- off ---- */

static void everything_once(void)
{
    errno = 1234;
    ranktrace_step(1);
    ranktrace_phase_begin(RANKTRACE_INPUT);
    ranktrace_range_push("r");
    ranktrace_range_pop();
    ranktrace_phase_end(RANKTRACE_INPUT);
    ranktrace_mark("m");
    ranktrace_sync_call(0, "call", "site");
    ranktrace_bucket_end(ranktrace_bucket_begin(0, 1, 1));
    ranktrace_step_end();
    if (errno != 1234)
        abort();
}

static void inactive(void)
{
    everything_once();
    if (ranktrace_is_active())
        abort();
}

static void active(void)
{
    everything_once();
    if (!ranktrace_is_active())
        abort();
}

static void no_call_changes_errno(void **state)
{
    struct job *job = *state;

    job_run(job, active);
    assert_job_good(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, -1, NULL), 5);
}

static void process_that_is_not_watched_is_silent(void **state)
{
    struct job *job = *state;

    job->has_no_variable = true;
    job_run(job, inactive);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_false(job->was_connected);
}

static void sidecar_that_is_not_there_is_said_once(void **state)
{
    struct job *job = *state;
    const char *end;

    job->has_no_sidecar = true;
    job_run(job, inactive);
    assert_int_equal(job->wait_status, 0);
    assert_non_null(strstr(job->stderr_text, "level=warn comp=capture"));
    assert_non_null(strstr(job->stderr_text, "cannot reach the sidecar"));
    end = strchr(job->stderr_text, '\n');
    assert_non_null(end);
    assert_string_equal(end + 1, "");
}

static void speak_into_a_broken_pipe(void)
{
    int ends[2];

    if (pipe(ends) != 0 || signal(SIGPIPE, SIG_DFL) == SIG_ERR)
        abort();
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    inactive();
}

static void line_that_nobody_can_read_does_not_kill_the_job(void **state)
{
    struct job *job = *state;

    job->has_no_sidecar = true;
    job_run(job, speak_into_a_broken_pipe);
    assert_int_equal(job->wait_status, 0);
}

static void marks_that_are_not_wanted_are_not_recorded(void **state)
{
    struct job *job = *state;

    job->capture.mask = RKT_CAPTURE_CUPTI | RKT_CAPTURE_NCCL;
    job_run(job, inactive);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_connected);
    assert_int_equal(job->event_count, 0);
}

static void fill_the_heap(void)
{
    static char name[60000];

    memset(name, 'n', sizeof(name) - 1);
    for (int i = 0; i < 3; i++) {
        name[0] = (char)('a' + i);
        ranktrace_mark(name);
    }
    ranktrace_mark("short"); /* still fits */
}

static void events_go_on_without_names_when_the_heap_is_full(void **state)
{
    struct job *job = *state;

    job->config.heap_bytes = 64u << 10;
    job_run(job, fill_the_heap);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 4);
    assert_int_equal(job->losses.names_full_count, 2);
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "short"));
}

static void overrun(void)
{
    for (int i = 0; i < 200; i++)
        ranktrace_mark("again");
}

static void marks_beyond_a_full_ring_are_counted_and_the_job_goes_on(void **state)
{
    struct job *job = *state;

    job->config.ring_capacity = 64;
    job->does_not_drain = true;
    job_run(job, overrun);
    assert_int_equal(job->wait_status, 0);
    /* the thread's name took one place */
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 63);
    assert_int_equal(job->losses.ring_full[RKT_EVENT_RANGE], 200 - 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(ranges_nest_and_carry_their_names),
        JOB_TEST(end_of_a_phase_ends_what_was_forgotten_in_it),
        JOB_TEST(ranges_beyond_the_limit_are_counted_not_kept),
        JOB_TEST(buckets_end_on_any_thread_and_once),
        JOB_TEST(a_call_that_waits_is_kept_with_its_site),
        JOB_TEST(open_buckets_beyond_the_limit_are_counted),
        JOB_TEST(all_marks_before_a_kill_are_there),
        JOB_TEST(child_of_a_fork_writes_nothing),
        JOB_TEST(sixty_four_threads_lose_nothing),
        JOB_TEST(more_threads_than_rings_are_counted),
        JOB_TEST(rings_of_ended_threads_are_used_again),
        JOB_TEST(no_call_changes_errno),
        JOB_TEST(process_that_is_not_watched_is_silent),
        JOB_TEST(sidecar_that_is_not_there_is_said_once),
        JOB_TEST(line_that_nobody_can_read_does_not_kill_the_job),
        JOB_TEST(marks_that_are_not_wanted_are_not_recorded),
        JOB_TEST(events_go_on_without_names_when_the_heap_is_full),
        JOB_TEST(marks_beyond_a_full_ring_are_counted_and_the_job_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
