/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace: no crash, no hang; every event that was read is written or counted; and
 * the size of the windows changes nothing for what parses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/kineto.h"

#define LARGE_WINDOW_BYTES (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rkt_status drop_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    (void)ctx;
    (void)frame;
    (void)frame_bytes;
    (void)err;
    return RKT_OK;
}

static enum rkt_status read_all(const uint8_t *data, size_t size, size_t window_bytes,
                                struct rkt_trace_facts *facts)
{
    static const struct rkt_source_info INFO = {.producer = RKT_PRODUCER_KINETO};
    struct rkt_kineto_options options = {.window_bytes = window_bytes, .keeps_python = true};
    struct rkt_text_source *source = rkt_text_source_from_memory(data, size);
    struct rkt_source_writer *writer = NULL;
    struct rkt_kineto *kineto = NULL;
    struct rkt_end_info end = {0};
    struct rkt_error err;
    enum rkt_status status;

    if (!source || rkt_source_writer_create(&INFO, drop_frame, NULL, &writer, &err) != RKT_OK ||
        rkt_kineto_create(&options, writer, &kineto, &err) != RKT_OK)
        abort();
    status = rkt_kineto_read(kineto, source, 0, facts, &err);
    if (status == RKT_OK && (rkt_kineto_end(kineto, &err) != RKT_OK ||
                             rkt_source_writer_end(writer, &end, &err) != RKT_OK))
        abort();
    rkt_kineto_destroy(kineto);
    rkt_source_writer_destroy(writer);
    rkt_text_source_close(source);
    return status;
}

static uint64_t sum_of_fates(const struct rkt_trace_facts *facts)
{
    uint64_t sum = 0;

    for (int fate = 0; fate < RKT_FATE_COUNT; fate++)
        sum += facts->fates[fate];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rkt_trace_facts whole;
    struct rkt_trace_facts small;
    enum rkt_status status = read_all(data, size, LARGE_WINDOW_BYTES, &whole);

    if (status != read_all(data, size, RKT_JSON_WINDOW_BYTES_MIN, &small))
        abort();
    if (status != RKT_OK)
        return 0;
    if (sum_of_fates(&whole) != whole.json.event_count + whole.json.damaged_count)
        abort(); /* an event has no fate, or two */
    if (whole.json.damaged_count == 0 && whole.json.repaired_count == 0 && whole.json.has_events &&
        memcmp(whole.fates, small.fates, sizeof(whole.fates)) != 0)
        abort();
    return 0;
}
