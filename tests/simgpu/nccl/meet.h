/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_MEET_H
#define SIMGPU_NCCL_MEET_H

/*
 * meet - where the ranks of one communicator learn when the others' kernels have started:
 * a piece of POSIX shared memory that all of them map.
 *
 * Name:    made from the unique id, and gone as soon as all ranks have joined; what a rank that was
 *          killed before that has left behind, the next sim_meet_make_id removes.
 * Waiting: join and split wait for all ranks, without end, as NCCL does; nothing else waits.
 * Death:   a rank that dies later is waited for without end. A waiting rank stays killable.
 * Threads: join and unref from any; the rest from one thread at a time (the device's).
 * Times:   CLOCK_MONOTONIC, which all processes of a machine share.
 */

#include <stdbool.h>
#include <stdint.h>

#define SIM_MEET_ID_BYTES 32
#define SIM_MEET_RANKS_MAX 64
#define SIM_MEET_FUSED_MAX 32 /* operations of one kernel, which start together */

struct sim_meet;

enum sim_meet_result {
    SIM_MEET_OK,
    SIM_MEET_ERR_SYSTEM,   /* errno says why */
    SIM_MEET_ERR_MISMATCH, /* other ranks have another rank count, or have this rank already */
};

/* A new id, unlike all others on this machine. */
bool sim_meet_make_id(uint8_t id_out[SIM_MEET_ID_BYTES]);

enum sim_meet_result sim_meet_join(const uint8_t id[SIM_MEET_ID_BYTES], int rank, int rank_count,
                                   struct sim_meet **meet_out);
void sim_meet_ref(struct sim_meet *meet);
void sim_meet_unref(struct sim_meet *meet);

/* Collective number `index` (from 0, the same on all ranks) starts here. */
void sim_meet_start(struct sim_meet *meet, uint64_t index, uint64_t start_ns);
/* True when it has started everywhere; *last_ns is the last start. */
bool sim_meet_have_all_started(struct sim_meet *meet, uint64_t index, uint64_t *last_ns);

/* The same for message number `index` from one rank to another, one of which is this one. */
void sim_meet_start_message(struct sim_meet *meet, int from, int to, uint64_t index,
                            uint64_t start_ns);
bool sim_meet_has_peer_started(struct sim_meet *meet, int from, int to, uint64_t index,
                               uint64_t *peer_ns);

struct sim_meet_split {
    int color;
    int key;
};

/* Split number `index` (from 0, the same on all ranks): waits until all ranks have given theirs. */
void sim_meet_split(struct sim_meet *meet, uint64_t index, struct sim_meet_split own,
                    struct sim_meet_split splits_out[SIM_MEET_RANKS_MAX]);

/* No rank is waited for any more. */
void sim_meet_abort(struct sim_meet *meet);
bool sim_meet_is_aborted(const struct sim_meet *meet);

#endif
