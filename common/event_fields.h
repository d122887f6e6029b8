/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_EVENT_FIELDS_H
#define RKT_COMMON_EVENT_FIELDS_H

/*
 * event_fields - which columns each kind of event has on the wire.
 *
 * The one table behind the codec and behind common/doc/wire-format.md (a test holds
 * the two together). A column id is never reused and never changes its meaning.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

enum rkt_field_coding {
    RKT_CODING_PLAIN,    /* unsigned, or two's complement, as it is */
    RKT_CODING_CHANGE,   /* zigzag of the difference to the row before (first row: to 0) */
    RKT_CODING_START,    /* codec_time */
    RKT_CODING_DURATION, /* codec_time */
};

struct rkt_field {
    uint8_t column;   /* key in the batch map */
    uint8_t coding;   /* enum rkt_field_coding */
    uint16_t offset;  /* in struct rkt_event */
    uint8_t bytes;    /* 1, 2, 4 or 8 */
    const char *name; /* as in the spec: "kernel.stream_id" */
};

/* Fields of a kind, common ones first; *count_out 0 for a number that is no kind. */
const struct rkt_field *rkt_event_fields(enum rkt_event_kind kind, size_t *count_out);

#endif
