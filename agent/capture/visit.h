/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_VISIT_H
#define RKT_CAPTURE_VISIT_H

/*
 * visit - what a call of the job's thread finds again as it left it, around those parts of the
 * library that make system calls.
 *
 * errno keeps its value. And the thread is not cancelled inside: the job does not expect its end in
 * a mark or a callback, and a lock that the thread holds here would never be given back. A request
 * that is pending stays so until the job's own next cancellation point.
 *
 * Threads: any, each for itself. Visits may be nested.
 */

#include <errno.h>
#include <pthread.h>

struct rkt_visit {
    int saved_errno;
    int cancel_state;
};

static inline struct rkt_visit rkt_visit_begin(void)
{
    struct rkt_visit visit = {.saved_errno = errno};

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit.cancel_state);
    return visit;
}

static inline void rkt_visit_end(struct rkt_visit visit)
{
    (void)pthread_setcancelstate(visit.cancel_state, NULL);
    errno = visit.saved_errno;
}

#endif
