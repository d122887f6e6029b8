/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_AGGREGATOR_H
#define RKT_AGGREGATOR_AGGREGATOR_H

/*
 * aggregator - rank 0's part of a run: the file, the reference clock, and the order of the end.
 *
 * Active on rank 0 only, in the thread of its sidecar.
 *
 * Life: OPEN until every rank is flushed or lost (or stop's limit); CLOSING until the leaders with
 *       files of their own have closed them (or its limit); then END and ALIGN frames and the index
 *       are written: CLOSED. The supervisor makes its report of the file. release: LEAVE to all,
 *       LEAVING until that is out, DONE.
 *
 * Threads: one. Waiting: step never blocks but in write, and in fdatasync where asked for.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/node_id.h"
#include "common/status.h"
#include "common/transport.h"

/* Mpirun sends KILL about a second after TERM. */
#define RKT_AGGREGATOR_STOP_NS UINT64_C(600000000)

enum rkt_aggregator_phase {
    RKT_AGGREGATOR_OPEN,
    RKT_AGGREGATOR_CLOSING,
    RKT_AGGREGATOR_CLOSED,
    RKT_AGGREGATOR_LEAVING,
    RKT_AGGREGATOR_DONE,
};

struct rkt_aggregator;

struct rkt_aggregator_config {
    struct rkt_transport *transport; /* on loan */
    const char *store_path;
    const struct rkt_run_info *run; /* sharded: with a run_id */
    struct rkt_node_id node;
    const char *master_host;    /* on loan */
    const char *master_address; /* on loan; of that host, where its name is not known; NULL: none */
    uint16_t master_port;       /* free on this host a moment ago */
    const int *leaders;         /* by rank: who leads its group; copied. NULL: rank 0 leads all */
    uint32_t clock_star_max;    /* nodes that measure against rank 0; 0: RKT_CLOCK_STAR_MAX */
    bool is_sharded;            /* leaders write files of their own, where rank 0 sees them */
    bool is_per_node;
    bool is_abort_on_failure;
    bool needs_sync; /* an acknowledged record survives a power loss */
    /* When capture opens and closes, counted from the first job's start; 0: not by time. */
    uint64_t window_delay_ns;
    uint64_t window_duration_ns;
};

enum rkt_status rkt_aggregator_create(const struct rkt_aggregator_config *config, uint64_t now_ns,
                                      struct rkt_aggregator **aggregator_out,
                                      struct rkt_error *err);
/* A file that was not closed stays readable, without a trailer. */
void rkt_aggregator_destroy(struct rkt_aggregator *aggregator);

/* There can be no aggregator: tell every sidecar why, so that the jobs run untraced at once. */
void rkt_aggregator_refuse_all(struct rkt_transport *transport, const struct rkt_error *err);

/* One round of everything; true: more is there, do not sleep. */
bool rkt_aggregator_step(struct rkt_aggregator *aggregator, uint64_t now_ns);

/* Close the file soon, whoever has not flushed by then. */
void rkt_aggregator_stop(struct rkt_aggregator *aggregator, uint64_t now_ns);

/* The report is done: all may leave. Only when CLOSED. */
void rkt_aggregator_release(struct rkt_aggregator *aggregator, uint64_t now_ns);

enum rkt_aggregator_phase rkt_aggregator_phase_of(const struct rkt_aggregator *aggregator);
/* The file has its index and trailer; false: it is readable as far as it goes. */
bool rkt_aggregator_is_file_whole(const struct rkt_aggregator *aggregator);
/* How many frames came by the leaders of groups. */
uint64_t rkt_aggregator_bundled_frames(const struct rkt_aggregator *aggregator);

#endif
