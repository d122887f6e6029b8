/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_THREAD_H
#define RKT_CAPTURE_THREAD_H

/*
 * thread - the threads of the job that produce events, each with its ring.
 *
 * A thread gets a ring and an entry here with its first event and gives them back when it
 * ends. Its name goes out once, as a NAME event: names such as pt_autograd_0 tell backward
 * launches from others.
 *
 * Threads: get and push by any thread, for itself. Memory: all of it is taken in create.
 * Full:    more threads than rings: their events are dropped and counted by the region.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture/asleep.h"
#include "agent/capture/intern.h"
#include "agent/capture/nvtx_stack.h"
#include "agent/region.h"
#include "common/event.h"

#define RKT_OPEN_RANGES_MAX 64

struct rkt_open_range {
    uint64_t start_ns;
    uint32_t name_id;
    uint8_t type; /* enum rkt_range_type */
    bool is_step; /* a step ends with it */
    struct rkt_asleep_begin asleep;
};

struct rkt_threads;

/* One thread's own; no other thread looks at it. */
struct rkt_thread {
    struct rkt_threads *owner;
    struct rkt_ring *ring;
    uint32_t thread_id; /* gettid */
    uint32_t open_count;
    uint32_t too_deep_count; /* ranges that are open beyond RKT_OPEN_RANGES_MAX */
    struct rkt_open_range open[RKT_OPEN_RANGES_MAX];
    struct rkt_nvtx_stack nvtx;
    struct rkt_asleep asleep;
};

/* NULL when memory or thread-specific keys are out. */
struct rkt_threads *rkt_threads_create(struct rkt_region *region, struct rkt_intern *intern);
/* Only when no other thread can be inside. NULL is fine. */
void rkt_threads_destroy(struct rkt_threads *threads);

/* After fork, in the child: its rings are the parent's, so let them alone. */
void rkt_threads_disown(struct rkt_threads *threads);

/* The calling thread's entry; NULL when no ring is free. Keeps errno. */
struct rkt_thread *rkt_threads_get(struct rkt_threads *threads);

/*
 * Push from the calling thread; false when it was dropped (and counted). rkt_threads_stamp also
 * names that thread in the event.
 */
bool rkt_threads_stamp(struct rkt_threads *threads, struct rkt_event *event);
bool rkt_threads_push(struct rkt_threads *threads, const struct rkt_event *event);

/*
 * Send out the name of a thread of this process the first time that it is seen. When the thread has
 * ended by then, the name that it had at its last keep_name.
 */
void rkt_threads_note_name(struct rkt_threads *threads, uint32_t thread_id);

/*
 * Keep the calling thread's name, without sending it or taking a ring. A name may be lost when
 * several hundred threads do so. Keeps errno.
 */
void rkt_threads_keep_name(struct rkt_threads *threads);

/* A LOSS event, stamped now. */
void rkt_threads_push_loss(struct rkt_threads *threads, enum rkt_loss_reason reason,
                           enum rkt_event_kind lost_kind, uint64_t count, uint64_t bytes);

#endif
