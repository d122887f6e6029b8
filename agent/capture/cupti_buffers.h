/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_BUFFERS_H
#define RKT_CAPTURE_CUPTI_BUFFERS_H

/*
 * cupti_buffers - the memory that CUPTI fills with activity records.
 *
 * Threads: any; no locks, since take runs on a thread of the job inside a launch. trim by one.
 * Memory:  at most buffer_count x buffer_bytes + discard_bytes = 48 x 256 KiB + 64 KiB, and what
 *          was lost (below). In use, and so touched, are
 *
 *              threads x buffer_bytes      each producing thread fills one (CUPTI before 13.0: each
 *                                          context does)
 *            + work in flight x 256 B      a kernel (216 B) and its launch (40 B): a buffer comes
 *                                          back when all of its work has finished, not before
 *            + 2 x buffer_bytes            one is read, one is flushed
 *
 *          With 8 threads and 8 streams of 1,024 pending launches: 4.5 MiB. A pool of 12 MiB holds
 *          60,000 records a second (7.7 MB) for more than a second of a GPU that lags behind. What
 *          a burst touched goes back to the system later (trim).
 * Size:    small buffers stay in the cache while they are read and zeroed, and come back soon from
 *          threads that make few records. At 60,000 records a second 30 are asked for.
 * Lost:    what CUPTI held when another tool took its callbacks is given back to that tool, and
 *          never comes. Many tools free what they get; so each buffer is a block of malloc of its
 *          own. A lost one is replaced (retire) and not touched again: it may have been freed, or
 *          CUPTI may still write to it. If it was not, 256 KiB remain with it, 15 times a buffer at
 *          most.
 * Full:    take never fails. A dry pool hands out one shared buffer whose content is worth
 *          nothing, as several threads may write there; is_readable says so. (Another tool that
 *          frees that one would free it as often as it gets it: no defence.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RKT_CUPTI_BUFFER_BYTES ((size_t)256 << 10)
#define RKT_CUPTI_BUFFER_COUNT ((size_t)48) /* 64 at most */
#define RKT_CUPTI_DISCARD_BYTES ((size_t)64 << 10)
#define RKT_CUPTI_BUFFER_LIVES 16u /* one more than each can be replaced */

struct rkt_cupti_buffers;

struct rkt_cupti_buffers *rkt_cupti_buffers_create(void); /* NULL when memory is out */
/* Only where CUPTI never got to see it: tests, and a start that failed before. NULL is fine. */
void rkt_cupti_buffers_destroy(struct rkt_cupti_buffers *buffers);

/* A zeroed buffer, aligned to 16 bytes (CUPTI asks for 8). */
uint8_t *rkt_cupti_buffers_take(struct rkt_cupti_buffers *buffers, size_t *bytes_out);

/*
 * Whether the content of this buffer may be looked at: it is one of the pool, and not free. CUPTI
 * is not trusted to give back what it got, once.
 */
bool rkt_cupti_buffers_is_readable(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer);

/* Zero what was used, and make it free again. One that is not readable is left alone. */
void rkt_cupti_buffers_put_back(struct rkt_cupti_buffers *buffers, uint8_t *buffer,
                                size_t used_bytes);

/* How many CUPTI holds now. */
uint32_t rkt_cupti_buffers_taken_count(const struct rkt_cupti_buffers *buffers);

/*
 * Give the memory of buffers that nobody had since the last call back to the system, and replace
 * what was lost. Allocates, so not on a thread of the job.
 */
void rkt_cupti_buffers_trim(struct rkt_cupti_buffers *buffers);

/* Another tool may have the callbacks: remember what CUPTI holds now. */
void rkt_cupti_buffers_mark(struct rkt_cupti_buffers *buffers);

/*
 * What was held at the mark and has not come back since is lost: never look at it again. It is
 * replaced with the next trim.
 */
void rkt_cupti_buffers_retire(struct rkt_cupti_buffers *buffers);

#endif
