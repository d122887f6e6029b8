/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_PLUGIN_H
#define SIMGPU_NCCL_PLUGIN_H

/*
 * plugin - NCCL's side of a profiler plugin: finds it, takes the newest table that this NCCL
 * and the plugin both know, and hands it events in that version's form.
 *
 * Name:    NCCL_PROFILER_PLUGIN: a path, a library name, or a short name for
 *          libnccl-profiler-<name>.so; unset: libnccl-profiler.so; none: no plugin; STATIC_PLUGIN:
 *          the program itself.
 * Life:    loaded with the first communicator, unloaded with the last; a load that failed is not
 *          tried again in this process.
 * Memory:  a descriptor is exactly as long as its version says, on the heap, so that a memory
 *          checker finds a plugin that reads behind it.
 * Threads: all calls from any thread; the plugin is called without a lock.
 */

#include <stdint.h>

#include "agent/capture/nccl_api/profiler.h"

struct sim_plugin_comm {
    uint64_t id;
    const char *name; /* of the communicator; NULL: none */
    int node_count;
    int rank_count;
    int rank;
    void *context; /* the plugin's */
    bool is_on;    /* false: no plugin */
};

/* Fill id, name, node_count, rank_count and rank before. */
void sim_plugin_open(struct sim_plugin_comm *comm);
void sim_plugin_close(struct sim_plugin_comm *comm);

/* What the plugin wants now. The mask is one for the process; the last init has set it. */
int sim_plugin_mask(const struct sim_plugin_comm *comm);

/* The handle; NULL: the plugin gave none, has not this event, or is not there. */
void *sim_plugin_start(const struct sim_plugin_comm *comm, const struct rkt_nccl_descr *descr);
void sim_plugin_stop(const struct sim_plugin_comm *comm, void *handle);
void sim_plugin_record(const struct sim_plugin_comm *comm, void *handle, int state,
                       uint64_t timer_ns);

/* The version of the table in use; 0: none. */
int sim_plugin_version(void);

#endif
