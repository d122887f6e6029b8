/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_LOG_H
#define RKT_COMMON_LOG_H

/*
 * log - one logfmt line per call, one write(2), to stderr:
 *     ts=12.034 level=warn comp=sender rank=3 msg="ring full" dropped=128
 *
 * Levels by RANKTRACE_LOG: a level (error, warn, info, debug), or parts such as
 * "warn,aggregator:debug". The default is warn. ts is seconds since rkt_log_init.
 * Library code logs debug only; warn and above come from stages and from main.
 * Never used inside the training process except by capture's one "off" line.
 *
 * Threads: any; one line is one write.
 */

#include <stdbool.h>

enum rkt_log_level {
    RKT_LOG_ERROR = 0, /* it failed; a person should act */
    RKT_LOG_WARN = 1,  /* wrong but handled; results may be less complete */
    RKT_LOG_INFO = 2,  /* once per run or rank */
    RKT_LOG_DEBUG = 3, /* once per frame */
};

/* Read RANKTRACE_LOG; `rank` below 0 is left out of the lines. A bad value is a warning. */
void rkt_log_init(int rank);
bool rkt_log_is_on(const char *comp, enum rkt_log_level level);

/* `msg` is quoted and escaped; `fields_fmt` ("" for none) gives ready key=value text. */
void rkt_log(enum rkt_log_level level, const char *comp, const char *msg, const char *fields_fmt,
             ...) __attribute__((format(printf, 4, 5)));

#endif
