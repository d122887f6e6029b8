/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_fetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum rkt_status rkt_store_fetch_init(struct rkt_store_fetch *fetch, const char *path,
                                     struct rkt_error *err)
{
    *fetch = (struct rkt_store_fetch){.file = {.fd = -1}};
    fetch->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (!fetch->packer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    return rkt_store_file_open(path, &fetch->file, err);
}

void rkt_store_fetch_release(struct rkt_store_fetch *fetch)
{
    rkt_store_file_close(&fetch->file);
    rkt_packer_destroy(fetch->packer);
    free(fetch->frame);
    *fetch = (struct rkt_store_fetch){.file = {.fd = -1}};
}

enum rkt_status rkt_store_fetch_frame(struct rkt_store_fetch *fetch,
                                      const struct rkt_store_entry *entry,
                                      struct rkt_frame_head *head_out, struct rkt_error *err)
{
    enum rkt_status status;

    if (!rkt_array_reserve((void **)&fetch->frame, &fetch->frame_cap, entry->frame_bytes, 1))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame of %u bytes",
                        entry->frame_bytes);
    status =
        rkt_store_file_read(&fetch->file, entry->offset, fetch->frame, entry->frame_bytes, err);
    if (status == RKT_OK)
        status = rkt_frame_head_decode(fetch->frame, entry->frame_bytes, head_out, err);
    if (status != RKT_OK)
        return status;
    if (entry->frame_bytes != RKT_FRAME_HEAD_BYTES + head_out->packed_bytes ||
        head_out->kind != entry->kind || head_out->source != entry->source ||
        head_out->seq != entry->seq)
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "%s: the frame at byte %" PRIu64 " is not the one that the index lists",
                        fetch->file.path, entry->offset);
    return rkt_frame_payload_check(head_out, fetch->frame + RKT_FRAME_HEAD_BYTES, err);
}

enum rkt_status rkt_store_fetch_raw(struct rkt_store_fetch *fetch,
                                    const struct rkt_store_entry *entry, struct rkt_bytes *raw_out,
                                    struct rkt_error *err)
{
    struct rkt_frame_head head;
    enum rkt_status status = rkt_store_fetch_frame(fetch, entry, &head, err);

    if (status != RKT_OK)
        return status;
    return rkt_unpack_payload(fetch->packer, &head, fetch->frame + RKT_FRAME_HEAD_BYTES, raw_out,
                              err);
}

/* ---- the index ---- */

/* The entry of an INDEX frame, by its own head. */
static bool make_entry(const struct rkt_store_fetch *fetch, uint64_t offset,
                       struct rkt_store_entry *entry)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    if (rkt_store_file_read(&fetch->file, offset, bytes, sizeof(bytes), NULL) != RKT_OK ||
        rkt_frame_head_decode(bytes, sizeof(bytes), &head, NULL) != RKT_OK ||
        head.kind != RKT_FRAME_INDEX)
        return false;
    *entry = (struct rkt_store_entry){
        .offset = offset,
        .source = head.source,
        .seq = head.seq,
        .frame_bytes = RKT_FRAME_HEAD_BYTES + head.packed_bytes,
        .kind = head.kind,
    };
    return true;
}

/* What an INDEX frame lists must end where that frame begins. */
static bool is_joined(const struct rkt_store_index *index, uint64_t offset)
{
    const struct rkt_store_entry *last;

    if (index->entry_count == 0)
        return index->first_offset == offset;
    last = &index->entries[index->entry_count - 1];
    return last->offset + last->frame_bytes == offset;
}

/* The INDEX frame at `offset`, which must end at `want_end`; `room` for its entries. */
static bool load_index(struct rkt_store_fetch *fetch, uint64_t offset, uint64_t want_end,
                       struct rkt_store_entries room, struct rkt_store_index *index)
{
    struct rkt_store_entry entry;
    struct rkt_bytes raw;

    return offset < want_end && make_entry(fetch, offset, &entry) &&
           offset + entry.frame_bytes == want_end &&
           rkt_store_fetch_raw(fetch, &entry, &raw, NULL) == RKT_OK &&
           rkt_store_index_decode(raw, room.items, room.count, index, NULL) == RKT_OK &&
           is_joined(index, offset);
}

/* Filled in from the last to the first. Each step goes to a lower offset: a hostile chain ends. */
static bool load_chain(struct rkt_store_fetch *fetch, const struct rkt_store_trailer *trailer,
                       struct rkt_store_entries *entries)
{
    uint64_t want_end = fetch->file.file_bytes - RKT_STORE_TRAILER_BYTES;
    uint64_t offset = trailer->index_offset;
    size_t left = (size_t)trailer->frame_count;

    if (trailer->frame_count > fetch->file.file_bytes / RKT_FRAME_HEAD_BYTES ||
        !rkt_array_reserve((void **)&entries->items, &entries->cap, left, sizeof(*entries->items)))
        return false;
    entries->count = left;
    while (want_end > 0) {
        struct rkt_store_entries room = {.items = entries->items, .count = left};
        struct rkt_store_index index;

        if (!load_index(fetch, offset, want_end, room, &index))
            return false;
        left -= index.entry_count; /* decoded at the front, where there is room until the end */
        if (index.entry_count)
            memmove(room.items + left, index.entries, index.entry_count * sizeof(*index.entries));
        want_end = index.first_offset;
        offset = index.previous_offset;
    }
    return left == 0;
}

bool rkt_store_fetch_index(struct rkt_store_fetch *fetch, struct rkt_store_entries *entries,
                           bool *has_trailer_out)
{
    uint64_t file_bytes = fetch->file.file_bytes;
    uint8_t bytes[RKT_STORE_TRAILER_BYTES];
    struct rkt_store_trailer trailer;

    *has_trailer_out = file_bytes >= sizeof(bytes) &&
                       rkt_store_file_read(&fetch->file, file_bytes - sizeof(bytes), bytes,
                                           sizeof(bytes), NULL) == RKT_OK &&
                       rkt_store_trailer_decode(bytes, file_bytes, &trailer);
    if (*has_trailer_out && load_chain(fetch, &trailer, entries))
        return true;
    entries->count = 0;
    return false;
}
