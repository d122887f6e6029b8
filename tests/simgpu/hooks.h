/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_HOOKS_H
#define SIMGPU_HOOKS_H

/*
 * hooks - the private side door between the stand-ins: what the stand-in driver reports to
 * the stand-in CUPTI, and how the stand-in NCCL makes a kernel wait for other ranks.
 *
 * Symbols are looked up by name with dlsym, as a real driver has none of them: a library
 * that does not find them behaves as its model does without a usable driver.
 *
 * Times: nanoseconds; CLOCK_REALTIME towards CUPTI, CLOCK_MONOTONIC towards gates.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call of the driver interface or of the runtime, on its caller's stack from enter to exit. */
struct simgpu_call {
    uint32_t cbid; /* CUPTI's id of the call */
    bool is_runtime;
    uint32_t correlation_id; /* not 0 on enter: that of the runtime's call around it */
    uint32_t context_id;
    void *context; /* CUcontext; NULL: none is current */
    uint64_t start_ns;
    uint64_t correlation_data; /* the subscriber's */
    bool is_recorded;
    bool is_told;
};

enum simgpu_activity_kind {
    SIMGPU_KERNEL,
    SIMGPU_COPY,
    SIMGPU_SET,
    SIMGPU_GRAPH, /* one whole launch of a graph */
};

/* Work on its way to the device. Strings live as long as the call that reports it. */
struct simgpu_activity {
    enum simgpu_activity_kind kind;
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    uint32_t graph_id;      /* 0: not part of a graph */
    uint64_t graph_node_id; /* inside a graph; 0: not one node of it */
    const char *name;       /* kernels */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint64_t bytes; /* copies and sets */
    uint32_t value; /* sets */
    uint8_t copy_kind;
    uint8_t from_kind;
    uint8_t to_kind;
    bool is_async;
};

/* A call that waited, or made a stream wait. */
struct simgpu_sync {
    uint32_t type; /* CUpti_ActivitySynchronizationType */
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t event_id;
    uint32_t correlation_id;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t result;
};

/* Memory taken or given back. */
struct simgpu_memory {
    bool is_release;
    bool is_async;        /* from the pool of the device, in the order of the stream */
    uint32_t memory_kind; /* CUpti_ActivityMemoryKind */
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    uint64_t address;
    size_t bytes;
    uint64_t time_ns;
};

/* Time that the driver took of the calling thread. */
struct simgpu_overhead {
    uint32_t kind; /* CUpti_ActivityOverheadKind */
    uint32_t correlation_id;
    uint64_t start_ns;
    uint64_t end_ns;
};

struct simgpu_hooks {
    /* the calling thread; enter fills correlation_id, is_recorded and is_told; exit comes if one of
     * these two is true */
    void (*enter)(struct simgpu_call *call);
    void (*exit)(struct simgpu_call *call, uint64_t end_ns, uint32_t result);
    void (*made_context)(void); /* at once, if there is one before the hooks are set */
    void (*unloaded)(const char *kernel_name); /* with its module */
    void (*sync)(const struct simgpu_sync *sync);
    void (*memory)(const struct simgpu_memory *memory);
    void (*overhead)(const struct simgpu_overhead *overhead);
    /* the calling thread, inside a call; NULL when nobody asked for it */
    void *(*reserve)(const struct simgpu_activity *activity);
    /* the device's thread, once per slot of reserve */
    void (*complete)(void *slot, uint64_t start_ns, uint64_t end_ns);
};

/* libcuda: `hooks` stays in use until the process ends. */
#define SIMGPU_SET_HOOKS "simgpuSetHooks"
typedef void (*simgpu_set_hooks_fn)(const struct simgpu_hooks *hooks);
void simgpuSetHooks(const struct simgpu_hooks *hooks);

/* libcuda: CUPTI's number of a stream; NULL stands for the default stream of `context`, or of the
 * current one. False: there is none. */
#define SIMGPU_STREAM_ID "simgpuStreamId"
typedef bool (*simgpu_stream_id_fn)(void *context, void *stream, uint32_t *id_out);
bool simgpuStreamId(void *context, void *stream, uint32_t *id_out);

/* libcupti: how often a client was asked for a buffer; for tests, which look it up by name. */
uint64_t simgpuCuptiRequestCount(void);

/* libcuda: a call of the runtime library around calls of the driver, for programs that play one.
 * `call` is good until the end. */
void simgpuRuntimeEnter(struct simgpu_call *call, uint32_t cbid);
void simgpuRuntimeExit(struct simgpu_call *call, uint32_t result);

/*
 * A kernel that does not end by its own clock. All on the device's thread, and none may block:
 * started once, then ended until it is true (and *end_ns set), then release.
 */
struct simgpu_gate {
    void *arg;
    void (*started)(void *arg, uint64_t start_ns);
    bool (*ended)(void *arg, uint64_t *end_ns);
    void (*release)(void *arg);
};

/* libcuda: the next launch of this thread gets the gate (copied); NULL takes it back. A launch into
 * a stream that is being captured refuses it: it may run many times. */
void simgpuGateNextLaunch(const struct simgpu_gate *gate);

/*
 * The same for a kernel that may become a node of a graph: it makes a gate for each time that
 * the kernel is launched.
 */
struct simgpu_replay {
    void *arg;
    /* The thread that launches, once per launch, nodes in the order in which they were captured,
     * and without a lock. A kernel that is not captured gets its gate inside its one launch. False:
     * the launch fails. */
    bool (*make_gate)(void *arg, struct simgpu_gate *gate_out);
    /* Any thread: there will be no more launches. Gates may be under way still. */
    void (*release)(void *arg);
};

/* libcuda: as simgpuGateNextLaunch. A launch that fails releases it too. */
void simgpuReplayNextLaunch(const struct simgpu_replay *replay);

#endif
