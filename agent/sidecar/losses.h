/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_LOSSES_H
#define RKT_AGENT_SIDECAR_LOSSES_H

/*
 * losses - what one process's stream lost, by reason and kind, and what of it the store knows.
 *
 * Written as LOSS events whenever a count grew, each with the growth: so that a run which is cut
 * off has told its losses too, and a reader adds them up. Threads: one.
 */

#include <stdint.h>

#include "agent/region.h"
#include "common/event.h"
#include "common/source_writer.h"
#include "common/status.h"

#define RKT_LOSS_REASON_COUNT 8u

struct rkt_losses {
    uint64_t counts[RKT_LOSS_REASON_COUNT][RKT_EVENT_KIND_COUNT];
    uint64_t written[RKT_LOSS_REASON_COUNT][RKT_EVENT_KIND_COUNT];
};

void rkt_losses_add(struct rkt_losses *losses, enum rkt_loss_reason reason, uint8_t kind,
                    uint64_t count);
uint64_t rkt_losses_total(const struct rkt_losses *losses);

/* Reads the region's own counts (NULL: none), then adds one event per count that grew. */
enum rkt_status rkt_losses_write(struct rkt_losses *losses, const struct rkt_region *region,
                                 struct rkt_source_writer *writer, struct rkt_error *err);

#endif
