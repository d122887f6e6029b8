/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of plain JSON per second from a PyTorch trace to encoded frames; the frames are
 * dropped. The trace is made up: operators with shapes, launches, kernels and arrows, about as
 * long as Kineto's.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/import/kineto.h"
#include "tests/bench/bench.h"

#define LAUNCH_COUNT 20000u
#define LAUNCH_BYTES 1400u

static enum rkt_status drop_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    (void)ctx;
    (void)frame;
    (void)frame_bytes;
    (void)err;
    return RKT_OK;
}

static int put_launch(char *out, unsigned i)
{
    unsigned long long ts = 1700000000000000ULL + i * 40ULL;

    return snprintf(
        out, LAUNCH_BYTES,
        ",\n{\n\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_%u\", \"pid\": 4515, "
        "\"tid\": "
        "4515,\n\"ts\": %llu, \"dur\": 30,\n\"args\": {\n\"External id\": %u,\"Ev Idx\": %u, "
        "\"Input "
        "Dims\": [[64, 128, 28, 28], [128], [128], [], []], \"Input type\": [\"float\", \"float\", "
        "\"float\", \"Scalar\", \"\"]\n}\n},\n"
        "{\n\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
        "4515, "
        "\"tid\": 4515,\n\"ts\": %llu, \"dur\": 9,\n\"args\": {\n\"External id\": %u, \"cbid\": "
        "211, "
        "\"correlation\": %u\n}\n},\n"
        "{\n\"ph\": \"s\", \"id\": %u, \"pid\": 4515, \"tid\": 4515, \"ts\": %llu,\n\"cat\": "
        "\"ac2g\", "
        "\"name\": \"ac2g\"\n},\n"
        "{\n\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "at::native::vectorized_elementwise_"
        "kernel<4, Functor_%u<float>, at::detail::Array<char*, 2> >(int)\", \"pid\": 0, \"tid\": "
        "7,\n\"ts\": %llu, \"dur\": 17,\n\"args\": {\n\"External id\": %u, \"queued\": 0, "
        "\"device\": "
        "0, \"context\": 1, \"stream\": 7, \"correlation\": %u, \"registers per thread\": 16, "
        "\"shared memory\": 0, \"blocks per SM\": 1.185185, \"warps per SM\": 4.740741, \"grid\": "
        "[%u, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %%\": 7\n}\n}",
        i % 97, ts, i, i, ts + 10, i, i + 1, i + 1, ts + 10, i % 61, ts + 20, i, i + 1,
        128 + i % 61);
}

static size_t make_trace(char *json)
{
    size_t used =
        (size_t)sprintf(json, "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0}, "
                              "\"traceEvents\": [\n{\"ph\": \"M\"}");

    for (unsigned i = 0; i < LAUNCH_COUNT; i++)
        used += (size_t)put_launch(json + used, i);
    return used + (size_t)sprintf(json + used, "\n]}\n");
}

static bool import_once(const char *json, size_t len, struct rkt_trace_facts *facts)
{
    static const struct rkt_source_info INFO = {.producer = RKT_PRODUCER_KINETO};
    struct rkt_text_source *source = rkt_text_source_from_memory(json, len);
    struct rkt_kineto_options options = {0};
    struct rkt_source_writer *writer = NULL;
    struct rkt_kineto *kineto = NULL;
    struct rkt_end_info end = {0};
    bool is_done;

    is_done = source &&
              rkt_source_writer_create(&INFO, drop_frame, NULL, &writer, NULL) == RKT_OK &&
              rkt_kineto_create(&options, writer, &kineto, NULL) == RKT_OK &&
              rkt_kineto_read(kineto, source, 0, facts, NULL) == RKT_OK &&
              rkt_kineto_end(kineto, NULL) == RKT_OK &&
              rkt_source_writer_end(writer, &end, NULL) == RKT_OK;
    rkt_kineto_destroy(kineto);
    rkt_source_writer_destroy(writer);
    rkt_text_source_close(source);
    return is_done;
}

int main(void)
{
    char *json = malloc((size_t)LAUNCH_COUNT * LAUNCH_BYTES + 4096);
    struct rkt_trace_facts facts = {0};
    bool is_done = true;
    uint64_t ns;
    size_t len;

    if (!json)
        return 1;
    len = make_trace(json);
    BENCH_BEST(&ns, (void)0, is_done &= import_once(json, len, &facts));
    free(json);
    if (!is_done || facts.fates[RKT_FATE_STORED] != (uint64_t)3 * LAUNCH_COUNT)
        return 1;
    (void)printf("bench=import json_bytes=%zu events=%" PRIu64 " json_mb_per_s=%.0f\n", len,
                 facts.fates[RKT_FATE_STORED], (double)len / ((double)ns / 1e9) / 1e6);
    return 0;
}
