/* SPDX-License-Identifier: Apache-2.0 */
/* When a sidecar goes on to its next phase. */
#include "agent/sidecar/sidecar_parts.h"

#include <stdio.h>

#include "common/log.h"
#include "common/run_message.h"

#define S UINT64_C(1000000000)
/* Processes that outlive the job get so long to close capture; then they are cut. */
#define ORPHAN_LIMIT_NS (3 * S)
#define CLOCKING_LIMIT_NS (3 * S)
/* Told to stop, we may be killed within a second. */
#define STOPPING_CLOCKING_LIMIT_NS (3 * S / 10)
/* Whose launcher ended it with all others is gone by then: so it was the first that failed. */
#define STOPPED_ALONE_NS (3 * S)
#define ABORT_FLUSH_LIMIT_NS (5 * S)
#define BURST_COUNT 3u
#define START_GAP_NS (3 * S / 10)
#define END_GAP_NS (S / 20)

/* ---- another rank failed ---- */

static void begin_abort(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_send_counts counts;
    struct rkt_error err = {0};

    sidecar->is_aborting = true;
    sidecar->abort_limit_ns = now_ns + ABORT_FLUSH_LIMIT_NS;
    rkt_sidecar_warn_once(sidecar, rkt_process_set_flush(sidecar->set, &err), &err);
    rkt_send_queue_counts(sidecar->queue, &counts);
    sidecar->abort_frames = counts.pushed_frames;
}

void rkt_sidecar_step_abort(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_send_counts counts;

    if (!sidecar->link.has_abort || sidecar->has_aborted || sidecar->phase >= RKT_SIDECAR_DRAINING)
        return;
    if (!sidecar->is_aborting)
        begin_abort(sidecar, now_ns);
    rkt_send_queue_counts(sidecar->queue, &counts);
    if (counts.acked_frames < sidecar->abort_frames && now_ns < sidecar->abort_limit_ns)
        return;
    sidecar->has_aborted = true;
    rkt_sidecar_tell_supervisor(sidecar, RKT_CONTROL_ABORT_JOB, sidecar->link.abort_rank, "");
}

/* ---- the phases ---- */

static void leave(struct rkt_sidecar *sidecar, bool is_clean, int32_t value, uint64_t now_ns)
{
    sidecar->leave.is_clean = is_clean;
    sidecar->leave.value = value;
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_LEFT, now_ns);
}

static void step_joining(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    const struct rkt_run_message *welcome = &sidecar->link.welcome;
    char text[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_error err = {0};

    if (sidecar->link.is_refused || rkt_link_is_silent(&sidecar->link, now_ns)) {
        rkt_log(RKT_LOG_ERROR, "sidecar", "rank 0 did not take this rank in", "reason=\"%s\"",
                sidecar->link.is_refused ? welcome->text : "no answer");
        leave(sidecar, (welcome->flags & RKT_RUN_FLAG_CLEAN) != 0, 0, now_ns);
        return;
    }
    if (!sidecar->link.is_welcome)
        return;
    (void)snprintf(text, sizeof(text), "%s %d%s%s", welcome->host, (int)welcome->value,
                   welcome->text[0] ? " " : "", welcome->text);
    rkt_sidecar_tell_supervisor(sidecar, RKT_CONTROL_READY, 0, text);
    rkt_sidecar_warn_once(sidecar, rkt_send_queue_set_run(sidecar->queue, welcome->run_id, &err),
                          &err);
    if (sidecar->probe && (welcome->flags & RKT_RUN_FLAG_HAS_CLOCK_PARENT))
        rkt_clock_probe_set_parent(sidecar->probe, (int)welcome->clock_parent);
    if (sidecar->rank != 0 && !(welcome->flags & RKT_RUN_FLAG_CLOCK_LEADER))
        sidecar->claimant.bound_ns = 0; /* another speaks for this clock */
    if (sidecar->probe)
        rkt_clock_probe_schedule(sidecar->probe, BURST_COUNT, START_GAP_NS,
                                 (welcome->flags & RKT_RUN_FLAG_CLOCK_LEADER) != 0);
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_RUNNING, now_ns);
}

/* NULL: rank 0 may still take what waits for it. */
static const char *why_sending_ends(const struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    if (sidecar->link.has_store_failed)
        return "the file cannot be written any more";
    if (sidecar->link.has_leave)
        return "rank 0 has closed its file";
    if (now_ns - sidecar->job_end_ns > sidecar->config.drain_timeout_ns)
        return "rank 0 did not take all in time";
    return NULL;
}

static void step_draining(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    uint64_t waited = now_ns - sidecar->job_end_ns;
    struct rkt_error err = {0};
    enum rkt_status status;

    if (rkt_process_set_live_count(sidecar->set) > 0 && waited < ORPHAN_LIMIT_NS &&
        waited < sidecar->config.drain_timeout_ns)
        return;
    status = rkt_process_set_end(sidecar->set, &sidecar->job, &err);
    if (status == RKT_AGAIN && !why_sending_ends(sidecar, now_ns) &&
        !rkt_link_is_silent(&sidecar->link, now_ns))
        return; /* once rank 0 has taken some there is room for the last words */
    rkt_sidecar_warn_once(sidecar, status, &err);
    rkt_refusals_say(&sidecar->refusals, now_ns, true);
    if (sidecar->samples)
        rkt_gpu_samples_want(sidecar->samples, 0);
    if (sidecar->probe)
        rkt_clock_probe_schedule(sidecar->probe, BURST_COUNT, END_GAP_NS, false);
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_CLOCKING, now_ns);
}

static void step_clocking(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    uint64_t limit_ns = sidecar->is_stopping ? STOPPING_CLOCKING_LIMIT_NS : CLOCKING_LIMIT_NS;
    struct rkt_error err = {0};

    if (sidecar->probe && !rkt_clock_probe_is_idle(sidecar->probe) &&
        rkt_sidecar_is_heard(sidecar) && now_ns - sidecar->phase_ns < limit_ns)
        return;
    rkt_sidecar_warn_once(sidecar, rkt_own_source_end(sidecar->own, &err), &err);
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_FLUSHING, now_ns);
}

/* Rank 0 will not write the rest. */
static void give_up_sending(struct rkt_sidecar *sidecar, const char *why, uint64_t waited_ns)
{
    struct rkt_send_counts counts;
    struct rkt_error err = {0};
    const char *path = "";
    enum rkt_status status = rkt_send_queue_keep(sidecar->queue, &path, &err);

    rkt_send_queue_abandon(sidecar->queue);
    rkt_send_queue_counts(sidecar->queue, &counts);
    if (status == RKT_OK)
        rkt_log(RKT_LOG_WARN, "sidecar", why, "seconds=%d kept=\"%s\" then=\"ranktrace recover\"",
                (int)(waited_ns / S), path);
    else
        rkt_log(RKT_LOG_WARN, "sidecar", why, "seconds=%d rest=\"%s\" lost_frames=%llu",
                (int)(waited_ns / S), status == RKT_END ? "none" : err.text,
                (unsigned long long)counts.dropped_frames);
}

static void step_flushing(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    const char *why = why_sending_ends(sidecar, now_ns);

    if (!rkt_send_queue_is_empty(sidecar->queue)) {
        if (!why)
            return;
        give_up_sending(sidecar, why, now_ns - sidecar->job_end_ns);
    }
    (void)rkt_link_say(&sidecar->link, RKT_RUN_FLUSHED, 0, NULL);
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_WAITING, now_ns);
}

static void step_waiting(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    const struct rkt_run_message *said = &sidecar->link.leave;

    if (sidecar->link.has_leave)
        leave(sidecar, (said->flags & RKT_RUN_FLAG_CLEAN) != 0, said->value, now_ns);
    else if (sidecar->is_stopping && now_ns - sidecar->phase_ns > STOPPED_ALONE_NS)
        rkt_sidecar_say_job_failed(sidecar);
}

void rkt_sidecar_step_phase(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    switch (sidecar->phase) {
    case RKT_SIDECAR_JOINING:
        step_joining(sidecar, now_ns);
        break;
    case RKT_SIDECAR_DRAINING:
        step_draining(sidecar, now_ns);
        break;
    case RKT_SIDECAR_CLOCKING:
        step_clocking(sidecar, now_ns);
        break;
    case RKT_SIDECAR_FLUSHING:
        step_flushing(sidecar, now_ns);
        break;
    case RKT_SIDECAR_WAITING:
        step_waiting(sidecar, now_ns);
        break;
    case RKT_SIDECAR_RUNNING:
    case RKT_SIDECAR_LEFT:
        break;
    }
}

void rkt_sidecar_check_rank_0(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    if (sidecar->phase < RKT_SIDECAR_CLOCKING || sidecar->phase == RKT_SIDECAR_LEFT ||
        !rkt_link_is_silent(&sidecar->link, now_ns))
        return;
    give_up_sending(sidecar, "rank 0 is silent: its file may lack the end of this rank",
                    RKT_LINK_SILENT_NS);
    leave(sidecar, false, 0, now_ns);
}
