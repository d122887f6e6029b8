/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_KEYS_H
#define RKT_COMMON_CODEC_KEYS_H

/*
 * codec_keys - the keys and limits that encoder and decoder share. Stored in files: never
 * reused, never renumbered (common/doc/wire-format.md).
 */

/* A batch; the columns of event_fields.h follow from 16 on. */
enum rkt_batch_key {
    RKT_BATCH_KIND = 0,
    RKT_BATCH_CLOCK = 1,
    RKT_BATCH_ROW_COUNT = 2,
    RKT_BATCH_BASE_START = 3,
    RKT_BATCH_REQUIRED_COUNT = 4, /* keys 0 to 3 are required */
    RKT_BATCH_UNIT = 4,           /* absent: the codings of version 1.0 */
};

enum rkt_strings_key {
    RKT_STRINGS_FIRST_ID = 0,
    RKT_STRINGS_TEXTS = 1,
};

/* A STRINGS frame is closed once it holds so much. */
#define RKT_STRINGS_TEXT_BYTES_USUAL (1u << 20)
#define RKT_STRINGS_COUNT_USUAL 65536u

/* How far ids may jump over lost STRINGS frames; a hostile id must not take memory for all. */
#define RKT_STRINGS_JUMP_MAX (1u << 20)

#endif
