/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CAPTURE_H
#define RKT_CAPTURE_CAPTURE_H

/*
 * capture - the part of ranktrace that lives in a training process.
 *
 *     CUDA ─InitializeInjection─▶ cupti_source ─┐
 *     NCCL ─ncclProfiler_v*─────▶ nccl_source  ─┼─▶ thread ─▶ ring ═▶ sidecar
 *     NVTX ─InitializeInjectionNvtx2▶ nvtx_source
 *     job ──ranktrace_*─────────▶ marks        ─┘
 *
 * Starts with the first use of any role: connects to RANKTRACE_SOCKET and maps the region.
 * Without that variable, or on any doubt, it is off for good; a doubt is said once, as one
 * line on stderr. Nothing of it blocks (the start waits a few seconds at most for a sidecar
 * that does not answer), exits, raises a signal, prints more, or changes errno.
 *
 * Fork:    the child is off and leaves the shared memory alone.
 * Exit:    an atexit handler takes what CUPTI still holds and marks the region as closed.
 *          What is in the rings outlives the process however it ends.
 * Owner:   the process; one per process, never freed, since any thread may be inside.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/capture/intern.h"
#include "agent/capture/thread.h"
#include "agent/hello.h"
#include "agent/region.h"

struct rkt_cupti_source;
struct rkt_marks;
struct rkt_nccl_source;
struct rkt_nvtx_source;
struct rkt_steps;
struct rkt_window;

/* Set by the start, then read only. */
struct rkt_capture {
    struct rkt_region *region;
    struct rkt_intern *intern;
    struct rkt_threads *threads;
    struct rkt_steps *steps;
    struct rkt_window *window;
    struct rkt_marks *marks;
    struct rkt_cupti_source *cupti;
    struct rkt_nccl_source *nccl;
    struct rkt_nvtx_source *nvtx;
    struct rkt_capture_config config;
    int socket_fd; /* its hang-up: the sidecar is gone */
    ino_t socket_inode;
};

/* The capture for a source; starts it if need be. NULL: off, or this source is not wanted. */
struct rkt_capture *rkt_capture_get(enum rkt_capture_bit source);

/* Whether it is neither on nor off yet: another thread is at it. */
bool rkt_capture_is_starting(void);

/*
 * Likewise, but a start that another thread is making is waited for: for what happens once and must
 * not be missed, as the making of a communicator, of which several are made at the same time.
 */
struct rkt_capture *rkt_capture_wait(enum rkt_capture_bit source);

/* The capture that was started, if off by now; NULL: none. For callbacks that come late. */
struct rkt_capture *rkt_capture_started(void);

/* Whether events are still taken: true until the region is closed. */
bool rkt_capture_is_on(void);

/* Stop for good, and say why. */
void rkt_capture_turn_off(const char *why);

/*
 * Exit handlers run in reverse order. Ask for ours once more, so that it runs before those
 * which were set since the start: CUDA's driver, which CUPTI needs, takes itself down in one.
 */
void rkt_capture_close_before_others(void);

/* Say one line, if nothing was said before. */
void rkt_capture_say(const char *what, const char *detail);

#endif
