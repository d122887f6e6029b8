/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_CONVERT_H
#define RKT_CAPTURE_CUPTI_CONVERT_H

/*
 * cupti_convert - one CUPTI activity record to one event.
 *
 * Reads only what is at the same place in the records of every CUPTI from 11.0 on, and the
 * graph ids where a record is long enough to have them; test abi_conformance holds the places
 * against the toolkit's headers. Stamps are kept as they are: ns of CLOCK_REALTIME.
 *
 * Threads: any, each with a converter of its own.
 */

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture/cupti_api_names.h"
#include "agent/capture/intern.h"
#include "agent/capture/thread.h"
#include "common/event.h"

#define RKT_CUPTI_KNOWN_KERNELS 256u /* a power of two */

/* How a kernel was launched: eight neighbouring fields of its record. */
#define RKT_CUPTI_LAUNCH_FIELDS 8u

struct rkt_cupti_known_kernel {
    const char *name;
    int32_t launch[RKT_CUPTI_LAUNCH_FIELDS];
    uint32_t registers;
    uint32_t name_id;
    uint32_t shape_id;
};

struct rkt_cupti_converter {
    struct rkt_intern *intern;
    const struct rkt_cupti_api_names *api_names;
    struct rkt_ring *ring;  /* of the converting thread: for new launch shapes */
    uint64_t latest_end_ns; /* a stamp beyond it is absurd */

    /*
     * Zeroed to begin with. For one buffer only: CUPTI keeps one copy of each name, but may give
     * its place to another name when a module is unloaded.
     */
    struct rkt_cupti_known_kernel known[RKT_CUPTI_KNOWN_KERNELS];
};

enum rkt_cupti_conversion {
    RKT_CUPTI_CONVERTED,
    RKT_CUPTI_IGNORED,   /* not a kind, or not a call, that is wanted; or cut off */
    RKT_CUPTI_BAD_STAMP, /* zero, reversed or absurd; event_out->kind tells which kind */
};

/* record_bytes is what the library's own walk says. */
enum rkt_cupti_conversion rkt_cupti_convert(struct rkt_cupti_converter *converter,
                                            const CUpti_Activity *record, size_t record_bytes,
                                            struct rkt_event *event_out);

#endif
