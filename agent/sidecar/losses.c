/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/losses.h"

#include "common/clock.h"

_Static_assert(RKT_LOSS_CAPTURE_OFF + 1 == RKT_LOSS_REASON_COUNT, "every reason has its row");

void rkt_losses_add(struct rkt_losses *losses, enum rkt_loss_reason reason, uint8_t kind,
                    uint64_t count)
{
    losses->counts[reason][kind] += count;
}

uint64_t rkt_losses_total(const struct rkt_losses *losses)
{
    uint64_t total = 0;

    for (size_t reason = 0; reason < RKT_LOSS_REASON_COUNT; reason++) {
        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
            total += rkt_loss_is_of_records((unsigned)reason) ? losses->counts[reason][kind] : 0;
    }
    return total;
}

/* The region's counts are totals; a broken region may take one back, which is no news. */
static void set_total(struct rkt_losses *losses, enum rkt_loss_reason reason, size_t kind,
                      uint64_t total)
{
    if (total > losses->counts[reason][kind])
        losses->counts[reason][kind] = total;
}

static void read_region(struct rkt_losses *losses, const struct rkt_region *region)
{
    struct rkt_region_losses totals;

    rkt_region_losses(region, &totals);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        set_total(losses, RKT_LOSS_RING_FULL, kind, totals.ring_full[kind]);
    set_total(losses, RKT_LOSS_NO_RING, RKT_EVENT_NONE, totals.no_ring_count);
    set_total(losses, RKT_LOSS_NAMES_FULL, RKT_EVENT_NONE, totals.names_full_count);
}

static enum rkt_status write_one(struct rkt_source_writer *writer, size_t reason, size_t kind,
                                 uint64_t count, struct rkt_error *err)
{
    uint64_t now = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_LOSS,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)reason,
        .start_ns = now,
        .end_ns = now,
        .loss = {.count = count, .lost_kind = (uint32_t)kind},
    };

    return rkt_source_writer_add(writer, &event, err);
}

enum rkt_status rkt_losses_write(struct rkt_losses *losses, const struct rkt_region *region,
                                 struct rkt_source_writer *writer, struct rkt_error *err)
{
    if (region)
        read_region(losses, region);
    for (size_t reason = 0; reason < RKT_LOSS_REASON_COUNT; reason++) {
        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
            uint64_t count = losses->counts[reason][kind];
            enum rkt_status status;

            if (count == losses->written[reason][kind])
                continue;
            status = write_one(writer, reason, kind, count - losses->written[reason][kind], err);
            if (status != RKT_OK)
                return status;
            losses->written[reason][kind] = count;
        }
    }
    return RKT_OK;
}
