/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_TEXT_H
#define RKT_CAPTURE_NVTX_TEXT_H

/*
 * nvtx_text - the texts of NVTX calls, as names in UTF-8.
 *
 * Threads: any. Wide texts are cut at RKT_NVTX_WIDE_BYTES_MAX bytes of UTF-8. 0 for a NULL or
 * empty text, for an unknown type of message, and when no room for names is left.
 */

#include "agent/capture/intern.h"
#include "agent/capture/nvtx_api/nvtx.h"

#define RKT_NVTX_WIDE_BYTES_MAX 1024u

/*
 * What a program gets for a domain or a registered string is its name's id in the shape of a
 * pointer, which nobody follows. NULL is 0.
 */
const void *rkt_nvtx_handle_of(uint32_t id);
uint32_t rkt_nvtx_id_of(const void *handle);

uint32_t rkt_nvtx_text(struct rkt_intern *intern, const char *text);
uint32_t rkt_nvtx_text_wide(struct rkt_intern *intern, const wchar_t *text);
uint32_t rkt_nvtx_text_of_message(struct rkt_intern *intern, int32_t type,
                                  union rkt_nvtx_message message);

#endif
