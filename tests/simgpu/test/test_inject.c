/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in driver loads a library at the first cuInit, once, and lives without it. */

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simgpu/test/child.h"
#include "tests/unit/rkt_test.h"

#ifndef SIMGPU_PROBE_PATH
#error "the build says where the probe is"
#endif

/* In a process of its own; returns what cuInit gave the second time, or -1. */
static int init_with(const char *path, const char *folder)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("CUDA_INJECTION64_PATH", path, 1);
        setenv("SIMGPU_PROBE_DIR", folder, 1);
        setenv("RANK", "0", 1);
        if (cuInit(0) != CUDA_SUCCESS)
            _exit(255);
        exit((int)cuInit(0));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) < 255 ? WEXITSTATUS(status) : -1;
}

static void the_library_is_called_once_inside_the_first_init(void **state)
{
    char folder[] = "/tmp/simgpu-test-XXXXXX";
    char path[64];
    char text[256] = "";
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(init_with(SIMGPU_PROBE_PATH, folder), CUDA_SUCCESS);
    snprintf(path, sizeof(path), "%s/0.txt", folder);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    unlink(path);
    rmdir(folder);
    assert_string_equal(text, "injected 1\ndropped 0\nunloaded\n");
}

static void a_library_that_cannot_be_used_does_no_harm(void **state)
{
    (void)state;
    assert_int_equal(init_with("/nonexistent/lib.so", "/tmp"), CUDA_SUCCESS);
    assert_int_equal(init_with("libm.so.6", "/tmp"), CUDA_SUCCESS); /* without the entry point */
    assert_int_equal(init_with("", "/tmp"), CUDA_SUCCESS);
}

/* What CUPTI says in the other modes of the stand-in; each in a process of its own. */
static int cupti_mode_answers(const char *mode, CUptiResult enable, CUptiResult subscribe)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        CUpti_SubscriberHandle handle;
        bool is_right;

        setenv("SIMGPU_CUPTI_MODE", mode, 1);
        is_right = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == enable &&
                   cuptiSubscribe(&handle, (CUpti_CallbackFunc)abort, NULL) == subscribe;
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void cupti_can_be_without_a_gpu_or_taken(void **state)
{
    (void)state;
    assert_int_equal(cupti_mode_answers("no-gpu", CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN), 0);
    assert_int_equal(
        cupti_mode_answers("busy", CUPTI_SUCCESS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
        0);
    assert_int_equal(cupti_mode_answers("", CUPTI_SUCCESS, CUPTI_SUCCESS), 0);
}

static void use_the_last_of_many(void)
{
    CUuuid first;
    CUuuid last;
    CUcontext context;
    int count;

    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDeviceGetCount(&count), CUDA_SUCCESS);
    assert_int_equal(count, 40);
    assert_int_equal(cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
    assert_int_equal(cuDeviceGetUuid(&last, 39), CUDA_SUCCESS);
    assert_true(memcmp(&first, &last, sizeof(first)) != 0);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 40), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 39), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void there_can_be_more_devices_than_eight(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_DEVICE_COUNT=40", use_the_last_of_many), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_called_once_inside_the_first_init),
        cmocka_unit_test(a_library_that_cannot_be_used_does_no_harm),
        cmocka_unit_test(there_can_be_more_devices_than_eight),
        cmocka_unit_test(cupti_can_be_without_a_gpu_or_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
