/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/gpu_reader.h"

#include <math.h>
#include <stdio.h>

#include "common/log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FAILURES_MAX 10
#define MIB 1048576.0
#define SHARE_MAX 10000u /* 100 % in units of 0.01 % */

/* What is a number of its own call. */
static const enum rkt_counter PLAIN[] = {
    RKT_COUNTER_SM_CLOCK,         RKT_COUNTER_SM_CLOCK_MAX,
    RKT_COUNTER_MEMORY_CLOCK,     RKT_COUNTER_POWER,
    RKT_COUNTER_POWER_LIMIT,      RKT_COUNTER_TEMPERATURE,
    RKT_COUNTER_THROTTLE_REASONS, RKT_COUNTER_ECC_CORRECTED,
    RKT_COUNTER_ECC_UNCORRECTED,  RKT_COUNTER_MEMORY_USED,
};

static const struct {
    enum rkt_counter counter;
    nvmlGpmMetricId_t metric;
    bool is_share; /* percent, else MiB/s */
} GPM[] = {
    {RKT_COUNTER_SM_ACTIVE, NVML_GPM_METRIC_SM_UTIL, true},
    {RKT_COUNTER_SM_OCCUPANCY, NVML_GPM_METRIC_SM_OCCUPANCY, true},
    {RKT_COUNTER_TENSOR_ACTIVE, NVML_GPM_METRIC_ANY_TENSOR_UTIL, true},
    {RKT_COUNTER_DRAM_ACTIVE, NVML_GPM_METRIC_DRAM_BW_UTIL, true},
    {RKT_COUNTER_PCIE_SENT, NVML_GPM_METRIC_PCIE_TX_PER_SEC, false},
    {RKT_COUNTER_PCIE_RECEIVED, NVML_GPM_METRIC_PCIE_RX_PER_SEC, false},
    {RKT_COUNTER_NVLINK_SENT, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, false},
    {RKT_COUNTER_NVLINK_RECEIVED, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, false},
};

/* One reading as it is made. */
struct reading {
    struct rkt_gpu_reader *reader;
    uint64_t now_ns;
    struct rkt_gpu_sample *samples;
    size_t count;
};

/* ---- errors ---- */

static bool is_passing(nvmlReturn_t code)
{
    return code == NVML_ERROR_TIMEOUT || code == NVML_ERROR_IN_USE || code == NVML_ERROR_NO_DATA ||
           code == NVML_ERROR_MEMORY;
}

static bool is_the_end(nvmlReturn_t code)
{
    return code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_RESET_REQUIRED ||
           code == NVML_ERROR_UNINITIALIZED || code == NVML_ERROR_DRIVER_NOT_LOADED;
}

static enum rkt_log_level level_of(nvmlReturn_t code)
{
    return code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND ? RKT_LOG_INFO
                                                                                     : RKT_LOG_WARN;
}

static void take_error(struct rkt_gpu_reader *reader, enum rkt_counter counter, nvmlReturn_t code)
{
    if (is_passing(code) && ++reader->failures[counter] < FAILURES_MAX)
        return;
    if (is_the_end(code)) {
        if (!reader->is_lost)
            rkt_log(RKT_LOG_WARN, "gpu", "no more samples of this GPU", "gpu=%s reason=\"%s\"",
                    reader->name, rkt_gpu_error_text(code));
        reader->is_lost = true;
        return;
    }
    reader->is_off[counter] = true;
    rkt_log(level_of(code), "gpu", "a counter is not sampled", "gpu=%s counter=%s reason=\"%s\"",
            reader->name, rkt_counter_name(counter), rkt_gpu_error_text(code));
}

/* ---- samples ---- */

static void add(struct reading *reading, enum rkt_counter counter, uint64_t start_ns,
                uint64_t value)
{
    reading->reader->failures[counter] = 0;
    reading->samples[reading->count++] = (struct rkt_gpu_sample){
        .start_ns = start_ns,
        .end_ns = reading->now_ns,
        .value = value,
        .gpu = reading->reader->gpu,
        .counter = (uint8_t)counter,
    };
}

static bool is_steady(enum rkt_counter counter)
{
    return counter == RKT_COUNTER_SM_CLOCK_MAX || counter == RKT_COUNTER_POWER_LIMIT ||
           counter == RKT_COUNTER_ECC_CORRECTED || counter == RKT_COUNTER_ECC_UNCORRECTED;
}

static void add_plain(struct reading *reading, enum rkt_counter counter, uint64_t value)
{
    struct rkt_gpu_reader *reader = reading->reader;

    if (is_steady(counter) && reader->has_last[counter] && reader->last[counter] == value)
        return;
    reader->has_last[counter] = true;
    reader->last[counter] = value;
    add(reading, counter, reading->now_ns, value);
}

static nvmlReturn_t read_small(const struct rkt_gpu_reader *reader, enum rkt_counter counter,
                               unsigned int *value_out)
{
    const struct rkt_gpu_library *library = reader->library;
    nvmlDevice_t device = reader->device;

    if (counter == RKT_COUNTER_SM_CLOCK && library->clock)
        return library->clock(device, NVML_CLOCK_SM, value_out);
    if (counter == RKT_COUNTER_MEMORY_CLOCK && library->clock)
        return library->clock(device, NVML_CLOCK_MEM, value_out);
    if (counter == RKT_COUNTER_SM_CLOCK_MAX && library->max_clock)
        return library->max_clock(device, NVML_CLOCK_SM, value_out);
    if (counter == RKT_COUNTER_POWER && library->power)
        return library->power(device, value_out);
    if (counter == RKT_COUNTER_POWER_LIMIT && library->power_limit)
        return library->power_limit(device, value_out);
    if (counter == RKT_COUNTER_TEMPERATURE && library->temperature)
        return library->temperature(device, NVML_TEMPERATURE_GPU, value_out);
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static nvmlReturn_t read_large(const struct rkt_gpu_reader *reader, enum rkt_counter counter,
                               unsigned long long *value_out)
{
    const struct rkt_gpu_library *library = reader->library;
    nvmlDevice_t device = reader->device;
    nvmlMemory_t memory = {0};
    nvmlReturn_t code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (counter == RKT_COUNTER_THROTTLE_REASONS && library->throttle_reasons)
        return library->throttle_reasons(device, value_out);
    if (counter == RKT_COUNTER_ECC_CORRECTED && library->ecc_errors)
        return library->ecc_errors(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC,
                                   value_out);
    if (counter == RKT_COUNTER_ECC_UNCORRECTED && library->ecc_errors)
        return library->ecc_errors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                   value_out);
    if (counter == RKT_COUNTER_MEMORY_USED && library->memory)
        code = library->memory(device, &memory);
    *value_out = memory.used;
    return code;
}

static bool is_large(enum rkt_counter counter)
{
    return counter == RKT_COUNTER_THROTTLE_REASONS || counter == RKT_COUNTER_ECC_CORRECTED ||
           counter == RKT_COUNTER_ECC_UNCORRECTED || counter == RKT_COUNTER_MEMORY_USED;
}

static void read_plain(struct reading *reading, enum rkt_counter counter)
{
    unsigned long long large = 0;
    unsigned int small = 0;
    nvmlReturn_t code = is_large(counter) ? read_large(reading->reader, counter, &large)
                                          : read_small(reading->reader, counter, &small);

    if (code == NVML_SUCCESS)
        add_plain(reading, counter, is_large(counter) ? large : small);
    else
        take_error(reading->reader, counter, code);
}

static void read_utilization(struct reading *reading)
{
    struct rkt_gpu_reader *reader = reading->reader;
    nvmlUtilization_t rates = {0};
    nvmlReturn_t code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (reader->is_off[RKT_COUNTER_GPU_BUSY])
        return;
    if (reader->library->utilization)
        code = reader->library->utilization(reader->device, &rates);
    if (code != NVML_SUCCESS) {
        take_error(reader, RKT_COUNTER_GPU_BUSY, code);
        return;
    }
    add_plain(reading, RKT_COUNTER_GPU_BUSY, rates.gpu * UINT64_C(100));
    add_plain(reading, RKT_COUNTER_MEMORY_BUSY, rates.memory * UINT64_C(100));
}

/* ---- the means between two readings ---- */

static void add_gpm(struct reading *reading, size_t index, const nvmlGpmMetric_t *metric)
{
    enum rkt_counter counter = GPM[index].counter;
    double value = GPM[index].is_share ? metric->value * 100 : metric->value * MIB;

    if (metric->nvmlReturn != NVML_SUCCESS) {
        take_error(reading->reader, counter, metric->nvmlReturn);
        return;
    }
    if (!isfinite(value) || value < 0 || value > 1e18)
        return;
    value = GPM[index].is_share ? fmin(value, SHARE_MAX) : value;
    add(reading, counter, reading->reader->gpm_ns, (uint64_t)llround(value));
}

static void compare_gpm(struct reading *reading)
{
    struct rkt_gpu_reader *reader = reading->reader;
    size_t indexes[COUNT(GPM)];
    nvmlGpmMetricsGet_t request = {.version = NVML_GPM_METRICS_GET_VERSION,
                                   .sample1 = reader->gpm[0],
                                   .sample2 = reader->gpm[1]};
    nvmlReturn_t code;

    for (size_t i = 0; i < COUNT(GPM); i++) {
        if (reader->is_off[GPM[i].counter])
            continue;
        indexes[request.numMetrics] = i;
        request.metrics[request.numMetrics++].metricId = GPM[i].metric;
    }
    if (request.numMetrics == 0)
        return;
    code = reader->library->gpm_metrics(&request);
    for (size_t i = 0; i < request.numMetrics; i++) {
        if (code != NVML_SUCCESS)
            take_error(reader, GPM[indexes[i]].counter, code);
        else
            add_gpm(reading, indexes[i], &request.metrics[i]);
    }
}

static void close_gpm(struct rkt_gpu_reader *reader)
{
    for (size_t i = 0; i < COUNT(reader->gpm); i++) {
        if (reader->gpm[i])
            (void)reader->library->gpm_free(reader->gpm[i]);
        reader->gpm[i] = NULL;
    }
}

static void read_gpm(struct reading *reading)
{
    struct rkt_gpu_reader *reader = reading->reader;
    nvmlGpmSample_t earlier = reader->gpm[0];
    nvmlReturn_t code;

    if (!earlier ||
        (reader->gpm_ns != 0 && reading->now_ns - reader->gpm_ns < RKT_GPM_INTERVAL_MIN_NS))
        return;
    code = reader->library->gpm_get(reader->device, reader->gpm[1]);
    if (code != NVML_SUCCESS) {
        take_error(reader, RKT_COUNTER_SM_ACTIVE, code);
        if (reader->is_off[RKT_COUNTER_SM_ACTIVE])
            close_gpm(reader);
        return;
    }
    if (reader->gpm_ns != 0)
        compare_gpm(reading);
    reader->gpm[0] = reader->gpm[1];
    reader->gpm[1] = earlier;
    reader->gpm_ns = reading->now_ns;
}

static void open_gpm(struct rkt_gpu_reader *reader)
{
    const struct rkt_gpu_library *library = reader->library;
    nvmlGpmSupport_t support = {.version = NVML_GPM_SUPPORT_VERSION};
    bool is_there = library->gpm_support && library->gpm_alloc && library->gpm_free &&
                    library->gpm_get && library->gpm_metrics;

    if (!is_there || library->gpm_support(reader->device, &support) != NVML_SUCCESS ||
        !support.isSupportedDevice) {
        rkt_log(RKT_LOG_INFO, "gpu", "activity of multiprocessors is not sampled",
                "gpu=%s reason=\"it takes a Hopper GPU or newer, and a driver that knows it\"",
                reader->name);
        return;
    }
    if (library->gpm_alloc(&reader->gpm[0]) != NVML_SUCCESS ||
        library->gpm_alloc(&reader->gpm[1]) != NVML_SUCCESS)
        close_gpm(reader);
}

/* ---- life cycle ---- */

static bool find_device(struct rkt_gpu_reader *reader, const struct rkt_event_device *identity)
{
    bool has_uuid = (identity->uuid_high | identity->uuid_low) != 0;
    char uuid[RKT_GPU_UUID_BYTES];
    nvmlReturn_t code;

    rkt_format_gpu_uuid(identity, uuid);
    (void)snprintf(reader->name, sizeof(reader->name), "%08x:%02x:%02x.0", identity->pci_domain,
                   identity->pci_bus, identity->pci_device);
    if (has_uuid && reader->library->by_uuid(uuid, &reader->device) == NVML_SUCCESS) {
        (void)snprintf(reader->name, sizeof(reader->name), "%s", uuid);
        return true;
    }
    code = reader->library->by_pci(reader->name, &reader->device);
    if (code != NVML_SUCCESS) {
        rkt_log(RKT_LOG_WARN, "gpu", "NVML does not know a GPU of the job: it is not sampled",
                "gpu=%s uuid=%s reason=\"%s\"", reader->name, uuid, rkt_gpu_error_text(code));
        return false;
    }
    if (has_uuid)
        rkt_log(RKT_LOG_WARN, "gpu",
                "found by its PCI address alone: a part of a GPU (MIG) is "
                "sampled as the whole",
                "gpu=%s uuid=%s", reader->name, uuid);
    return true;
}

bool rkt_gpu_reader_open(struct rkt_gpu_reader *reader, const struct rkt_gpu_library *library,
                         const struct rkt_event_device *identity, uint32_t gpu)
{
    *reader = (struct rkt_gpu_reader){.library = library, .gpu = gpu};
    if (!find_device(reader, identity))
        return false;
    open_gpm(reader);
    return true;
}

void rkt_gpu_reader_close(struct rkt_gpu_reader *reader)
{
    close_gpm(reader);
    *reader = (struct rkt_gpu_reader){0};
}

size_t rkt_gpu_reader_read(struct rkt_gpu_reader *reader, uint64_t now_ns,
                           struct rkt_gpu_sample *samples)
{
    struct reading reading = {.reader = reader, .now_ns = now_ns, .samples = samples};

    if (!reader->is_lost)
        read_gpm(&reading); /* first: its stamp is a bound of what it measures */
    if (!reader->is_lost)
        read_utilization(&reading);
    for (size_t i = 0; i < COUNT(PLAIN) && !reader->is_lost; i++) {
        if (!reader->is_off[PLAIN[i]])
            read_plain(&reading, PLAIN[i]);
    }
    return reading.count;
}
