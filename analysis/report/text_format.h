/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_TEXT_FORMAT_H
#define RKT_ANALYSIS_REPORT_TEXT_FORMAT_H

/*
 * text_format - numbers and lines of the text report: ASCII only, 100 columns.
 *
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RKT_TEXT_COLUMNS 100
#define RKT_CELL_BYTES 32

/* Room for one number as text. */
struct rkt_cell {
    char text[RKT_CELL_BYTES];
};

struct rkt_cell rkt_cell_ms(int64_t ns);        /* "1.234", the unit is in the heading; n/a */
struct rkt_cell rkt_cell_duration(int64_t ns);  /* "1.234 ms"; n/a */
struct rkt_cell rkt_cell_percent(double ratio); /* "12.3%"; n/a */
struct rkt_cell rkt_cell_bytes(uint64_t bytes); /* "25 MiB"; n/a for 0 */
struct rkt_cell rkt_cell_gb_per_s(
    double bytes_per_s); /* "123.4", the unit is in the heading; n/a */

/* What is not printable ASCII becomes '?': in a report a byte is a column. */
void rkt_text_make_ascii(char *text);

/* A line from the format, made ASCII and broken at spaces; later lines are indented by two more
 * than the format. */
void rkt_text_line(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
