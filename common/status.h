/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STATUS_H
#define RKT_COMMON_STATUS_H

/*
 * status - how a function of ranktrace says that it failed, and why.
 *
 * A function that can fail returns enum rkt_status; where a person will read the
 * reason it takes a struct rkt_error as its last argument (NULL is fine). The first
 * function that knows the cause writes the text, with the numbers; callers pass it
 * on unchanged. Outputs are written only on RKT_OK.
 *
 * Threads: an rkt_error belongs to one thread at a time.
 */

enum rkt_status {
    RKT_OK = 0,
    RKT_AGAIN = 1, /* not an error: nothing to do now, call again */
    RKT_END = 2,   /* not an error: the stream ended cleanly */

    /* the call failed; the object is as it was before */
    RKT_ERR_NOMEM = -1,
    RKT_ERR_INVALID = -2, /* a caller's mistake, or wrong use by the user */
    RKT_ERR_RANGE = -3,   /* a number does not fit */

    /* one source's stream can no longer be trusted; others go on */
    RKT_ERR_FORMAT = -20,
    RKT_ERR_CHECKSUM = -21,
    RKT_ERR_VERSION = -22,

    /* the run cannot go on */
    RKT_ERR_IO = -40,
    RKT_ERR_MPI = -41,
    RKT_ERR_INTERNAL = -42,
};

struct rkt_error {
    enum rkt_status status;
    int sys_errno; /* 0 when no system call failed */
    char text[512];
};

/*
 * Fill *err (when not NULL) and return `status`; keeps errno. _errno also records
 * errno and appends its text. A text that does not fit ends in "...".
 */
enum rkt_status rkt_fail(struct rkt_error *err, enum rkt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum rkt_status rkt_fail_errno(struct rkt_error *err, enum rkt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "what: " before the text of *err (NULL is fine): whose failure it is, where there are
 * several. */
void rkt_error_prefix(struct rkt_error *err, const char *what);

/* "RKT_ERR_IO" for RKT_ERR_IO; "RKT_?" for a number that is no status. */
const char *rkt_status_name(enum rkt_status status);

#endif
