/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_SOURCE_H
#define RKT_CAPTURE_NCCL_SOURCE_H

/*
 * nccl_source - NCCL's communicators, and what NCCL is asked to tell of them.
 *
 *     NCCL ─ncclProfiler_v*─▶ nccl_plugin ─▶ nccl_event ─▶ thread ─▶ ring
 *                                  └──▶ nccl_source (communicators, mask)
 *
 * Threads: any, several communicators at once.
 * Memory:  the slots of open events are taken in create; a communicator costs about 600 bytes, kept
 *          for good, as events may come after its end.
 * Closed:  outside a capture window NCCL's activation mask is 0, so that it does not call at
 *          all; what it had begun to report by then is refused, and what was open may still stop.
 */

#include <stdint.h>

#include "agent/capture/capture.h"
#include "agent/capture/nccl_api/profiler_event.h"

/*
 * What is asked for, by level (RANKTRACE_NCCL).
 *
 * basic:  collectives, point to point, their API calls and launches: callbacks on threads that
 *         call NCCL anyway.
 * kernel: channels make NCCL add work for its progress thread to each collective, and poll for
 *         its end. Copy-engine collectives are here, as the way by which a device carried one out.
 * proxy:  each step of each network operation.
 *
 * Phases of kernels (v7) are never asked for: NCCL's kernels then stamp and fence, which was
 * measured to cost more than 4 %.
 */
#define RKT_NCCL_MASK_BASIC                                                \
    (RKT_NCCL_EVENT_COLL | RKT_NCCL_EVENT_P2P | RKT_NCCL_EVENT_GROUP_API | \
     RKT_NCCL_EVENT_COLL_API | RKT_NCCL_EVENT_P2P_API | RKT_NCCL_EVENT_KERNEL_LAUNCH)
#define RKT_NCCL_MASK_KERNEL                                                   \
    (RKT_NCCL_MASK_BASIC | RKT_NCCL_EVENT_KERNEL_CH | RKT_NCCL_EVENT_CE_COLL | \
     RKT_NCCL_EVENT_CE_SYNC | RKT_NCCL_EVENT_CE_BATCH)
#define RKT_NCCL_MASK_PROXY                                                       \
    (RKT_NCCL_MASK_KERNEL | RKT_NCCL_EVENT_PROXY_OP | RKT_NCCL_EVENT_PROXY_STEP | \
     RKT_NCCL_EVENT_PROXY_CTRL | RKT_NCCL_EVENT_NET_PLUGIN)

struct rkt_nccl_source;
struct rkt_nccl_comm;

/* NULL when memory is out. */
struct rkt_nccl_source *rkt_nccl_source_create(const struct rkt_capture_config *config);
/* Only when NCCL calls no more; its communicators go, too. NULL is fine. */
void rkt_nccl_source_destroy(struct rkt_nccl_source *source);

/*
 * Begin or end a capture window: from now on events are taken, or refused (and not counted as
 * lost). Any thread; cheap enough to be called at each step, also when nothing changes. Not after
 * the capture was turned off.
 */
void rkt_nccl_source_set_open(struct rkt_nccl_source *source, bool is_open);

/*
 * Whether what NCCL's NVTX ranges say must do: the window is open, and no communicator has come
 * through the plugin, as with NCCL before 2.23 and under another tool's plugin.
 */
bool rkt_nccl_source_needs_nvtx(const struct rkt_nccl_source *source);

/* What NCCL says of a communicator when it makes one. */
struct rkt_nccl_comm_info {
    int *mask;       /* NCCL's activation mask, one for all its communicators; it stays NCCL's */
    int known;       /* the events that this version of the table has */
    bool is_unknown; /* v3: only its events tell */
    uint64_t comm_id;
    const char *name; /* NULL: none */
    int node_count;
    int rank_count;
    int rank;
};

/* Sets the mask, to 0 when it returns NULL: off. */
struct rkt_nccl_comm *rkt_nccl_comm_open(const struct rkt_nccl_comm_info *info);
/* NCCL may be gone after this: its mask is let alone. Events may still come. NULL is fine. */
void rkt_nccl_comm_close(struct rkt_nccl_comm *comm);

/* A v3 communicator learns who it is from its first event. */
void rkt_nccl_comm_identify(struct rkt_nccl_comm *comm, uint64_t comm_id, int rank);

#endif
