/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/sidecar/losses.h"
#include "common/clock.h"

#define DEVICES_MAX 64u

struct rkt_process {
    struct rkt_hello_peer peer; /* region NULL once finished, fd -1 once ended */
    struct rkt_source_info info;
    struct rkt_source_writer *writer; /* NULL once ended */

    /* region's name id -> id in the source's table; 0: not looked up yet, or unknown */
    uint32_t *names;
    size_t name_cap;
    uint64_t name_bytes; /* of the texts taken over; a liar's ids may overlap */

    struct rkt_losses losses;
    bool is_gone;     /* hang-up seen */
    bool is_finished; /* as of the last drain */
    bool was_closed;  /* capture closed in good order */
    bool has_failed;  /* an error was returned once */
    bool is_window_closed;

    struct rkt_event_device devices[DEVICES_MAX];
    size_t device_count;

    /* how much it looks like the main process */
    uint64_t first_comm_ns; /* UINT64_MAX: made no communicator */
    uint64_t step_count;
    uint64_t gpu_count;
};

enum rkt_status rkt_process_create(struct rkt_hello_peer *peer, const struct rkt_source_info *info,
                                   rkt_frame_sink_fn sink, void *sink_ctx,
                                   struct rkt_process **process_out, struct rkt_error *err)
{
    struct rkt_process *process = calloc(1, sizeof(*process));
    enum rkt_status status = RKT_ERR_NOMEM;

    if (!process) {
        rkt_region_destroy(peer->region);
        close(peer->fd);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for process %llu",
                        (unsigned long long)peer->hello.pid);
    }
    process->peer = *peer;
    process->info = *info;
    process->first_comm_ns = UINT64_MAX;
    process->name_cap = rkt_region_heap_bytes(peer->region) / RKT_NAME_UNIT_BYTES + 1;
    process->names = calloc(process->name_cap, sizeof(process->names[0]));
    if (process->names)
        status = rkt_source_writer_create(info, sink, sink_ctx, &process->writer, err);
    if (status != RKT_OK) {
        rkt_process_destroy(process);
        if (status == RKT_AGAIN)
            return rkt_fail(err, RKT_ERR_IO, "too much waits for rank 0 to take on a process");
        return status == RKT_ERR_NOMEM ? rkt_fail(err, status, "no memory for a source") : status;
    }
    *process_out = process;
    return RKT_OK;
}

static void give_back(struct rkt_process *process)
{
    rkt_region_destroy(process->peer.region);
    process->peer.region = NULL;
    if (process->peer.fd >= 0)
        close(process->peer.fd);
    process->peer.fd = -1;
    rkt_source_writer_destroy(process->writer);
    process->writer = NULL;
    free(process->names);
    process->names = NULL;
    process->name_cap = 0;
}

void rkt_process_destroy(struct rkt_process *process)
{
    if (!process)
        return;
    give_back(process);
    free(process);
}

/* Names of an event are always there before it. */
static uint32_t map_name(struct rkt_process *process, uint32_t id)
{
    const char *text;
    size_t len;

    if (id >= process->name_cap)
        return 0;
    if (process->names[id] == 0 && rkt_region_name(process->peer.region, id, &text, &len) &&
        process->name_bytes + len <= rkt_region_heap_bytes(process->peer.region)) {
        process->name_bytes += len;
        process->names[id] =
            rkt_strtab_intern(rkt_source_writer_strtab(process->writer), text, len);
    }
    return process->names[id];
}

static void map_names(struct rkt_process *process, struct rkt_event *event)
{
    event->name_id = map_name(process, event->name_id);
    if (event->kind == RKT_EVENT_RANGE) {
        event->range.domain_id = map_name(process, event->range.domain_id);
        event->range.inputs_id = map_name(process, event->range.inputs_id);
    }
    if (event->kind == RKT_EVENT_COMM)
        event->comm.members_id = map_name(process, event->comm.members_id);
}

/* What comes many times a second; the rest makes sense of it and is never dropped here. */
static bool is_frequent(uint8_t kind)
{
    switch (kind) {
    case RKT_EVENT_KERNEL:
    case RKT_EVENT_MEMCPY:
    case RKT_EVENT_MEMSET:
    case RKT_EVENT_SYNC:
    case RKT_EVENT_API:
    case RKT_EVENT_NCCL:
    case RKT_EVENT_RANGE:
        return true;
    default: /* any byte can stand here */
        return false;
    }
}

/* Said again, or one too many: stored all the same, but not sampled for it. */
static void note_device(struct rkt_process *process, const struct rkt_event_device *device)
{
    for (size_t i = 0; i < process->device_count; i++) {
        if (process->devices[i].device_id == device->device_id)
            return;
    }
    if (process->device_count < DEVICES_MAX)
        process->devices[process->device_count++] = *device;
}

/* What the sidecar itself wants to know of an event. */
static void note_event(struct rkt_process *process, const struct rkt_event *event)
{
    switch (event->kind) {
    case RKT_EVENT_COMM:
        if (event->start_ns < process->first_comm_ns)
            process->first_comm_ns = event->start_ns;
        break;
    case RKT_EVENT_RANGE:
        process->step_count += event->type == RKT_RANGE_STEP;
        break;
    case RKT_EVENT_KERNEL:
    case RKT_EVENT_MEMCPY:
    case RKT_EVENT_MEMSET:
        process->gpu_count++;
        break;
    case RKT_EVENT_DEVICE:
        note_device(process, &event->device);
        break;
    case RKT_EVENT_WINDOW:
        process->is_window_closed = event->type == RKT_WINDOW_CLOSED;
        break;
    default: /* any byte can stand here */
        break;
    }
}

/* What the store was not told is not so yet. */
static enum rkt_status update(struct rkt_process *process, const struct rkt_source_info *info,
                              struct rkt_error *err)
{
    enum rkt_status status = rkt_source_writer_update(process->writer, info, err);

    if (status == RKT_OK)
        process->info = *info;
    return status;
}

/* Which clock the GPU's records are of is known with the first of them. */
static enum rkt_status note_gpu_clock(struct rkt_process *process, const struct rkt_event *event,
                                      struct rkt_error *err)
{
    struct rkt_source_info info = process->info;

    if (process->info.gpu_clock != RKT_CLOCK_UNKNOWN || process->gpu_count == 0)
        return RKT_OK;
    info.gpu_clock = event->clock_id;
    return update(process, &info, err);
}

static enum rkt_status take_event(struct rkt_process *process, bool drops_frequent,
                                  struct rkt_event *event, struct rkt_error *err)
{
    enum rkt_status status;

    if (event->kind == RKT_EVENT_NONE || event->kind >= RKT_EVENT_KIND_COUNT ||
        event->clock_id >= RKT_CLOCK_COUNT) {
        rkt_losses_add(&process->losses, RKT_LOSS_BAD_STAMP, RKT_EVENT_NONE, 1);
        return RKT_OK;
    }
    note_event(process, event);
    if (drops_frequent && is_frequent(event->kind)) {
        rkt_losses_add(&process->losses, RKT_LOSS_SEND_QUEUE, event->kind, 1);
        return RKT_OK;
    }
    map_names(process, event);
    status = note_gpu_clock(process, event, err);
    if (status == RKT_OK)
        status = rkt_source_writer_add(process->writer, event, err);
    if (status != RKT_OK)
        rkt_losses_add(&process->losses, RKT_LOSS_SEND_QUEUE, event->kind, 1);
    return status;
}

/* At most one capacity's worth, so that a fast producer cannot hold the sidecar here. */
static enum rkt_status drain_ring(struct rkt_process *process, size_t index, bool drops_frequent,
                                  struct rkt_event *buffer, struct rkt_drain_result *result,
                                  struct rkt_error *err)
{
    uint32_t capacity = rkt_region_ring_capacity(process->peer.region);
    struct rkt_ring *ring = rkt_region_ring(process->peer.region, index);
    enum rkt_status status = RKT_OK, first = RKT_OK;
    size_t total = 0, got;
    bool is_broken = false;

    do {
        got = rkt_ring_pop(ring, capacity, buffer, RKT_DRAIN_EVENTS, &is_broken);
        for (size_t i = 0; i < got; i++) {
            status = take_event(process, drops_frequent, &buffer[i], err);
            first = first >= RKT_OK ? status : first;
        }
        total += got;
    } while (got == RKT_DRAIN_EVENTS && total < capacity);
    if (is_broken)
        rkt_losses_add(&process->losses, RKT_LOSS_BAD_STAMP, RKT_EVENT_NONE, 1);
    rkt_region_recycle(process->peer.region, index);
    result->event_count += total;
    if (total * 100 / capacity > result->fill_percent)
        result->fill_percent = (uint32_t)(total * 100 / capacity);
    return first;
}

/* Nothing more comes: take the last counts and give the memory back. */
static enum rkt_status finish(struct rkt_process *process, struct rkt_error *err)
{
    enum rkt_status status = rkt_process_flush(process, err);

    process->is_finished = true;
    rkt_region_destroy(process->peer.region);
    process->peer.region = NULL;
    return status;
}

static bool has_hung_up(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);

    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

enum rkt_status rkt_process_drain(struct rkt_process *process, bool drops_frequent,
                                  struct rkt_event *buffer, struct rkt_drain_result *result,
                                  struct rkt_error *err)
{
    enum rkt_status status, first = RKT_OK;
    size_t before = result->event_count;
    bool is_over;

    if (process->is_finished)
        return RKT_OK;
    /* Asked before the rings are emptied: what was pushed before the end is then seen. */
    process->was_closed = rkt_region_is_closed(process->peer.region);
    process->is_gone = process->is_gone || has_hung_up(process->peer.fd);
    is_over = process->was_closed || process->is_gone;
    for (size_t i = 0; i < rkt_region_ring_count(process->peer.region); i++) {
        status = drain_ring(process, i, drops_frequent, buffer, result, err);
        first = first >= RKT_OK ? status : first;
    }
    if (is_over && result->event_count == before) {
        status = finish(process, err);
        first = first >= RKT_OK ? status : first;
    }
    if (first >= RKT_OK || process->has_failed)
        return RKT_OK;
    process->has_failed = true;
    return first;
}

bool rkt_process_step(const struct rkt_process *process, uint64_t *step_out)
{
    return process->peer.region && rkt_region_step(process->peer.region, step_out);
}

bool rkt_process_is_window_open(const struct rkt_process *process)
{
    return !process->is_window_closed;
}

void rkt_process_order_window(struct rkt_process *process,
                              const struct rkt_region_window_order *order)
{
    if (process->peer.region)
        rkt_region_order_window(process->peer.region, order);
}

enum rkt_status rkt_process_flush(struct rkt_process *process, struct rkt_error *err)
{
    enum rkt_status status;

    if (!process->writer)
        return RKT_OK;
    status = rkt_losses_write(&process->losses, process->peer.region, process->writer, err);
    if (status != RKT_OK)
        return status;
    return rkt_source_writer_flush(process->writer, err);
}

bool rkt_process_is_finished(const struct rkt_process *process)
{
    return process->is_finished;
}

size_t rkt_process_device_count(const struct rkt_process *process)
{
    return process->device_count;
}

const struct rkt_event_device *rkt_process_device(const struct rkt_process *process, size_t index)
{
    return &process->devices[index];
}

enum rkt_status rkt_process_add_counter(struct rkt_process *process, const struct rkt_event *event,
                                        struct rkt_error *err)
{
    if (process->is_finished || !process->writer)
        return RKT_OK;
    return rkt_source_writer_add(process->writer, event, err);
}

int rkt_process_fd(const struct rkt_process *process)
{
    return process->peer.fd;
}

const struct rkt_source_info *rkt_process_info(const struct rkt_process *process)
{
    return &process->info;
}

bool rkt_process_has_ended(const struct rkt_process *process)
{
    return !process->writer;
}

bool rkt_process_is_ahead(const struct rkt_process *a, const struct rkt_process *b)
{
    if (a->first_comm_ns != b->first_comm_ns)
        return a->first_comm_ns < b->first_comm_ns;
    if (a->step_count != b->step_count)
        return a->step_count > b->step_count;
    return a->gpu_count > b->gpu_count;
}

enum rkt_status rkt_process_set_role(struct rkt_process *process, enum rkt_source_role role,
                                     struct rkt_error *err)
{
    struct rkt_source_info info = process->info;

    if (process->info.role == role || !process->writer)
        return RKT_OK;
    info.role = (uint8_t)role;
    return update(process, &info, err);
}

enum rkt_status rkt_process_end(struct rkt_process *process, struct rkt_end_info *end,
                                struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (!process->writer)
        return RKT_OK;
    status = rkt_process_flush(process, err);
    end->cut_short = !process->was_closed;
    end->dropped_count = rkt_losses_total(&process->losses);
    if (status == RKT_OK)
        status = rkt_source_writer_end(process->writer, end, err);
    if (status == RKT_AGAIN)
        return status;
    give_back(process);
    return status;
}
