/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI does not come back from a flush: the job ends all the same, in good time, and what is in
 * the rings is there. Nor does it help that its clock is an hour ahead of the kernel's, as after a
 * clock that was set back in the meantime.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "rkt_test.h"
#include "tests/simgpu/test/gpu.h"

#define LIMIT_S 20 /* who hangs dies of SIGALRM */
#define HOUR_S 3600
#define SET 4242               /* no errno that any call would set */
#define FLUSHED_NS 1500000000u /* by then the first flush has begun */

/* As in test_capture_gpu.c: the leak check of gcc 12 crashes over the stand-in's variables. */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static bool is_ahead;

/* Taken by the library, too. NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int result = (int)syscall(SYS_clock_gettime, clock, ts);

    if (is_ahead && clock == CLOCK_REALTIME)
        ts->tv_sec += HOUR_S;
    return result;
}

static void must(int is_true)
{
    if (!is_true)
        abort();
}

/* Registered before the library's own handler, and so run after it. */
static void look_at_errno(void)
{
    must(errno == SET);
}

static void end_while_cupti_is_stuck(void)
{
    struct timespec pause = {.tv_sec = FLUSHED_NS / 1000000000u,
                             .tv_nsec = FLUSHED_NS % 1000000000u};
    void *gpu;

    (void)alarm(LIMIT_S);
    must(atexit(look_at_errno) == 0);
    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    setenv("SIMGPU_CUPTI_MODE", "stuck", 1);
    must(test_gpu_setup(&gpu) == 0);
    must(test_gpu_launch(gpu, NULL, 1000) == CUDA_SUCCESS);
    ranktrace_mark("before");
    nanosleep(&pause, NULL);
    errno = SET;
}

static void end_with_a_clock_ahead(void)
{
    is_ahead = true;
    end_while_cupti_is_stuck();
}

static void a_flush_that_never_returns_does_not_keep_the_job(void **state)
{
    static void (*const ends[])(void) = {end_while_cupti_is_stuck, end_with_a_clock_ahead};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct job job;

        job_init(&job);
        job_run(&job, ends[i]);
        assert_int_equal(job.wait_status, 0);
        assert_string_equal(job.stderr_text, "");
        assert_false(job.was_closed);
        assert_non_null(job_find(&job, RKT_EVENT_RANGE, "before"));
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_that_never_returns_does_not_keep_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
