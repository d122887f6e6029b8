/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling thread over the stand-in NVML, which the loader finds by LD_LIBRARY_PATH. */
#include "rkt_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/sidecar/gpu_samples.h"
#include "common/clock.h"

#define MS UINT64_C(1000000)
#define LIMIT_NS (UINT64_C(20000) * MS)

/* As the stand-in driver numbers them. */
static struct rkt_event_device gpu(uint32_t index)
{
    return (struct rkt_event_device){.uuid_high = 0x73696d6770750000ull,
                                     .uuid_low = index,
                                     .device_id = index,
                                     .pci_bus = (uint16_t)(index + 1)};
}

static struct rkt_gpu_samples *create(void)
{
    struct rkt_gpu_samples *samples = NULL;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_gpu_samples_create(10 * MS, &samples, &err), err);
    return samples;
}

/* Waits for the next sample of a counter of a GPU. */
static struct rkt_gpu_sample await(struct rkt_gpu_samples *samples, uint32_t index,
                                   enum rkt_counter counter)
{
    uint64_t limit_ns = rkt_now_raw_ns() + LIMIT_NS;
    struct rkt_gpu_sample got;

    while (rkt_now_raw_ns() < limit_ns) {
        while (rkt_gpu_samples_take(samples, &got, 1) > 0) {
            if (got.gpu == index && got.counter == counter)
                return got;
        }
        usleep(1000); /* asks; the limit is above */
    }
    fail_msg("no %s of GPU %u came", rkt_counter_name(counter), index);
    return (struct rkt_gpu_sample){0};
}

static int clean_environment(void **state)
{
    (void)state;
    unsetenv("SIMGPU_NVML_THROTTLE");
    unsetenv("SIMGPU_NVML_FAIL");
    unsetenv("SIMGPU_NVML_HANG");
    unsetenv("SIMGPU_NVML_SLOW_US");
    return 0;
}

static void each_gpu_has_one_number_and_its_own_values(void **state)
{
    struct rkt_gpu_samples *samples = create();
    struct rkt_event_device first = gpu(2), again = gpu(2), second = gpu(5);
    struct rkt_gpu_sample active;

    (void)state;
    setenv("SIMGPU_NVML_THROTTLE", "5:hw-thermal", 1);
    again.device_id = 0; /* another process counts it otherwise */
    assert_int_equal(rkt_gpu_samples_add(samples, &first), 0);
    assert_int_equal(rkt_gpu_samples_add(samples, &second), 1);
    assert_int_equal(rkt_gpu_samples_add(samples, &again), 0);
    rkt_gpu_samples_want(samples, 3);
    assert_int_equal(await(samples, 0, RKT_COUNTER_THROTTLE_REASONS).value, 0);
    assert_int_equal(await(samples, 1, RKT_COUNTER_SM_CLOCK).value, 1485);
    assert_int_equal(await(samples, 1, RKT_COUNTER_THROTTLE_REASONS).value,
                     nvmlClocksThrottleReasonHwThermalSlowdown);
    active = await(samples, 0, RKT_COUNTER_SM_ACTIVE);
    assert_int_equal(active.value, 3125);
    assert_true(active.end_ns - active.start_ns >= RKT_GPM_INTERVAL_MIN_NS);
    assert_true(active.end_ns <= rkt_now_raw_ns());
    rkt_gpu_samples_destroy(samples);
}

static void a_gpu_that_nobody_wants_is_not_read(void **state)
{
    struct rkt_gpu_samples *samples = create();
    struct rkt_event_device first = gpu(0), second = gpu(1);
    struct rkt_gpu_sample got;
    size_t seen = 0;

    (void)state;
    (void)rkt_gpu_samples_add(samples, &first);
    (void)rkt_gpu_samples_add(samples, &second);
    rkt_gpu_samples_want(samples, 2);
    for (int i = 0; i < 3; i++)
        (void)await(samples, 1, RKT_COUNTER_SM_CLOCK);
    rkt_gpu_samples_want(samples, 1);
    (void)await(samples, 0, RKT_COUNTER_SM_CLOCK); /* the round that was under way is over */
    for (int i = 0; i < 3; i++) {
        (void)await(samples, 0, RKT_COUNTER_THROTTLE_REASONS);
        while (rkt_gpu_samples_take(samples, &got, 1) > 0)
            seen += got.gpu == 1;
    }
    assert_int_equal(seen, 0);
    rkt_gpu_samples_destroy(samples);
}

static void nothing_is_loaded_before_a_gpu_is_added(void **state)
{
    struct rkt_gpu_samples *samples = create();
    struct rkt_gpu_sample got;

    (void)state;
    setenv("SIMGPU_NVML_HANG", "nvmlInit_v2", 1); /* whoever loads it now stays in it */
    rkt_gpu_samples_want(samples, 0);
    assert_int_equal(rkt_gpu_samples_take(samples, &got, 1), 0);
    rkt_gpu_samples_destroy(samples);
}

/* To wait for the thread, or for what it holds, would be to wait for ever. */
static void a_call_that_hangs_holds_neither_the_caller_nor_the_end(void **state)
{
    static const char *const CALLS[] = {"nvmlInit_v2", "nvmlDeviceGetPowerUsage"};

    (void)state;
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        struct rkt_gpu_samples *samples = create();
        struct rkt_event_device first = gpu(0);
        struct rkt_gpu_sample got;

        setenv("SIMGPU_NVML_HANG", CALLS[i], 1); /* the threads before only look for theirs */
        assert_int_equal(rkt_gpu_samples_add(samples, &first), 0);
        for (int k = 0; k < 1000; k++) { /* some 0.2 s: the thread is in it long before */
            rkt_gpu_samples_want(samples, 1);
            assert_int_equal(rkt_gpu_samples_take(samples, &got, 1), 0);
            usleep(100);
        }
        rkt_gpu_samples_destroy(samples);
    }
}

static void slow_calls_give_samples_all_the_same(void **state)
{
    struct rkt_gpu_samples *samples = create();
    struct rkt_event_device first = gpu(0);

    (void)state;
    setenv("SIMGPU_NVML_SLOW_US", "20000", 1); /* a reading takes some 15 calls: 0.3 s */
    (void)rkt_gpu_samples_add(samples, &first);
    rkt_gpu_samples_want(samples, 1);
    (void)await(samples, 0, RKT_COUNTER_SM_CLOCK);
    (void)await(samples, 0, RKT_COUNTER_SM_ACTIVE);
    rkt_gpu_samples_destroy(samples);
}

static void without_a_driver_there_are_no_samples_and_no_trouble(void **state)
{
    static const char *const FAILS[] = {"nvmlInit_v2:9", "nvmlInit_v2:18",
                                        "nvmlDeviceGetHandleByUUID:6,"
                                        "nvmlDeviceGetHandleByPciBusId_v2:6"};

    (void)state;
    for (size_t i = 0; i < sizeof(FAILS) / sizeof(FAILS[0]); i++) {
        struct rkt_gpu_samples *samples = create();
        struct rkt_event_device first = gpu(0);
        struct rkt_gpu_sample got;

        setenv("SIMGPU_NVML_FAIL", FAILS[i], 1);
        assert_int_equal(rkt_gpu_samples_add(samples, &first), 0);
        rkt_gpu_samples_want(samples, 1);
        usleep(30000); /* more than a round; a sample too many would be seen, none is never late */
        assert_int_equal(rkt_gpu_samples_take(samples, &got, 1), 0);
        rkt_gpu_samples_destroy(samples);
    }
}

static void a_full_room_stops_the_rounds_and_loses_nothing(void **state)
{
    struct rkt_gpu_samples *samples = create();
    struct rkt_gpu_sample got;
    uint64_t last_ns = 0;
    size_t count = 0;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct rkt_event_device device = gpu(i);

        (void)rkt_gpu_samples_add(samples, &device);
    }
    rkt_gpu_samples_want(samples, 0xff);
    (void)await(samples, 7, RKT_COUNTER_SM_CLOCK);
    usleep(400000); /* 8 GPUs x 10 samples x 40 rounds: more than there is room for */
    while (rkt_gpu_samples_take(samples, &got, 1) > 0 && count < 100000) {
        assert_true(got.counter != RKT_COUNTER_NAMED && got.counter < RKT_COUNTER_COUNT);
        assert_true(got.end_ns >= last_ns);
        last_ns = got.end_ns;
        count++;
    }
    assert_true(count > 0);
    (void)await(samples, 7, RKT_COUNTER_SM_CLOCK);
    rkt_gpu_samples_destroy(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_gpu_has_one_number_and_its_own_values, clean_environment),
        cmocka_unit_test_setup(a_gpu_that_nobody_wants_is_not_read, clean_environment),
        cmocka_unit_test_setup(nothing_is_loaded_before_a_gpu_is_added, clean_environment),
        cmocka_unit_test_setup(slow_calls_give_samples_all_the_same, clean_environment),
        cmocka_unit_test_setup(without_a_driver_there_are_no_samples_and_no_trouble,
                               clean_environment),
        cmocka_unit_test_setup(a_full_room_stops_the_rounds_and_loses_nothing, clean_environment),
        cmocka_unit_test_setup(a_call_that_hangs_holds_neither_the_caller_nor_the_end,
                               clean_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
