/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_TREE_RUN_H
#define RKT_TESTS_UNIT_TREE_RUN_H

/*
 * tree_run - a loop_run with a leader. Ranks 0 and 1 send to rank 0, ranks 2 to 4 to rank 2. Each
 * rank's job records as many kernels a second, numbered by their start.
 */

#include <stdbool.h>
#include <stdint.h>

#include "loop_run.h"

#define TREE_RANKS 5
#define TREE_LEADER 2
#define TREE_EVENTS 400u

struct tree {
    struct run *run;
    struct run_capture captures[TREE_RANKS];
    struct rkt_ring *rings[TREE_RANKS];
    uint64_t pushed[TREE_RANKS];
};

struct tree *tree_create(bool is_sharded);
void tree_destroy(struct tree *tree);

void tree_connect_jobs(struct tree *tree);
/* A batch is cut after a second: one frame and more per second and rank. */
void tree_record(struct tree *tree, uint64_t seconds);
/* These sidecars do nothing meanwhile, as under SIGSTOP; the jobs record on. */
void tree_stand_still(struct tree *tree, int first_rank, int last_rank, uint64_t seconds);
void tree_end_jobs(struct tree *tree);

/* All who live have left. */
void tree_all_have_left(const struct tree *tree, bool is_clean);

/* Opens the timeline: nothing is damaged or missing. */
void tree_store_is_good(struct tree *tree);
/* And it has its end, as have the files that it names. */
void tree_store_is_whole(struct tree *tree);
/* Kernels of this rank's job in the timeline; they must be the first ones, each once, in order. */
uint64_t tree_kernels(struct tree *tree, int rank);
/* Everything that was recorded, to the job's own end. */
void tree_all_is_stored(struct tree *tree, int first_rank, int last_rank);

/* The jobs end; all leave as they should, and everything is there. */
void tree_must_end_whole(struct tree *tree);

#endif
