/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame.h"

#include <assert.h>
#include <zlib.h>

#include "common/bytes.h"

/* Offsets in the head; AT_MAGIC, AT_MAJOR and AT_HEAD_CRC hold for every major version. */
enum {
    AT_MAGIC = 0,
    AT_MAJOR = 4,
    AT_KIND = 5,
    AT_FLAGS = 6,
    AT_SOURCE = 8,
    AT_SEQ = 12,
    AT_RAW_BYTES = 16,
    AT_PACKED_BYTES = 20,
    AT_PAYLOAD_CRC = 24,
    AT_HEAD_CRC = 28,
};

static_assert(AT_HEAD_CRC + 4 == RKT_FRAME_HEAD_BYTES, "the head's crc closes the head");
static_assert(RKT_FRAME_PACKED_BYTES_MAX <= RKT_FRAME_RAW_BYTES_MAX, "packing never grows");

static uint32_t crc_of(const uint8_t *bytes, size_t len_bytes)
{
    return (uint32_t)crc32(crc32(0, Z_NULL, 0), bytes, (uInt)len_bytes);
}

void rkt_frame_head_encode(const struct rkt_frame_head *head, uint8_t out[RKT_FRAME_HEAD_BYTES])
{
    rkt_put_u32(out + AT_MAGIC, RKT_FRAME_MAGIC);
    out[AT_MAJOR] = RKT_FRAME_MAJOR;
    out[AT_KIND] = head->kind;
    rkt_put_u16(out + AT_FLAGS, head->flags);
    rkt_put_u32(out + AT_SOURCE, head->source);
    rkt_put_u32(out + AT_SEQ, head->seq);
    rkt_put_u32(out + AT_RAW_BYTES, head->raw_bytes);
    rkt_put_u32(out + AT_PACKED_BYTES, head->packed_bytes);
    rkt_put_u32(out + AT_PAYLOAD_CRC, head->payload_crc);
    rkt_put_u32(out + AT_HEAD_CRC, crc_of(out, AT_HEAD_CRC));
}

static enum rkt_status check_sizes(const struct rkt_frame_head *head, struct rkt_error *err)
{
    if (head->raw_bytes > RKT_FRAME_RAW_BYTES_MAX ||
        head->packed_bytes > RKT_FRAME_PACKED_BYTES_MAX)
        return rkt_fail(
            err, RKT_ERR_FORMAT,
            "frame %u of source %u: %u bytes packed and %u raw; the limits are %u and %u",
            head->seq, head->source, head->packed_bytes, head->raw_bytes,
            RKT_FRAME_PACKED_BYTES_MAX, RKT_FRAME_RAW_BYTES_MAX);
    if (!(head->flags & RKT_FRAME_ZSTD) && head->raw_bytes != head->packed_bytes)
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "frame %u of source %u is plain, but %u bytes packed and %u raw", head->seq,
                        head->source, head->packed_bytes, head->raw_bytes);
    return RKT_OK;
}

enum rkt_status rkt_frame_head_decode(const uint8_t *buf, size_t len_bytes,
                                      struct rkt_frame_head *head_out, struct rkt_error *err)
{
    struct rkt_frame_head head;
    enum rkt_status status;

    if (len_bytes < RKT_FRAME_HEAD_BYTES)
        return RKT_AGAIN;
    if (rkt_get_u32(buf + AT_MAGIC) != RKT_FRAME_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "no frame here: magic 0x%08x, not 0x%08x",
                        rkt_get_u32(buf + AT_MAGIC), RKT_FRAME_MAGIC);
    if (rkt_get_u32(buf + AT_HEAD_CRC) != crc_of(buf, AT_HEAD_CRC))
        return rkt_fail(err, RKT_ERR_CHECKSUM, "frame head is damaged: crc 0x%08x, not 0x%08x",
                        crc_of(buf, AT_HEAD_CRC), rkt_get_u32(buf + AT_HEAD_CRC));
    if (buf[AT_MAJOR] != RKT_FRAME_MAJOR)
        return rkt_fail(err, RKT_ERR_VERSION,
                        "frame of format version %u; this ranktrace reads version %u",
                        buf[AT_MAJOR], RKT_FRAME_MAJOR);
    head.kind = buf[AT_KIND];
    head.flags = rkt_get_u16(buf + AT_FLAGS);
    head.source = rkt_get_u32(buf + AT_SOURCE);
    head.seq = rkt_get_u32(buf + AT_SEQ);
    head.raw_bytes = rkt_get_u32(buf + AT_RAW_BYTES);
    head.packed_bytes = rkt_get_u32(buf + AT_PACKED_BYTES);
    head.payload_crc = rkt_get_u32(buf + AT_PAYLOAD_CRC);
    status = check_sizes(&head, err);
    if (status != RKT_OK)
        return status;
    *head_out = head;
    return RKT_OK;
}

uint32_t rkt_frame_payload_crc(const uint8_t *payload, size_t len_bytes)
{
    return crc_of(payload, len_bytes);
}

enum rkt_status rkt_frame_payload_check(const struct rkt_frame_head *head, const uint8_t *payload,
                                        struct rkt_error *err)
{
    uint32_t crc = crc_of(payload, head->packed_bytes);

    if (crc != head->payload_crc)
        return rkt_fail(err, RKT_ERR_CHECKSUM,
                        "frame %u of source %u is damaged: payload crc 0x%08x, not 0x%08x",
                        head->seq, head->source, crc, head->payload_crc);
    return RKT_OK;
}
