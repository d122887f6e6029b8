/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_SIDECAR_PARTS_H
#define RKT_AGENT_SIDECAR_SIDECAR_PARTS_H

/*
 * sidecar_parts - the inside of a sidecar, for sidecar.c (what comes and goes) and sidecar_phases.c
 * (when it goes on to the next phase, sidecar.h) alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/control.h"
#include "agent/sidecar/clock_claim.h"
#include "agent/sidecar/clock_probe.h"
#include "agent/sidecar/gpu_samples.h"
#include "agent/sidecar/link.h"
#include "agent/sidecar/own_source.h"
#include "agent/sidecar/process_set.h"
#include "agent/sidecar/refusals.h"
#include "agent/sidecar/sidecar.h"

enum rkt_sidecar_phase {
    RKT_SIDECAR_JOINING,
    RKT_SIDECAR_RUNNING,
    RKT_SIDECAR_DRAINING,
    RKT_SIDECAR_CLOCKING,
    RKT_SIDECAR_FLUSHING,
    RKT_SIDECAR_WAITING,
    RKT_SIDECAR_LEFT,
};

struct rkt_sidecar {
    struct rkt_sidecar_config config;
    int rank;
    enum rkt_sidecar_phase phase;
    uint64_t phase_ns; /* when it began */

    struct rkt_link link;
    struct rkt_send_queue *queue;
    struct rkt_own_source *own;
    struct rkt_process_set *set;
    struct rkt_gpu_samples *samples; /* NULL: not asked for */
    struct rkt_clock_probe *probe;   /* NULL on rank 0, which is the reference */
    struct rkt_clock_claimant claimant;

    /* from the supervisor */
    bool is_orphan; /* the supervisor is gone */
    bool is_stopping;
    bool is_report_done;
    struct rkt_job_end job;
    uint64_t job_end_ns;
    uint64_t waiting_due_ns;

    /* another rank failed: ABORT_JOB goes out once what was there by then is written */
    bool is_aborting;
    bool has_aborted;
    uint64_t abort_frames;
    uint64_t abort_limit_ns;

    uint64_t flush_due_ns;
    uint64_t accept_due_ns;
    struct rkt_refusals refusals;
    bool has_warned;
    bool has_said_failed;
    struct rkt_sidecar_leave leave;
};

/* ---- sidecar.c ---- */

/* Once per run: what failed was counted, and the rest goes on. */
void rkt_sidecar_warn_once(struct rkt_sidecar *sidecar, enum rkt_status status,
                           const struct rkt_error *err);
void rkt_sidecar_enter(struct rkt_sidecar *sidecar, enum rkt_sidecar_phase phase, uint64_t now_ns);
void rkt_sidecar_tell_supervisor(struct rkt_sidecar *sidecar, enum rkt_control_type type,
                                 int32_t value, const char *text);
/* Once, and only of a job that failed, and not because another had. */
void rkt_sidecar_say_job_failed(struct rkt_sidecar *sidecar);
/* Rank 0 has taken us in, and has not sent us away. */
bool rkt_sidecar_is_heard(const struct rkt_sidecar *sidecar);

/* ---- sidecar_phases.c, each once per step ---- */

/* Another rank failed: the job's end is ordered once what was there by then is written. */
void rkt_sidecar_step_abort(struct rkt_sidecar *sidecar, uint64_t now_ns);
void rkt_sidecar_step_phase(struct rkt_sidecar *sidecar, uint64_t now_ns);
/* After the job's end nobody waits for a rank 0 that says nothing. */
void rkt_sidecar_check_rank_0(struct rkt_sidecar *sidecar, uint64_t now_ns);

#endif
