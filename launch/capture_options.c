/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/capture_options.h"

#include <stdlib.h>
#include <string.h>

#include "common/units.h"

#define PARTS_OF_CUPTI ((uint32_t)(RKT_CAPTURE_MEMORY | RKT_CAPTURE_OVERHEAD))
#define GPU_INTERVAL_MIN_NS UINT64_C(10000000)
#define GPU_INTERVAL_MAX_NS (UINT64_C(3600) * 1000000000)

static uint32_t capture_bit(const char *word, size_t len)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } BITS[] = {{"cupti", RKT_CAPTURE_CUPTI},   {"nccl", RKT_CAPTURE_NCCL},
                {"marks", RKT_CAPTURE_MARKS},   {"nvtx", RKT_CAPTURE_NVTX},
                {"memory", RKT_CAPTURE_MEMORY}, {"overhead", RKT_CAPTURE_OVERHEAD}};

    for (size_t i = 0; i < sizeof(BITS) / sizeof(BITS[0]); i++) {
        if (strlen(BITS[i].name) == len && memcmp(BITS[i].name, word, len) == 0)
            return BITS[i].bit;
    }
    return 0;
}

static enum rkt_status read_capture(const char *at, struct rkt_capture_config *config,
                                    struct rkt_error *err)
{
    do {
        size_t len = strcspn(at, ",");
        uint32_t bit = capture_bit(at, len);

        if (bit == 0)
            return rkt_fail_value(err, "capture", at,
                                  "'%.*s' is not cupti, nccl, marks, nvtx, memory or overhead",
                                  (int)len, at);
        config->mask |= bit;
        at += len + (at[len] == ',');
    } while (*at);
    if (!(config->mask & RKT_CAPTURE_CUPTI) && config->mask & PARTS_OF_CUPTI)
        return rkt_fail_value(err, "capture", at, "'%s' comes from CUPTI: say cupti, too",
                              config->mask & RKT_CAPTURE_MEMORY ? "memory" : "overhead");
    return RKT_OK;
}

static enum rkt_status read_graphs(const char *text, struct rkt_capture_config *config,
                                   struct rkt_error *err)
{
    if (strcmp(text, "launch") == 0)
        config->graph_level = RKT_GRAPH_LEVEL_LAUNCH;
    else if (strcmp(text, "node") != 0)
        return rkt_fail_value(err, "graphs", text, "'%s' is not node or launch", text);
    return RKT_OK;
}

static enum rkt_status read_nccl(const char *text, struct rkt_capture_config *config,
                                 struct rkt_error *err)
{
    if (strcmp(text, "kernel") == 0)
        config->nccl_level = RKT_NCCL_LEVEL_KERNEL;
    else if (strcmp(text, "proxy") == 0)
        config->nccl_level = RKT_NCCL_LEVEL_PROXY;
    else if (strcmp(text, "basic") != 0)
        return rkt_fail_value(err, "nccl", text, "'%s' is not basic, kernel or proxy", text);
    return RKT_OK;
}

static enum rkt_status read_step_range(const char *name, struct rkt_capture_config *config,
                                       struct rkt_error *err)
{
    if (name && strlen(name) >= sizeof(config->step_range))
        return rkt_fail_value(err, "step-range", name, "'%s' is longer than %zu bytes", name,
                              sizeof(config->step_range) - 1);
    if (name)
        memcpy(config->step_range, name, strlen(name) + 1);
    return RKT_OK;
}

enum rkt_status rkt_capture_options_read(const struct rkt_capture_options *asked,
                                         struct rkt_capture_config *config_out,
                                         struct rkt_error *err)
{
    struct rkt_capture_config config = {0};
    enum rkt_status status = read_capture(asked->capture, &config, err);

    if (status == RKT_OK)
        status = read_graphs(asked->graphs, &config, err);
    if (status == RKT_OK)
        status = read_nccl(asked->nccl, &config, err);
    if (status == RKT_OK)
        status = read_step_range(asked->step_range, &config, err);
    if (status == RKT_OK)
        *config_out = config;
    return status;
}

enum rkt_status rkt_capture_options_gpu_interval(const struct rkt_capture_options *asked,
                                                 uint64_t *interval_ns_out, struct rkt_error *err)
{
    uint64_t interval_ns = 0;

    if (strcmp(asked->gpu_samples, "off") != 0 &&
        (!rkt_parse_duration_ns(asked->gpu_samples, &interval_ns) ||
         interval_ns < GPU_INTERVAL_MIN_NS || interval_ns > GPU_INTERVAL_MAX_NS))
        return rkt_fail_value(err, "gpu-samples", asked->gpu_samples,
                              "'%s' is not off, nor a time in 10ms to 1h", asked->gpu_samples);
    *interval_ns_out = interval_ns;
    return RKT_OK;
}

bool rkt_capture_options_export(const struct rkt_capture_options *asked)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    return setenv("RANKTRACE_CAPTURE", asked->capture, 1) == 0 &&
           setenv("RANKTRACE_GRAPHS", asked->graphs, 1) == 0 &&
           setenv("RANKTRACE_NCCL", asked->nccl, 1) == 0 &&
           setenv("RANKTRACE_GPU_SAMPLES", asked->gpu_samples, 1) == 0 &&
           (!asked->step_range || setenv("RANKTRACE_STEP_RANGE", asked->step_range, 1) == 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
}
