/* SPDX-License-Identifier: Apache-2.0 */

/* A CLOCK_REALTIME that is set while a job runs: the same for the stand-ins and for all else. */

#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/simgpu/test/child.h"
#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#ifndef SIMGPU_CLOCK_PATH
#error "the build says where the preloaded clock is"
#endif

#define S 1000000000ll
#define HOUR (3600 * S)
#define PRINT_CLOCK "--print-clock"

static int64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * S + ts.tv_nsec;
}

/* By how much the stamp of a kernel that starts now, and CUPTI's own, are ahead of the true
 * clock. */
static void measure(int64_t *kernel_ns, int64_t *timestamp_ns)
{
    uint64_t timestamp;
    void *gpu = NULL;

    assert_int_equal(test_gpu_setup(&gpu), 0);
    test_client_setup(NULL);
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    test_client_collect();
    *kernel_ns =
        (int64_t)test_client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.start -
        read_ns(CLOCK_REALTIME);
    assert_int_equal(cuptiGetTimestamp(&timestamp), CUPTI_SUCCESS);
    *timestamp_ns = (int64_t)timestamp - read_ns(CLOCK_REALTIME);
}

static void an_hour_ahead(void)
{
    int64_t kernel_ns;
    int64_t timestamp_ns;

    measure(&kernel_ns, &timestamp_ns);
    assert_true(kernel_ns > HOUR - 100 * S && kernel_ns <= HOUR);
    assert_true(timestamp_ns > HOUR - 100 * S && timestamp_ns <= HOUR);
}

static void not_ahead(void)
{
    int64_t kernel_ns;
    int64_t timestamp_ns;

    measure(&kernel_ns, &timestamp_ns);
    assert_true(kernel_ns > -100 * S && kernel_ns < 100 * S);
    assert_true(timestamp_ns > -100 * S && timestamp_ns <= 0);
}

/* Once its moment has come, and not before. */
static void stamps_follow_a_clock_that_is_set(void **state)
{
    (void)state;
    assert_int_equal(
        test_child("SIMGPU_REALTIME_AT_NS=1 SIMGPU_REALTIME_STEP_NS=3600000000000", an_hour_ahead),
        0);
    assert_int_equal(test_child("SIMGPU_REALTIME_AT_NS=9000000000000000000 "
                                "SIMGPU_REALTIME_STEP_NS=3600000000000",
                                not_ahead),
                     0);
}

/* What this program reads when it runs with the preloaded clock and more in its environment. */
static int64_t preloaded_realtime_ns(const char *environment)
{
    char command[1024];
    char text[64] = "";
    char self[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *pipe;

    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof(command),
             "LD_PRELOAD='%s' ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %s '%s' %s",
             SIMGPU_CLOCK_PATH, environment, self, PRINT_CLOCK);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): paths of the build */
    assert_non_null(pipe);
    assert_non_null(fgets(text, sizeof(text), pipe));
    assert_int_equal(pclose(pipe), 0);
    return strtoll(text, NULL, 10);
}

static void a_preloaded_clock_is_set_and_drifts(void **state)
{
    int64_t now_ns = read_ns(CLOCK_REALTIME);
    int64_t up_ns = read_ns(CLOCK_MONOTONIC);
    int64_t wrong_ns;

    (void)state;
    wrong_ns =
        preloaded_realtime_ns("SIMGPU_REALTIME_AT_NS=1 SIMGPU_REALTIME_STEP_NS=-3600000000000");
    assert_true(wrong_ns >= now_ns - HOUR && wrong_ns < now_ns - HOUR + 100 * S);
    wrong_ns =
        preloaded_realtime_ns("SIMGPU_REALTIME_AT_NS=1 SIMGPU_REALTIME_DRIFT_PPB=1000000000");
    assert_true(wrong_ns >= now_ns + up_ns - S && wrong_ns < now_ns + up_ns + 200 * S);
    wrong_ns = preloaded_realtime_ns("");
    assert_true(wrong_ns >= now_ns && wrong_ns < now_ns + 100 * S);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_follow_a_clock_that_is_set),
        cmocka_unit_test(a_preloaded_clock_is_set_and_drifts),
    };

    if (argc > 1 && strcmp(argv[1], PRINT_CLOCK) == 0) {
        printf("%lld\n", (long long)read_ns(CLOCK_REALTIME));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
