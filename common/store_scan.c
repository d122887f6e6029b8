/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_file.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bytes.h"

/* How much is read at once in the search for the next head. */
#define CHUNK_BYTES ((size_t)256 << 10)

struct scanner {
    const struct rkt_store_file *file;
    struct rkt_store_entries *entries;
    size_t first; /* of the entries: this file's begin here */
    struct rkt_store_scan *scan;
    uint64_t chunk_offset;
    size_t chunk_bytes;
    uint8_t *payload; /* the one checked last */
    size_t payload_cap;
    uint64_t check_budget; /* payload bytes that may still be checked: a hostile file whose
                              frames lie inside each other must not cost its size squared */
    size_t chunk_cap;
    uint8_t chunk[]; /* what the search read last */
};

/* `len_bytes` bytes at `offset` where the search has read them; else NULL. */
static const uint8_t *in_chunk(const struct scanner *scanner, uint64_t offset, size_t len_bytes)
{
    uint64_t at = offset - scanner->chunk_offset;

    if (offset < scanner->chunk_offset || at > scanner->chunk_bytes ||
        scanner->chunk_bytes - (size_t)at < len_bytes)
        return NULL;
    return scanner->chunk + at;
}

/* Is there a whole frame at `offset`, as far as its head tells? */
static bool head_at(const struct scanner *scanner, uint64_t offset, struct rkt_frame_head *head)
{
    uint64_t left = scanner->file->file_bytes - offset;
    const uint8_t *bytes = in_chunk(scanner, offset, RKT_FRAME_HEAD_BYTES);
    uint8_t buf[RKT_FRAME_HEAD_BYTES];

    if (left < sizeof(buf))
        return false;
    if (!bytes) {
        if (rkt_store_file_read(scanner->file, offset, buf, sizeof(buf), NULL) != RKT_OK)
            return false;
        bytes = buf;
    }
    return rkt_frame_head_decode(bytes, sizeof(buf), head, NULL) == RKT_OK &&
           head->packed_bytes <= left - sizeof(buf);
}

/* The part of the file from `offset` on to the chunk; a part that cannot be read is zeros. */
static void fill_chunk(struct scanner *scanner, uint64_t offset)
{
    uint64_t left = scanner->file->file_bytes - offset;

    scanner->chunk_offset = offset;
    scanner->chunk_bytes = left < scanner->chunk_cap ? (size_t)left : scanner->chunk_cap;
    if (rkt_store_file_read(scanner->file, offset, scanner->chunk, scanner->chunk_bytes, NULL) !=
        RKT_OK)
        memset(scanner->chunk, 0, scanner->chunk_bytes);
}

/* The next offset from `offset` on that has a frame's magic; the file's end when none has. */
static uint64_t find_magic(struct scanner *scanner, uint64_t offset)
{
    uint8_t magic[4];

    rkt_put_u32(magic, RKT_FRAME_MAGIC);
    while (offset + sizeof(magic) <= scanner->file->file_bytes) {
        const uint8_t *from = in_chunk(scanner, offset, sizeof(magic));
        const uint8_t *hit;
        uint64_t chunk_end;

        if (!from) {
            fill_chunk(scanner, offset);
            from = scanner->chunk;
        }
        chunk_end = scanner->chunk_offset + scanner->chunk_bytes;
        hit = memmem(from, (size_t)(chunk_end - offset), magic, sizeof(magic));
        if (hit)
            return offset + (uint64_t)(hit - from);
        offset = chunk_end - (sizeof(magic) - 1); /* a magic may lie across two chunks */
    }
    return scanner->file->file_bytes;
}

static enum rkt_status add_entry(struct scanner *scanner, uint64_t offset,
                                 const struct rkt_frame_head *head, struct rkt_error *err)
{
    struct rkt_store_entries *entries = scanner->entries;
    uint32_t frame_bytes = RKT_FRAME_HEAD_BYTES + head->packed_bytes;

    scanner->scan->good_bytes += frame_bytes;
    if (head->kind == RKT_FRAME_INDEX || head->kind == RKT_FRAME_TRAILER) {
        scanner->scan->has_own_frames = true;
        return RKT_OK;
    }
    if (!rkt_array_reserve((void **)&entries->items, &entries->cap, entries->count + 1,
                           sizeof(*entries->items)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of %zu frames", entries->count);
    entries->items[entries->count++] = (struct rkt_store_entry){
        .offset = offset,
        .source = head->source,
        .seq = head->seq,
        .frame_bytes = frame_bytes,
        .file = scanner->file->number,
        .kind = head->kind,
    };
    return RKT_OK;
}

/* False only where that is known. */
static bool payload_may_be_good(struct scanner *scanner, const struct rkt_store_entry *entry)
{
    struct rkt_frame_head head;

    if (entry->frame_bytes > scanner->check_budget ||
        !rkt_array_reserve((void **)&scanner->payload, &scanner->payload_cap, entry->frame_bytes,
                           1))
        return true;
    scanner->check_budget -= entry->frame_bytes;
    return head_at(scanner, entry->offset, &head) &&
           rkt_store_file_read(scanner->file, entry->offset + RKT_FRAME_HEAD_BYTES,
                               scanner->payload, head.packed_bytes, NULL) == RKT_OK &&
           rkt_frame_payload_check(&head, scanner->payload, NULL) == RKT_OK;
}

/*
 * No frame follows the one that ends at `offset`. When bytes are missing inside that one, it
 * reaches over frames that are whole: the search then goes back to its head.
 */
static uint64_t search_start(struct scanner *scanner, uint64_t offset)
{
    struct rkt_store_entries *entries = scanner->entries;
    const struct rkt_store_entry *last =
        entries->count > scanner->first ? &entries->items[entries->count - 1] : NULL;

    if (!last || last->offset + last->frame_bytes != offset || payload_may_be_good(scanner, last))
        return offset + 1;
    entries->count--;
    scanner->scan->good_bytes -= last->frame_bytes;
    scanner->scan->damaged_frames++;
    return last->offset + RKT_FRAME_HEAD_BYTES;
}

static enum rkt_status scan_all(struct scanner *scanner, struct rkt_error *err)
{
    uint64_t offset = 0;
    bool is_after_frame = true; /* else `offset` is only where a magic stands */

    while (offset < scanner->file->file_bytes) {
        struct rkt_frame_head head;

        if (head_at(scanner, offset, &head)) {
            enum rkt_status status = add_entry(scanner, offset, &head, err);

            if (status != RKT_OK)
                return status;
            offset += RKT_FRAME_HEAD_BYTES + (uint64_t)head.packed_bytes;
            is_after_frame = true;
        } else {
            uint64_t start = is_after_frame ? search_start(scanner, offset) : offset + 1;

            offset = find_magic(scanner, start);
            is_after_frame = false;
        }
    }
    return RKT_OK;
}

enum rkt_status rkt_store_file_scan(const struct rkt_store_file *file,
                                    struct rkt_store_entries *entries,
                                    struct rkt_store_scan *scan_out, struct rkt_error *err)
{
    size_t chunk_cap = file->file_bytes < CHUNK_BYTES ? (size_t)file->file_bytes : CHUNK_BYTES;
    struct scanner *scanner = malloc(sizeof(*scanner) + chunk_cap);
    struct rkt_store_scan scan = {0};
    enum rkt_status status;

    if (!scanner)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to scan %s", file->path);
    *scanner = (struct scanner){.file = file,
                                .entries = entries,
                                .first = entries->count,
                                .scan = &scan,
                                .check_budget = file->file_bytes + RKT_FRAME_PACKED_BYTES_MAX,
                                .chunk_cap = chunk_cap};
    status = scan_all(scanner, err);
    free(scanner->payload);
    free(scanner);
    if (status == RKT_OK)
        *scan_out = scan;
    return status;
}
