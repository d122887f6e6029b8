/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_PROCESS_H
#define RKT_AGENT_SIDECAR_PROCESS_H

/*
 * process - one training process as its sidecar sees it: a region to drain, a source to write.
 *
 * Place:   ring, region -> [process] -> source_writer -> send.
 * Trust:   what the region holds was written by another process: kinds, clocks and name ids
 *          are checked; what is senseless is counted and left out.
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hello.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/source_writer.h"
#include "common/status.h"

/* Events that one pop takes; the caller's buffer of drain has room for so many. */
#define RKT_DRAIN_EVENTS 512u

struct rkt_process;

/* The peer moves to the process, also on failure. */
enum rkt_status rkt_process_create(struct rkt_hello_peer *peer, const struct rkt_source_info *info,
                                   rkt_frame_sink_fn sink, void *sink_ctx,
                                   struct rkt_process **process_out, struct rkt_error *err);
void rkt_process_destroy(struct rkt_process *process); /* NULL is fine */

struct rkt_drain_result {
    size_t event_count;    /* taken from the rings */
    uint32_t fill_percent; /* of the fullest ring, as far as this pass saw */
};

/*
 * Empty the rings once. `drops_frequent`: count events of the frequent kinds as lost to the send
 * queue instead of encoding them. Errors (memory) are said once per process by the return.
 */
enum rkt_status rkt_process_drain(struct rkt_process *process, bool drops_frequent,
                                  struct rkt_event *buffer, struct rkt_drain_result *result,
                                  struct rkt_error *err);

/*
 * The step that it is in; false when it marks none or is gone. Whether its capture window is open,
 * as far as its events tell. An order on that window.
 */
bool rkt_process_step(const struct rkt_process *process, uint64_t *step_out);
bool rkt_process_is_window_open(const struct rkt_process *process);
void rkt_process_order_window(struct rkt_process *process,
                              const struct rkt_region_window_order *order);

/* Encode what waits for a fuller batch, and what was lost since the last flush. */
enum rkt_status rkt_process_flush(struct rkt_process *process, struct rkt_error *err);

/*
 * It closed capture or is gone, and its rings are empty. To be asked after a drain: what came
 * before the end is then in.
 */
bool rkt_process_is_finished(const struct rkt_process *process);

/* The GPUs that it said it uses, in that order; as the process counts them. */
size_t rkt_process_device_count(const struct rkt_process *process);
const struct rkt_event_device *rkt_process_device(const struct rkt_process *process, size_t index);

/* A sample of one of them, while the process lives; afterwards nothing is added. */
enum rkt_status rkt_process_add_counter(struct rkt_process *process, const struct rkt_event *event,
                                        struct rkt_error *err);

/* Its socket; for poll. */
int rkt_process_fd(const struct rkt_process *process);
const struct rkt_source_info *rkt_process_info(const struct rkt_process *process);
bool rkt_process_has_ended(const struct rkt_process *process);

/*
 * Whether `a` is rather the main process of a rank than `b`: the first that made a communicator,
 * else more step marks, else more GPU work. Counts only grow, so a process that is done and
 * behind stays behind.
 */
bool rkt_process_is_ahead(const struct rkt_process *a, const struct rkt_process *b);

/* Says the new role to the store where it changed. */
enum rkt_status rkt_process_set_role(struct rkt_process *process, enum rkt_source_role role,
                                     struct rkt_error *err);

/*
 * The END frame. RKT_AGAIN: the sink has no room, all is as before. Afterwards only the calls above
 * that ask and destroy are allowed. The region is given back. reason, exit_code and signal_number
 * of *end are the caller's.
 */
enum rkt_status rkt_process_end(struct rkt_process *process, struct rkt_end_info *end,
                                struct rkt_error *err);

#endif
