/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_WINDOW_ORDERS_H
#define RKT_AGGREGATOR_WINDOW_ORDERS_H

/*
 * window_orders - rank 0's decision on when all ranks open or close their capture windows. Pure.
 *
 *     toggles, --delay, --duration ─▶ a wish ─▶ order: open or closed, from step N on
 *     steps of the ranks, by heartbeat ────────▶ N: ahead of all of them
 *
 * Steps are counted from the start of each process. All ranks switch at the same one, so N is ahead
 * of the fastest by what it may do until the order is everywhere (RKT_WINDOW_REACH_NS, ten times
 * what that takes), and by one more to open: the step before a window is its warm-up. Where no rank
 * marks steps the order holds at once, that is within the second in which each process looks.
 *
 * One signal to all ranks arrives as many toggles: those of RKT_WINDOW_MERGE_NS are one, as is the
 * first of each rank within RKT_WINDOW_LATE_NS: its sidecar may have had no turn for seconds. An
 * order waits until the one before it has taken effect everywhere, so that no rank can miss that
 * one.
 *
 * Threads: one. Time: the caller's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RKT_WINDOW_MERGE_NS UINT64_C(1000000000)
#define RKT_WINDOW_LATE_NS UINT64_C(10000000000)
#define RKT_WINDOW_REACH_NS UINT64_C(500000000)

struct rkt_window_orders;

struct rkt_window_orders_config {
    int rank_count;
    uint64_t delay_ns;    /* from start on capture is closed for so long; 0: not at all */
    uint64_t duration_ns; /* and then open for so long; 0: to the end */
};

/* NULL: no memory. */
struct rkt_window_orders *rkt_window_orders_create(const struct rkt_window_orders_config *config);
void rkt_window_orders_destroy(struct rkt_window_orders *orders);

/* Jobs start: delay and duration count from here. Only the first call does anything. */
void rkt_window_orders_start(struct rkt_window_orders *orders, uint64_t now_ns);

/* This rank's job is in this step. */
void rkt_window_orders_step(struct rkt_window_orders *orders, int rank, uint64_t step,
                            uint64_t now_ns);
/* It is in none: it marks none, or is over. */
void rkt_window_orders_no_step(struct rkt_window_orders *orders, int rank);

/* `is_open`: how it is at the rank that passes the toggle on. */
void rkt_window_orders_toggle(struct rkt_window_orders *orders, int rank, bool is_open,
                              uint64_t now_ns);

struct rkt_window_order {
    bool is_open;
    bool has_step;      /* false: at once */
    uint64_t from_step; /* with which it takes effect */
};

/* The next order to all, if one is due. */
bool rkt_window_orders_next(struct rkt_window_orders *orders, uint64_t now_ns,
                            struct rkt_window_order *order_out);

#endif
