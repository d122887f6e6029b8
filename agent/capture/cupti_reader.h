/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_READER_H
#define RKT_CAPTURE_CUPTI_READER_H

/*
 * cupti_reader - the records of a buffer that CUPTI gives back, as events in a ring.
 *
 * Threads: CUPTI's own and the flush thread, each with its own ring.
 * Waiting: for room in the ring, up to a second per buffer, since these threads may, and CUPTI has
 *          buffers for longer; not again after a wait in vain, until there is room.
 * Lost:    records with unusable stamps, those for which there is no ring, and those behind a
 *          step of the library's walk that leads nowhere, are counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture/capture.h"
#include "agent/capture/cupti_api_names.h"
#include "agent/capture/cupti_devices.h"
#include "agent/capture/cupti_library.h"

struct rkt_cupti_reader {
    /* set before the first buffer, then read only */
    struct rkt_capture *capture;
    const struct rkt_cupti_library *library;
    const struct rkt_cupti_api_names *api_names;
    bool has_system_thread_ids; /* the records' thread ids are gettid's */

    struct rkt_cupti_devices devices;
    _Atomic uint64_t earliest_ns;      /* lowered to the earliest stamp that is read */
    _Atomic uint64_t stop_deadline_ns; /* at exit: until when all buffers may wait; 0 before */
    _Atomic bool has_waited_in_vain;   /* for room, and there has been none since */
    _Atomic uint64_t good_work_count;  /* records of GPU work with usable stamps */
    _Atomic uint64_t bad_work_count;   /* and those without */
};

void rkt_cupti_reader_read(struct rkt_cupti_reader *reader, uint8_t *buffer, size_t valid_bytes);

/* Of these bytes nothing can be read: at most so many records were in it. */
void rkt_cupti_reader_count_unread(struct rkt_cupti_reader *reader, size_t bytes);

#endif
