/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_DESCRIPTOR_PART_H
#define RKT_COMMON_DESCRIPTOR_PART_H

/*
 * descriptor_part - what the sources of descriptor share: its fields (descriptor.c) and
 * alignments (descriptor_align.c).
 */

#include <stddef.h>
#include <stdint.h>

#include "common/codec_read.h"
#include "common/codec_write.h"
#include "common/status.h"

/* The caller's, for what was encoded. */
struct rkt_descriptor_room {
    uint8_t *buf;
    size_t buf_bytes;
    size_t *len_out;
};

/* Moves what was written to the room; releases `buf` in any case. */
enum rkt_status rkt_descriptor_give(struct rkt_codec_buf *buf, const char *what,
                                    struct rkt_descriptor_room room, struct rkt_error *err);

/* RKT_ERR_FORMAT: no map, or cut short, where the cursor stands. */
enum rkt_status rkt_descriptor_fail(const struct rkt_cursor *cursor, const char *what,
                                    struct rkt_error *err);

#endif
