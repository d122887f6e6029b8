/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/sidecar_options.h"

#include <stddef.h>
#include <string.h>

#include "agent/sidecar/clock_claim.h"
#include "common/options.h"

#define FIELD(name) offsetof(struct rkt_sidecar_options, name)
#define HEAP_BYTES_MIN (64u << 10)
#define HEAP_BYTES_MAX (256u << 20)
#define HEAP_BYTES_STEP 64u
#define QUEUE_BYTES_MIN (1u << 20)

static const struct rkt_option OPTIONS[] = {
    {"control-fd", 0, NULL, RKT_OPTION_U32, FIELD(control_fd), "N", "3",
     "open socket to the supervisor"},
    {"socket", 0, "RANKTRACE_SOCKET", RKT_OPTION_STRING, FIELD(socket), "PATH", NULL,
     "where training processes connect"},
    {"output", 'o', "RANKTRACE_OUTPUT", RKT_OPTION_STRING, FIELD(output), "DIR", "ranktrace-out",
     "where rank 0 writes timeline.rkt"},
    {"command", 0, "RANKTRACE_COMMAND", RKT_OPTION_STRING, FIELD(command), "TEXT", "",
     "the job's command"},
    {"per-node", 0, NULL, RKT_OPTION_FLAG, FIELD(per_node), NULL, NULL,
     "this sidecar serves every rank of its node"},
    {"on-failure", 0, "RANKTRACE_ON_FAILURE", RKT_OPTION_STRING, FIELD(on_failure), "abort|wait",
     "abort", "what a failed rank does to the others"},
    {"drain-timeout", 0, "RANKTRACE_DRAIN_TIMEOUT", RKT_OPTION_DURATION, FIELD(drain_timeout_ns),
     "TIME", "60s", "longest time that records are waited for after the job's end"},
    {"flush-interval", 0, "RANKTRACE_FLUSH_INTERVAL", RKT_OPTION_DURATION, FIELD(flush_interval_ns),
     "TIME", "1s", "longest time that a record waits for its batch to fill"},
    {"fsync", 0, "RANKTRACE_FSYNC", RKT_OPTION_FLAG, FIELD(needs_sync), NULL, NULL,
     "rank 0: acknowledge records when they are on the disk, not when they are written"},
    {"fan-in", 0, "RANKTRACE_FAN_IN", RKT_OPTION_STRING, FIELD(fan_in), "HOW", "auto",
     "rank 0: which sidecars send to it: star, tree, tree:K or auto"},
    {"clock-star", 0, "RANKTRACE_CLOCK_STAR", RKT_OPTION_U32, FIELD(clock_star), "N", "64",
     "rank 0: nodes that measure their clocks against its own; further ones do against these"},
    {"ptp-bound", 0, "RANKTRACE_PTP_BOUND", RKT_OPTION_DURATION, FIELD(ptp_bound_ns), "TIME", "0s",
     "how far this node's system clock is from true time at most, where PTP steers it; 0: unknown"},
    {"store", 0, "RANKTRACE_STORE", RKT_OPTION_STRING, FIELD(store), "HOW", "auto",
     "rank 0: whether leaders write files of their own: single, sharded or auto"},
    {"queue-bytes", 0, "RANKTRACE_QUEUE_BYTES", RKT_OPTION_BYTES, FIELD(queue_bytes), "SIZE",
     "16MiB", "frames held in memory for rank 0 before they go to the spool"},
    {"spool", 0, "RANKTRACE_SPOOL", RKT_OPTION_BYTES, FIELD(spool_bytes), "SIZE", "1GiB",
     "frames held on this node's disk before new events are dropped; 0: none"},
    {"spool-dir", 0, "RANKTRACE_SPOOL_DIR", RKT_OPTION_STRING, FIELD(spool_dir), "DIR", NULL,
     "where the spool is"},
    {"ring-count", 0, "RANKTRACE_RING_COUNT", RKT_OPTION_U32, FIELD(ring_count), "N", "64",
     "threads of a process that can be recorded at a time"},
    {"ring-capacity", 0, "RANKTRACE_RING_CAPACITY", RKT_OPTION_U32, FIELD(ring_capacity), "N",
     "16384", "records that a thread holds before new ones are dropped; a power of two"},
    {"heap-bytes", 0, "RANKTRACE_HEAP_BYTES", RKT_OPTION_BYTES, FIELD(heap_bytes), "SIZE", "4MiB",
     "room for the names of a process"},
    RKT_CAPTURE_OPTION_ROWS(struct rkt_sidecar_options),
    RKT_WINDOW_OPTION_ROWS(struct rkt_sidecar_options),
};

static const struct rkt_command COMMAND = {
    .name = "sidecar",
    .usage = "ranktrace-sidecar --control-fd N --socket PATH [options]",
    .summary = "Collects what one rank (or node) captures; started by ranktrace run or collect.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static enum rkt_status read_region(struct rkt_sidecar_options *options, struct rkt_error *err)
{
    uint32_t capacity = options->ring_capacity;

    if (options->ring_count < 1 || options->ring_count > 1024)
        return rkt_fail(err, RKT_ERR_INVALID, "option '--ring-count': %u is not in 1 to 1024",
                        options->ring_count);
    if (capacity < 64 || capacity > 1u << 20 || (capacity & (capacity - 1)) != 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--ring-capacity': %u is not a power of two in 64 to 1048576",
                        capacity);
    if (options->heap_bytes < HEAP_BYTES_MIN || options->heap_bytes > HEAP_BYTES_MAX ||
        options->heap_bytes % HEAP_BYTES_STEP != 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--heap-bytes': no multiple of 64B in 64KiB to 256MiB");
    options->region = (struct rkt_region_config){.ring_count = options->ring_count,
                                                 .ring_capacity = capacity,
                                                 .heap_bytes = (uint32_t)options->heap_bytes};
    return RKT_OK;
}

static enum rkt_status check(struct rkt_sidecar_options *options, struct rkt_error *err)
{
    enum rkt_status status = read_region(options, err);

    if (status == RKT_OK)
        status = rkt_capture_options_read(&options->asked, &options->capture_config, err);
    if (status == RKT_OK)
        status = rkt_window_options_read(&options->when, &options->capture_config,
                                         &options->window_plan, err);
    if (status == RKT_OK)
        status = rkt_capture_options_gpu_interval(&options->asked, &options->gpu_interval_ns, err);
    if (status == RKT_OK)
        status = rkt_fan_in_read(options->fan_in, options->store, &options->groups, err);
    if (status != RKT_OK)
        return status;
    options->capture_config.schedule = options->window_plan.schedule;
    options->capture_config.is_closed = options->window_plan.is_closed;
    if (!options->socket || options->socket[0] == '\0')
        return rkt_fail(err, RKT_ERR_INVALID, "option '--socket' is missing");
    if (options->clock_star < 1)
        return rkt_fail(err, RKT_ERR_INVALID, "option '--clock-star': less than 1");
    if (options->ptp_bound_ns > RKT_CLOCK_CLAIM_BOUND_NS_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "option '--ptp-bound': more than 100us");
    if (options->queue_bytes < QUEUE_BYTES_MIN)
        return rkt_fail(err, RKT_ERR_INVALID, "option '--queue-bytes': less than 1MiB");
    options->is_abort_on_failure = strcmp(options->on_failure, "abort") == 0;
    if (!options->is_abort_on_failure && strcmp(options->on_failure, "wait") != 0)
        return rkt_fail_value(err, "on-failure", options->on_failure, "'%s' is not abort or wait",
                              options->on_failure);
    return RKT_OK;
}

enum rkt_status rkt_sidecar_options_parse(int argc, char **argv, struct rkt_sidecar_options *out,
                                          struct rkt_error *err)
{
    struct rkt_sidecar_options options = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, err);

    if (status != RKT_OK)
        return status;
    if (next != argc)
        return rkt_fail(err, RKT_ERR_INVALID, "'%s' is no option", argv[next]);
    status = check(&options, err);
    if (status == RKT_OK)
        *out = options;
    return status;
}
