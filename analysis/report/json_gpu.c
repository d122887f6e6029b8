/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "analysis/report/json_parts.h"

/* Keys of the report by counter, and what their unit is in the counter's. */
static const struct {
    enum rkt_counter counter;
    const char *key;
    double unit;
} KEYS[] = {
    {RKT_COUNTER_GPU_BUSY, "gpu_busy", 10000},
    {RKT_COUNTER_SM_ACTIVE, "sm_active", 10000},
    {RKT_COUNTER_TENSOR_ACTIVE, "tensor_active", 10000},
    {RKT_COUNTER_DRAM_ACTIVE, "dram_active", 10000},
    {RKT_COUNTER_SM_CLOCK, "sm_clock_mhz", 1},
    {RKT_COUNTER_POWER, "power_w", 1000},
    /* of a step no more than these */
    {RKT_COUNTER_SM_CLOCK_MAX, "sm_clock_max_mhz", 1},
    {RKT_COUNTER_POWER_LIMIT, "power_limit_w", 1000},
    {RKT_COUNTER_MEMORY_BUSY, "memory_busy", 10000},
    {RKT_COUNTER_SM_OCCUPANCY, "sm_occupancy", 10000},
    {RKT_COUNTER_MEMORY_CLOCK, "memory_clock_mhz", 1},
    {RKT_COUNTER_TEMPERATURE, "temperature_c", 1},
    {RKT_COUNTER_PCIE_SENT, "pcie_sent_bytes_per_s", 1},
    {RKT_COUNTER_PCIE_RECEIVED, "pcie_received_bytes_per_s", 1},
    {RKT_COUNTER_NVLINK_SENT, "nvlink_sent_bytes_per_s", 1},
    {RKT_COUNTER_NVLINK_RECEIVED, "nvlink_received_bytes_per_s", 1},
    {RKT_COUNTER_MEMORY_USED, "memory_used_bytes", 1},
    {RKT_COUNTER_ECC_CORRECTED, "ecc_corrected", 1},
    {RKT_COUNTER_ECC_UNCORRECTED, "ecc_uncorrected", 1},
};
#define STEP_KEYS 6

static const char *const REASONS[RKT_THROTTLE_REASON_COUNT] = {
    "idle",       "clock_setting", "power_cap",  "hw_slowdown",
    "sync_boost", "sw_thermal",    "hw_thermal", "power_brake",
};

static void put_means(struct rkt_json *json, const struct rkt_gpu_use *use, size_t key_count)
{
    for (size_t i = 0; i < key_count; i++)
        rkt_json_double(json, KEYS[i].key, use->mean[KEYS[i].counter] / KEYS[i].unit);
    rkt_json_double(json, "throttled", use->throttled);
}

static void put_identity(struct rkt_json *json, const struct rkt_rank_trace *trace,
                         uint32_t device_id)
{
    const struct rkt_event_device *device = rkt_gpu_device(trace, device_id);
    char text[RKT_GPU_UUID_BYTES];

    if (device) {
        rkt_format_gpu_uuid(device, text);
        rkt_json_text(json, "uuid", text);
        (void)snprintf(text, sizeof(text), "%04x:%02x:%02x.0", device->pci_domain, device->pci_bus,
                       device->pci_device);
        rkt_json_text(json, "pci", text);
    } else {
        rkt_json_null(json, "uuid");
        rkt_json_null(json, "pci");
    }
}

void rkt_json_put_gpus(struct rkt_json *json, const struct rkt_rank_result *rank)
{
    rkt_json_begin_array(json, "gpus");
    for (size_t i = 0; i < rank->gpu_count; i++) {
        const struct rkt_gpu_use *use = &rank->gpus[i];

        rkt_json_begin_object(json, NULL);
        rkt_json_u64(json, "device_id", use->device_id);
        put_identity(json, rank->trace, use->device_id);
        put_means(json, use, sizeof(KEYS) / sizeof(KEYS[0]));
        rkt_json_begin_object(json, "throttled_by");
        for (int k = 0; k < RKT_THROTTLE_REASON_COUNT; k++)
            rkt_json_double(json, REASONS[k], use->throttled_by[k]);
        rkt_json_end(json);
        rkt_json_double(json, "temperature_most_c", use->most[RKT_COUNTER_TEMPERATURE]);
        rkt_json_double(json, "memory_used_most_bytes", use->most[RKT_COUNTER_MEMORY_USED]);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

void rkt_json_put_step_gpu(struct rkt_json *json, const struct rkt_rank_result *rank,
                           const struct rkt_step_result *step)
{
    struct rkt_gpu_use use;

    if (rank->gpu_count == 0) {
        rkt_json_null(json, "gpu");
        return;
    }
    use = rkt_gpu_use_over(rank->trace, rank->gpus[0].device_id, step->window.start_ns,
                           step->window.end_ns);
    rkt_json_begin_object(json, "gpu");
    put_means(json, &use, STEP_KEYS);
    rkt_json_end(json);
}

void rkt_json_put_gpu_cause(struct rkt_json *json, const struct rkt_gpu_cause *cause)
{
    if (!cause->is_found) {
        rkt_json_null(json, "gpu");
        return;
    }
    rkt_json_begin_object(json, "gpu");
    rkt_json_u64(json, "device_id", cause->device_id);
    if (cause->reason != 0)
        rkt_json_text(json, "reason", REASONS[__builtin_ctz(cause->reason)]);
    else
        rkt_json_null(json, "reason");
    rkt_json_double(json, "share", cause->share);
    rkt_json_double(json, "others_share", cause->others_share);
    rkt_json_double(json, "sm_clock_mhz", cause->clock_mhz);
    rkt_json_double(json, "others_sm_clock_mhz", cause->others_clock_mhz);
    rkt_json_end(json);
}
