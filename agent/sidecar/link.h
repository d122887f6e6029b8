/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_LINK_H
#define RKT_AGENT_SIDECAR_LINK_H

/*
 * link - a sidecar's side of the run protocol: what it says to rank 0 and what it heard, and
 * whether the leader of its group lives.
 *
 * Silence of RKT_LINK_SILENT_NS means that rank 0 is lost as far as waiting for it goes. It may
 * come back (a stalled disk holds it up too), so that nothing is thrown away for it before the
 * job's end.
 *
 * Where WELCOME named a leader, that gets a heartbeat each second and answers it. One that is
 * silent for RKT_LINK_LEADER_SILENT_NS while rank 0 is not is lost, for good: frames go to rank 0
 * then. Only time in which we listened counts: who was stopped itself knows nothing of others.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/node_id.h"
#include "common/run_message.h"
#include "common/status.h"
#include "common/transport.h"

#define RKT_LINK_HEARTBEAT_NS UINT64_C(1000000000)
#define RKT_LINK_SILENT_NS UINT64_C(10000000000)
#define RKT_LINK_LEADER_SILENT_NS UINT64_C(5000000000)

/* Plain data; the fields after the first group are for reading. */
struct rkt_link {
    struct rkt_transport *transport;
    uint64_t heartbeat_due_ns;
    uint64_t heard_ns;
    uint64_t leader_heard_ns;
    uint64_t stepped_ns;

    bool is_welcome;
    bool is_refused;
    bool has_abort;
    bool has_leave;
    bool has_store_failed;          /* rank 0, or our leader, writes no more frames */
    int leader;                     /* who takes our frames; may be ourselves */
    bool has_lost_leader;           /* so that rank 0 leads now */
    bool has_window;                /* an order; the reader takes it by setting this to false */
    struct rkt_run_message welcome; /* or the refusal */
    int32_t abort_rank;
    struct rkt_run_message leave;
    struct rkt_run_message window;

    /* set by the user before each step: where its job is, as heartbeats say */
    bool has_step;
    uint64_t step;
};

/* What HELLO says of this sidecar. */
struct rkt_link_self {
    const struct rkt_node_id *node;
    int32_t job_rank; /* -1: not known */
    bool is_per_node;
};

/* Says HELLO. */
enum rkt_status rkt_link_init(struct rkt_link *link, struct rkt_transport *transport,
                              const struct rkt_link_self *self, uint64_t now_ns,
                              struct rkt_error *err);

/* Take what has come and send the heartbeat that is due; true when something came. */
bool rkt_link_step(struct rkt_link *link, uint64_t now_ns);

enum rkt_status rkt_link_say(struct rkt_link *link, enum rkt_run_type type, int32_t value,
                             struct rkt_error *err);

/* The user wants the capture window toggled; `is_open` is how it is here. */
enum rkt_status rkt_link_toggle(struct rkt_link *link, bool is_open, struct rkt_error *err);

bool rkt_link_is_silent(const struct rkt_link *link, uint64_t now_ns);

#endif
