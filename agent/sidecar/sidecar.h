/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_SIDECAR_H
#define RKT_AGENT_SIDECAR_SIDECAR_H

/*
 * sidecar - everything of ours beside one rank, or beside one node's ranks.
 *
 * Place:   supervisor (control), training processes (regions) and rank 0 (transport) meet here.
 * Life:    JOINING -> RUNNING -> DRAINING -> CLOCKING -> FLUSHING -> WAITING -> LEFT; each
 *          step forward is by a message or by a limit, so that nobody waits for ever:
 *
 *          JOINING   HELLO said; WELCOME lets the job start
 *          RUNNING   until the job's end, or the supervisor's
 *          DRAINING  until every process closed capture or is gone, and the rings are empty
 *          CLOCKING  last bursts with rank 0; then the END of our own source
 *          FLUSHING  until rank 0 has written all
 *          WAITING   until rank 0 says LEAVE: its file and its report are done
 *
 * Threads: one; beside it that of gpu_samples.h, which touches nothing else. Waiting: step never
 *          blocks (accepting a process may take 100 ms); wait sleeps.
 * Memory:  regions, a batch per source, kind and clock, and the send queue.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture_config.h"
#include "agent/region.h"
#include "agent/sidecar/pace.h"
#include "agent/sidecar/send.h"
#include "common/node_id.h"
#include "common/status.h"
#include "common/transport.h"

struct rkt_sidecar;

struct rkt_sidecar_config {
    struct rkt_transport *transport; /* on loan */
    int control_fd;                  /* on loan */
    int listen_fd;                   /* on loan */
    struct rkt_region_config region;
    struct rkt_capture_config capture;
    int32_t job_rank; /* of a process without RANK; -1: not known */
    bool is_per_node;
    uint64_t drain_timeout_ns;
    uint64_t flush_interval_ns;
    struct rkt_send_config send;
    uint64_t gpu_interval_ns; /* of samples of the GPUs; 0: none */
    uint64_t
        ptp_bound_ns; /* how far REALTIME is from true time at most; 0: not known (clock_claim.h) */
    struct rkt_node_id node;
};

enum rkt_status rkt_sidecar_create(const struct rkt_sidecar_config *config, uint64_t now_ns,
                                   struct rkt_sidecar **sidecar_out, struct rkt_error *err);
void rkt_sidecar_destroy(struct rkt_sidecar *sidecar);

/* One round of everything; adds to *activity what it needs of the loop. */
void rkt_sidecar_step(struct rkt_sidecar *sidecar, uint64_t now_ns, struct rkt_activity *activity);

/* Sleep, or less when the supervisor or a process has something to say. */
void rkt_sidecar_wait(const struct rkt_sidecar *sidecar, uint64_t sleep_ns);

struct rkt_sidecar_leave {
    bool is_clean; /* every peer leaves too: MPI_Finalize is safe */
    int32_t value; /* what this rank should return when its job did not fail itself */
};

struct rkt_sidecar_lead {
    uint32_t rank;   /* of the leader: this one */
    bool has_shard;  /* it writes the frames of its group into a file of its own */
    uint64_t run_id; /* which then has this in its RUN */
};

/* Rank 0 made it the leader of a group: its process also has to relay (aggregator/relay.h). */
bool rkt_sidecar_is_leader(const struct rkt_sidecar *sidecar, struct rkt_sidecar_lead *lead_out);

/* Likewise: its process also has to answer clocks (aggregator/clock_answer.h). */
bool rkt_sidecar_is_clock_parent(const struct rkt_sidecar *sidecar);

/* True once there is nothing left to do. */
bool rkt_sidecar_has_left(const struct rkt_sidecar *sidecar, struct rkt_sidecar_leave *leave_out);

/* The supervisor asked to end soon (or is gone). */
bool rkt_sidecar_is_stopping(const struct rkt_sidecar *sidecar);

/* Rank 0: the supervisor's report is done (or the supervisor is gone). */
bool rkt_sidecar_is_report_done(const struct rkt_sidecar *sidecar);

#endif
