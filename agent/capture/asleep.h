/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_ASLEEP_H
#define RKT_CAPTURE_ASLEEP_H

/*
 * asleep - for how long of a stretch of its time a thread slept or was blocked.
 *
 *     length of the stretch, less CPU time of the whole process in it, less the time in which the
 *     thread was ready and had no core
 *
 * What other threads compute meanwhile counts, since the thread may wait for just that (as for the
 * threads of a parallel loop). So it slept that long at least. What the kernel has not yet booked
 * of a thread that runs on another core is missing: one tick, some ms.
 *
 * Threads: any, for itself. errno is kept.
 * Cost:    about 0.3 us for begin and for end. Where 1 ms or more went by without computing since
 *          the last look, a look at a file of /proc: some us. It is opened and closed, as the job
 *          may close any descriptor that is kept open. Where it cannot be read nothing is known,
 *          and it is not asked for again.
 */

#include <stdbool.h>
#include <stdint.h>

/* What is known of a thread at one moment. */
struct rkt_asleep_look {
    uint64_t now_ns;
    uint64_t process_cpu_ns;
    uint64_t waited_ns; /* for a core, in all */
};

/* A thread's own. All zero to begin with. */
struct rkt_asleep {
    bool is_known; /* last */
    bool is_off;
    struct rkt_asleep_look last;
};

/* Where a stretch begins. */
struct rkt_asleep_begin {
    bool is_known;
    struct rkt_asleep_look look; /* waited_ns: less than 1 ms before */
};

void rkt_asleep_begin(struct rkt_asleep *thread, uint64_t now_ns, struct rkt_asleep_begin *begin);

/* 0: less than 1 ms of the stretch, or not known. */
uint64_t rkt_asleep_end(struct rkt_asleep *thread, const struct rkt_asleep_begin *begin,
                        uint64_t now_ns);

/* The time for a core in the text of a schedstat file ("cpu_ns waited_ns slices"); false: other
 * text. */
bool rkt_asleep_parse(const char *text, uint64_t *waited_ns);

#endif
