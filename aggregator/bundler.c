/* SPDX-License-Identifier: Apache-2.0 */
/* Active on the leaders of groups only. */
#include "aggregator/bundler.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bundle.h"

struct rkt_bundler {
    struct rkt_transport *transport;

    uint8_t *bytes; /* the bundle that is filled */
    size_t len_bytes;
    uint32_t frame_count;

    /* counts of frames since the start */
    uint64_t sent_count;
    uint64_t written_count;
    uint64_t sent_ends[RKT_BUNDLE_CREDITS]; /* sent_count after each bundle that is on its way */
    size_t sent_end_count;

    /* who those are of that are not written: a queue in an array, with room for one more */
    int *waiting;
    size_t first;
    size_t waiting_end;
    size_t waiting_cap;
};

enum rkt_status rkt_bundler_create(struct rkt_transport *transport,
                                   struct rkt_bundler **bundler_out, struct rkt_error *err)
{
    struct rkt_bundler *bundler = calloc(1, sizeof(*bundler));

    if (bundler)
        bundler->bytes = malloc(RKT_BUNDLE_BYTES_MAX);
    if (!bundler || !bundler->bytes) {
        rkt_bundler_destroy(bundler);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a bundle of frames");
    }
    bundler->transport = transport;
    bundler->len_bytes = RKT_BUNDLE_HEAD_BYTES;
    *bundler_out = bundler;
    return RKT_OK;
}

void rkt_bundler_destroy(struct rkt_bundler *bundler)
{
    if (!bundler)
        return;
    free(bundler->bytes);
    free(bundler->waiting);
    free(bundler);
}

/* The part of the array that is done with goes when it is most of it. */
static bool has_place(struct rkt_bundler *bundler)
{
    if (bundler->first > bundler->waiting_end / 2) {
        memmove(bundler->waiting, bundler->waiting + bundler->first,
                (bundler->waiting_end - bundler->first) * sizeof(*bundler->waiting));
        bundler->waiting_end -= bundler->first;
        bundler->first = 0;
    }
    return rkt_array_reserve((void **)&bundler->waiting, &bundler->waiting_cap,
                             bundler->waiting_end + 1, sizeof(*bundler->waiting));
}

uint8_t *rkt_bundler_room(struct rkt_bundler *bundler)
{
    if (bundler->len_bytes >= RKT_BUNDLE_FULL_BYTES || !has_place(bundler))
        return NULL;
    return bundler->bytes + bundler->len_bytes + RKT_BUNDLE_ENTRY_BYTES;
}

void rkt_bundler_add(struct rkt_bundler *bundler, int from, size_t frame_bytes)
{
    bundler->waiting[bundler->waiting_end++] = from;
    rkt_bundle_entry_encode((uint32_t)from, (uint32_t)frame_bytes,
                            bundler->bytes + bundler->len_bytes);
    bundler->len_bytes += RKT_BUNDLE_ENTRY_BYTES + frame_bytes;
    bundler->frame_count++;
}

bool rkt_bundler_put(struct rkt_bundler *bundler, int from, const uint8_t *frame,
                     size_t frame_bytes)
{
    if (!has_place(bundler) || frame_bytes > RKT_BUNDLE_BYTES_MAX - RKT_BUNDLE_ENTRY_BYTES ||
        bundler->len_bytes > RKT_BUNDLE_BYTES_MAX - RKT_BUNDLE_ENTRY_BYTES - frame_bytes)
        return false;
    memcpy(bundler->bytes + bundler->len_bytes + RKT_BUNDLE_ENTRY_BYTES, frame, frame_bytes);
    rkt_bundler_add(bundler, from, frame_bytes);
    return true;
}

/* False: nothing waits. What is not of rank 0, or cannot be, changes nothing. */
static bool take_ack(struct rkt_bundler *bundler, rkt_written_fn written, void *ctx)
{
    uint8_t buf[RKT_BUNDLE_ACK_BYTES];
    struct rkt_arrival arrival = {0};
    uint64_t count = 0;
    enum rkt_status status = rkt_transport_receive(bundler->transport, RKT_TAG_BUNDLE_ACK, buf,
                                                   sizeof(buf), &arrival, NULL);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    if (status != RKT_OK || arrival.from != 0 ||
        rkt_bundle_ack_decode(buf, arrival.len_bytes, &count, NULL) != RKT_OK ||
        count > bundler->sent_count)
        return true;
    for (; bundler->written_count < count; bundler->written_count++)
        written(ctx, bundler->waiting[bundler->first++]);
    while (bundler->sent_end_count > 0 && bundler->sent_ends[0] <= bundler->written_count) {
        bundler->sent_end_count--;
        memmove(bundler->sent_ends, bundler->sent_ends + 1,
                bundler->sent_end_count * sizeof(bundler->sent_ends[0]));
    }
    return true;
}

static bool send_bundle(struct rkt_bundler *bundler)
{
    const struct rkt_bundle_head head = {.first = bundler->sent_count,
                                         .frame_count = bundler->frame_count};

    if (bundler->frame_count == 0 || bundler->sent_end_count == RKT_BUNDLE_CREDITS)
        return false;
    rkt_bundle_head_encode(&head, bundler->bytes);
    if (rkt_transport_send(bundler->transport, 0, RKT_TAG_BUNDLE, bundler->bytes,
                           bundler->len_bytes, NULL) != RKT_OK)
        return false;
    bundler->sent_count += bundler->frame_count;
    bundler->sent_ends[bundler->sent_end_count++] = bundler->sent_count;
    bundler->len_bytes = RKT_BUNDLE_HEAD_BYTES;
    bundler->frame_count = 0;
    return true;
}

bool rkt_bundler_step(struct rkt_bundler *bundler, rkt_written_fn written, void *ctx)
{
    bool was_busy = false;

    while (take_ack(bundler, written, ctx))
        was_busy = true;
    return send_bundle(bundler) || was_busy;
}
