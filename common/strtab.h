/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STRTAB_H
#define RKT_COMMON_STRTAB_H

/*
 * strtab - names as small numbers: one per source, so that an event holds 4 bytes.
 *
 * Id 0 is always the empty text, "unknown". Ids are dense and grow by one. Text is
 * bytes with a length; it need not be UTF-8 and may hold NULs.
 *
 * Threads: one at a time. Memory: a text is valid until destroy.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_STRING_BYTES_MAX 65535u /* longer texts are cut */
#define RKT_STRING_COUNT_MAX (1u << 26)

struct rkt_strtab;

struct rkt_strtab *rkt_strtab_create(void); /* NULL when memory is out */
void rkt_strtab_destroy(struct rkt_strtab *tab);

/* The id of the text, new or known. 0 when memory or the id space is out. */
uint32_t rkt_strtab_intern(struct rkt_strtab *tab, const char *text, size_t len_bytes);

/*
 * Define id as text (a decoder's way). Ids may come in any order and leave holes;
 * an id that is defined with another text already is RKT_ERR_FORMAT.
 */
enum rkt_status rkt_strtab_define(struct rkt_strtab *tab, uint32_t id, const char *text,
                                  size_t len_bytes);

/* The text, closed by a NUL; "" for an unknown id. *len_out may be NULL. */
const char *rkt_strtab_get(const struct rkt_strtab *tab, uint32_t id, size_t *len_out);
uint32_t rkt_strtab_count(const struct rkt_strtab *tab); /* highest id + 1 */

#endif
