/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_PROGRESS_H
#define SIMGPU_NCCL_PROGRESS_H

/*
 * progress - the thread that looks after kernels under way, and tells the plugin of their channels
 * and of network work. It sees a kernel begin and end some time later, as it polls.
 *
 *     launch: watch made -> kernel (gate stamps it) ──▶ progress thread -> plugin
 *     after the collective was told: posted ──────────▶
 *
 * Threads: post from any; stamps from the device's thread; one progress thread per communicator,
 *          named "NCCL Progress", begun with the first post.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/nccl/plugin.h"

#define SIM_CHANNELS_MAX 16

/* One operation of a kernel. */
struct sim_watch_op {
    void *handle; /* of its Coll or P2p event */
    uint8_t channel_count;
    bool is_p2p;
    bool is_send; /* P2P */
    int peer;     /* P2P */
    uint64_t bytes;
};

/* A kernel under way. Of the gate and of the progress thread; who is last frees it. */
struct sim_watch {
    struct sim_watch *next;      /* of the progress thread */
    struct sim_watch *plan_next; /* of a captured kernel, see launch.c */
    _Atomic int ref_count;
    /* CLOCK_MONOTONIC; 0 before. Written by the device's thread. */
    _Atomic uint64_t start_ns;
    _Atomic uint64_t end_ns;
    int mask; /* the plugin's, as it was at the call */
    struct sim_progress_state *state;
    int op_count;
    struct sim_watch_op ops[];
};

struct sim_progress;

/* Whether anything of a kernel would be told for that mask. */
bool sim_progress_is_needed(int mask);

/* NULL: no memory. One reference, the caller's. */
struct sim_watch *sim_watch_create(int mask, int op_count);
struct sim_watch *sim_watch_ref(struct sim_watch *watch); /* NULL stays NULL */
void sim_watch_unref(struct sim_watch *watch);            /* NULL is fine */

/* `plugin` outlives it. NULL: no memory. */
struct sim_progress *sim_progress_create(const struct sim_plugin_comm *plugin);
/* Waits for the thread; of kernels that are not over nothing more is told. NULL is fine. */
void sim_progress_destroy(struct sim_progress *progress);

/* Takes the caller's reference. */
void sim_progress_post(struct sim_progress *progress, struct sim_watch *watch);

#endif
