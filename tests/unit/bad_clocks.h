/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_BAD_CLOCKS_H
#define RKT_TESTS_UNIT_BAD_CLOCKS_H

/*
 * bad_clocks - ways in which what was measured of a clock tells nothing of it, or less; and what an
 * alignment shall say of each.
 */

#include <stddef.h>

#include "common/clock_curve.h"
#include "common/descriptor.h"
#include "common/event.h"

#define BAD_CLOCK_BURSTS 20u
#define BAD_CLOCK_COUNT 10u

struct bad_clock {
    const char *what;
    void (*spoil)(struct rkt_event *exchange, size_t k); /* of burst k */
    size_t count;                                        /* of bursts; BAD_CLOCK_BURSTS at most */
    enum rkt_align_state state;
    uint32_t flags; /* enum rkt_clock_flag */
};

extern const struct bad_clock bad_clocks[BAD_CLOCK_COUNT];

/* Burst k, from 0 on: one exchange, each 10 s from 10 s on, 8 us each way. `ahead_ns`: of true
 * time, of the clock that is measured and of that of `peer_source`. */
struct rkt_event bad_clock_exchange(size_t k, uint64_t ahead_ns, uint64_t peer_ahead_ns,
                                    uint32_t peer_source);

/* The answer is from a clock that is ahead by so much more. */
void bad_clock_shift_answer(struct rkt_event *exchange, int64_t by_ns);

#endif
