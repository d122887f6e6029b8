/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_DEVICES_H
#define RKT_CAPTURE_CUPTI_DEVICES_H

/*
 * cupti_devices - which GPUs records come from: their names as NAME events, and what tells them
 * from all other GPUs as DEVICE events.
 *
 * Threads: note by any; send by the flush thread, since it asks the driver.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "agent/capture/thread.h"

#define RKT_CUPTI_DEVICES_MAX 64u

/* Zeroed to begin with. */
struct rkt_cupti_devices {
    _Atomic uint64_t seen; /* a bit per device_id */
    uint64_t sent;         /* the flush thread's */
};

static inline uint64_t rkt_cupti_devices_bit(uint32_t device_id)
{
    return 1ull << (device_id % RKT_CUPTI_DEVICES_MAX);
}

static inline void rkt_cupti_devices_note(struct rkt_cupti_devices *devices, uint64_t bits)
{
    if (bits & ~atomic_load_explicit(&devices->seen, memory_order_relaxed))
        atomic_fetch_or_explicit(&devices->seen, bits, memory_order_relaxed);
}

/* Send out what is known of devices that are new since the last call. */
void rkt_cupti_devices_send(struct rkt_cupti_devices *devices, struct rkt_threads *threads,
                            struct rkt_intern *intern);

#endif
