/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_HEALTH_H
#define RKT_COMMON_STORE_HEALTH_H

/* store_health - how whole a store is, over all of its files. Plain data. */

#include <stdbool.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/status.h"

struct rkt_store_health {
    bool has_trailer;        /* every file that is read has; else a writer did not finish */
    uint64_t frame_count;    /* good ones; copies of another count once */
    uint64_t damaged_frames; /* crc, format or decode errors */
    uint64_t skipped_bytes;
    uint64_t unknown_frames; /* of kinds that this version does not know */
    uint64_t unknown_keys;   /* columns of batches that it does not know */
    uint64_t file_bytes;
    uint64_t seq_gap_count;      /* frames that never arrived, by gaps in seq */
    uint32_t shard_count;        /* files that the store names; 0: it is one file */
    uint32_t unread_shard_count; /* of these, left out */
    uint32_t spool_count;        /* files beside it that only 'ranktrace recover' reads */
    uint64_t spool_bytes;        /* in all of these */
};

/* One that the store names. */
struct rkt_store_shard {
    struct rkt_shard_info info;
    bool is_read;
    bool has_trailer; /* this and the next: of one that is read */
    uint64_t file_bytes;
    char problem[sizeof(((struct rkt_error *)NULL)->text)]; /* why it is not read; "" */
};

#endif
