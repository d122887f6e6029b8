/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_REALIGN_H
#define RKT_COMMON_STORE_REALIGN_H

/*
 * store_realign - a copy of a timeline with other alignments; raw stamps are as they were.
 *
 * Threads: one at a time. Memory: a frame. On error: nothing is left at `path`, or what was there.
 */

#include "common/descriptor.h"
#include "common/store_reader.h"

/* `aligns`: of each source of the reader, by position. `path` may be what the reader reads. */
enum rkt_status rkt_store_realign(struct rkt_store_reader *reader, const char *path,
                                  const struct rkt_align_info *aligns, struct rkt_error *err);

#endif
