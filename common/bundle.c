/* SPDX-License-Identifier: Apache-2.0 */
#include "common/bundle.h"

#include <limits.h>

#include "common/bytes.h"

_Static_assert(RKT_BUNDLE_BYTES_MAX < INT_MAX, "MPI counts bytes by int");

void rkt_bundle_head_encode(const struct rkt_bundle_head *head, uint8_t buf[RKT_BUNDLE_HEAD_BYTES])
{
    rkt_put_u32(buf, RKT_BUNDLE_MAGIC);
    rkt_put_u16(buf + 4, RKT_BUNDLE_MAJOR);
    rkt_put_u16(buf + 6, 0);
    rkt_put_u64(buf + 8, head->first);
    rkt_put_u32(buf + 16, head->frame_count);
}

void rkt_bundle_entry_encode(uint32_t from, uint32_t frame_bytes,
                             uint8_t buf[RKT_BUNDLE_ENTRY_BYTES])
{
    rkt_put_u32(buf, from);
    rkt_put_u32(buf + 4, frame_bytes);
}

bool rkt_bundle_next(struct rkt_bundle *bundle, struct rkt_bundle_entry *entry_out)
{
    size_t left = (size_t)(bundle->end - bundle->next);
    struct rkt_bundle_entry entry;

    if (left < RKT_BUNDLE_ENTRY_BYTES)
        return false;
    entry.from = rkt_get_u32(bundle->next);
    entry.frame = bundle->next + RKT_BUNDLE_ENTRY_BYTES;
    entry.frame_bytes = rkt_get_u32(bundle->next + 4);
    if (left - RKT_BUNDLE_ENTRY_BYTES < entry.frame_bytes)
        return false;
    bundle->next = entry.frame + entry.frame_bytes;
    *entry_out = entry;
    return true;
}

enum rkt_status rkt_bundle_decode(const uint8_t *buf, size_t len_bytes,
                                  struct rkt_bundle *bundle_out, struct rkt_error *err)
{
    struct rkt_bundle bundle, rest;
    struct rkt_bundle_entry entry;
    uint32_t count = 0;

    if (len_bytes < RKT_BUNDLE_HEAD_BYTES || rkt_get_u32(buf) != RKT_BUNDLE_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "%zu bytes are no bundle", len_bytes);
    if (rkt_get_u16(buf + 4) != RKT_BUNDLE_MAJOR)
        return rkt_fail(err, RKT_ERR_VERSION, "bundles of version %u there, %u here",
                        rkt_get_u16(buf + 4), RKT_BUNDLE_MAJOR);
    bundle = (struct rkt_bundle){
        .head = {.first = rkt_get_u64(buf + 8), .frame_count = rkt_get_u32(buf + 16)},
        .next = buf + RKT_BUNDLE_HEAD_BYTES,
        .end = buf + len_bytes};
    for (rest = bundle; rkt_bundle_next(&rest, &entry);)
        count++;
    if (rest.next != rest.end || count != bundle.head.frame_count)
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "a bundle of %zu bytes has %u frames and %zu bytes; it says %u frames",
                        len_bytes, count, (size_t)(rest.end - rest.next), bundle.head.frame_count);
    *bundle_out = bundle;
    return RKT_OK;
}

void rkt_bundle_ack_encode(uint64_t frame_count, uint8_t buf[RKT_BUNDLE_ACK_BYTES])
{
    rkt_put_u64(buf, frame_count);
}

enum rkt_status rkt_bundle_ack_decode(const uint8_t *buf, size_t len_bytes,
                                      uint64_t *frame_count_out, struct rkt_error *err)
{
    if (len_bytes != RKT_BUNDLE_ACK_BYTES)
        return rkt_fail(err, RKT_ERR_FORMAT, "an acknowledgement of %zu bytes", len_bytes);
    *frame_count_out = rkt_get_u64(buf);
    return RKT_OK;
}
