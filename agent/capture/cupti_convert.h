/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_CONVERT_H
#define RKT_CAPTURE_CUPTI_CONVERT_H

/*
 * cupti_convert - one CUPTI activity record to one event.
 *
 * Reads only what is at the same place in the records of every CUPTI from 11.0 on, and the
 * graph ids where a record is long enough to have them. Stamps are kept as they are: ns of
 * CLOCK_REALTIME.
 *
 * Threads: any; no state of its own.
 */

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture/cupti_api_names.h"
#include "agent/capture/intern.h"
#include "agent/capture/thread.h"
#include "common/event.h"

struct rkt_cupti_converter {
    struct rkt_intern *intern;
    const struct rkt_cupti_api_names *api_names;
    struct rkt_ring *ring;  /* of the converting thread: for new launch shapes */
    uint64_t latest_end_ns; /* a stamp beyond it is absurd */
};

enum rkt_cupti_conversion {
    RKT_CUPTI_CONVERTED,
    RKT_CUPTI_IGNORED,   /* not a kind, or not a call, that is wanted */
    RKT_CUPTI_BAD_STAMP, /* zero, reversed or absurd; event_out->kind tells which kind */
};

/* record_bytes is what the library's own walk says. */
enum rkt_cupti_conversion rkt_cupti_convert(const struct rkt_cupti_converter *converter,
                                            const CUpti_Activity *record, size_t record_bytes,
                                            struct rkt_event *event_out);

#endif
