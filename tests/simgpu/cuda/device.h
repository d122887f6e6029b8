/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_DEVICE_H
#define SIMGPU_CUDA_DEVICE_H

/*
 * device - streams of work, run in real time by one thread.
 *
 * Time:    each operation gets an exact start and end from a model: a kernel starts when its
 *          stream is free and what it waits for is over, and lasts as long as it was told to. The
 *          thread only makes this known when the moment has come, so a late wake-up delays whoever
 *          waits but never a stamp, and nothing spins.
 * Threads: all calls from any thread; one lock inside. Gates, hooks->complete and host
 *          functions run on the device's thread; host functions without the lock.
 * Order:   operations of one stream run in order; streams run side by side without
 *          limit, but the copies of one direction share an engine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simgpu/hooks.h"

#define SIM_STREAM_PENDING_MAX 1024 /* then a submit waits, as a full launch queue does */
#define SIM_DURATION_MAX_NS 60000000000ull

struct sim_device;
struct sim_stream;
struct sim_mark; /* a point in a stream: what an event points to; counted references */

enum sim_engine {
    SIM_ENGINE_NONE,
    SIM_ENGINE_TO_DEVICE,
    SIM_ENGINE_TO_HOST,
    SIM_ENGINE_COUNT,
};

enum sim_op_kind {
    SIM_OP_WORK, /* kernel, copy, set: takes time */
    SIM_OP_MARK,
    SIM_OP_WAIT,
    SIM_OP_HOST,
};

/* Several pieces of work that are reported as one: from the first start to the last end. Made with
 * calloc; the device's from the first submit, and freed by it after the last. */
struct sim_span {
    void *slot;    /* of hooks->reserve */
    uint32_t left; /* pieces that are not over */
    uint64_t start_ns;
    uint64_t end_ns;
};

/* What to submit. Copied; slot and gate move to the device. */
struct sim_op {
    enum sim_op_kind kind;
    enum sim_engine engine;
    uint64_t submit_ns; /* CLOCK_MONOTONIC; 0: when it is submitted */
    uint64_t duration_ns;
    void *slot;              /* of hooks->reserve, or NULL */
    struct sim_span *span;   /* or NULL */
    struct simgpu_gate gate; /* with `ended` NULL: none */
    struct sim_mark *mark;   /* MARK, WAIT: a reference that moves to the device */
    void (*host_fn)(void *arg);
    void *host_arg;
};

/*
 * NULL: no memory, or no thread. There is no destroy: as with a real driver, threads of the program
 * may be inside a call when the process exits, so the device ends with the process.
 */
struct sim_device *sim_device_create(void);

struct sim_stream *sim_stream_create(struct sim_device *device, uint32_t id);
/* Work still in it goes on; the memory goes when it is done. */
void sim_stream_destroy(struct sim_stream *stream);
uint32_t sim_stream_id(const struct sim_stream *stream);

/* Ticket of the operation, to wait for. False: no memory. */
bool sim_stream_submit(struct sim_stream *stream, const struct sim_op *op, uint64_t *ticket_out);
void sim_stream_wait(struct sim_stream *stream, uint64_t ticket);
void sim_stream_wait_all(struct sim_stream *stream);
bool sim_stream_is_idle(struct sim_stream *stream);
bool sim_stream_is_full(struct sim_stream *stream); /* a submit would wait */
void sim_device_wait_all(struct sim_device *device);

struct sim_mark *sim_mark_create(struct sim_device *device);
void sim_mark_ref(struct sim_mark *mark);
void sim_mark_unref(struct sim_mark *mark); /* NULL is fine */
bool sim_mark_is_reached(struct sim_mark *mark);
void sim_mark_wait(struct sim_mark *mark);
uint64_t sim_mark_time_ns(struct sim_mark *mark); /* CLOCK_MONOTONIC; 0: not reached */

#endif
