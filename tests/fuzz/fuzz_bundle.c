/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a bundle of frames: what is taken must give the same bytes when it is made again. */
#include <stdlib.h>
#include <string.h>

#include "common/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rkt_bundle_entry entry;
    struct rkt_bundle bundle;
    uint32_t frame_count = 0;
    size_t len = RKT_BUNDLE_HEAD_BYTES;
    uint8_t *again;
    uint64_t count;

    (void)rkt_bundle_ack_decode(data, size, &count, NULL);
    if (rkt_bundle_decode(data, size, &bundle, NULL) != RKT_OK)
        return 0;
    again = calloc(1, size);
    if (!again)
        return 0;
    rkt_bundle_head_encode(&bundle.head, again);
    memcpy(again + 6, data + 6, 2); /* reserved, and not looked at */
    for (; rkt_bundle_next(&bundle, &entry); frame_count++) {
        rkt_bundle_entry_encode(entry.from, (uint32_t)entry.frame_bytes, again + len);
        len += RKT_BUNDLE_ENTRY_BYTES;
        memcpy(again + len, entry.frame, entry.frame_bytes);
        len += entry.frame_bytes;
    }
    if (frame_count != bundle.head.frame_count || len != size || memcmp(again, data, size) != 0)
        abort();
    free(again);
    return 0;
}
