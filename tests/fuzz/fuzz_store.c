/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a store: open it, walk every source, copy every frame; the sums must agree.
 *
 * Where the bytes hold MARK, what is behind it is another file, named "1", that the store may name
 * as a shard; behind the next MARK comes "2".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/store_reader.h"

#define MARK "\nNEXT FILE\n"
#define FILES 3u

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

static bool want_some(void *ctx, const struct rkt_batch_span *span)
{
    (void)ctx;
    return ((span->seq ^ span->first_ns ^ span->last_ns) & 1) != 0;
}

/* By spans that may be anything. */
static void read_part(struct rkt_store_reader *reader, uint32_t source)
{
    uint64_t total = 0;
    const struct rkt_store_part part = {want_some, count_events, &total};

    if (rkt_store_reader_walk_part(reader, source, NULL, &part, NULL) != RKT_OK)
        abort();
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
        read_part(reader, source);
    }
    if (rkt_store_reader_each_frame(reader, count_bytes, &frame_bytes, NULL) != RKT_OK ||
        frame_bytes > health->file_bytes || health->skipped_bytes > health->file_bytes)
        abort();
}

static void check_path(const char *path)
{
    struct rkt_store_reader *reader;

    if (rkt_store_reader_open(path, &reader, NULL) != RKT_OK)
        return;
    read_all(reader);
    rkt_store_reader_close(reader);
}

static void check_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz_store", MFD_CLOEXEC);
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_path(path);
    close(fd);
}

/* Bytes of the next file, which MARK or the end closes; *data and *size go on behind it. */
static size_t take_part(const uint8_t **data, size_t *size)
{
    const uint8_t *mark = memmem(*data, *size, MARK, sizeof(MARK) - 1);
    size_t part_bytes = mark ? (size_t)(mark - *data) : *size;
    size_t taken = mark ? part_bytes + sizeof(MARK) - 1 : *size;

    *data += taken;
    *size -= taken;
    return part_bytes;
}

static void write_part(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

/* On a file system in memory: the files are written for every input. */
static void check_files(const uint8_t *data, size_t size)
{
    char folder[] = "/dev/shm/rkt-fuzz-XXXXXX";
    char paths[FILES][sizeof(folder) + 2];

    if (!mkdtemp(folder))
        abort();
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *part = data;
        size_t part_bytes = take_part(&data, &size);

        snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
        write_part(paths[i], part, part_bytes);
    }
    check_path(paths[0]);
    for (size_t i = 0; i < FILES; i++)
        unlink(paths[i]);
    rmdir(folder);
}

static void check(const uint8_t *data, size_t size)
{
    if (memmem(data, size, MARK, sizeof(MARK) - 1))
        check_files(data, size);
    else
        check_file(data, size);
}

/* Makes every crc right, frame by frame: by itself a fuzzer would not get past them. */
static void seal_file(uint8_t *data, size_t size)
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

static void seal(uint8_t *data, size_t size)
{
    const uint8_t *next = data;

    while (size > 0) {
        uint8_t *part = data + (next - data);

        seal_file(part, take_part(&next, &size));
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
