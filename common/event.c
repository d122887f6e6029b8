/* SPDX-License-Identifier: Apache-2.0 */
#include "common/event.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const KIND_NAMES[RKT_EVENT_KIND_COUNT] = {
    "none",       "kernel",         "memcpy", "memset",      "sync",       "api",
    "nccl",       "range",          "bucket", "name",        "comm",       "shape",
    "clock_pair", "clock_exchange", "loss",   "memory",      "graph",      "overhead",
    "counter",    "window",         "device", "clock_state", "clock_true",
};

static const char *const COPY_NAMES[] = {
    "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
};

static const char *const FUNC_NAMES[] = {
    "unknown", "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",  "Send",
    "Recv",    "SendRecv",  "AllToAll",  "Gather",        "Scatter",   "Barrier",
};

static const char *const LOSS_NAMES[] = {
    "ring_full", "names_full",    "cupti_dropped", "bad_stamp",     "send_queue",
    "no_ring",   "damaged_input", "capture_off",   "too_many_open",
};

static const struct {
    const char *name;
    const char *unit;
} COUNTERS[RKT_COUNTER_COUNT] = {
    [RKT_COUNTER_NAMED] = {"named", ""},
    [RKT_COUNTER_GPU_BUSY] = {"gpu_busy", "0.01%"},
    [RKT_COUNTER_MEMORY_BUSY] = {"memory_busy", "0.01%"},
    [RKT_COUNTER_SM_ACTIVE] = {"sm_active", "0.01%"},
    [RKT_COUNTER_SM_OCCUPANCY] = {"sm_occupancy", "0.01%"},
    [RKT_COUNTER_TENSOR_ACTIVE] = {"tensor_active", "0.01%"},
    [RKT_COUNTER_DRAM_ACTIVE] = {"dram_active", "0.01%"},
    [RKT_COUNTER_PCIE_SENT] = {"pcie_sent", "bytes/s"},
    [RKT_COUNTER_PCIE_RECEIVED] = {"pcie_received", "bytes/s"},
    [RKT_COUNTER_NVLINK_SENT] = {"nvlink_sent", "bytes/s"},
    [RKT_COUNTER_NVLINK_RECEIVED] = {"nvlink_received", "bytes/s"},
    [RKT_COUNTER_SM_CLOCK] = {"sm_clock", "MHz"},
    [RKT_COUNTER_MEMORY_CLOCK] = {"memory_clock", "MHz"},
    [RKT_COUNTER_POWER] = {"power", "mW"},
    [RKT_COUNTER_TEMPERATURE] = {"temperature", "degC"},
    [RKT_COUNTER_THROTTLE_REASONS] = {"throttle_reasons", "bits"},
    [RKT_COUNTER_ECC_CORRECTED] = {"ecc_corrected", "errors"},
    [RKT_COUNTER_ECC_UNCORRECTED] = {"ecc_uncorrected", "errors"},
    [RKT_COUNTER_MEMORY_USED] = {"memory_used", "bytes"},
    [RKT_COUNTER_SM_CLOCK_MAX] = {"sm_clock_max", "MHz"},
    [RKT_COUNTER_POWER_LIMIT] = {"power_limit", "mW"},
};

static const char *name_at(const char *const *names, size_t count, size_t index)
{
    return index < count ? names[index] : "unknown";
}

const char *rkt_event_kind_name(enum rkt_event_kind kind)
{
    return name_at(KIND_NAMES, COUNT(KIND_NAMES), (size_t)kind);
}

const char *rkt_copy_kind_name(enum rkt_copy_kind kind)
{
    return name_at(COPY_NAMES, COUNT(COPY_NAMES), (size_t)kind);
}

const char *rkt_nccl_func_name(enum rkt_nccl_func func)
{
    return name_at(FUNC_NAMES, COUNT(FUNC_NAMES), (size_t)func);
}

const char *rkt_nccl_algo_name(enum rkt_nccl_algo algo)
{
    static const char *const NAMES[] = {
        "unknown", "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT",
    };

    return name_at(NAMES, COUNT(NAMES), (size_t)algo);
}

const char *rkt_nccl_proto_name(enum rkt_nccl_proto proto)
{
    static const char *const NAMES[] = {"unknown", "LL", "LL128", "Simple"};

    return name_at(NAMES, COUNT(NAMES), (size_t)proto);
}

const char *rkt_loss_reason_name(enum rkt_loss_reason reason)
{
    return name_at(LOSS_NAMES, COUNT(LOSS_NAMES), (size_t)reason);
}

const char *rkt_counter_name(enum rkt_counter counter)
{
    return (unsigned)counter < RKT_COUNTER_COUNT ? COUNTERS[counter].name : "unknown";
}

const char *rkt_counter_unit(enum rkt_counter counter)
{
    return (unsigned)counter < RKT_COUNTER_COUNT ? COUNTERS[counter].unit : "";
}

void rkt_format_gpu_uuid(const struct rkt_event_device *device, char text[RKT_GPU_UUID_BYTES])
{
    uint64_t high = device->uuid_high, low = device->uuid_low;

    (void)snprintf(text, RKT_GPU_UUID_BYTES, "GPU-%08llx-%04llx-%04llx-%04llx-%012llx",
                   (unsigned long long)(high >> 32), (unsigned long long)(high >> 16 & 0xffff),
                   (unsigned long long)(high & 0xffff), (unsigned long long)(low >> 48),
                   (unsigned long long)(low & 0xffffffffffff));
}

const char *rkt_throttle_reason_name(enum rkt_throttle_reason reason)
{
    switch (reason) {
    case RKT_THROTTLE_IDLE:
        return "idle";
    case RKT_THROTTLE_CLOCK_SETTING:
        return "clock setting";
    case RKT_THROTTLE_POWER_CAP:
        return "power cap";
    case RKT_THROTTLE_HW_SLOWDOWN:
        return "hardware slowdown";
    case RKT_THROTTLE_SYNC_BOOST:
        return "sync boost";
    case RKT_THROTTLE_SW_THERMAL:
        return "thermal (software)";
    case RKT_THROTTLE_HW_THERMAL:
        return "thermal (hardware)";
    case RKT_THROTTLE_POWER_BRAKE:
        return "power brake";
    }
    return "unknown";
}

/* Lower case letters and digits of text only, so that "_allgather_base" is "allgatherbase". */
static void squeeze(const char *text, char *out, size_t cap)
{
    size_t used = 0;

    for (; *text && used + 1 < cap; text++) {
        if (*text >= 'A' && *text <= 'Z')
            out[used++] = (char)(*text - 'A' + 'a');
        else if ((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9'))
            out[used++] = *text;
    }
    out[used] = '\0';
}

enum rkt_nccl_func rkt_nccl_func_parse(const char *text)
{
    /* First match wins: longer words before the words that they hold. */
    static const struct {
        const char *word;
        enum rkt_nccl_func func;
    } WORDS[] = {
        {"allreduce", RKT_NCCL_FUNC_ALLREDUCE},
        {"allgather", RKT_NCCL_FUNC_ALLGATHER},
        {"reducescatter", RKT_NCCL_FUNC_REDUCESCATTER},
        {"alltoall", RKT_NCCL_FUNC_ALLTOALL},
        {"broadcast", RKT_NCCL_FUNC_BROADCAST},
        {"barrier", RKT_NCCL_FUNC_BARRIER},
        {"sendrecv", RKT_NCCL_FUNC_SENDRECV},
        {"scatter", RKT_NCCL_FUNC_SCATTER},
        {"gather", RKT_NCCL_FUNC_GATHER},
        {"reduce", RKT_NCCL_FUNC_REDUCE},
        {"send", RKT_NCCL_FUNC_SEND},
        {"recv", RKT_NCCL_FUNC_RECV},
    };
    char word[128];

    squeeze(text, word, sizeof(word));
    for (size_t i = 0; i < COUNT(WORDS); i++) {
        if (strstr(word, WORDS[i].word))
            return WORDS[i].func;
    }
    return RKT_NCCL_FUNC_UNKNOWN;
}

/* Index: ncclDataType_t's value. Spellings: NCCL's, PyTorch's scalar types, torch dtypes. */
static const struct {
    uint32_t bytes;
    const char *spellings[6];
} DATATYPES[] = {
    {1, {"int8", "char", "i8"}},
    {1, {"uint8", "byte", "bool", "u8"}},
    {4, {"int32", "int", "i32"}},
    {4, {"uint32", "u32"}},
    {8, {"int64", "long", "i64"}},
    {8, {"uint64", "u64"}},
    {2, {"float16", "half", "f16"}},
    {4, {"float32", "float", "f32"}},
    {8, {"float64", "double", "f64"}},
    {2, {"bfloat16", "bf16"}},
    {1, {"float8e4m3", "float8e4m3fn", "f8e4m3"}},
    {1, {"float8e5m2", "f8e5m2"}},
};

uint8_t rkt_datatype_parse(const char *text)
{
    char word[64];
    const char *at = word;

    squeeze(text, word, sizeof(word));
    if (strncmp(at, "nccl", 4) == 0)
        at += 4;
    else if (strncmp(at, "torch", 5) == 0)
        at += 5;
    for (size_t i = 0; i < COUNT(DATATYPES); i++) {
        for (size_t k = 0; DATATYPES[i].spellings[k]; k++) {
            if (strcmp(at, DATATYPES[i].spellings[k]) == 0)
                return (uint8_t)i;
        }
    }
    return RKT_DATATYPE_UNKNOWN;
}

uint32_t rkt_datatype_bytes(uint8_t datatype)
{
    if (datatype == RKT_DATATYPE_BYTE_COUNT)
        return 1;
    return datatype < COUNT(DATATYPES) ? DATATYPES[datatype].bytes : 0;
}
