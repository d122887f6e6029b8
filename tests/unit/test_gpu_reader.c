/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU, read through a library whose calls this file makes up. */
#include "rkt_test.h"

#include <stdio.h>

#include "agent/sidecar/gpu_reader.h"

#define MS UINT64_C(1000000)
#define T0 (UINT64_C(5000) * MS)

enum call {
    CALL_UUID,
    CALL_PCI,
    CALL_UTILIZATION,
    CALL_CLOCK,
    CALL_POWER,
    CALL_REASONS,
    CALL_ECC,
    CALL_GPM_GET,
    CALL_GPM_METRICS,
    CALL_COUNT
};

static struct {
    nvmlReturn_t codes[CALL_COUNT];
    unsigned int counts[CALL_COUNT];
    nvmlReturn_t metric_code; /* of NVLink's metrics */
    unsigned int is_supported;
    unsigned int gpm_count; /* samples that are allocated */
    double sm_active;
    unsigned int max_mhz;
    char uuid[64];
    char pci[64];
} fake;

static nvmlReturn_t answer(enum call call)
{
    fake.counts[call]++;
    return fake.codes[call];
}

static nvmlReturn_t by_uuid(const char *uuid, nvmlDevice_t *device)
{
    (void)snprintf(fake.uuid, sizeof(fake.uuid), "%s", uuid);
    *device = (nvmlDevice_t)&fake;
    return answer(CALL_UUID);
}

static nvmlReturn_t by_pci(const char *id, nvmlDevice_t *device)
{
    (void)snprintf(fake.pci, sizeof(fake.pci), "%s", id);
    *device = (nvmlDevice_t)&fake;
    return answer(CALL_PCI);
}

static nvmlReturn_t utilization(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    assert_ptr_equal(device, &fake);
    *rates = (nvmlUtilization_t){.gpu = 99, .memory = 40};
    return answer(CALL_UTILIZATION);
}

static nvmlReturn_t clock_info(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    assert_ptr_equal(device, &fake);
    *mhz = type == NVML_CLOCK_SM ? 1410 : 2619;
    return answer(CALL_CLOCK);
}

static nvmlReturn_t max_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    assert_ptr_equal(device, &fake);
    assert_int_equal(type, NVML_CLOCK_SM);
    *mhz = fake.max_mhz;
    return NVML_SUCCESS;
}

static nvmlReturn_t power(nvmlDevice_t device, unsigned int *milliwatts)
{
    assert_ptr_equal(device, &fake);
    *milliwatts = 400000;
    return answer(CALL_POWER);
}

static nvmlReturn_t reasons(nvmlDevice_t device, unsigned long long *bits)
{
    assert_ptr_equal(device, &fake);
    *bits = nvmlClocksThrottleReasonSwPowerCap;
    return answer(CALL_REASONS);
}

static nvmlReturn_t ecc_errors(nvmlDevice_t device, nvmlMemoryErrorType_t error,
                               nvmlEccCounterType_t counter, unsigned long long *count)
{
    assert_ptr_equal(device, &fake);
    assert_int_equal(counter, NVML_VOLATILE_ECC);
    *count = error == NVML_MEMORY_ERROR_TYPE_CORRECTED ? 7 : 0;
    return answer(CALL_ECC);
}

static nvmlReturn_t memory(nvmlDevice_t device, nvmlMemory_t *bytes)
{
    assert_ptr_equal(device, &fake);
    *bytes = (nvmlMemory_t){.total = 80, .free = 50, .used = 30};
    return NVML_SUCCESS;
}

static nvmlReturn_t gpm_support(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    assert_ptr_equal(device, &fake);
    assert_int_equal(support->version, NVML_GPM_SUPPORT_VERSION);
    support->isSupportedDevice = fake.is_supported;
    return NVML_SUCCESS;
}

/* Samples are numbers: the n-th reading. */
static struct {
    unsigned int number;
} samples[2];

static nvmlReturn_t gpm_alloc(nvmlGpmSample_t *sample)
{
    assert_true(fake.gpm_count < 2);
    *sample = (nvmlGpmSample_t)&samples[fake.gpm_count++];
    return NVML_SUCCESS;
}

static nvmlReturn_t gpm_free(nvmlGpmSample_t sample)
{
    assert_non_null(sample);
    fake.gpm_count--;
    return NVML_SUCCESS;
}

static nvmlReturn_t gpm_get(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    assert_ptr_equal(device, &fake);
    *(unsigned int *)sample = fake.counts[CALL_GPM_GET] + 1;
    return answer(CALL_GPM_GET);
}

static nvmlReturn_t gpm_metrics(nvmlGpmMetricsGet_t *request)
{
    assert_int_equal(request->version, NVML_GPM_METRICS_GET_VERSION);
    assert_int_equal(*(unsigned int *)request->sample1 + 1, *(unsigned int *)request->sample2);
    for (unsigned int i = 0; i < request->numMetrics; i++) {
        nvmlGpmMetric_t *metric = &request->metrics[i];

        metric->value = metric->metricId == NVML_GPM_METRIC_SM_UTIL ? fake.sm_active : 2.5;
        metric->nvmlReturn = metric->metricId >= NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC
                                 ? fake.metric_code
                                 : NVML_SUCCESS;
    }
    return answer(CALL_GPM_METRICS);
}

static const struct rkt_gpu_library FULL = {
    .by_uuid = by_uuid,
    .by_pci = by_pci,
    .utilization = utilization,
    .clock = clock_info,
    .max_clock = max_clock,
    .power = power,
    .power_limit = power,
    .throttle_reasons = reasons,
    .ecc_errors = ecc_errors,
    .memory = memory,
    .gpm_support = gpm_support,
    .gpm_alloc = gpm_alloc,
    .gpm_free = gpm_free,
    .gpm_get = gpm_get,
    .gpm_metrics = gpm_metrics,
};

static const struct rkt_event_device IDENTITY = {
    .uuid_high = 0x0123456789abcdefull,
    .uuid_low = 0xfedcba9876543210ull,
    .device_id = 3,
    .pci_domain = 1,
    .pci_bus = 0x5e,
    .pci_device = 2,
};

static int set_up(void **state)
{
    static struct rkt_gpu_reader reader;

    memset(&fake, 0, sizeof(fake));
    fake.is_supported = 1;
    fake.sm_active = 31.25;
    fake.max_mhz = 1980;
    *state = &reader;
    return 0;
}

static void open_reader(struct rkt_gpu_reader *reader, const struct rkt_gpu_library *library)
{
    assert_true(rkt_gpu_reader_open(reader, library, &IDENTITY, 5));
}

/* The sample of a counter in a reading; NULL: none. */
static const struct rkt_gpu_sample *find(const struct rkt_gpu_sample *got, size_t count,
                                         enum rkt_counter counter)
{
    for (size_t i = 0; i < count; i++) {
        if (got[i].counter == counter)
            return &got[i];
    }
    return NULL;
}

static void finds_by_uuid_and_asks_for_no_address(void **state)
{
    open_reader(*state, &FULL);
    assert_string_equal(fake.uuid, "GPU-01234567-89ab-cdef-fedc-ba9876543210");
    assert_int_equal(fake.counts[CALL_PCI], 0);
    rkt_gpu_reader_close(*state);
}

static void falls_back_to_the_pci_address(void **state)
{
    struct rkt_event_device nameless = IDENTITY;

    fake.codes[CALL_UUID] = NVML_ERROR_NOT_FOUND;
    open_reader(*state, &FULL);
    assert_string_equal(fake.pci, "00000001:5e:02.0");
    rkt_gpu_reader_close(*state);

    nameless.uuid_high = nameless.uuid_low = 0;
    assert_true(rkt_gpu_reader_open(*state, &FULL, &nameless, 0));
    assert_int_equal(fake.counts[CALL_UUID], 1);
    rkt_gpu_reader_close(*state);
}

static void a_gpu_that_nvml_does_not_know_is_not_read(void **state)
{
    fake.codes[CALL_UUID] = NVML_ERROR_NOT_FOUND;
    fake.codes[CALL_PCI] = NVML_ERROR_NOT_FOUND;
    assert_false(rkt_gpu_reader_open(*state, &FULL, &IDENTITY, 0));
}

static void a_reading_holds_every_number_in_its_unit(void **state)
{
    static const struct {
        enum rkt_counter counter;
        uint64_t value;
    } WANTED[] = {
        {RKT_COUNTER_GPU_BUSY, 9900},      {RKT_COUNTER_MEMORY_BUSY, 4000},
        {RKT_COUNTER_SM_CLOCK, 1410},      {RKT_COUNTER_MEMORY_CLOCK, 2619},
        {RKT_COUNTER_SM_CLOCK_MAX, 1980},  {RKT_COUNTER_POWER, 400000},
        {RKT_COUNTER_POWER_LIMIT, 400000}, {RKT_COUNTER_THROTTLE_REASONS, 4},
        {RKT_COUNTER_ECC_CORRECTED, 7},    {RKT_COUNTER_ECC_UNCORRECTED, 0},
        {RKT_COUNTER_MEMORY_USED, 30},
    };
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
    size_t count;

    open_reader(*state, &FULL);
    count = rkt_gpu_reader_read(*state, T0, got);
    assert_int_equal(count, sizeof(WANTED) / sizeof(WANTED[0])); /* no temperature: no such call */
    for (size_t i = 0; i < count; i++) {
        const struct rkt_gpu_sample *sample = find(got, count, WANTED[i].counter);

        assert_non_null(sample);
        assert_int_equal(sample->value, WANTED[i].value);
        assert_int_equal(sample->start_ns, T0);
        assert_int_equal(sample->end_ns, T0);
        assert_int_equal(sample->gpu, 5);
    }
    rkt_gpu_reader_close(*state);
}

static void what_hardly_changes_is_given_when_it_does(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
    size_t count;

    open_reader(*state, &FULL);
    (void)rkt_gpu_reader_read(*state, T0, got);
    count = rkt_gpu_reader_read(*state, T0 + 10 * MS, got);
    assert_null(find(got, count, RKT_COUNTER_SM_CLOCK_MAX));
    assert_null(find(got, count, RKT_COUNTER_ECC_CORRECTED));
    assert_non_null(find(got, count, RKT_COUNTER_SM_CLOCK));
    fake.max_mhz = 1755;
    count = rkt_gpu_reader_read(*state, T0 + 20 * MS, got);
    assert_int_equal(find(got, count, RKT_COUNTER_SM_CLOCK_MAX)->value, 1755);
    rkt_gpu_reader_close(*state);
}

static void activity_is_a_mean_over_at_least_100_ms(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
    const struct rkt_gpu_sample *active;
    size_t count;

    open_reader(*state, &FULL);
    (void)rkt_gpu_reader_read(*state, T0, got);
    count = rkt_gpu_reader_read(*state, T0 + 99 * MS, got);
    assert_null(find(got, count, RKT_COUNTER_SM_ACTIVE));
    count = rkt_gpu_reader_read(*state, T0 + 130 * MS, got);
    active = find(got, count, RKT_COUNTER_SM_ACTIVE);
    assert_non_null(active);
    assert_int_equal(active->value, 3125);
    assert_int_equal(active->start_ns, T0);
    assert_int_equal(active->end_ns, T0 + 130 * MS);
    assert_int_equal(find(got, count, RKT_COUNTER_PCIE_SENT)->value, 2621440); /* 2.5 MiB/s */
    count = rkt_gpu_reader_read(*state, T0 + 230 * MS, got);
    assert_int_equal(find(got, count, RKT_COUNTER_SM_ACTIVE)->start_ns, T0 + 130 * MS);
    rkt_gpu_reader_close(*state);
    assert_int_equal(fake.gpm_count, 0);
}

static void senseless_activity_is_left_out_and_too_much_is_all(void **state)
{
    static const struct {
        double is;
        int64_t given; /* -1: none */
    } CASES[] = {{-1, -1}, {__builtin_nan(""), -1}, {100.4, 10000}, {__builtin_inf(), -1}};
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    open_reader(*state, &FULL);
    (void)rkt_gpu_reader_read(*state, T0, got);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_gpu_sample *active;
        size_t count;

        fake.sm_active = CASES[i].is;
        count = rkt_gpu_reader_read(*state, T0 + 100 * MS * (i + 1), got);
        active = find(got, count, RKT_COUNTER_SM_ACTIVE);
        assert_int_equal(active ? (int64_t)active->value : -1, CASES[i].given);
        assert_non_null(find(got, count, RKT_COUNTER_TENSOR_ACTIVE));
    }
    rkt_gpu_reader_close(*state);
}

static void a_gpu_without_gpm_gives_the_rest(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
    size_t count;

    fake.is_supported = 0;
    open_reader(*state, &FULL);
    (void)rkt_gpu_reader_read(*state, T0, got);
    count = rkt_gpu_reader_read(*state, T0 + 200 * MS, got);
    assert_int_equal(fake.counts[CALL_GPM_GET], 0);
    assert_non_null(find(got, count, RKT_COUNTER_SM_CLOCK));
    rkt_gpu_reader_close(*state);
}

static void one_metric_that_fails_is_not_asked_again(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
    size_t count;

    fake.metric_code = NVML_ERROR_NOT_SUPPORTED;
    open_reader(*state, &FULL);
    (void)rkt_gpu_reader_read(*state, T0, got);
    count = rkt_gpu_reader_read(*state, T0 + 100 * MS, got);
    assert_null(find(got, count, RKT_COUNTER_NVLINK_SENT));
    assert_non_null(find(got, count, RKT_COUNTER_PCIE_SENT));
    fake.metric_code = NVML_SUCCESS;
    count = rkt_gpu_reader_read(*state, T0 + 200 * MS, got);
    assert_null(find(got, count, RKT_COUNTER_NVLINK_SENT));
    rkt_gpu_reader_close(*state);
}

static void gpm_that_cannot_be_read_is_given_back(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    fake.codes[CALL_GPM_GET] = NVML_ERROR_NO_PERMISSION;
    open_reader(*state, &FULL);
    assert_true(rkt_gpu_reader_read(*state, T0, got) > 0);
    assert_int_equal(fake.gpm_count, 0);
    assert_true(rkt_gpu_reader_read(*state, T0 + 200 * MS, got) > 0);
    assert_int_equal(fake.counts[CALL_GPM_GET], 1);
    rkt_gpu_reader_close(*state);
}

static void gpm_that_cannot_be_compared_is_turned_off(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    fake.codes[CALL_GPM_METRICS] = NVML_ERROR_UNKNOWN;
    open_reader(*state, &FULL);
    for (uint64_t i = 0; i < 4; i++)
        assert_null(
            find(got, rkt_gpu_reader_read(*state, T0 + 100 * MS * i, got), RKT_COUNTER_SM_ACTIVE));
    assert_int_equal(fake.counts[CALL_GPM_METRICS], 1);
    rkt_gpu_reader_close(*state);
    assert_int_equal(fake.gpm_count, 0);
}

/* How often a call is made in 30 readings, and whether the GPU goes on. */
static void errors_end_a_counter_or_the_gpu(void **state)
{
    static const struct {
        const char *what;
        nvmlReturn_t code;
        unsigned int calls;
        bool goes_on;
    } CASES[] = {
        {"no permission", NVML_ERROR_NO_PERMISSION, 1, true},
        {"not supported", NVML_ERROR_NOT_SUPPORTED, 1, true},
        {"a code that is not known", (nvmlReturn_t)77, 1, true},
        {"a passing error that does not pass", NVML_ERROR_TIMEOUT, 10, true},
        {"the GPU is lost", NVML_ERROR_GPU_IS_LOST, 1, false},
        {"NVML is gone", NVML_ERROR_UNINITIALIZED, 1, false},
    };

    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_gpu_sample got[RKT_GPU_READING_MAX];
        size_t count = 0;

        (void)set_up(state);
        fake.codes[CALL_REASONS] = CASES[i].code;
        open_reader(*state, &FULL);
        for (uint64_t k = 0; k < 30; k++)
            count = rkt_gpu_reader_read(*state, T0 + k * MS, got);
        if (fake.counts[CALL_REASONS] != CASES[i].calls || (count > 0) != CASES[i].goes_on)
            fail_msg("%s: %u calls, %zu samples at last", CASES[i].what, fake.counts[CALL_REASONS],
                     count);
        assert_null(find(got, count, RKT_COUNTER_THROTTLE_REASONS));
        rkt_gpu_reader_close(*state);
    }
}

static void an_error_that_passes_is_forgotten(void **state)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    open_reader(*state, &FULL);
    for (uint64_t round = 0; round < 3; round++) {
        fake.codes[CALL_POWER] = NVML_ERROR_TIMEOUT;
        for (uint64_t k = 0; k < 9; k++)
            (void)rkt_gpu_reader_read(*state, T0, got);
        fake.codes[CALL_POWER] = NVML_SUCCESS;
        assert_non_null(find(got, rkt_gpu_reader_read(*state, T0, got), RKT_COUNTER_POWER));
    }
    rkt_gpu_reader_close(*state);
}

static void a_library_that_lacks_everything_gives_nothing(void **state)
{
    const struct rkt_gpu_library old = {.by_uuid = by_uuid, .by_pci = by_pci};
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    open_reader(*state, &old);
    assert_int_equal(rkt_gpu_reader_read(*state, T0, got), 0);
    assert_int_equal(rkt_gpu_reader_read(*state, T0 + 200 * MS, got), 0);
    rkt_gpu_reader_close(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_by_uuid_and_asks_for_no_address, set_up),
        cmocka_unit_test_setup(falls_back_to_the_pci_address, set_up),
        cmocka_unit_test_setup(a_gpu_that_nvml_does_not_know_is_not_read, set_up),
        cmocka_unit_test_setup(a_reading_holds_every_number_in_its_unit, set_up),
        cmocka_unit_test_setup(what_hardly_changes_is_given_when_it_does, set_up),
        cmocka_unit_test_setup(activity_is_a_mean_over_at_least_100_ms, set_up),
        cmocka_unit_test_setup(senseless_activity_is_left_out_and_too_much_is_all, set_up),
        cmocka_unit_test_setup(a_gpu_without_gpm_gives_the_rest, set_up),
        cmocka_unit_test_setup(one_metric_that_fails_is_not_asked_again, set_up),
        cmocka_unit_test_setup(gpm_that_cannot_be_read_is_given_back, set_up),
        cmocka_unit_test_setup(gpm_that_cannot_be_compared_is_turned_off, set_up),
        cmocka_unit_test_setup(errors_end_a_counter_or_the_gpu, set_up),
        cmocka_unit_test_setup(an_error_that_passes_is_forgotten, set_up),
        cmocka_unit_test_setup(a_library_that_lacks_everything_gives_nothing, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
