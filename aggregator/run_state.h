/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_RUN_STATE_H
#define RKT_AGGREGATOR_RUN_STATE_H

/*
 * run_state - which ranks are in the run, which have flushed, which are lost. Pure.
 *
 * A rank is lost when it is silent for RKT_PEER_SILENT_NS and all that is left to wait for is
 * silent too. While others still run nothing is decided: a rank may be held up, and nobody
 * waits for it yet.
 *
 * Threads: one. Time: the caller's.
 */

#include <stdbool.h>
#include <stdint.h>

#define RKT_PEER_SILENT_NS UINT64_C(5000000000)

struct rkt_run_state;

enum rkt_peer_state {
    RKT_PEER_ABSENT, /* said nothing yet */
    RKT_PEER_JOINED,
    RKT_PEER_FLUSHED,
    RKT_PEER_LOST,
};

struct rkt_run_state *rkt_run_state_create(int rank_count, uint64_t now_ns); /* NULL: no memory */
void rkt_run_state_destroy(struct rkt_run_state *state);

/* Anything came from this rank. A lost one that speaks again stays lost. */
void rkt_run_state_heard(struct rkt_run_state *state, int rank, uint64_t now_ns);
/* So long of the silence of all does not count: nobody listened. */
void rkt_run_state_forgive(struct rkt_run_state *state, uint64_t pause_ns);
void rkt_run_state_joined(struct rkt_run_state *state, int rank);
void rkt_run_state_flushed(struct rkt_run_state *state, int rank);

/* Its job failed; true for the first one of the run. */
bool rkt_run_state_failed(struct rkt_run_state *state, int rank, int32_t code);
/* -1: none failed. *code_out may be NULL. */
int rkt_run_state_first_failed(const struct rkt_run_state *state, int32_t *code_out);

/* Decide who is lost; true when every rank is flushed or lost. */
bool rkt_run_state_is_over(struct rkt_run_state *state, uint64_t now_ns);

/* Nothing came from it for RKT_PEER_SILENT_NS. */
bool rkt_run_state_is_silent(const struct rkt_run_state *state, int rank, uint64_t now_ns);

enum rkt_peer_state rkt_run_state_of(const struct rkt_run_state *state, int rank);
int rkt_run_state_lost_count(const struct rkt_run_state *state);

#endif
