/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nccl_words.h"

#include <stddef.h>
#include <string.h>

#include "common/event.h"

struct word {
    const char *text;
    uint8_t value;
};

#define FIND(words, text, unknown) \
    find((words), sizeof(words) / sizeof((words)[0]), (text), (unknown))

static uint8_t find(const struct word *words, size_t count, const char *text, uint8_t unknown)
{
    for (size_t i = 0; text && i < count; i++) {
        if (strcmp(words[i].text, text) == 0)
            return words[i].value;
    }
    return unknown;
}

uint8_t rkt_nccl_func_of(const char *text)
{
    static const struct word WORDS[] = {
        {"AllReduce", RKT_NCCL_FUNC_ALLREDUCE},
        {"AllGather", RKT_NCCL_FUNC_ALLGATHER},
        {"ReduceScatter", RKT_NCCL_FUNC_REDUCESCATTER},
        {"Send", RKT_NCCL_FUNC_SEND},
        {"Recv", RKT_NCCL_FUNC_RECV},
        {"Broadcast", RKT_NCCL_FUNC_BROADCAST},
        {"Reduce", RKT_NCCL_FUNC_REDUCE},
        {"SendRecv", RKT_NCCL_FUNC_SENDRECV},
        {"AlltoAll", RKT_NCCL_FUNC_ALLTOALL},
        {"AllToAll", RKT_NCCL_FUNC_ALLTOALL},
        {"AlltoAllv", RKT_NCCL_FUNC_ALLTOALL},
        {"Gather", RKT_NCCL_FUNC_GATHER},
        {"Scatter", RKT_NCCL_FUNC_SCATTER},
    };

    return FIND(WORDS, text, RKT_NCCL_FUNC_UNKNOWN);
}

/* ncclDataType_t's own values */
uint8_t rkt_nccl_datatype_of(const char *text)
{
    static const struct word WORDS[] = {
        {"ncclBfloat16", 9}, {"ncclFloat32", 7}, {"ncclFloat16", 6},     {"ncclInt8", 0},
        {"ncclUint8", 1},    {"ncclInt32", 2},   {"ncclInt64", 4},       {"ncclFloat64", 8},
        {"ncclUint32", 3},   {"ncclUint64", 5},  {"ncclFloat8e4m3", 10}, {"ncclFloat8e5m2", 11},
    };

    return FIND(WORDS, text, RKT_DATATYPE_UNKNOWN);
}

uint8_t rkt_nccl_algo_of(const char *text)
{
    static const struct word WORDS[] = {
        {"RING", RKT_ALGO_RING},
        {"TREE", RKT_ALGO_TREE},
        {"NVLS", RKT_ALGO_NVLS},
        {"NVLS_TREE", RKT_ALGO_NVLS_TREE},
        {"COLLNET_DIRECT", RKT_ALGO_COLLNET_DIRECT},
        {"COLLNET_CHAIN", RKT_ALGO_COLLNET_CHAIN},
        {"PAT", RKT_ALGO_PAT},
    };

    return FIND(WORDS, text, RKT_ALGO_UNKNOWN);
}

uint8_t rkt_nccl_proto_of(const char *text)
{
    static const struct word WORDS[] = {
        {"LL", RKT_PROTO_LL},
        {"SIMPLE", RKT_PROTO_SIMPLE},
        {"LL128", RKT_PROTO_LL128},
    };

    return FIND(WORDS, text, RKT_PROTO_UNKNOWN);
}
