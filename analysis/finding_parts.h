/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_FINDING_PARTS_H
#define RKT_ANALYSIS_FINDING_PARTS_H

/*
 * finding_parts - what the rules of findings share; for nobody else.
 *
 *   finding.c           the order of the rules, and of what they find
 *   finding_loss.c      how much a part of the steps takes, and at most saves
 *   finding_copies.c    exposed_copies, one_stream
 *   finding_host.c      launch_gaps, host_code, changing_shapes, hidden_sync, device_alloc,
 *                       allocator_gap, input, unknown_idle
 *   finding_comm.c      communication, imbalance, straggler
 *   finding_link.c      slow_link
 *   finding_capture.c   what limits the numbers themselves
 *   finding_causes.c    the four classic causes
 */

#include "analysis/finding.h"
#include "analysis/key_table.h"
#include "analysis/steady.h"
#include "analysis/step_table.h"

/* One analysis whose findings are being made. */
struct rkt_finder {
    struct rkt_result *result;
    struct rkt_arena *arena;
    struct rkt_step_table steps;
    struct rkt_steady sum; /* of all ranks that are not set apart */
    struct rkt_findings *findings;
    int64_t *room; /* one for each rank */
};

/* A part of a rank's window; `ctx` is the rule's. */
typedef int64_t (*rkt_part_fn)(const struct rkt_window *window, size_t rank, const void *ctx);

struct rkt_loss {
    int64_t loss_ns; /* per step, mean over ranks */
    int64_t save_ns; /* per step: the mean of the most that each step could be shorter by */
    double share;    /* of the ranks' time */
    double save_share;
};

/*
 * Of a part that a fix would remove from every rank. No step gets shorter than what some rank still
 * has to do, nor by more than the most that is removed from one rank: all of them lose it between
 * the same two collectives, or wait for the one that does. With window G, exposed communication C,
 * which may vanish when ranks come in time, and the part P:
 *
 *     saving <= T - max over ranks (G - C - P)          T = max G
 *     saving <= max over ranks P
 */
struct rkt_loss rkt_loss_of(const struct rkt_finder *finder, rkt_part_fn fn, const void *ctx);

/* The same of a part of C. */
struct rkt_loss rkt_comm_loss_of(const struct rkt_finder *finder, rkt_part_fn fn);

/*
 * The same of what ranks have in common: where that is the straggler's cause, it has no more of it
 * than the median of the other ranks. What it has above them is the straggler's own finding.
 */
struct rkt_loss rkt_common_loss_of(const struct rkt_finder *finder, rkt_part_fn fn, const void *ctx,
                                   uint32_t causes);
#define RKT_CAUSE_BIT(cause) (1u << (cause))

/* Whether a collective belongs to a step that counts, or there are none. */
bool rkt_is_steady_collective(const struct rkt_finder *finder,
                              const struct rkt_collective *collective);

/* Parts that several rules ask for; ctx is not used. finding_loss.c */
int64_t rkt_part_copies(const struct rkt_window *window, size_t rank, const void *ctx);
int64_t rkt_part_launch_gaps(const struct rkt_window *window, size_t rank, const void *ctx);
int64_t rkt_part_syncs(const struct rkt_window *window, size_t rank, const void *ctx);
int64_t rkt_part_transfers(const struct rkt_window *window, size_t rank, const void *ctx);

/* By what it saves; below RKT_SHARE_REPORTED there is nothing to report (false). */
bool rkt_severity_of(const struct rkt_loss *loss, enum rkt_severity *severity_out);

/* A new finding with texts from a format; `loss` NULL: none that has time. Its places are added by
 * the caller, on loan until the next is added; NULL when memory is out. */
struct rkt_finding *rkt_add_finding(struct rkt_finder *finder, const char *id,
                                    enum rkt_severity severity, const struct rkt_loss *loss,
                                    const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* The longest places of that kind in steady steps of all ranks. */
void rkt_add_places(const struct rkt_finder *finder, struct rkt_finding *finding, unsigned kind);
void rkt_add_place(struct rkt_finding *finding, const struct rkt_finding_place *place);

/* A number of a table, summed over its rows of that kind (NULL: of any), per step and rank; 0
 * without tables. */
double rkt_per_step(const struct rkt_finder *finder, enum rkt_table_id id, const char *kind,
                    int column);

/* Likewise of idle time of one cause. */
double rkt_idle_per_step(const struct rkt_finder *finder, enum rkt_idle_cause cause, int column);

/* What helps against the copies that cost a rank most. */
const char *rkt_copy_advice(const struct rkt_rank_result *rank);

/* The rules; each adds what it finds. RKT_ERR_NOMEM only. */
enum rkt_status rkt_find_copies(struct rkt_finder *finder);
enum rkt_status rkt_find_host_causes(struct rkt_finder *finder);
enum rkt_status rkt_find_communication(struct rkt_finder *finder);
enum rkt_status rkt_find_slow_link(struct rkt_finder *finder);
enum rkt_status rkt_find_capture_limits(struct rkt_finder *finder);
void rkt_fill_causes(struct rkt_finder *finder);

#endif
