/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_realign.h"

#include "common/store_writer.h"

static enum rkt_status copy_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct rkt_store_writer *writer = ctx;
    struct rkt_frame_head head;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status != RKT_OK || head.kind == RKT_FRAME_ALIGN)
        return status;
    return rkt_store_writer_append(writer, frame, frame_bytes, err);
}

enum rkt_status rkt_store_realign(struct rkt_store_reader *reader, const char *path,
                                  const struct rkt_align_info *aligns, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(reader);
    struct rkt_store_writer *writer = NULL;
    enum rkt_status status =
        rkt_store_writer_create(path, RKT_STORE_ATOMIC, rkt_store_reader_run(reader), &writer, err);

    if (status == RKT_OK)
        status = rkt_store_reader_each_frame(reader, copy_frame, writer, err);
    for (size_t i = 0; i < count && status == RKT_OK; i++)
        status = rkt_store_writer_append_align(
            writer, rkt_store_reader_source(reader, i)->info.source, &aligns[i], err);
    if (status == RKT_OK)
        status = rkt_store_writer_close(writer, err);
    rkt_store_writer_destroy(writer);
    return status;
}
