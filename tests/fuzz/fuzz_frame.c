/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame: head, crc, zstd; what was read must survive being written again. */
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_payload(const struct rkt_frame_head *head, const uint8_t *payload)
{
    struct rkt_packer *packer = rkt_packer_create(1);
    struct rkt_packer *other = rkt_packer_create(1);
    struct rkt_frame_head again = *head;
    struct rkt_bytes raw;
    struct rkt_bytes frame;
    struct rkt_bytes back;

    if (rkt_unpack_payload(packer, head, payload, &raw, NULL) == RKT_OK) {
        if (raw.len_bytes != head->raw_bytes ||
            rkt_pack_frame(other, &again, raw, &frame, NULL) != RKT_OK ||
            rkt_frame_head_decode(frame.at, frame.len_bytes, &again, NULL) != RKT_OK ||
            rkt_frame_payload_check(&again, frame.at + RKT_FRAME_HEAD_BYTES, NULL) != RKT_OK)
            abort();
        rkt_packer_destroy(packer);
        packer = rkt_packer_create(1);
        if (rkt_unpack_payload(packer, &again, frame.at + RKT_FRAME_HEAD_BYTES, &back, NULL) !=
                RKT_OK ||
            back.len_bytes != head->raw_bytes)
            abort();
    }
    rkt_packer_destroy(packer);
    rkt_packer_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    if (rkt_frame_head_decode(data, size, &head, NULL) != RKT_OK)
        return 0;
    rkt_frame_head_encode(&head, out);
    if (memcmp(out, data, sizeof(out)) != 0)
        abort();
    /* the crc is not asked for: a fuzzer would not get past it */
    if (head.packed_bytes <= size - RKT_FRAME_HEAD_BYTES)
        check_payload(&head, data + RKT_FRAME_HEAD_BYTES);
    return 0;
}
