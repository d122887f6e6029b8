/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_PROCESS_SET_H
#define RKT_AGENT_SIDECAR_PROCESS_SET_H

/*
 * process_set - every process that connected to this sidecar, and which of them is a rank's.
 *
 * RANK is inherited by compile workers, loaders and launchers. Of the processes with one rank
 * (and one restart of it) the main one is the first that made a communicator, else the one with
 * most step marks, else with most GPU work; the others are helpers, outside every sum. The
 * choice is made anew whenever it can have changed, and said to the store.
 *
 * A helper's END is written as soon as it is gone. A main process's waits: the job's exit code
 * is known only later.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/hello.h"
#include "agent/sidecar/gpu_samples.h"
#include "agent/sidecar/process.h"
#include "common/node_id.h"
#include "common/source_writer.h"
#include "common/status.h"

struct rkt_process_set;

struct rkt_process_set_config {
    int listen_fd; /* on loan */
    struct rkt_region_config region;
    struct rkt_capture_config capture;
    uint32_t sidecar_rank; /* among sidecar_count: numbers the sources (run_message.h) */
    uint32_t sidecar_count;
    int32_t default_rank; /* of a process without RANK; -1: stays unknown */
    struct rkt_node_id node;
    rkt_frame_sink_fn sink;
    void *sink_ctx;
};

/* How the job's own process ended. */
struct rkt_job_end {
    pid_t pid;
    bool is_known; /* false: nobody can say */
    int wait_status;
};

enum rkt_status rkt_process_set_create(const struct rkt_process_set_config *config,
                                       struct rkt_process_set **set_out, struct rkt_error *err);
void rkt_process_set_destroy(struct rkt_process_set *set);

/* Take in who waits; RKT_AGAIN when nobody does. An error refuses one process, no more. */
enum rkt_status rkt_process_set_accept(struct rkt_process_set *set, struct rkt_error *err);

/*
 * Empty all rings once, settle who is main, end helpers that are gone. The first error of a
 * process is returned; the others are drained all the same.
 */
enum rkt_status rkt_process_set_drain(struct rkt_process_set *set, bool drops_frequent,
                                      struct rkt_drain_result *result_out, struct rkt_error *err);

enum rkt_status rkt_process_set_flush(struct rkt_process_set *set, struct rkt_error *err);

/* The furthest step that any process is in; false when none marks steps. */
bool rkt_process_set_step(const struct rkt_process_set *set, uint64_t *step_out);

/* Whether any process records; without processes: whether the first one will. */
bool rkt_process_set_is_window_open(const struct rkt_process_set *set);

/* For all processes, also those that come later. */
void rkt_process_set_order_window(struct rkt_process_set *set,
                                  const struct rkt_region_window_order *order);

/*
 * Ask for samples of the GPUs that processes use, and give what came to the processes that use
 * them: to each that shares a GPU the same.
 */
enum rkt_status rkt_process_set_sample(struct rkt_process_set *set, struct rkt_gpu_samples *samples,
                                       struct rkt_error *err);

/* Processes that may still bring events. */
size_t rkt_process_set_live_count(const struct rkt_process_set *set);

/*
 * END for all that have none. RKT_AGAIN: some have none yet, as the sink has no room. Where no
 * process ever connected, and the job's rank is known, a source is made that says so: with an END
 * and nothing else.
 */
enum rkt_status rkt_process_set_end(struct rkt_process_set *set, const struct rkt_job_end *job,
                                    struct rkt_error *err);

/* Up to `cap` sockets whose readiness is news: the listening one first. Returns how many. */
size_t rkt_process_set_fds(const struct rkt_process_set *set, int *fds_out, size_t cap);

#endif
