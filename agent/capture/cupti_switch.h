/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_SWITCH_H
#define RKT_CAPTURE_CUPTI_SWITCH_H

/*
 * cupti_switch - whether CUPTI records: decided by several, carried out by one of them.
 *
 * Records are made unless there is a reason against it. While another tool has CUPTI, nothing
 * is switched at all, since the kinds are the process's and its records are made by them too.
 *
 * Threads: any, but never inside a callback of CUPTI's.
 * Waiting: none. A reason is noted at once; who finds nobody at work carries it out, and looks
 *          again for what came meanwhile. So a call may return a moment before CUPTI has
 *          followed, if another thread is just switching.
 */

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture/cupti_api_names.h"
#include "agent/capture/cupti_library.h"

#define RKT_CUPTI_KINDS_MAX 16u

enum rkt_cupti_off_reason {
    RKT_CUPTI_OFF_WINDOW = 1, /* the capture window is closed */
    RKT_CUPTI_OFF_ALARM = 2,  /* its times are unusable */
    RKT_CUPTI_OFF_END = 4,    /* capture ends; never taken back */
    RKT_CUPTI_OTHER_TOOL = 8, /* not off, but not ours to switch */
};

struct rkt_cupti_switch {
    /* set before start, then read only */
    const struct rkt_cupti_library *library;
    const struct rkt_cupti_api_names *api_names;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    CUpti_ActivityKind kinds[RKT_CUPTI_KINDS_MAX]; /* the first is what the others need */
    size_t kind_count;

    /* reasons, and above them how often the callbacks were to be taken */
    _Atomic uint32_t wanted;
    _Atomic bool has_started;
    _Atomic bool is_busy; /* guards what follows */
    bool is_on;
    uint32_t taken; /* the upper part of `wanted` that was carried out */
};

/*
 * Take the callbacks and switch the kinds on, and off again where there is a reason: CUPTI has
 * to know before the first context. Anything but success: it does not record for us.
 */
CUptiResult rkt_cupti_switch_start(struct rkt_cupti_switch *cupti_switch);

/* Add or take back a reason. Before start it is kept until then. */
void rkt_cupti_switch_set(struct rkt_cupti_switch *cupti_switch, enum rkt_cupti_off_reason reason,
                          bool is_off);

/* Take the callbacks again, from the other tool that had them. */
void rkt_cupti_switch_rearm(struct rkt_cupti_switch *cupti_switch);

/* Whether there is no reason against records. */
bool rkt_cupti_switch_wants_records(const struct rkt_cupti_switch *cupti_switch);

#endif
