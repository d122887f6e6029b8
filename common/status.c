/* SPDX-License-Identifier: Apache-2.0 */
#include "common/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void mark_cut(char *text, size_t cap)
{
    memcpy(text + cap - 4, "...", 4);
}

static void fill(struct rkt_error *err, enum rkt_status status, const char *fmt, va_list args)
{
    int len;

    err->status = status;
    err->sys_errno = 0;
    len = vsnprintf(err->text, sizeof(err->text), fmt, args);
    if (len < 0)
        err->text[0] = '\0';
    else if ((size_t)len >= sizeof(err->text))
        mark_cut(err->text, sizeof(err->text));
}

enum rkt_status rkt_fail(struct rkt_error *err, enum rkt_status status, const char *fmt, ...)
{
    int saved_errno = errno;
    va_list args;

    if (err) {
        va_start(args, fmt);
        fill(err, status, fmt, args);
        va_end(args);
    }
    errno = saved_errno;
    return status;
}

enum rkt_status rkt_fail_errno(struct rkt_error *err, enum rkt_status status, const char *fmt, ...)
{
    int saved_errno = errno;
    char reason[128];
    va_list args;

    if (err) {
        size_t used;

        va_start(args, fmt);
        fill(err, status, fmt, args);
        va_end(args);
        err->sys_errno = saved_errno;
        used = strlen(err->text);
        /* GNU's strerror_r: the text may be its own constant instead of the buffer */
        if (snprintf(err->text + used, sizeof(err->text) - used, ": %s",
                     strerror_r(saved_errno, reason, sizeof(reason))) >=
            (int)(sizeof(err->text) - used))
            mark_cut(err->text, sizeof(err->text));
    }
    errno = saved_errno;
    return status;
}

void rkt_error_prefix(struct rkt_error *err, const char *what)
{
    char text[sizeof(err->text)];

    if (!err)
        return;
    memcpy(text, err->text, sizeof(text));
    if (snprintf(err->text, sizeof(err->text), "%s: %s", what, text) >= (int)sizeof(err->text))
        mark_cut(err->text, sizeof(err->text));
}

const char *rkt_status_name(enum rkt_status status)
{
    switch (status) {
    case RKT_OK:
        return "RKT_OK";
    case RKT_AGAIN:
        return "RKT_AGAIN";
    case RKT_END:
        return "RKT_END";
    case RKT_ERR_NOMEM:
        return "RKT_ERR_NOMEM";
    case RKT_ERR_INVALID:
        return "RKT_ERR_INVALID";
    case RKT_ERR_RANGE:
        return "RKT_ERR_RANGE";
    case RKT_ERR_FORMAT:
        return "RKT_ERR_FORMAT";
    case RKT_ERR_CHECKSUM:
        return "RKT_ERR_CHECKSUM";
    case RKT_ERR_VERSION:
        return "RKT_ERR_VERSION";
    case RKT_ERR_IO:
        return "RKT_ERR_IO";
    case RKT_ERR_MPI:
        return "RKT_ERR_MPI";
    case RKT_ERR_INTERNAL:
        return "RKT_ERR_INTERNAL";
    }
    return "RKT_?";
}
