/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_H
#define RKT_COMMON_CODEC_H

/*
 * codec - events and names to msgpack columns and back.
 *
 * A batch is one msgpack map {key: value}: kind, clock, row count, and per column either
 * one integer (all rows alike) or a bin of byte planes. Spec: common/doc/wire-format.md.
 *
 * Threads: an encoder or decoder belongs to one thread at a time.
 * Memory:  outputs are the object's own, valid until its next call.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/event.h"
#include "common/status.h"
#include "common/strtab.h"

#define RKT_BATCH_EVENTS_MAX 65536u
#define RKT_BATCH_EVENTS_USUAL 4096u

struct rkt_encoder;

struct rkt_encoder *rkt_encoder_create(void); /* NULL when memory is out */
void rkt_encoder_destroy(struct rkt_encoder *encoder);

/* `count` (1 to RKT_BATCH_EVENTS_MAX) events of one kind and one clock. */
enum rkt_status rkt_encode_events(struct rkt_encoder *encoder, const struct rkt_event *events,
                                  size_t count, struct rkt_bytes *raw_out, struct rkt_error *err);

/*
 * Names first_id, first_id + 1, ... of tab; stops at about 1 MiB of text: *next_id_out is
 * where to go on, rkt_strtab_count(tab) when all are in.
 */
enum rkt_status rkt_encode_strings(struct rkt_encoder *encoder, const struct rkt_strtab *tab,
                                   uint32_t first_id, uint32_t *next_id_out,
                                   struct rkt_bytes *raw_out, struct rkt_error *err);

struct rkt_decoder;

struct rkt_decoder *rkt_decoder_create(void);
void rkt_decoder_destroy(struct rkt_decoder *decoder);

struct rkt_batch {
    const struct rkt_event *events; /* the decoder's */
    size_t count;
    uint64_t unknown_count; /* keys that were skipped; 1 more where the event kind is unknown */
};

/*
 * Any bytes are safe input. A batch of an event kind that this version does not know has a
 * count of 0; a clock that it does not know becomes RKT_CLOCK_UNKNOWN. RKT_ERR_FORMAT says
 * what is wrong and where.
 */
enum rkt_status rkt_decode_events(struct rkt_decoder *decoder, struct rkt_bytes raw,
                                  struct rkt_batch *batch_out, struct rkt_error *err);

/* RKT_ERR_FORMAT for a name that clashes too; the others are defined all the same. */
enum rkt_status rkt_decode_strings(struct rkt_bytes raw, struct rkt_strtab *tab,
                                   struct rkt_error *err);

#endif
