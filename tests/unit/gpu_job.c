/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_job.h"

#include <stdlib.h>

#include "rkt_test.h"

/*
 * The leak check of gcc 12 crashes over thread-local variables of libraries that were loaded
 * later, which the stand-in for CUPTI has. Addresses are checked all the same.
 */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

void must(int is_true)
{
    if (!is_true)
        abort();
}

struct test_gpu *start_gpu(void)
{
    void *gpu;

    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(test_gpu_setup(&gpu) == 0);
    return gpu;
}

void assert_nothing_lost(const struct job *job)
{
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        assert_int_equal(job->losses.ring_full[kind], 0);
    assert_int_equal(job->losses.no_ring_count, 0);
    assert_int_equal(job->losses.names_full_count, 0);
}

const struct rkt_event *launch_of(const struct job *job, const struct rkt_event *work)
{
    const struct rkt_event *found = NULL;

    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_API || event->correlation_id != work->correlation_id)
            continue;
        assert_null(found); /* one call per correlation id */
        found = event;
    }
    return found;
}

const char *thread_name(const struct job *job, uint32_t thread_id)
{
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind == RKT_EVENT_NAME && event->name.object_id == thread_id)
            return job_name(job, event->name_id);
    }
    return "";
}
