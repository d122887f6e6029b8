/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library takes of a training process's memory: eight threads launch kernels and mark
 * ranges until every ring has gone round, then the kernel's own account is read.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture/intern.h"
#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "rkt_test.h"
#include "tests/simgpu/test/gpu.h"

#define THREADS 8u
#define ROUNDS 250u
#define RANGES_PER_ROUND 66u /* in all a little more than a ring holds */
#define LAUNCHES_PER_ROUND 3u
#define ROUND_NS 8000000 /* 8 x (66 + 2 x 3) records in 8 ms: more than 60,000 a second */
#define LIMIT_KB (32u << 10)

/* As in test_capture_gpu.c: the leak check of gcc 12 crashes over the stand-in's variables. */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void must(int is_true)
{
    if (!is_true)
        abort();
}

struct memory {
    unsigned long region_kb;     /* mapped of the region that the sidecar gave */
    unsigned long region_rss_kb; /* and touched */
    unsigned long anonymous_kb;  /* touched, of the whole process */
};

/* "Rss:    8800 kB" for "Rss:" is 8800; 0 for another line. */
static unsigned long kb_of(const char *line, const char *name)
{
    size_t name_bytes = strlen(name);

    return strncmp(line, name, name_bytes) == 0 ? strtoul(line + name_bytes, NULL, 10) : 0;
}

/* The kernel's account of each mapping: a head line, then "Name: number kB" lines. */
static struct memory read_memory(void)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    struct memory memory = {0};
    bool is_region = false;
    char line[512];

    must(maps != NULL);
    while (fgets(line, sizeof(line), maps)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            is_region = strstr(line, "memfd:ranktrace") != NULL;
        memory.region_kb += is_region ? kb_of(line, "Size:") : 0;
        memory.region_rss_kb += is_region ? kb_of(line, "Rss:") : 0;
        memory.anonymous_kb += kb_of(line, "Anonymous:");
    }
    (void)fclose(maps);
    return memory;
}

static struct {
    pthread_barrier_t barrier;
    struct test_gpu *gpu;
} shared;

static void *produce(void *arg)
{
    const struct timespec pause = {.tv_nsec = ROUND_NS};

    (void)arg;
    pthread_barrier_wait(&shared.barrier); /* its stack is there */
    pthread_barrier_wait(&shared.barrier); /* the GPU is up */
    must(cuCtxSetCurrent(shared.gpu->context) == CUDA_SUCCESS);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < RANGES_PER_ROUND; i++) {
            ranktrace_range_push("range");
            ranktrace_range_pop();
        }
        for (unsigned i = 0; i < LAUNCHES_PER_ROUND; i++)
            must(cuLaunchKernel(shared.gpu->other_kernel, 16, 2, 1, 64, 2, 1, 512, NULL, NULL,
                                NULL) == CUDA_SUCCESS);
        nanosleep(&pause, NULL);
    }
    pthread_barrier_wait(&shared.barrier); /* all are done, and still alive */
    pthread_barrier_wait(&shared.barrier);
    return NULL;
}

static void produce_and_measure(void)
{
    pthread_t threads[THREADS];
    struct memory before, after;
    void *gpu;

    must(pthread_barrier_init(&shared.barrier, NULL, THREADS + 1) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, produce, NULL) == 0);
    pthread_barrier_wait(&shared.barrier);
    before = read_memory();
    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(test_gpu_setup(&gpu) == 0);
    shared.gpu = gpu;
    pthread_barrier_wait(&shared.barrier);
    pthread_barrier_wait(&shared.barrier);
    after = read_memory();
    (void)fprintf(stderr, "region_kb=%lu region_rss_kb=%lu anonymous_kb=%ld\n", after.region_kb,
                  after.region_rss_kb, (long)(after.anonymous_kb - before.anonymous_kb));
    pthread_barrier_wait(&shared.barrier);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static unsigned long figure(const struct job *job, const char *name)
{
    const char *at = strstr(job->stderr_text, name);

    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

/* The stand-ins for the driver and CUPTI take memory too, which counts as ours here. */
static void memory_with_eight_threads_is_within_its_limit(void **state)
{
    const struct rkt_region_config config = RKT_REGION_CONFIG_DEFAULT;
    size_t page_kb = (size_t)sysconf(_SC_PAGESIZE) >> 10;
    unsigned long region_kb, region_rss_kb, anonymous_kb;
    struct job job;

    (void)state;
    job_init(&job);
    job.config = config;
    job_run(&job, produce_and_measure);
    (void)printf("%s", job.stderr_text);
    assert_int_equal(job.wait_status, 0);
    region_kb = figure(&job, "region_kb=");
    region_rss_kb = figure(&job, "region_rss_kb=");
    anonymous_kb = figure(&job, " anonymous_kb=");
    /* the formula is what is mapped, up to a page */
    assert_in_range(region_kb, rkt_region_bytes(&config) >> 10,
                    (rkt_region_bytes(&config) >> 10) + page_kb);
    /* each of the eight rings went round */
    assert_true(region_rss_kb >= THREADS * (rkt_ring_bytes(config.ring_capacity) >> 10));
    assert_true(anonymous_kb > 0);
#ifndef RKT_TEST_SANITIZED /* whose own memory it would be */
    assert_in_range(region_rss_kb + anonymous_kb, 1, LIMIT_KB);
#endif
    assert_int_equal(job.losses.ring_full[RKT_EVENT_RANGE], 0);
    assert_int_equal(job.losses.ring_full[RKT_EVENT_KERNEL], 0);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, -1, NULL),
                     THREADS * ROUNDS * RANGES_PER_ROUND);
    assert_int_equal(job_count(&job, RKT_EVENT_KERNEL, -1, NULL),
                     THREADS * ROUNDS * LAUNCHES_PER_ROUND);
    assert_int_equal(job_count(&job, RKT_EVENT_LOSS, -1, NULL), 0);
    job_free(&job);
}

/* Names and shapes up to the limits; whatever else the library has is counted above. */
static void tables_of_names_and_shapes_are_small(void **state)
{
    const struct rkt_region_config config = RKT_REGION_CONFIG_DEFAULT;

    (void)state;
    assert_in_range(rkt_intern_bytes(config.heap_bytes), 1, 2u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_with_eight_threads_is_within_its_limit),
        cmocka_unit_test(tables_of_names_and_shapes_are_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
