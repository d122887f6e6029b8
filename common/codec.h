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
                                  size_t count, const uint8_t **raw_out, size_t *raw_bytes_out,
                                  struct rkt_error *err);

/*
 * Names first_id, first_id + 1, ... of tab; stops at about 1 MiB of text: *next_id_out is
 * where to go on, rkt_strtab_count(tab) when all are in.
 */
enum rkt_status rkt_encode_strings(struct rkt_encoder *encoder, const struct rkt_strtab *tab,
                                   uint32_t first_id, uint32_t *next_id_out,
                                   const uint8_t **raw_out, size_t *raw_bytes_out,
                                   struct rkt_error *err);

struct rkt_decoder;

struct rkt_decoder *rkt_decoder_create(void);
void rkt_decoder_destroy(struct rkt_decoder *decoder);

/*
 * Any bytes are safe input. Unknown keys are skipped and counted in
 * *unknown_count_out (may be NULL). RKT_ERR_FORMAT says what is wrong and where.
 */
enum rkt_status rkt_decode_events(struct rkt_decoder *decoder, const uint8_t *raw, size_t raw_bytes,
                                  const struct rkt_event **events_out, size_t *count_out,
                                  uint64_t *unknown_count_out, struct rkt_error *err);
enum rkt_status rkt_decode_strings(struct rkt_decoder *decoder, const uint8_t *raw,
                                   size_t raw_bytes, struct rkt_strtab *tab, struct rkt_error *err);

#endif
