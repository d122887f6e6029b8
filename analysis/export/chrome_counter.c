/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as counter tracks of a Chrome trace. */
#include <stdio.h>

#include "analysis/export/chrome_state.h"

#define NAME_BYTES 256

/* How a counter is shown: its values are divided by `unit`. */
struct shown {
    const char *name;
    const char *unit_name;
    double unit;
};

static const struct shown SHOWN[RKT_COUNTER_COUNT] = {
    [RKT_COUNTER_GPU_BUSY] = {"busy", "%", 100},
    [RKT_COUNTER_MEMORY_BUSY] = {"memory busy", "%", 100},
    [RKT_COUNTER_SM_ACTIVE] = {"SM active", "%", 100},
    [RKT_COUNTER_SM_OCCUPANCY] = {"SM occupancy", "%", 100},
    [RKT_COUNTER_TENSOR_ACTIVE] = {"tensor active", "%", 100},
    [RKT_COUNTER_DRAM_ACTIVE] = {"DRAM active", "%", 100},
    [RKT_COUNTER_PCIE_SENT] = {"PCIe sent", "MB/s", 1e6},
    [RKT_COUNTER_PCIE_RECEIVED] = {"PCIe received", "MB/s", 1e6},
    [RKT_COUNTER_NVLINK_SENT] = {"NVLink sent", "MB/s", 1e6},
    [RKT_COUNTER_NVLINK_RECEIVED] = {"NVLink received", "MB/s", 1e6},
    [RKT_COUNTER_SM_CLOCK] = {"SM clock", "MHz", 1},
    [RKT_COUNTER_MEMORY_CLOCK] = {"memory clock", "MHz", 1},
    [RKT_COUNTER_POWER] = {"power", "W", 1000},
    [RKT_COUNTER_TEMPERATURE] = {"temperature", "C", 1},
    [RKT_COUNTER_ECC_CORRECTED] = {"ECC errors, corrected", "errors", 1},
    [RKT_COUNTER_ECC_UNCORRECTED] = {"ECC errors, uncorrected", "errors", 1},
    [RKT_COUNTER_MEMORY_USED] = {"memory used", "MiB", 1048576},
    [RKT_COUNTER_SM_CLOCK_MAX] = {"SM clock, highest", "MHz", 1},
    [RKT_COUNTER_POWER_LIMIT] = {"power limit", "W", 1000},
};

static void put_name(struct rkt_chrome *chrome, const struct rkt_counter_sample *sample)
{
    const struct shown *shown = &SHOWN[sample->counter];
    char name[NAME_BYTES];
    size_t len;
    const char *given = rkt_strtab_get(chrome->trace->names, sample->name_id, &len);

    if (sample->counter == RKT_COUNTER_NAMED) {
        rkt_json_bytes(&chrome->json, "name", given, len);
        return;
    }
    if (sample->counter == RKT_COUNTER_THROTTLE_REASONS)
        (void)snprintf(name, sizeof(name), "GPU %u throttled by", sample->device_id);
    else
        (void)snprintf(name, sizeof(name), "GPU %u %s (%s)", sample->device_id, shown->name,
                       shown->unit_name);
    rkt_json_text(&chrome->json, "name", name);
}

/* Every reason each time: a series that is left out would keep its last value. */
static void put_reasons(struct rkt_json *json, uint64_t reasons)
{
    for (uint64_t bit = RKT_THROTTLE_CLOCK_SETTING; bit <= RKT_THROTTLE_POWER_BRAKE; bit <<= 1)
        rkt_json_u64(json, rkt_throttle_reason_name((enum rkt_throttle_reason)bit),
                     (reasons & bit) != 0);
}

/* Viewers hold a value until the next: a mean is shown over what it was measured. */
static void put_sample(struct rkt_chrome *chrome, const struct rkt_counter_sample *sample)
{
    const struct shown *shown = &SHOWN[sample->counter];
    struct rkt_json *json = &chrome->json;
    int64_t job_ns = rkt_slices_job_ns(chrome->trace, sample->start_ns);

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "ph", "C");
    rkt_json_text(json, "cat", "gpu");
    put_name(chrome, sample);
    rkt_json_i64(json, "pid", rkt_chrome_pid(chrome));
    rkt_json_i64(json, "tid", 0);
    rkt_json_us(json, "ts", job_ns - chrome->origin_ns);
    rkt_json_begin_object(json, "args");
    if (sample->counter == RKT_COUNTER_THROTTLE_REASONS)
        put_reasons(json, sample->value);
    else if (sample->counter == RKT_COUNTER_NAMED)
        rkt_json_u64(json, "value", sample->value);
    else
        rkt_json_double(json, shown->unit_name, (double)sample->value / shown->unit);
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_chrome_put_counters(struct rkt_chrome *chrome)
{
    for (size_t i = 0; i < chrome->trace->gpu.counter_count; i++)
        put_sample(chrome, &chrome->trace->gpu.counters[i]);
}
