/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/process_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/run_message.h"

struct rkt_process_set {
    struct rkt_process_set_config config;
    struct rkt_process **processes; /* in order of connection */
    size_t count;
    size_t cap;
    uint32_t next_index; /* of the next source */
    bool has_order;
    struct rkt_region_window_order order; /* the last one on capture windows */
    struct rkt_event buffer[RKT_DRAIN_EVENTS];
};

enum rkt_status rkt_process_set_create(const struct rkt_process_set_config *config,
                                       struct rkt_process_set **set_out, struct rkt_error *err)
{
    struct rkt_process_set *set = calloc(1, sizeof(*set));

    if (!set)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the set of processes");
    set->config = *config;
    set->next_index = 1; /* 0 is the sidecar's own */
    *set_out = set;
    return RKT_OK;
}

void rkt_process_set_destroy(struct rkt_process_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        rkt_process_destroy(set->processes[i]);
    free(set->processes);
    free(set);
}

/* The parts of a source that come from the sidecar, not from the process. */
static struct rkt_source_info base_info(const struct rkt_process_set *set)
{
    struct rkt_source_info info = {
        .source =
            rkt_source_number(set->config.sidecar_count, set->config.sidecar_rank, set->next_index),
        .producer = RKT_PRODUCER_CAPTURE,
        .node = set->config.sidecar_rank,
    };

    (void)snprintf(info.host, sizeof(info.host), "%s", set->config.node.host);
    (void)snprintf(info.boot_id, sizeof(info.boot_id), "%s", set->config.node.boot_id);
    return info;
}

static void set_rank(struct rkt_source_info *info, int32_t rank)
{
    info->rank_known = rank >= 0;
    info->rank = rank >= 0 ? (uint32_t)rank : 0;
}

static struct rkt_source_info process_info(const struct rkt_process_set *set,
                                           const struct rkt_hello *hello)
{
    struct rkt_source_info info = base_info(set);

    set_rank(&info, hello->rank >= 0 ? hello->rank : set->config.default_rank);
    info.role = RKT_ROLE_HELPER; /* until it is chosen */
    info.local_rank = hello->local_rank >= 0 ? (uint32_t)hello->local_rank : 0;
    info.world_size = hello->world_size > 0 ? (uint32_t)hello->world_size : 0;
    info.restart_count = hello->restart_count;
    info.pid = hello->pid;
    info.start_raw_ns = hello->start_raw_ns;
    (void)snprintf(info.program, sizeof(info.program), "%s", hello->program);
    return info;
}

static bool is_of_same_rank(const struct rkt_process *a, const struct rkt_process *b)
{
    const struct rkt_source_info *x = rkt_process_info(a), *y = rkt_process_info(b);

    return x->rank_known && y->rank_known && x->rank == y->rank &&
           x->restart_count == y->restart_count;
}

/* The process that is main among those of the same rank: the earliest of those nobody is ahead
 * of. */
static bool is_main(const struct rkt_process_set *set, size_t index)
{
    const struct rkt_process *process = set->processes[index];

    if (!rkt_process_info(process)->rank_known)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        const struct rkt_process *other = set->processes[i];

        if (i == index || !is_of_same_rank(process, other))
            continue;
        if (rkt_process_is_ahead(other, process) ||
            (i < index && !rkt_process_is_ahead(process, other)))
            return false;
    }
    return true;
}

/* An error goes before RKT_AGAIN, which is none. */
static void keep_first_error(enum rkt_status status, enum rkt_status *first)
{
    if (*first == RKT_OK || (*first > RKT_OK && status < RKT_OK))
        *first = status;
}

/* Roles, then the END of those that are gone and not main; they leave the list. */
static enum rkt_status settle(struct rkt_process_set *set, struct rkt_error *err)
{
    enum rkt_status first = RKT_OK;
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++)
        keep_first_error(rkt_process_set_role(set->processes[i],
                                              is_main(set, i) ? RKT_ROLE_RANK : RKT_ROLE_HELPER,
                                              err),
                         &first);
    for (size_t i = 0; i < set->count; i++) {
        struct rkt_process *process = set->processes[i];
        struct rkt_end_info end = {.reason = RKT_END_UNKNOWN};

        if (rkt_process_info(process)->role == RKT_ROLE_HELPER && rkt_process_is_finished(process))
            keep_first_error(rkt_process_end(process, &end, err), &first);
        if (rkt_process_has_ended(process))
            rkt_process_destroy(process);
        else
            set->processes[kept++] = process;
    }
    set->count = kept;
    return first;
}

enum rkt_status rkt_process_set_accept(struct rkt_process_set *set, struct rkt_error *err)
{
    struct rkt_hello_peer peer;
    struct rkt_source_info info;
    enum rkt_status status;

    if (!rkt_array_reserve((void **)&set->processes, &set->cap, set->count + 1,
                           sizeof(struct rkt_process *)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for one more process");
    status = rkt_hello_accept(set->config.listen_fd, &set->config.region, &set->config.capture,
                              &peer, err);
    if (status != RKT_OK)
        return status;
    if (set->next_index >= rkt_source_limit(set->config.sidecar_count)) {
        rkt_region_destroy(peer.region);
        close(peer.fd); /* tells it that nobody listens */
        return rkt_fail(err, RKT_ERR_RANGE, "process %llu is one too many: %u were taken in",
                        (unsigned long long)peer.hello.pid, set->next_index - 1);
    }
    info = process_info(set, &peer.hello);
    status = rkt_process_create(&peer, &info, set->config.sink, set->config.sink_ctx,
                                &set->processes[set->count], err);
    if (status != RKT_OK)
        return status;
    if (set->has_order)
        rkt_process_order_window(set->processes[set->count], &set->order);
    set->count++;
    set->next_index++;
    return settle(set, err);
}

enum rkt_status rkt_process_set_drain(struct rkt_process_set *set, bool drops_frequent,
                                      struct rkt_drain_result *result_out, struct rkt_error *err)
{
    struct rkt_drain_result result = {0};
    enum rkt_status first = RKT_OK;

    for (size_t i = 0; i < set->count; i++)
        keep_first_error(
            rkt_process_drain(set->processes[i], drops_frequent, set->buffer, &result, err),
            &first);
    keep_first_error(settle(set, err), &first);
    *result_out = result;
    return first;
}

enum rkt_status rkt_process_set_flush(struct rkt_process_set *set, struct rkt_error *err)
{
    enum rkt_status first = RKT_OK;

    for (size_t i = 0; i < set->count; i++)
        keep_first_error(rkt_process_flush(set->processes[i], err), &first);
    return first;
}

bool rkt_process_set_step(const struct rkt_process_set *set, uint64_t *step_out)
{
    bool has_step = false;
    uint64_t step;

    for (size_t i = 0; i < set->count; i++) {
        if (!rkt_process_step(set->processes[i], &step) || (has_step && step <= *step_out))
            continue;
        has_step = true;
        *step_out = step;
    }
    return has_step;
}

bool rkt_process_set_is_window_open(const struct rkt_process_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (rkt_process_is_window_open(set->processes[i]))
            return true;
    }
    return set->count == 0 && !set->config.capture.is_closed;
}

void rkt_process_set_order_window(struct rkt_process_set *set,
                                  const struct rkt_region_window_order *order)
{
    set->has_order = true;
    set->order = *order;
    for (size_t i = 0; i < set->count; i++)
        rkt_process_order_window(set->processes[i], order);
}

static uint64_t gpus_of(const struct rkt_process *process, struct rkt_gpu_samples *samples)
{
    uint64_t gpus = 0;

    for (size_t i = 0; i < rkt_process_device_count(process); i++) {
        uint32_t gpu = rkt_gpu_samples_add(samples, rkt_process_device(process, i));

        if (gpu != RKT_GPU_NONE)
            gpus |= UINT64_C(1) << gpu;
    }
    return gpus;
}

static enum rkt_status add_sample(struct rkt_process *process, struct rkt_gpu_samples *samples,
                                  const struct rkt_gpu_sample *sample, struct rkt_error *err)
{
    enum rkt_status first = RKT_OK;

    for (size_t i = 0; i < rkt_process_device_count(process); i++) {
        const struct rkt_event_device *device = rkt_process_device(process, i);
        const struct rkt_event event = {
            .kind = RKT_EVENT_COUNTER,
            .clock_id = RKT_CLOCK_MONOTONIC_RAW,
            .type = sample->counter,
            .start_ns = sample->start_ns,
            .end_ns = sample->end_ns,
            .counter = {.value = sample->value, .device_id = device->device_id},
        };

        if (rkt_gpu_samples_add(samples, device) == sample->gpu)
            keep_first_error(rkt_process_add_counter(process, &event, err), &first);
    }
    return first;
}

enum rkt_status rkt_process_set_sample(struct rkt_process_set *set, struct rkt_gpu_samples *samples,
                                       struct rkt_error *err)
{
    struct rkt_gpu_sample taken[RKT_GPU_READING_MAX];
    enum rkt_status first = RKT_OK;
    uint64_t gpus = 0;
    size_t count;

    while ((count = rkt_gpu_samples_take(samples, taken, RKT_GPU_READING_MAX)) > 0) {
        for (size_t i = 0; i < set->count; i++) {
            for (size_t k = 0; k < count; k++)
                keep_first_error(add_sample(set->processes[i], samples, &taken[k], err), &first);
        }
    }
    for (size_t i = 0; i < set->count; i++) {
        if (!rkt_process_is_finished(set->processes[i]))
            gpus |= gpus_of(set->processes[i], samples);
    }
    rkt_gpu_samples_want(samples, gpus);
    return first;
}

size_t rkt_process_set_live_count(const struct rkt_process_set *set)
{
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++)
        count += !rkt_process_is_finished(set->processes[i]);
    return count;
}

static void describe_end(const struct rkt_job_end *job, struct rkt_end_info *end)
{
    *end = (struct rkt_end_info){.reason = RKT_END_UNKNOWN};
    if (!job->is_known)
        return;
    if (WIFSIGNALED(job->wait_status)) {
        end->reason = RKT_END_SIGNALED;
        end->signal_number = WTERMSIG(job->wait_status);
    } else {
        end->reason = RKT_END_EXITED;
        end->exit_code = WEXITSTATUS(job->wait_status);
    }
}

/* "Nothing captured on rank k" must be in the store to be in the report. */
static enum rkt_status end_absent(struct rkt_process_set *set, const struct rkt_job_end *job,
                                  struct rkt_error *err)
{
    struct rkt_source_info info = base_info(set);
    struct rkt_source_writer *writer = NULL;
    struct rkt_end_info end;
    enum rkt_status status;

    set_rank(&info, set->config.default_rank);
    info.role = RKT_ROLE_RANK;
    info.pid = (uint64_t)job->pid;
    status = rkt_source_writer_create(&info, set->config.sink, set->config.sink_ctx, &writer, err);
    if (status != RKT_OK)
        return status;
    set->next_index++;
    describe_end(job, &end);
    status = rkt_source_writer_end(writer, &end, err);
    rkt_source_writer_destroy(writer);
    return status;
}

enum rkt_status rkt_process_set_end(struct rkt_process_set *set, const struct rkt_job_end *job,
                                    struct rkt_error *err)
{
    enum rkt_status first = settle(set, err);

    for (size_t i = 0; i < set->count; i++) {
        struct rkt_process *process = set->processes[i];
        struct rkt_end_info end = {.reason = RKT_END_UNKNOWN};

        if (rkt_process_info(process)->pid == (uint64_t)job->pid)
            describe_end(job, &end);
        keep_first_error(rkt_process_end(process, &end, err), &first);
    }
    if (set->next_index == 1 && set->config.default_rank >= 0)
        keep_first_error(end_absent(set, job, err), &first);
    return first;
}

size_t rkt_process_set_fds(const struct rkt_process_set *set, int *fds_out, size_t cap)
{
    size_t count = 0;

    if (cap > 0)
        fds_out[count++] = set->config.listen_fd;
    for (size_t i = 0; i < set->count && count < cap; i++) {
        if (!rkt_process_is_finished(set->processes[i]) && rkt_process_fd(set->processes[i]) >= 0)
            fds_out[count++] = rkt_process_fd(set->processes[i]);
    }
    return count;
}
