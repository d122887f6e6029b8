/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_SOURCE_H
#define RKT_CAPTURE_NCCL_SOURCE_H

/*
 * nccl_source - communicators and collectives, as NCCL tells its profiler plugin.
 *
 * The tables that NCCL looks up (ncclProfiler_v3 ... v7) are in nccl_plugin.c; all of them
 * end up here. An event goes out when NCCL stops it; a COLL or P2P that has ended is
 * enqueued, not finished: its end on the GPU is in the kernel's own record, which the
 * KERNEL_LAUNCH event brackets by thread and time.
 *
 * Threads: any, several communicators at once.
 * Memory:  open events are in slots that stay for the life of the process, and a handle
 *          names one use of one slot, so that a late or doubled stop does nothing. A
 *          communicator costs some bytes, kept for good, as events may come after its end.
 * Full:    without a free slot the handle is NULL, which NCCL accepts, and the event counts
 *          as lost.
 * Closed:  outside a capture window NCCL's activation mask is 0, so that it does not call at
 *          all; what it had begun to report by then is refused, and what was open may still stop.
 */

#include <stdint.h>

#include "agent/capture/capture.h"
#include "agent/capture/nccl_api/profiler.h"

/* Collectives, point to point, their API calls and launches. Channels and proxies are never
 * asked for: they would make NCCL's proxy thread work where it does not otherwise. */
#define RKT_NCCL_MASK                                                      \
    (RKT_NCCL_EVENT_COLL | RKT_NCCL_EVENT_P2P | RKT_NCCL_EVENT_GROUP_API | \
     RKT_NCCL_EVENT_COLL_API | RKT_NCCL_EVENT_P2P_API | RKT_NCCL_EVENT_KERNEL_LAUNCH)

struct rkt_nccl_source;
struct rkt_nccl_comm;

/* NULL when memory is out. */
struct rkt_nccl_source *rkt_nccl_source_create(const struct rkt_capture_config *config);
/* Only when NCCL never saw it. NULL is fine. */
void rkt_nccl_source_destroy(struct rkt_nccl_source *source);

/*
 * Begin or end a capture window: from now on events are taken, or refused (and not counted as
 * lost). Any thread; cheap enough to be called at each step, also when nothing changes. Not after
 * the capture was turned off.
 */
void rkt_nccl_source_set_open(struct rkt_nccl_source *source, bool is_open);

/* Grows while the job goes on, as far as its collectives show. */
uint64_t rkt_nccl_source_activity(const struct rkt_nccl_source *source);

/* What NCCL says of a communicator when it makes one. */
struct rkt_nccl_comm_info {
    int *mask;       /* NCCL's activation mask, one for all its communicators; it stays NCCL's */
    int wanted;      /* what goes there while the window is open */
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

/* An event without its stamps: of this kind and type, all else unknown. */
struct rkt_event rkt_nccl_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type);

/* Begin it now; the handle for rkt_nccl_event_stop, or NULL. */
void *rkt_nccl_event_start(const struct rkt_event *event);
void rkt_nccl_event_stop(void *handle); /* NULL is fine */

#endif
