/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/text_format.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "analysis/result.h"
#include "common/units.h"

#define LINE_BYTES_MAX 2048

static struct rkt_cell cell_of(const char *text)
{
    struct rkt_cell cell;

    (void)snprintf(cell.text, sizeof(cell.text), "%s", text);
    return cell;
}

struct rkt_cell rkt_cell_ms(int64_t ns)
{
    struct rkt_cell cell;
    double ms = (double)ns / 1e6;
    int decimals = fabs(ms) < 10 ? 3 : fabs(ms) < 100 ? 2 : fabs(ms) < 1000 ? 1 : 0;

    if (ns == RKT_NA)
        return cell_of("n/a");
    (void)snprintf(cell.text, sizeof(cell.text), "%.*f", decimals, ms);
    return cell;
}

struct rkt_cell rkt_cell_duration(int64_t ns)
{
    struct rkt_cell cell;

    if (ns == RKT_NA)
        return cell_of("n/a");
    rkt_format_duration(ns, cell.text, sizeof(cell.text));
    return cell;
}

struct rkt_cell rkt_cell_percent(double ratio)
{
    struct rkt_cell cell;

    if (!isfinite(ratio))
        return cell_of("n/a");
    (void)snprintf(cell.text, sizeof(cell.text), "%.1f%%", ratio * 100);
    return cell;
}

struct rkt_cell rkt_cell_bytes(uint64_t bytes)
{
    struct rkt_cell cell;

    if (bytes == 0)
        return cell_of("n/a");
    rkt_format_bytes(bytes, cell.text, sizeof(cell.text));
    return cell;
}

struct rkt_cell rkt_cell_gb_per_s(double bytes_per_s)
{
    struct rkt_cell cell;

    if (!isfinite(bytes_per_s))
        return cell_of("n/a");
    (void)snprintf(cell.text, sizeof(cell.text), "%.2f", bytes_per_s / 1e9);
    return cell;
}

/* Bytes of `text` that go on one line of `columns`: up to the last space that fits. */
static size_t line_length(const char *text, size_t columns)
{
    size_t left = strlen(text);
    size_t length = columns;

    if (left <= columns)
        return left;
    while (length > 0 && text[length] != ' ')
        length--;
    return length > 0 ? length : columns; /* a word longer than the line is cut */
}

void rkt_text_make_ascii(char *text)
{
    for (char *byte = text; *byte != '\0'; byte++) {
        if (*byte < 0x20 || *byte > 0x7e)
            *byte = '?';
    }
}

void rkt_text_line(FILE *out, const char *fmt, ...)
{
    char line[LINE_BYTES_MAX];
    const char *at = line;
    size_t indent;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    rkt_text_make_ascii(line);
    indent = strspn(line, " ");
    at += indent;
    for (size_t margin = indent;; margin = indent + 2) {
        size_t length = line_length(at, RKT_TEXT_COLUMNS - margin);

        (void)fprintf(out, "%*s%.*s\n", (int)margin, "", (int)length, at);
        at += length;
        at += strspn(at, " ");
        if (*at == '\0')
            return;
    }
}
