/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_EVENT_H
#define RKT_CAPTURE_NCCL_EVENT_H

/*
 * nccl_event - from NCCL's start of an event to the record in the ring.
 *
 * An event goes out when NCCL stops it. A COLL or P2P that has ended is enqueued, not finished: its
 * end on the GPU is in the kernel's own record, which the KERNEL_LAUNCH event brackets by thread
 * and time. What follows an operation (channels of its kernel, network work) comes after its stop,
 * on NCCL's progress thread, and takes from it what it belongs to.
 *
 * Threads: any. Nothing here waits, allocates or locks.
 * Losses:  an event that NCCL never stops goes out without an end (RKT_FLAG_NO_END) when its slot
 *          is needed; stamps of a device that cannot be are counted as RKT_LOSS_BAD_STAMP.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture/nccl_source.h"
#include "common/event.h"

/* Whether an event of this type (enum rkt_nccl_event) would be taken now: in a window, and of the
 * level that was asked for. NCCL may offer others: a parent of a wanted one, or what it was told to
 * by someone else. */
bool rkt_nccl_event_is_wanted(uint64_t type);

/* An event without its stamps: of this kind and type, all else unknown. */
struct rkt_event rkt_nccl_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type);

/*
 * Begin it, now or (channels) at its start_ns; the handle for the calls below. NULL: off, or no
 * event.
 */
void *rkt_nccl_event_start(struct rkt_nccl_comm *comm, const struct rkt_event *event);

/* A handle that NULL, an ended event or any other pointer may stand for: they do nothing. */
void rkt_nccl_event_stop(void *handle);

/*
 * An event enters a state. `state` is NCCL's number, `argument` what came with it: the device's
 * time at which a channel ended, or the bytes that a step has moved so far.
 */
void rkt_nccl_event_state(void *handle, int state, uint64_t argument);

/*
 * What a child takes from the event that NCCL names as its parent, if that is one of ours: the
 * operation, and for network work the two ends and the channel.
 */
void rkt_nccl_event_adopt(struct rkt_event *event, const void *parent);

/* Whether a parent given with this process id is of this process: another's pointer means nothing
 * here. 0 is what NCCL leaves where there is only one process. */
bool rkt_nccl_is_own_process(pid_t pid);

#endif
