/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_REGION_H
#define RKT_AGENT_REGION_H

/*
 * region - the shared memory between one training process and its sidecar.
 *
 *     +--------+--------+--------+-----+--------------------------+
 *     | header | ring 0 | ring 1 | ... | name heap (append only)  |
 *     +--------+--------+--------+-----+--------------------------+
 *
 * Place:   made by the sidecar as a memfd (so it outlives the job's death), passed with
 *          SCM_RIGHTS (hello.h), mapped by capture.
 * Threads: claim, release and append by any thread of the job, without a lock; the sidecar is
 *          the only consumer.
 * Memory:  header + ring_count x (ring + ring_capacity x 64 B) + heap_bytes are mapped; a ring
 *          that no thread ever claimed and the heap above its last name are never touched.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ring.h"
#include "common/status.h"

#define RKT_REGION_MAGIC 0x524b5247u
#define RKT_REGION_ABI 2u /* any change of event, ring, header or capture_config */

struct rkt_region_config {
    uint32_t ring_count;    /* 1 to 1024 */
    uint32_t ring_capacity; /* events per ring; a power of two, 64 to 2^20 */
    uint32_t heap_bytes;    /* names; 64 KiB to 256 MiB, a multiple of 64 */
};

#define RKT_REGION_CONFIG_DEFAULT                                        \
    (struct rkt_region_config)                                           \
    {                                                                    \
        .ring_count = 64, .ring_capacity = 16384, .heap_bytes = 4u << 20 \
    }

#define RKT_WINDOW_STEP_MAX ((UINT64_C(1) << 62) - 1)

struct rkt_region_window_order {
    uint64_t from_step; /* counted as rkt_region_set_step does; up to RKT_WINDOW_STEP_MAX */
    bool is_open;
};

/* A name's id is where it is in the heap, in these units, plus 1. */
#define RKT_NAME_UNIT_BYTES 8u

struct rkt_region;

/* What is mapped for a region of this shape. */
size_t rkt_region_bytes(const struct rkt_region_config *config);

/* Sidecar. *fd_out is the caller's; the region keeps its own mapping. */
enum rkt_status rkt_region_create(const struct rkt_region_config *config,
                                  struct rkt_region **region_out, int *fd_out,
                                  struct rkt_error *err);

/* Capture. Maps the region behind fd (which may be closed after); checks magic, ABI, sizes. */
enum rkt_status rkt_region_map(int fd, struct rkt_region **region_out, struct rkt_error *err);

/* Unmap; NULL is fine. Capture never calls it while any thread may still push. */
void rkt_region_destroy(struct rkt_region *region);

/* ---- capture's side ---- */

/*
 * A ring for the calling thread, lock-free: a free one, else one whose thread has ended, even if
 * the sidecar has not read it yet. NULL when all are taken.
 */
struct rkt_ring *rkt_region_claim(struct rkt_region *region, uint32_t thread_id);
void rkt_region_release(struct rkt_ring *ring);           /* its thread ends */
void rkt_region_count_no_ring(struct rkt_region *region); /* an event without a ring was lost */

/* Append a name; its id, or 0 when the heap is full (counted). */
uint32_t rkt_region_append_name(struct rkt_region *region, const char *text, size_t len_bytes);
void rkt_region_count_no_name(struct rkt_region *region); /* a name was lost for another reason */

/* How many events all threads together have pushed so far. */
uint64_t rkt_region_pushed_count(struct rkt_region *region);

/* Capture closes in good order: everything that it had is in the rings. */
void rkt_region_set_closed(struct rkt_region *region);

/*
 * The step that the process is in, for who decides on capture windows: how many began before it,
 * whatever number the job gives it.
 */
void rkt_region_set_step(struct rkt_region *region, uint64_t step);

/*
 * The sidecar's last order on the capture window; false when there was none. Cheap enough to be
 * asked at every step.
 */
bool rkt_region_window_order(const struct rkt_region *region,
                             struct rkt_region_window_order *order_out);

/* ---- both sides ---- */

/*
 * The name with this id; false when there is none, or none that can be (the writer is not
 * trusted). Who got an id out of a ring finds its name. The text is on loan until destroy.
 */
bool rkt_region_name(const struct rkt_region *region, uint32_t id, const char **text_out,
                     size_t *len_out);

/* ---- sidecar's side ---- */

/*
 * Open or close the capture window when step from_step begins (at once: 0, or a step that has
 * begun). Replaces an order that has not taken effect yet.
 */
void rkt_region_order_window(struct rkt_region *region,
                             const struct rkt_region_window_order *order);

/* The step that the process is in; false when it has marked none. */
bool rkt_region_step(const struct rkt_region *region, uint64_t *step_out);

struct rkt_region_losses {
    uint64_t ring_full[RKT_EVENT_KIND_COUNT];
    uint64_t no_ring_count;
    uint64_t names_full_count;
};

size_t rkt_region_ring_count(const struct rkt_region *region);
uint32_t rkt_region_ring_capacity(const struct rkt_region *region);
uint32_t rkt_region_heap_bytes(const struct rkt_region *region);
struct rkt_ring *rkt_region_ring(struct rkt_region *region, size_t index);
bool rkt_region_is_closed(const struct rkt_region *region);
void rkt_region_losses(const struct rkt_region *region, struct rkt_region_losses *losses_out);

/*
 * Sidecar. Free a CLOSED ring that is empty for another thread.
 */
void rkt_region_recycle(struct rkt_region *region, size_t index);

#endif
