/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_fetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

enum rkt_status rkt_store_fetch_init(struct rkt_store_fetch *fetch, const char *path,
                                     struct rkt_error *err)
{
    *fetch = (struct rkt_store_fetch){.frame = NULL};
    fetch->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (!fetch->packer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    return rkt_store_files_open(&fetch->files, path, err);
}

void rkt_store_fetch_release(struct rkt_store_fetch *fetch)
{
    rkt_store_files_release(&fetch->files);
    rkt_packer_destroy(fetch->packer);
    free(fetch->frame);
    *fetch = (struct rkt_store_fetch){.frame = NULL};
}

enum rkt_status rkt_store_fetch_frame(struct rkt_store_fetch *fetch,
                                      const struct rkt_store_entry *entry,
                                      struct rkt_frame_head *head_out, struct rkt_error *err)
{
    const struct rkt_store_file *file;
    enum rkt_status status;

    if (!rkt_array_reserve((void **)&fetch->frame, &fetch->frame_cap, entry->frame_bytes, 1))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame of %u bytes",
                        entry->frame_bytes);
    status = rkt_store_files_get(&fetch->files, entry->file, &file, err);
    if (status == RKT_OK)
        status = rkt_store_file_read(file, entry->offset, fetch->frame, entry->frame_bytes, err);
    fetch->read_bytes += entry->frame_bytes;
    if (status == RKT_OK)
        status = rkt_frame_head_decode(fetch->frame, entry->frame_bytes, head_out, err);
    if (status != RKT_OK)
        return status;
    if (entry->frame_bytes != RKT_FRAME_HEAD_BYTES + head_out->packed_bytes ||
        head_out->kind != entry->kind || head_out->source != entry->source ||
        head_out->seq != entry->seq)
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "%s: the frame at byte %" PRIu64 " is not the one that the index lists",
                        file->path, entry->offset);
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
static bool make_entry(const struct rkt_store_file *file, uint64_t offset,
                       struct rkt_store_entry *entry)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    if (rkt_store_file_read(file, offset, bytes, sizeof(bytes), NULL) != RKT_OK ||
        rkt_frame_head_decode(bytes, sizeof(bytes), &head, NULL) != RKT_OK ||
        head.kind != RKT_FRAME_INDEX)
        return false;
    *entry = (struct rkt_store_entry){
        .offset = offset,
        .source = head.source,
        .seq = head.seq,
        .frame_bytes = RKT_FRAME_HEAD_BYTES + head.packed_bytes,
        .file = file->number,
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
static bool load_index(struct rkt_store_fetch *fetch, const struct rkt_store_file *file,
                       uint64_t offset, uint64_t want_end, struct rkt_store_entries room,
                       struct rkt_store_index *index)
{
    struct rkt_store_entry entry;
    struct rkt_bytes raw;

    return offset < want_end && make_entry(file, offset, &entry) &&
           offset + entry.frame_bytes == want_end &&
           rkt_store_fetch_raw(fetch, &entry, &raw, NULL) == RKT_OK &&
           rkt_store_index_decode(raw, room.items, room.count, index, NULL) == RKT_OK &&
           is_joined(index, offset);
}

/*
 * All entries of the file to `room`, from the last to the first. Each step goes to a lower
 * offset: a hostile chain ends.
 */
static bool load_chain(struct rkt_store_fetch *fetch, const struct rkt_store_file *file,
                       uint64_t offset, struct rkt_store_entries room)
{
    uint64_t want_end = file->file_bytes - RKT_STORE_TRAILER_BYTES;

    while (want_end > 0) {
        struct rkt_store_index index;

        if (!load_index(fetch, file, offset, want_end, room, &index))
            return false;
        room.count -= index.entry_count; /* decoded at the front: there is room until the end */
        if (index.entry_count)
            memmove(room.items + room.count, index.entries,
                    index.entry_count * sizeof(*index.entries));
        want_end = index.first_offset;
        offset = index.previous_offset;
    }
    return room.count == 0;
}

static bool read_trailer(const struct rkt_store_file *file, struct rkt_store_trailer *trailer)
{
    uint8_t bytes[RKT_STORE_TRAILER_BYTES];

    return file->file_bytes >= sizeof(bytes) &&
           rkt_store_file_read(file, file->file_bytes - sizeof(bytes), bytes, sizeof(bytes),
                               NULL) == RKT_OK &&
           rkt_store_trailer_decode(bytes, file->file_bytes, trailer);
}

bool rkt_store_fetch_index(struct rkt_store_fetch *fetch, uint16_t number,
                           struct rkt_store_entries *entries, bool *has_trailer_out)
{
    const struct rkt_store_file *file;
    struct rkt_store_trailer trailer;
    struct rkt_store_entries room;

    *has_trailer_out = rkt_store_files_get(&fetch->files, number, &file, NULL) == RKT_OK &&
                       read_trailer(file, &trailer);
    if (!*has_trailer_out || trailer.frame_count > file->file_bytes / RKT_FRAME_HEAD_BYTES ||
        !rkt_array_reserve((void **)&entries->items, &entries->cap,
                           entries->count + (size_t)trailer.frame_count, sizeof(*entries->items)))
        return false;
    room = (struct rkt_store_entries){.items = entries->items + entries->count,
                                      .count = (size_t)trailer.frame_count};
    if (!load_chain(fetch, file, trailer.index_offset, room))
        return false;
    for (size_t i = 0; i < room.count; i++)
        room.items[i].file = number;
    entries->count += room.count;
    return true;
}
