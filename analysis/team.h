/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TEAM_H
#define RKT_ANALYSIS_TEAM_H

/*
 * team - several processes that make one analysis: members give what they found to the lead.
 *
 *     member   give ─▶ give ─▶ ... ─▶ give_end ─▶ wait_for_end ─▶ its exit code
 *     lead     take ◀─ take ◀─ ...                    dismiss ───┘
 *
 * Any transport will do: MPI, or processes of one host. The lead is rank 0; it works too, and takes
 * what has come in between.
 *
 * Threads: one at a time. Memory: one message of each member, and what the transport holds.
 * Waiting: sleeps in between. give waits for room on the way to the lead; take for a message, if
 *          it is told to.
 * On error: a member that fails says why to the lead, and the first reason is what the lead
 *          returns. One that dies is the transport's or the launcher's to notice; a silence of half
 *          an hour ends it in any case.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"
#include "common/transport.h"

struct rkt_team;

/* The transport is on loan until destroy. */
enum rkt_status rkt_team_create(struct rkt_transport *transport, struct rkt_team **team_out,
                                struct rkt_error *err);
void rkt_team_destroy(struct rkt_team *team); /* NULL is fine */

size_t rkt_team_size(const struct rkt_team *team);
size_t rkt_team_place(const struct rkt_team *team); /* 0: the lead */

/* Member: a message of any length. RKT_END: the lead needs no more. */
enum rkt_status rkt_team_give(struct rkt_team *team, struct rkt_bytes message,
                              struct rkt_error *err);
/* Member, once, last: `failure` (NULL: none) is why it cannot go on. */
enum rkt_status rkt_team_give_end(struct rkt_team *team, const struct rkt_error *failure,
                                  struct rkt_error *err);

/*
 * Lead: a message, on loan until the next call. RKT_AGAIN: none is there (only where `waits` is
 * false). RKT_END: every member has given its end.
 */
enum rkt_status rkt_team_take(struct rkt_team *team, bool waits, struct rkt_bytes *message_out,
                              size_t *place_out, struct rkt_error *err);

/* Lead: all is done, or has failed; every member may leave with this exit code. */
void rkt_team_dismiss(struct rkt_team *team, int exit_code);
/* Member: the code that the lead gave; `otherwise` where it is gone. */
int rkt_team_wait_for_end(struct rkt_team *team, int otherwise);

#endif
