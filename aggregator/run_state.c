/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/run_state.h"

#include <stdlib.h>

struct peer {
    enum rkt_peer_state state;
    uint64_t heard_ns;
};

struct rkt_run_state {
    int rank_count;
    int first_failed; /* -1: none */
    int32_t first_code;
    struct peer *peers;
};

struct rkt_run_state *rkt_run_state_create(int rank_count, uint64_t now_ns)
{
    struct rkt_run_state *state = calloc(1, sizeof(*state));

    if (!state)
        return NULL;
    state->rank_count = rank_count;
    state->first_failed = -1;
    state->peers = calloc((size_t)rank_count, sizeof(*state->peers));
    if (!state->peers) {
        free(state);
        return NULL;
    }
    for (int rank = 0; rank < rank_count; rank++)
        state->peers[rank].heard_ns = now_ns;
    return state;
}

void rkt_run_state_destroy(struct rkt_run_state *state)
{
    if (!state)
        return;
    free(state->peers);
    free(state);
}

void rkt_run_state_heard(struct rkt_run_state *state, int rank, uint64_t now_ns)
{
    state->peers[rank].heard_ns = now_ns;
}

void rkt_run_state_forgive(struct rkt_run_state *state, uint64_t pause_ns)
{
    for (int rank = 0; rank < state->rank_count; rank++)
        state->peers[rank].heard_ns += pause_ns;
}

void rkt_run_state_joined(struct rkt_run_state *state, int rank)
{
    if (state->peers[rank].state == RKT_PEER_ABSENT)
        state->peers[rank].state = RKT_PEER_JOINED;
}

void rkt_run_state_flushed(struct rkt_run_state *state, int rank)
{
    if (state->peers[rank].state != RKT_PEER_LOST)
        state->peers[rank].state = RKT_PEER_FLUSHED;
}

bool rkt_run_state_failed(struct rkt_run_state *state, int rank, int32_t code)
{
    if (state->first_failed >= 0)
        return false;
    state->first_failed = rank;
    state->first_code = code;
    return true;
}

int rkt_run_state_first_failed(const struct rkt_run_state *state, int32_t *code_out)
{
    if (code_out && state->first_failed >= 0)
        *code_out = state->first_code;
    return state->first_failed;
}

static bool is_awaited(const struct peer *peer)
{
    return peer->state == RKT_PEER_ABSENT || peer->state == RKT_PEER_JOINED;
}

static bool is_silent(const struct peer *peer, uint64_t now_ns)
{
    return now_ns > peer->heard_ns && now_ns - peer->heard_ns > RKT_PEER_SILENT_NS;
}

bool rkt_run_state_is_over(struct rkt_run_state *state, uint64_t now_ns)
{
    for (int rank = 0; rank < state->rank_count; rank++) {
        if (is_awaited(&state->peers[rank]) && !is_silent(&state->peers[rank], now_ns))
            return false;
    }
    for (int rank = 0; rank < state->rank_count; rank++) {
        if (is_awaited(&state->peers[rank]))
            state->peers[rank].state = RKT_PEER_LOST;
    }
    return true;
}

bool rkt_run_state_is_silent(const struct rkt_run_state *state, int rank, uint64_t now_ns)
{
    return is_silent(&state->peers[rank], now_ns);
}

enum rkt_peer_state rkt_run_state_of(const struct rkt_run_state *state, int rank)
{
    return state->peers[rank].state;
}

int rkt_run_state_lost_count(const struct rkt_run_state *state)
{
    int count = 0;

    for (int rank = 0; rank < state->rank_count; rank++)
        count += state->peers[rank].state == RKT_PEER_LOST;
    return count;
}
