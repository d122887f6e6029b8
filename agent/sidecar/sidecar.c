/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/sidecar_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/control.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/run_message.h"

#define S UINT64_C(1000000000)
/* Told to stop, we may be killed within a second: what comes is made into frames soon. */
#define STOPPING_FLUSH_NS (S / 10)
#define POLL_FDS_MAX 64
/* When nobody can be taken in (descriptors are out), who waits is not asked for so long. */
#define ACCEPT_PAUSE_NS (S / 10)

static uint64_t read_raw(void *ctx)
{
    (void)ctx;
    return rkt_now_raw_ns();
}

static enum rkt_status create_probe(struct rkt_sidecar *sidecar, struct rkt_error *err)
{
    struct rkt_clock_probe_config config = {
        .transport = sidecar->config.transport,
        .seed = (uint64_t)getpid() * 2654435761u,
        .clock = read_raw,
        .on_exchange = rkt_own_source_add,
        .exchange_ctx = sidecar->own,
    };

    if (sidecar->rank == 0)
        return RKT_OK;
    return rkt_clock_probe_create(&config, &sidecar->probe, err);
}

static enum rkt_status create_set(struct rkt_sidecar *sidecar, struct rkt_error *err)
{
    struct rkt_process_set_config config = {
        .listen_fd = sidecar->config.listen_fd,
        .region = sidecar->config.region,
        .capture = sidecar->config.capture,
        .sidecar_rank = (uint32_t)sidecar->rank,
        .sidecar_count = (uint32_t)rkt_transport_size(sidecar->config.transport),
        .default_rank = sidecar->config.is_per_node ? -1 : sidecar->config.job_rank,
        .node = sidecar->config.node,
        .sink = rkt_send_queue_push,
        .sink_ctx = sidecar->queue,
    };

    return rkt_process_set_create(&config, &sidecar->set, err);
}

enum rkt_status rkt_sidecar_create(const struct rkt_sidecar_config *config, uint64_t now_ns,
                                   struct rkt_sidecar **sidecar_out, struct rkt_error *err)
{
    struct rkt_sidecar *sidecar = calloc(1, sizeof(*sidecar));
    const struct rkt_link_self self = {
        .node = &config->node, .job_rank = config->job_rank, .is_per_node = config->is_per_node};
    enum rkt_status status;

    if (!sidecar)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the sidecar");
    sidecar->config = *config;
    sidecar->rank = rkt_transport_rank(config->transport);
    sidecar->phase_ns = now_ns;
    sidecar->flush_due_ns = now_ns + config->flush_interval_ns;
    sidecar->claimant.bound_ns = config->ptp_bound_ns;
    status = rkt_send_queue_create(config->transport, &config->send, &sidecar->queue, err);
    if (status == RKT_OK)
        status = rkt_own_source_create((uint32_t)sidecar->rank, &config->node, rkt_send_queue_push,
                                       sidecar->queue, &sidecar->own, err);
    if (status == RKT_OK)
        status = create_set(sidecar, err);
    if (status == RKT_OK && config->gpu_interval_ns > 0)
        status = rkt_gpu_samples_create(config->gpu_interval_ns, &sidecar->samples, err);
    if (status == RKT_OK)
        status = create_probe(sidecar, err);
    if (status == RKT_OK)
        status = rkt_link_init(&sidecar->link, config->transport, &self, now_ns, err);
    if (status != RKT_OK) {
        rkt_sidecar_destroy(sidecar);
        return status;
    }
    *sidecar_out = sidecar;
    return RKT_OK;
}

void rkt_sidecar_destroy(struct rkt_sidecar *sidecar)
{
    if (!sidecar)
        return;
    rkt_clock_probe_destroy(sidecar->probe);
    rkt_gpu_samples_destroy(sidecar->samples);
    rkt_process_set_destroy(sidecar->set);
    rkt_own_source_destroy(sidecar->own);
    rkt_send_queue_destroy(sidecar->queue);
    free(sidecar);
}

void rkt_sidecar_warn_once(struct rkt_sidecar *sidecar, enum rkt_status status,
                           const struct rkt_error *err)
{
    if (status >= RKT_OK || sidecar->has_warned)
        return;
    sidecar->has_warned = true;
    rkt_log(RKT_LOG_WARN, "sidecar", err->text, "status=%s", rkt_status_name(status));
}

void rkt_sidecar_enter(struct rkt_sidecar *sidecar, enum rkt_sidecar_phase phase, uint64_t now_ns)
{
    sidecar->phase = phase;
    sidecar->phase_ns = now_ns;
    rkt_log(RKT_LOG_DEBUG, "sidecar", "phase", "phase=%d", (int)phase);
}

void rkt_sidecar_tell_supervisor(struct rkt_sidecar *sidecar, enum rkt_control_type type,
                                 int32_t value, const char *text)
{
    /* A supervisor that is gone shows as a hang-up, which is handled there. */
    if (!sidecar->is_orphan)
        (void)rkt_control_send(sidecar->config.control_fd, type, value, text, NULL);
}

/* ---- the supervisor ---- */

static int32_t shell_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void rkt_sidecar_say_job_failed(struct rkt_sidecar *sidecar)
{
    const struct rkt_job_end *job = &sidecar->job;

    if (!job->is_known || job->wait_status == 0 || sidecar->has_aborted || sidecar->has_said_failed)
        return;
    sidecar->has_said_failed = true;
    (void)rkt_link_say(&sidecar->link, RKT_RUN_JOB_FAILED, shell_code(job->wait_status), NULL);
}

static void job_has_ended(struct rkt_sidecar *sidecar, bool is_known, int wait_status,
                          uint64_t now_ns)
{
    if (sidecar->phase >= RKT_SIDECAR_DRAINING)
        return;
    sidecar->job.is_known = is_known;
    sidecar->job.wait_status = wait_status;
    sidecar->job_end_ns = now_ns;
    sidecar->waiting_due_ns = now_ns + RKT_CONTROL_WAITING_NS;
    /* A job that a signal to all stopped is not what went wrong first. */
    if (!sidecar->is_stopping)
        rkt_sidecar_say_job_failed(sidecar);
    rkt_sidecar_enter(sidecar, RKT_SIDECAR_DRAINING, now_ns);
}

/* What is here goes out now: there may be little time. */
static void stop(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_error err = {0};
    const char *path;

    sidecar->is_stopping = true;
    sidecar->flush_due_ns = now_ns;
    if (sidecar->phase < RKT_SIDECAR_FLUSHING)
        rkt_sidecar_warn_once(sidecar, rkt_own_source_flush(sidecar->own, &err), &err);
    /* Should rank 0 be too late for the rest, it is on disk. */
    (void)rkt_send_queue_keep(sidecar->queue, &path, NULL);
}

static void take_control(struct rkt_sidecar *sidecar, const struct rkt_control_message *message,
                         uint64_t now_ns)
{
    switch (message->type) {
    case RKT_CONTROL_JOB_STARTED:
        sidecar->job.pid = (pid_t)message->value;
        break;
    case RKT_CONTROL_JOB_ENDED:
        job_has_ended(sidecar, true, message->value, now_ns);
        break;
    case RKT_CONTROL_REPORT_DONE:
        sidecar->is_report_done = true;
        break;
    case RKT_CONTROL_TOGGLE:
        (void)rkt_link_toggle(&sidecar->link, rkt_process_set_is_window_open(sidecar->set), NULL);
        break;
    case RKT_CONTROL_STOP:
        stop(sidecar, now_ns);
        break;
    default: /* our own types, or those of a later version */
        break;
    }
}

static void hear_supervisor(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_control_message message;
    enum rkt_status status = RKT_END;

    while (!sidecar->is_orphan &&
           (status = rkt_control_receive(sidecar->config.control_fd, &message, NULL)) == RKT_OK)
        take_control(sidecar, &message, now_ns);
    if (sidecar->is_orphan || status == RKT_AGAIN)
        return;
    sidecar->is_orphan = true;
    sidecar->is_report_done = true;
    stop(sidecar, now_ns);
    job_has_ended(sidecar, false, 0, now_ns);
}

/* ---- events ---- */

static bool is_out_of_resources(const struct rkt_error *err)
{
    return err->status == RKT_ERR_NOMEM || err->sys_errno == EMFILE || err->sys_errno == ENFILE ||
           err->sys_errno == ENOMEM || err->sys_errno == ENOBUFS;
}

static void accept_processes(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_error err = {0};
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK && now_ns >= sidecar->accept_due_ns) {
        status = rkt_process_set_accept(sidecar->set, &err);
        if (status < RKT_OK)
            rkt_refusals_add(&sidecar->refusals, &err);
        if (status < RKT_OK && is_out_of_resources(&err))
            sidecar->accept_due_ns = now_ns + ACCEPT_PAUSE_NS;
    }
    rkt_refusals_say(&sidecar->refusals, now_ns, false);
}

static void move_events(struct rkt_sidecar *sidecar, uint64_t now_ns, struct rkt_activity *activity)
{
    struct rkt_drain_result result = {0};
    struct rkt_error err = {0};

    if (sidecar->phase >= RKT_SIDECAR_CLOCKING)
        return;
    accept_processes(sidecar, now_ns);
    rkt_sidecar_warn_once(
        sidecar,
        rkt_process_set_drain(sidecar->set, rkt_send_queue_is_full(sidecar->queue), &result, &err),
        &err);
    if (sidecar->samples)
        rkt_sidecar_warn_once(sidecar, rkt_process_set_sample(sidecar->set, sidecar->samples, &err),
                              &err);
    if (result.fill_percent > activity->fill_percent)
        activity->fill_percent = result.fill_percent;
    if (now_ns < sidecar->flush_due_ns)
        return;
    sidecar->flush_due_ns =
        now_ns + (sidecar->is_stopping ? STOPPING_FLUSH_NS : sidecar->config.flush_interval_ns);
    rkt_sidecar_warn_once(sidecar, rkt_process_set_flush(sidecar->set, &err), &err);
}

bool rkt_sidecar_is_heard(const struct rkt_sidecar *sidecar)
{
    return sidecar->link.is_welcome && !sidecar->link.has_leave;
}

/* What rank 0 does not hear of is not stored either: both align by the same. */
static void claim_true_time(struct rkt_sidecar *sidecar, uint64_t now_ns)
{
    struct rkt_clock_message message = {.type = RKT_BURST_CLAIM, .kept_count = 1};
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    struct rkt_error err = {0};
    struct rkt_event claim;
    enum rkt_status status;

    if (!rkt_clock_claimant_step(&sidecar->claimant, now_ns, &claim))
        return;
    message.kept[0] = (struct rkt_clock_stamps){.t1_ns = claim.start_ns,
                                                .t2_ns = claim.clock_true.latest_ns,
                                                .t3_ns = claim.clock_true.earliest_ns,
                                                .t4_ns = claim.end_ns};
    status = rkt_transport_send(sidecar->config.transport, 0, RKT_TAG_CLOCK_UP, buf,
                                rkt_clock_message_encode(&message, buf), &err);
    if (status == RKT_OK)
        status = rkt_own_source_add(sidecar->own, &claim, &err);
    rkt_sidecar_warn_once(sidecar, status, &err);
}

static void move_own_events(struct rkt_sidecar *sidecar, uint64_t now_ns,
                            struct rkt_activity *activity)
{
    bool is_silent = rkt_link_is_silent(&sidecar->link, now_ns);
    struct rkt_error err = {0};

    if (sidecar->phase < RKT_SIDECAR_FLUSHING)
        rkt_sidecar_warn_once(sidecar, rkt_own_source_step(sidecar->own, now_ns, &err), &err);
    if (rkt_sidecar_is_heard(sidecar) && !is_silent && sidecar->phase < RKT_SIDECAR_FLUSHING)
        claim_true_time(sidecar, now_ns);
    if (sidecar->probe && rkt_sidecar_is_heard(sidecar) && !is_silent &&
        sidecar->phase < RKT_SIDECAR_FLUSHING && rkt_clock_probe_step(sidecar->probe, &err))
        activity->wants_soon = true;
    if (sidecar->link.is_welcome && rkt_send_queue_step(sidecar->queue, &err))
        activity->wants_soon = true;
    if (!rkt_send_queue_is_empty(sidecar->queue) && !is_silent)
        activity->is_waiting = true;
}

/* ---- who takes our frames ---- */

static void follow_leader(struct rkt_sidecar *sidecar)
{
    struct rkt_link *link = &sidecar->link;

    if (link->has_lost_leader) {
        link->has_lost_leader = false;
        rkt_log(RKT_LOG_WARN, "sidecar", "the leader is silent: frames go to rank 0 directly",
                "leader=%u", link->welcome.leader);
    }
    rkt_send_queue_aim(sidecar->queue, link->leader);
}

/* ---- capture windows ---- */

static void take_window_order(struct rkt_sidecar *sidecar)
{
    const struct rkt_run_message *message = &sidecar->link.window;
    struct rkt_region_window_order order = {
        .from_step = message->step, /* 0, which is at once, where there is none */
        .is_open = (message->flags & RKT_RUN_FLAG_IS_OPEN) != 0,
    };

    sidecar->link.has_window = false;
    rkt_process_set_order_window(sidecar->set, &order);
    rkt_log(RKT_LOG_DEBUG, "sidecar", "the capture window is ordered", "open=%d from_step=%llu",
            order.is_open, (unsigned long long)order.from_step);
}

void rkt_sidecar_step(struct rkt_sidecar *sidecar, uint64_t now_ns, struct rkt_activity *activity)
{
    /* before a signal is passed on, which says the step */
    sidecar->link.has_step = rkt_process_set_step(sidecar->set, &sidecar->link.step);
    hear_supervisor(sidecar, now_ns); /* rank 0's too, which has left: of the report */
    if (sidecar->phase == RKT_SIDECAR_LEFT)
        return;
    if (rkt_link_step(&sidecar->link, now_ns))
        activity->wants_soon = true;
    follow_leader(sidecar);
    if (sidecar->link.has_window)
        take_window_order(sidecar);
    if (sidecar->link.has_store_failed || sidecar->link.has_leave)
        rkt_send_queue_pause(sidecar->queue);
    move_events(sidecar, now_ns, activity);
    move_own_events(sidecar, now_ns, activity);
    rkt_sidecar_step_abort(sidecar, now_ns);
    rkt_sidecar_step_phase(sidecar, now_ns);
    rkt_sidecar_check_rank_0(sidecar, now_ns);
    (void)rkt_transport_progress(sidecar->config.transport);
    if (sidecar->phase >= RKT_SIDECAR_DRAINING && sidecar->phase < RKT_SIDECAR_LEFT &&
        now_ns >= sidecar->waiting_due_ns) {
        rkt_sidecar_tell_supervisor(sidecar, RKT_CONTROL_WAITING, 0, "");
        sidecar->waiting_due_ns = now_ns + RKT_CONTROL_WAITING_NS;
    }
}

void rkt_sidecar_wait(const struct rkt_sidecar *sidecar, uint64_t sleep_ns)
{
    const struct timespec limit = {.tv_sec = (time_t)(sleep_ns / S),
                                   .tv_nsec = (long)(sleep_ns % S)};
    struct pollfd polls[POLL_FDS_MAX];
    int fds[POLL_FDS_MAX];
    nfds_t count = 0;
    size_t fd_count = rkt_process_set_fds(sidecar->set, fds, POLL_FDS_MAX - 1);

    if (!sidecar->is_orphan)
        polls[count++] = (struct pollfd){.fd = sidecar->config.control_fd, .events = POLLIN};
    /* the first is who waits to be taken in */
    for (size_t i = sidecar->accept_due_ns > rkt_now_raw_ns();
         i < fd_count && sidecar->phase < RKT_SIDECAR_CLOCKING; i++)
        polls[count++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    (void)ppoll(polls, count, &limit, NULL);
}

bool rkt_sidecar_is_leader(const struct rkt_sidecar *sidecar, struct rkt_sidecar_lead *lead_out)
{
    const struct rkt_run_message *welcome = &sidecar->link.welcome;

    if (sidecar->rank == 0 || sidecar->link.leader != sidecar->rank)
        return false;
    lead_out->rank = (uint32_t)sidecar->rank;
    lead_out->has_shard = (welcome->flags & RKT_RUN_FLAG_SHARDED) != 0;
    lead_out->run_id = welcome->run_id;
    return true;
}

bool rkt_sidecar_is_clock_parent(const struct rkt_sidecar *sidecar)
{
    return (sidecar->link.welcome.flags & RKT_RUN_FLAG_CLOCK_PARENT) != 0;
}

bool rkt_sidecar_has_left(const struct rkt_sidecar *sidecar, struct rkt_sidecar_leave *leave_out)
{
    if (sidecar->phase != RKT_SIDECAR_LEFT)
        return false;
    *leave_out = sidecar->leave;
    return true;
}

bool rkt_sidecar_is_stopping(const struct rkt_sidecar *sidecar)
{
    return sidecar->is_stopping;
}

bool rkt_sidecar_is_report_done(const struct rkt_sidecar *sidecar)
{
    return sidecar->is_report_done;
}
