/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STORE_H
#define SIMGPU_CUPTI_STORE_H

/*
 * store - the client's activity buffers while they are being filled.
 *
 * Each thread that makes records has a buffer of its own (the default since CUDA 13.0), or all fill
 * the same one (attributes.h); it is asked for on the thread whose record needs it. A record of
 * work still under way is written at once with times 0 and completed later; a buffer goes back to
 * the client when it is full and all in it is complete, on the worker thread, or in sim_store_flush
 * on the caller's. settings.h says how that can go wrong.
 *
 * Threads: all calls from any thread; the client's functions are called without a lock.
 * Memory:  a buffer is the client's again from the moment its `completed` is called.
 */

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_slot; /* a record that is not complete */

/* NULL: none; records are dropped. */
void sim_store_set_client(CUpti_BuffersCallbackRequestFunc requested,
                          CUpti_BuffersCallbackCompleteFunc completed);

/* Write a complete record. False: dropped and counted. */
bool sim_store_write(const void *record, size_t bytes);

/* Write a record whose start and end, side by side at `start_offset`, come later; NULL: dropped and
 * counted. */
struct sim_slot *sim_store_reserve(const void *record, size_t bytes, size_t start_offset);

/* Fill in the times; frees the slot. */
void sim_store_complete(struct sim_slot *slot, uint64_t start_ns, uint64_t end_ns);

/* Hand over what is complete; with `is_forced` also buffers with records that are not: these
 * keep times 0. Returns after the client has had them all. */
void sim_store_flush(bool is_forced);

/* How often a client was asked for a buffer. */
uint64_t sim_store_request_count(void);

/* 0: full buffers go out at once, else every `period_ms`. */
void sim_store_set_period(uint32_t period_ms);

/* Since the last call. */
size_t sim_store_take_dropped(void);

#endif
