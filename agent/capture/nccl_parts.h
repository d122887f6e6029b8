/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_PARTS_H
#define RKT_CAPTURE_NCCL_PARTS_H

/* nccl_parts - the inside of nccl_source, for itself and nccl_event alone. */

#include <pthread.h>
#include <stdatomic.h>

#include "agent/capture/nccl_slots.h"
#include "agent/capture/nccl_source.h"

#define RKT_NCCL_CHANNELS_MAX 64u /* NCCL's own MAXCHANNELS */

struct rkt_nccl_comm {
    struct rkt_nccl_comm *next;
    _Atomic uint64_t comm_id;
    int32_t rank;
    uint32_t rank_count;
    uint32_t node_count;
    uint32_t name_id;
    _Atomic bool is_announced; /* its COMM event went out */
    /* under the mask lock */
    int *mask; /* NCCL's; NULL: closed */
    int wanted;
    /* the device time at which each channel last began a kernel; written by the progress thread */
    _Atomic uint64_t channel_start_ns[RKT_NCCL_CHANNELS_MAX];
};

struct rkt_nccl_source {
    /* set in create, then read only */
    int wanted; /* by level */
    pid_t pid;
    struct rkt_nccl_slots *events;
    struct rkt_nccl_slots *operations; /* COLL and P2P, which others name as their parent */

    _Atomic bool is_open;
    _Atomic bool has_plugin; /* NCCL has told us of a communicator */
    /* Guards the list, and the masks of NCCL against a communicator's end, for a few stores: NCCL
     * may be unmapped after that. Taken by init, finalize and a window's edge, never for an
     * event. */
    pthread_mutex_t mask_lock;
    struct rkt_nccl_comm *comms; /* all that ever were */
};

/* Send out who it is, if that did not succeed yet. */
void rkt_nccl_comm_announce(struct rkt_capture *capture, struct rkt_nccl_comm *comm);

#endif
