/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/own_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/sidecar/clock_pairs.h"
#include "agent/sidecar/clock_state.h"
#include "common/clock.h"
#include "common/descriptor.h"

#define FLUSH_EVERY_NS UINT64_C(10000000000)
#define COUNTER_UNITS 10000 /* of a whole core */
#define LOAD_NAME "sidecar CPU"

struct rkt_own_source {
    struct rkt_source_writer *writer;
    struct rkt_clock_pairs pairs;
    uint64_t pair_due_ns;
    uint64_t state_due_ns;
    uint64_t flush_due_ns;
    uint64_t load_from_ns; /* up to when the load is recorded; 0: not yet */
    uint64_t load_from_cpu_ns;
};

enum rkt_status rkt_own_source_create(uint32_t rank, const struct rkt_node_id *node,
                                      rkt_frame_sink_fn sink, void *sink_ctx,
                                      struct rkt_own_source **own_out, struct rkt_error *err)
{
    struct rkt_own_source *own = calloc(1, sizeof(*own));
    struct rkt_source_info info = {
        .source = rank, /* as rkt_source_number says for index 0 */
        .producer = RKT_PRODUCER_CAPTURE,
        .role = RKT_ROLE_SIDECAR,
        .node = rank,
        .pid = (uint64_t)getpid(),
        .start_raw_ns = rkt_now_raw_ns(),
        .program = "ranktrace-sidecar " RKT_VERSION,
        .time_namespace = node->time_namespace,
    };
    enum rkt_status status;

    if (!own)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the sidecar's own source");
    (void)snprintf(info.host, sizeof(info.host), "%s", node->host);
    (void)snprintf(info.boot_id, sizeof(info.boot_id), "%s", node->boot_id);
    rkt_clock_facts_read("", &info);
    status = rkt_source_writer_create(&info, sink, sink_ctx, &own->writer, err);
    if (status != RKT_OK) {
        free(own);
        return status;
    }
    *own_out = own;
    return RKT_OK;
}

void rkt_own_source_destroy(struct rkt_own_source *own)
{
    if (!own)
        return;
    rkt_source_writer_destroy(own->writer);
    free(own);
}

enum rkt_status rkt_own_source_add(void *ctx, const struct rkt_event *event, struct rkt_error *err)
{
    struct rkt_own_source *own = ctx;

    return rkt_source_writer_add(own->writer, event, err);
}

static enum rkt_status add_pair(struct rkt_own_source *own, bool is_last, struct rkt_error *err)
{
    struct rkt_event pair = rkt_clock_pair_take();
    struct rkt_event kept[2];
    size_t count = rkt_clock_pairs_add(&own->pairs, &pair, is_last, kept);
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++)
        status = rkt_source_writer_add(own->writer, &kept[i], err);
    return status;
}

static enum rkt_status add_state(struct rkt_own_source *own, struct rkt_error *err)
{
    struct rkt_event state;

    return rkt_clock_state_take(&state) ? rkt_source_writer_add(own->writer, &state, err) : RKT_OK;
}

/* The mean since the last time; the first time only begins. */
static enum rkt_status add_load(struct rkt_own_source *own, struct rkt_error *err)
{
    uint64_t from_ns = own->load_from_ns;
    uint64_t from_cpu_ns = own->load_from_cpu_ns;
    struct rkt_event load = {.kind = RKT_EVENT_COUNTER,
                             .type = RKT_COUNTER_NAMED,
                             .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                             .start_ns = from_ns};

    own->load_from_ns = load.end_ns = rkt_now_raw_ns();
    own->load_from_cpu_ns = rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (from_ns == 0 || load.end_ns <= from_ns)
        return RKT_OK;
    load.counter.value =
        (own->load_from_cpu_ns - from_cpu_ns) * COUNTER_UNITS / (load.end_ns - from_ns);
    load.name_id =
        rkt_strtab_intern(rkt_source_writer_strtab(own->writer), LOAD_NAME, sizeof(LOAD_NAME) - 1);
    return rkt_source_writer_add(own->writer, &load, err);
}

enum rkt_status rkt_own_source_step(struct rkt_own_source *own, uint64_t now_ns,
                                    struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (now_ns >= own->pair_due_ns) {
        own->pair_due_ns = now_ns + RKT_CLOCK_PAIR_EVERY_NS;
        status = add_pair(own, false, err);
    }
    if (status == RKT_OK && now_ns >= own->state_due_ns) {
        own->state_due_ns = now_ns + RKT_CLOCK_STATE_EVERY_NS;
        status = add_state(own, err);
    }
    if (status == RKT_OK && now_ns >= own->flush_due_ns) {
        own->flush_due_ns = now_ns + FLUSH_EVERY_NS;
        status = add_load(own, err);
        if (status == RKT_OK)
            status = rkt_source_writer_flush(own->writer, err);
    }
    return status;
}

enum rkt_status rkt_own_source_flush(struct rkt_own_source *own, struct rkt_error *err)
{
    return rkt_source_writer_flush(own->writer, err);
}

enum rkt_status rkt_own_source_end(struct rkt_own_source *own, struct rkt_error *err)
{
    struct rkt_end_info end = {.reason = RKT_END_EXITED};
    enum rkt_status status = add_pair(own, true, err);

    if (status == RKT_OK)
        status = add_load(own, err);
    if (status == RKT_OK)
        status = rkt_source_writer_end(own->writer, &end, err);
    return status;
}
