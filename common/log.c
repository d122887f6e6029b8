/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define LINE_BYTES 2048
#define PART_COUNT_MAX 16
#define COMP_BYTES 24

/* Which components log how much: the process has one stderr. Set once by init, then read only. */
static struct {
    uint64_t start_raw_ns;
    int rank;
    enum rkt_log_level level;
    size_t part_count;
    struct {
        char comp[COMP_BYTES];
        enum rkt_log_level level;
    } parts[PART_COUNT_MAX];
} log_config = {.rank = -1, .level = RKT_LOG_WARN};

static const char *const LEVEL_NAMES[] = {"error", "warn", "info", "debug"};

static bool parse_level(const char *text, size_t len_bytes, enum rkt_log_level *out)
{
    for (size_t i = 0; i < sizeof(LEVEL_NAMES) / sizeof(LEVEL_NAMES[0]); i++) {
        if (strlen(LEVEL_NAMES[i]) == len_bytes && memcmp(LEVEL_NAMES[i], text, len_bytes) == 0) {
            *out = (enum rkt_log_level)i;
            return true;
        }
    }
    return false;
}

/* "warn" or "aggregator:debug" */
static bool parse_part(const char *text, size_t len_bytes)
{
    const char *colon = memchr(text, ':', len_bytes);
    size_t comp_bytes = colon ? (size_t)(colon - text) : 0;
    enum rkt_log_level level;

    if (!colon)
        return parse_level(text, len_bytes, &log_config.level);
    if (comp_bytes == 0 || comp_bytes >= COMP_BYTES || log_config.part_count == PART_COUNT_MAX ||
        !parse_level(colon + 1, len_bytes - comp_bytes - 1, &level))
        return false;
    memcpy(log_config.parts[log_config.part_count].comp, text, comp_bytes);
    log_config.parts[log_config.part_count].comp[comp_bytes] = '\0';
    log_config.parts[log_config.part_count++].level = level;
    return true;
}

void rkt_log_init(int rank)
{
    const char *text = getenv("RANKTRACE_LOG"); // NOLINT(concurrency-mt-unsafe): before threads

    log_config.start_raw_ns = rkt_now_raw_ns();
    log_config.rank = rank;
    log_config.level = RKT_LOG_WARN;
    log_config.part_count = 0;
    while (text && *text) {
        size_t len = strcspn(text, ",");

        if (!parse_part(text, len))
            rkt_log(RKT_LOG_WARN, "log",
                    "RANKTRACE_LOG: not understood, want error, warn, info, "
                    "debug or COMPONENT:LEVEL",
                    "part=\"%.*s\"", (int)len, text);
        text += len + (text[len] == ',');
    }
}

bool rkt_log_is_on(const char *comp, enum rkt_log_level level)
{
    for (size_t i = 0; i < log_config.part_count; i++) {
        if (strcmp(log_config.parts[i].comp, comp) == 0)
            return level <= log_config.parts[i].level;
    }
    return level <= log_config.level;
}

/* `text` in quotes; returns the new length, at most cap. */
static size_t append_quoted(char *line, size_t used, size_t cap, const char *text)
{
    line[used++] = '"';
    for (; *text && used + 4 < cap; text++) {
        if (*text == '"' || *text == '\\')
            line[used++] = '\\';
        if ((unsigned char)*text < ' ')
            line[used++] = ' ';
        else
            line[used++] = *text;
    }
    line[used++] = '"';
    return used;
}

static size_t append_head(char *line, size_t cap, enum rkt_log_level level, const char *comp)
{
    uint64_t ms = (rkt_now_raw_ns() - log_config.start_raw_ns) / 1000000;
    int len =
        snprintf(line, cap, "ts=%llu.%03llu level=%s comp=%.*s", (unsigned long long)ms / 1000,
                 (unsigned long long)ms % 1000, LEVEL_NAMES[level], COMP_BYTES, comp);

    if (log_config.rank >= 0)
        len += snprintf(line + len, cap - (size_t)len, " rank=%d", log_config.rank);
    len += snprintf(line + len, cap - (size_t)len, " msg=");
    return (size_t)len;
}

void rkt_log(enum rkt_log_level level, const char *comp, const char *msg, const char *fields_fmt,
             ...)
{
    char line[LINE_BYTES];
    size_t used;
    int len = 0;
    va_list args;

    if (!rkt_log_is_on(comp, level))
        return;
    used = append_head(line, sizeof(line) / 2, level, comp);
    used = append_quoted(line, used, sizeof(line) / 2, msg);
    if (*fields_fmt) {
        line[used++] = ' ';
        va_start(args, fields_fmt);
        len = vsnprintf(line + used, sizeof(line) - used - 1, fields_fmt, args);
        va_end(args);
    }
    if (len > 0)
        used += (size_t)len < sizeof(line) - used - 1 ? (size_t)len : sizeof(line) - used - 2;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* nowhere left to say it */
}
