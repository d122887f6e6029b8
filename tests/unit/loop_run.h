/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_LOOP_RUN_H
#define RKT_TESTS_UNIT_LOOP_RUN_H

/*
 * loop_run - a whole run in one process: every rank's sidecar, the relays of leaders, rank 0's
 * aggregator, the wires of the loop transport, and the test as every supervisor. Time is the
 * test's: a round is round_ns, a tick of the wires. What cannot be made fails the test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/control.h"
#include "agent/region.h"
#include "agent/sidecar/sidecar.h"
#include "aggregator/aggregator.h"
#include "aggregator/relay.h"
#include "common/store_reader.h"
#include "common/transport_loop.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define RUN_RANKS_MAX 8

struct run_rank {
    int listen_fd;
    int control_fd; /* the supervisor's end */
    int sidecar_fd;
    char socket[96];
    struct rkt_sidecar *sidecar;
    struct rkt_relay *relay; /* of a leader */
    char shard_path[400];
    bool is_dead;    /* gets no more turns, and its wires are cut */
    bool is_stopped; /* gets no turns for now: the test sets it */

    /* what the sidecar said */
    bool is_ready;
    bool has_abort;
    bool has_left;
    int32_t abort_rank;
    struct rkt_sidecar_leave leave;
};

struct run {
    int rank_count;
    char folder[64];
    char store_path[96];
    uint64_t now_ns;
    uint64_t round_ns; /* a millisecond, unless the test says otherwise */
    struct rkt_loop_hub *hub;
    struct rkt_aggregator *aggregator;
    bool is_report_held;
    const char *shard_folder; /* NULL: as rank 0's; the test sets it */
    struct run_rank ranks[RUN_RANKS_MAX];
    struct rkt_store_reader *reader;
};

/*
 * `leaders` by rank; NULL: rank 0 leads all. is_sharded: they write files. Two ranks in a row are
 * on a node.
 */
struct run *run_create(int rank_count, const int *leaders, bool is_sharded);
void run_destroy(struct run *run);

void run_step(struct run *run);
void run_for(struct run *run, uint64_t duration_ns);
void run_hear(struct run_rank *rank);

void run_tell(struct run *run, int rank, enum rkt_control_type type, int value);
void run_start_jobs(struct run *run); /* after a second, in which all join */
void run_end_job(struct run *run, int rank, int wait_status);
void run_die(struct run *run, int rank);

/* The timeline to run->reader. */
void run_open_store(struct run *run);
const struct rkt_store_source *run_source(struct run *run, uint32_t number);

/* The capture side of a rank's job. */
struct run_capture {
    const char *socket;
    struct rkt_region *region;
    int fd;
    _Atomic bool has_met;
};

void run_connect_job(struct run *run, int rank, struct run_capture *capture);
void run_leave_job(struct run_capture *capture);

#endif
