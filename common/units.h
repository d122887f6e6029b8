/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_UNITS_H
#define RKT_COMMON_UNITS_H

/*
 * units - text to number and back; strict: the whole text, in range, with its unit.
 *
 * All return false, with *out untouched, for anything else. Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
bool rkt_parse_u64(const char *text, uint64_t *out);
bool rkt_parse_i64(const char *text, int64_t *out);

/* A number with ns, us, ms, s, min or h ("250ms", "1.5s"); a bare number only if 0. */
bool rkt_parse_duration_ns(const char *text, uint64_t *out);

/* A number with B, KiB, MiB, GiB, kB, MB or GB; a bare number only if 0. */
bool rkt_parse_bytes(const char *text, uint64_t *out);

/*
 * Decimal microseconds ("1694128201545.123", "-3", "1e3") to ns, exactly and without a
 * double; digits past the ns are cut towards zero. For JSON numbers and the text of
 * such numbers; false for NaN, Infinity and what leaves int64.
 */
bool rkt_parse_us_to_ns(const char *text, size_t len_bytes, int64_t *out);

/* "1.234 ms": four significant digits, unit by size. Returns buf. */
const char *rkt_format_duration(int64_t ns, char *buf, size_t buf_bytes);
const char *rkt_format_bytes(uint64_t bytes, char *buf, size_t buf_bytes);

/* A name from outside as a terminal may get it: control characters are '?', what is not ASCII
 * stays; cut to buf, which may be the text itself. Returns buf. */
const char *rkt_format_name(const char *text, char *buf, size_t buf_bytes);

#endif
