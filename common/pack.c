/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pack.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct rkt_packer {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    uint8_t *frame; /* head and packed payload */
    size_t frame_cap;
    uint8_t *raw;
    size_t raw_cap;
};

static_assert(RKT_FRAME_RAW_BYTES_MAX < SIZE_MAX / 2, "a payload fits in memory sizes");

/* Room for `need` bytes; the content is not kept. */
static bool make_room(uint8_t **bytes, size_t *cap, size_t need)
{
    uint8_t *grown;

    if (need <= *cap && *bytes)
        return true;
    grown = malloc(need ? need : 1);
    if (!grown)
        return false;
    free(*bytes);
    *bytes = grown;
    *cap = need;
    return true;
}

struct rkt_packer *rkt_packer_create(int zstd_level)
{
    struct rkt_packer *packer = calloc(1, sizeof(*packer));

    if (!packer)
        return NULL;
    packer->compressor = ZSTD_createCCtx();
    packer->decompressor = ZSTD_createDCtx();
    if (!packer->compressor || !packer->decompressor ||
        ZSTD_isError(
            ZSTD_CCtx_setParameter(packer->compressor, ZSTD_c_compressionLevel, zstd_level))) {
        rkt_packer_destroy(packer);
        return NULL;
    }
    return packer;
}

void rkt_packer_destroy(struct rkt_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->compressor);
    ZSTD_freeDCtx(packer->decompressor);
    free(packer->frame);
    free(packer->raw);
    free(packer);
}

/* Fills the payload of packer->frame; head gets its size and whether it is zstd. */
static enum rkt_status pack_payload(struct rkt_packer *packer, struct rkt_bytes raw,
                                    struct rkt_frame_head *head, struct rkt_error *err)
{
    uint8_t *payload = packer->frame + RKT_FRAME_HEAD_BYTES;
    size_t packed = ZSTD_compress2(packer->compressor, payload,
                                   packer->frame_cap - RKT_FRAME_HEAD_BYTES, raw.at, raw.len_bytes);

    if (ZSTD_isError(packed))
        return rkt_fail(err, RKT_ERR_INTERNAL, "cannot pack %zu bytes: %s", raw.len_bytes,
                        ZSTD_getErrorName(packed));
    head->flags = RKT_FRAME_ZSTD;
    if (packed >= raw.len_bytes) {
        if (raw.len_bytes)
            memcpy(payload, raw.at, raw.len_bytes);
        packed = raw.len_bytes;
        head->flags = 0;
    }
    if (packed > RKT_FRAME_PACKED_BYTES_MAX)
        return rkt_fail(err, RKT_ERR_RANGE, "a frame of %zu packed bytes; the limit is %u", packed,
                        RKT_FRAME_PACKED_BYTES_MAX);
    head->packed_bytes = (uint32_t)packed;
    return RKT_OK;
}

enum rkt_status rkt_pack_frame(struct rkt_packer *packer, struct rkt_frame_head *head,
                               struct rkt_bytes raw, struct rkt_bytes *frame_out,
                               struct rkt_error *err)
{
    enum rkt_status status;

    if (raw.len_bytes > RKT_FRAME_RAW_BYTES_MAX)
        return rkt_fail(err, RKT_ERR_RANGE, "a frame of %zu raw bytes; the limit is %u",
                        raw.len_bytes, RKT_FRAME_RAW_BYTES_MAX);
    if (!make_room(&packer->frame, &packer->frame_cap,
                   RKT_FRAME_HEAD_BYTES + ZSTD_compressBound(raw.len_bytes)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame of %zu bytes", raw.len_bytes);
    status = pack_payload(packer, raw, head, err);
    if (status != RKT_OK)
        return status;
    head->raw_bytes = (uint32_t)raw.len_bytes;
    head->payload_crc =
        rkt_frame_payload_crc(packer->frame + RKT_FRAME_HEAD_BYTES, head->packed_bytes);
    rkt_frame_head_encode(head, packer->frame);
    *frame_out = (struct rkt_bytes){packer->frame, RKT_FRAME_HEAD_BYTES + head->packed_bytes};
    return RKT_OK;
}

/*
 * The size that the zstd frame claims is compared before memory is taken for it, so that a
 * few hostile bytes cost no 64 MiB. A writer may leave it out.
 */
static bool claims_other_size(const struct rkt_frame_head *head, const uint8_t *payload)
{
    unsigned long long claimed = ZSTD_getFrameContentSize(payload, head->packed_bytes);

    return claimed == ZSTD_CONTENTSIZE_ERROR ||
           (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != head->raw_bytes);
}

static enum rkt_status unpack_zstd(struct rkt_packer *packer, const struct rkt_frame_head *head,
                                   const uint8_t *payload, struct rkt_error *err)
{
    size_t got;

    if (claims_other_size(head, payload))
        return rkt_fail(err, RKT_ERR_FORMAT, "frame %u of source %u is no zstd frame of %u bytes",
                        head->seq, head->source, head->raw_bytes);
    if (!make_room(&packer->raw, &packer->raw_cap, head->raw_bytes))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a payload of %u bytes", head->raw_bytes);
    got = ZSTD_decompressDCtx(packer->decompressor, packer->raw, head->raw_bytes, payload,
                              head->packed_bytes);
    if (ZSTD_isError(got) || got != head->raw_bytes)
        return rkt_fail(err, RKT_ERR_FORMAT, "frame %u of source %u cannot be unpacked: %s",
                        head->seq, head->source,
                        ZSTD_isError(got) ? ZSTD_getErrorName(got) : "shorter than its head says");
    return RKT_OK;
}

enum rkt_status rkt_unpack_payload(struct rkt_packer *packer, const struct rkt_frame_head *head,
                                   const uint8_t *payload, struct rkt_bytes *raw_out,
                                   struct rkt_error *err)
{
    enum rkt_status status;

    if (head->flags & (unsigned)~RKT_FRAME_ZSTD)
        return rkt_fail(err, RKT_ERR_FORMAT, "frame %u of source %u has unknown flags 0x%04x",
                        head->seq, head->source, head->flags);
    if (!(head->flags & RKT_FRAME_ZSTD)) {
        *raw_out = (struct rkt_bytes){payload, head->raw_bytes};
        return RKT_OK;
    }
    status = unpack_zstd(packer, head, payload, err);
    if (status == RKT_OK)
        *raw_out = (struct rkt_bytes){packer->raw, head->raw_bytes};
    return status;
}
