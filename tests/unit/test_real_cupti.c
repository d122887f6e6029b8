/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real libcupti on a machine without a GPU: it refuses with a code that means nothing in
 * particular, and capture must stay quiet. Skipped where there is no libcupti, or a driver.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "rkt_test.h"

#define EXIT_SKIPPED 77

static void inject(void)
{
    void *handle = dlopen(RKT_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = NULL;

    if (handle)
        *(void **)&initialize = dlsym(handle, "InitializeInjection");
    if (!initialize || initialize() != 1 || initialize() != 1)
        abort();
}

static void machine_without_a_gpu_is_no_reason_to_speak(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, inject);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_true(job.was_closed);
    assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, NULL), 0);
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_without_a_gpu_is_no_reason_to_speak),
    };

    if (!dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL) &&
        !dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL)) {
        printf("skipped: no libcupti.so.13 or .12 that the loader finds\n");
        return EXIT_SKIPPED;
    }
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        printf("skipped: there is a CUDA driver, and with one CUPTI works\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
