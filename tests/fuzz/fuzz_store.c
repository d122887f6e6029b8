/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a store: open it, walk every source, copy every frame; the sums must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/store_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rkt_status count_events(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    uint64_t *total = ctx;

    (void)err;
    if (count == 0 || events[0].kind == 0 || events[count - 1].kind >= RKT_EVENT_KIND_COUNT)
        abort();
    *total += count;
    return RKT_OK;
}

static enum rkt_status count_bytes(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                   struct rkt_error *err)
{
    uint64_t *total = ctx;

    (void)err;
    *total += frame_bytes + (frame[frame_bytes - 1] & 0u); /* the last byte is there */
    return RKT_OK;
}

static void read_all(struct rkt_store_reader *reader)
{
    const struct rkt_store_health *health = rkt_store_reader_health(reader);
    uint64_t frame_bytes = 0;

    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        uint32_t source = rkt_store_reader_source(reader, i)->info.source;
        struct rkt_strtab *tab = rkt_strtab_create();
        uint64_t totals[2] = {0, 0};

        for (int round = 0; round < 2; round++) {
            if (rkt_store_reader_walk(reader, source, tab, count_events, &totals[round], NULL) !=
                RKT_OK)
                abort();
        }
        if (totals[0] != totals[1])
            abort();
        rkt_strtab_destroy(tab);
    }
    if (rkt_store_reader_each_frame(reader, count_bytes, &frame_bytes, NULL) != RKT_OK ||
        frame_bytes > health->file_bytes || health->skipped_bytes > health->file_bytes)
        abort();
}

static void check(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz_store", MFD_CLOEXEC);
    struct rkt_store_reader *reader;
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (rkt_store_reader_open(path, &reader, NULL) == RKT_OK) {
        read_all(reader);
        rkt_store_reader_close(reader);
    }
    close(fd);
}

/* Makes every crc right, frame by frame: by itself a fuzzer would not get past them. */
static void seal(uint8_t *data, size_t size)
{
    size_t at = 0;

    while (size - at >= RKT_FRAME_HEAD_BYTES) {
        uint8_t *head = data + at;
        size_t payload_bytes = rkt_get_u32(head + 20);

        if (payload_bytes > size - at - RKT_FRAME_HEAD_BYTES)
            payload_bytes = size - at - RKT_FRAME_HEAD_BYTES;
        rkt_put_u32(head + 24, rkt_frame_payload_crc(head + RKT_FRAME_HEAD_BYTES, payload_bytes));
        rkt_put_u32(head + 28, rkt_frame_payload_crc(head, 28));
        at += RKT_FRAME_HEAD_BYTES + payload_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *sealed = malloc(size ? size : 1);

    check(data, size);
    if (!sealed)
        abort();
    if (size)
        memcpy(sealed, data, size);
    seal(sealed, size);
    check(sealed, size);
    free(sealed);
    return 0;
}
