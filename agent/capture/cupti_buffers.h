/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_BUFFERS_H
#define RKT_CAPTURE_CUPTI_BUFFERS_H

/*
 * cupti_buffers - the memory that CUPTI fills with activity records.
 *
 * Threads: any; no locks, since take runs on a thread of the job inside a launch.
 * Memory:  the whole pool is reserved in create, touched as used, and never given back to
 *          the system: CUPTI may own a buffer until the process ends.
 * Full:    take never fails. A dry pool hands out one shared buffer whose content is worth
 *          nothing, as several threads may write there; put_back says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RKT_CUPTI_BUFFER_BYTES ((size_t)1 << 20)
#define RKT_CUPTI_BUFFER_COUNT 64u
#define RKT_CUPTI_DISCARD_BYTES ((size_t)64 << 10)

struct rkt_cupti_buffers;

struct rkt_cupti_buffers *rkt_cupti_buffers_create(void); /* NULL when memory is out */
/* Only where CUPTI never got to see it: tests, and a start that failed before. NULL is fine. */
void rkt_cupti_buffers_destroy(struct rkt_cupti_buffers *buffers);

/* A zeroed buffer, aligned to a page. */
uint8_t *rkt_cupti_buffers_take(struct rkt_cupti_buffers *buffers, size_t *bytes_out);

/* Whether the content of this buffer may be looked at. */
bool rkt_cupti_buffers_is_readable(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer);

/* Zero what was used, and make it free again. */
void rkt_cupti_buffers_put_back(struct rkt_cupti_buffers *buffers, uint8_t *buffer,
                                size_t used_bytes);

/* How many CUPTI holds now. */
uint32_t rkt_cupti_buffers_taken_count(const struct rkt_cupti_buffers *buffers);

#endif
