/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_REPLAY_MADE_H
#define RKT_TESTS_UNIT_REPLAY_MADE_H

/*
 * replay_made - small graphs for tests of replay, made lane by lane and event by event.
 *
 * All zero but for rank_count and step_count: an empty one. Too many items or events fail the test.
 */

#include "analysis/replay.h"

#define RANKS_MAX 6
#define STEPS_MAX 4
#define EVENTS_MAX 40
#define PARTS_MAX (EVENTS_MAX * RANKS_MAX)
#define LANE_MAX 256

#define WORK(ns)               \
    {                          \
        ns,                    \
        {                      \
            0, RKT_REPLAY_WORK \
        }                      \
    }
#define POST(ns, part)            \
    {                             \
        ns,                       \
        {                         \
            part, RKT_REPLAY_POST \
        }                         \
    }
#define JOIN(ns, part)            \
    {                             \
        ns,                       \
        {                         \
            part, RKT_REPLAY_JOIN \
        }                         \
    }
#define STEP_END(ns)               \
    {                              \
        ns,                        \
        {                          \
            0, RKT_REPLAY_STEP_END \
        }                          \
    }

struct timed_item {
    int64_t own_ns;
    struct rkt_replay_item item;
};

/* A graph that is made lane by lane and event by event, and then laid out. */
struct made {
    struct rkt_replay_graph graph;
    struct timed_item lanes[RANKS_MAX][LANE_MAX];
    size_t lane_counts[RANKS_MAX];
    struct rkt_replay_part parts[PARTS_MAX];
    size_t first_part[EVENTS_MAX + 1];
    int64_t transfer_ns[EVENTS_MAX];
    struct rkt_replay_item items[RANKS_MAX * LANE_MAX];
    int64_t own_ns[RANKS_MAX * LANE_MAX];
    int64_t other_ns[RANKS_MAX * LANE_MAX];
    size_t first_item[RANKS_MAX + 1];
    int64_t start_ns[RANKS_MAX];
    bool is_other[RANKS_MAX];
    struct rkt_replay_host hosts[RANKS_MAX * LANE_MAX];
    int64_t other_host_ns[RANKS_MAX * LANE_MAX];
    struct rkt_replay_inputs inputs;
};

void made_add_items(struct made *made, size_t rank, const struct timed_item *items, size_t count);
/* Returns the event; its parts follow those of the event before it. */
size_t made_add_event(struct made *made, const struct rkt_replay_part *parts, size_t count,
                      int64_t transfer_ns);
/* All ranks give and take. Its parts, by rank, come after all parts that there are. */
void made_add_all(struct made *made, const uint32_t *before, int64_t transfer_ns);
/* All has been added: graph and inputs are set, hosts and others are not in use. */
void made_lay_out(struct made *made);
/* The caller's. */
struct rkt_replay *made_create(const struct made *made);
/* Once, with its inputs. */
void made_run(const struct made *made, int64_t *ends_out);

#endif
