/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_STAGES_H
#define RKT_ANALYSIS_STAGES_H

/*
 * stages - the steps of an analysis, each in a file of its own name.
 *
 * Called in this order, those of one rank by rank_work.c, the others by analysis.c. `arena` holds
 * what outlives the call (steps, collectives, participants, note texts).
 *
 * Threads: the per-rank stages of different ranks may run at the same time, each with its own
 * arena.
 */

#include "analysis/analysis.h"
#include "analysis/interval.h"
#include "common/arena.h"

struct rkt_step_table; /* analysis/step_table.h */

/* result.c: adds a note; its text and the notes are the arena's. */
enum rkt_status rkt_add_note(struct rkt_result *result, struct rkt_arena *arena, int level,
                             struct rkt_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* step.c: find steps, give every work its step, set each step's host and GPU window. Warm-up
 * is marked later, over all ranks. Also sets result->run and ->outside windows' bounds. */
enum rkt_status rkt_find_steps(struct rkt_rank_trace *trace,
                               const struct rkt_analysis_options *options, struct rkt_arena *arena,
                               struct rkt_rank_result *result, struct rkt_error *err);

/* rank_select.c: leaves the part of the rank that is selected, once its steps are found: what is
 * not in it is let go of. The step before it stays, unmeasured, for what its work does to the
 * first. */
void rkt_select_part(const struct rkt_selection *selection, struct rkt_rank_trace *trace,
                     struct rkt_rank_result *rank);

/* rank_select.c: false where the rank was read in part (rank_trace.h), and that is not enough for
 * what is selected: it has to be read whole. Once its steps are found. */
bool rkt_part_is_read(const struct rkt_selection *selection, const struct rkt_rank_trace *trace,
                      const struct rkt_rank_result *rank);

/* phase.c: phase of every launch, is_bucket of comm works, step phase_ns, the source used. */
enum rkt_status rkt_find_phases(struct rkt_rank_trace *trace, struct rkt_rank_result *result,
                                struct rkt_error *err);

/* partition.c: fills window->parts, unions, shares for a GPU rank's window whose bounds are set,
 * from the rank's activity (activity.h, made before). */
enum rkt_status rkt_partition_window(const struct rkt_rank_result *rank, struct rkt_window *window,
                                     struct rkt_error *err);

/* partition.c: one window after the other as one (unions of windows that do not overlap), and the
 * ratios of a window whose lengths are set. */
void rkt_window_add(struct rkt_window *to, const struct rkt_window *window);
void rkt_window_shares(struct rkt_window *window);

/* host_view.c: the same for a rank without GPU records. */
enum rkt_status rkt_host_view_window(const struct rkt_rank_result *rank, struct rkt_window *window,
                                     struct rkt_error *err);

/* overlap.c: AllReduce/backward overlap of steps, both views, and the copies under their backward;
 * their windows are measured, and the rank's activity or host view is there. Not of those that are
 * unrecorded. */
enum rkt_status rkt_find_overlaps(const struct rkt_rank_result *rank, struct rkt_error *err);

/* match.c: the collectives of all ranks; fills works' collective and participants' times.
 * collective.c turns starts and ends into wait, transfer, last arriver, busbw. */
enum rkt_status rkt_match_collectives(struct rkt_result *result, struct rkt_arena *arena,
                                      struct rkt_error *err);
void rkt_measure_collectives(struct rkt_result *result);

/* collective.c: the participant that the operation names as its root; NULL where it names none. */
const struct rkt_participant *rkt_collective_root(const struct rkt_result *result,
                                                  const struct rkt_collective *collective);

/* collective.c: whether the others need what `self` brings, and it what they do. Both, where
 * there is no root, or it is not known. */
void rkt_collective_direction(const struct rkt_result *result,
                              const struct rkt_collective *collective,
                              const struct rkt_participant *self, bool *gives_out, bool *takes_out);

/* recorded.c: leaves out the steps that not all ranks recorded, where there are capture windows;
 * notes which are recorded. */
enum rkt_status rkt_compare_windows(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err);

/* whatif.c: replays the steps that all ranks have: result->whatif, the ranks' gains, and of the
 * straggler who it is and what it costs. Called by straggler.c. */
enum rkt_status rkt_find_whatif(struct rkt_result *result, const struct rkt_step_table *steps,
                                struct rkt_arena *arena, struct rkt_error *err);

/* straggler.c: own work per step, then the straggler and its cause. */
enum rkt_status rkt_find_straggler(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err);

/* bucket_table.c: result->buckets; after straggler, which marks the warm-up steps. */
enum rkt_status rkt_find_buckets(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err);

/* efficiency.c: result->efficiency; after straggler, which replays. */
enum rkt_status rkt_find_efficiency(struct rkt_result *result,
                                    const struct rkt_analysis_options *options,
                                    struct rkt_arena *arena, struct rkt_error *err);

/* gpu_use.c: what each rank's GPUs did in the steady steps; after straggler, likewise. */
enum rkt_status rkt_find_gpu_use(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err);

/* allocator_use.c: what each rank's allocator holds in the steady steps; after straggler,
 * likewise. */
enum rkt_status rkt_find_allocator_use(struct rkt_result *result, struct rkt_arena *arena,
                                       struct rkt_error *err);

/* sync_lines.c: the lines that wait for the GPU in each rank's steady steps; after straggler. */
enum rkt_status rkt_name_waiting_lines(struct rkt_result *result, struct rkt_arena *arena,
                                       struct rkt_error *err);

/* last_arriver.c: who comes last; after straggler, which marks the warm-up steps. */
enum rkt_status rkt_find_last_arriver(struct rkt_result *result, struct rkt_error *err);

/* summary.c: warm-up, medians, notes. */
enum rkt_status rkt_summarise(struct rkt_result *result, struct rkt_arena *arena,
                              struct rkt_error *err);

#endif
