/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_FAKE_RUN_H
#define RKT_TESTS_UNIT_FAKE_RUN_H

/*
 * fake_run - a result with hand-made traces, for tests of the stages that read them.
 *
 * Rank time is job time (no clock map) and every rank is on the reference's clock with a bound
 * of 0, until a test says otherwise. Records are added in order of start. Failures to allocate
 * fail the test.
 */

#include "analysis/result.h"
#include "common/arena.h"

#define FAKE_RANKS_MAX 16u
#define FAKE_RECORDS_MAX 4096u

struct fake_run {
    struct rkt_result result;
    struct rkt_rank_trace *traces; /* by position */
    struct rkt_name_times *names[FAKE_RANKS_MAX];
    size_t record_cap; /* of each kind, per rank */
    struct rkt_arena arena;
    struct rkt_run_info info;
    struct rkt_store_health health;
};

struct fake_work {
    enum rkt_work_class work_class;
    const char *name;
    uint32_t stream_id;
    int64_t start_ns;
    int64_t end_ns;
    int64_t launch_ns; /* 0: no launch record; else the launch takes 1000 ns */
    uint32_t thread_id;
};

struct fake_op {
    uint64_t comm_id;
    uint64_t seq;
    uint64_t count;
    int32_t peer;
    enum rkt_nccl_func func;
};

void fake_run_init(struct fake_run *run, size_t rank_count); /* with FAKE_RECORDS_MAX */
/* For tests that make very many. */
void fake_run_init_small(struct fake_run *run, size_t rank_count, size_t record_cap);
void fake_run_release(struct fake_run *run);

void fake_add_comm(struct fake_run *run, size_t rank, uint64_t comm_id, int32_t comm_rank,
                   uint32_t rank_count);
/* Returns the index of the work. */
uint32_t fake_add_work(struct fake_run *run, size_t rank, struct fake_work work);
/* An operation of the work that was added last. Float32. */
void fake_add_op(struct fake_run *run, size_t rank, struct fake_op op);
/* A comm kernel on stream 20 without an operation, and one that carries one out. */
uint32_t fake_add_comm_work(struct fake_run *run, size_t rank, const char *name, int64_t start_ns,
                            int64_t end_ns);
uint32_t fake_add_collective(struct fake_run *run, size_t rank, struct fake_op op, int64_t start_ns,
                             int64_t end_ns);
void fake_add_range(struct fake_run *run, size_t rank, enum rkt_range_type type, const char *name,
                    int64_t start_ns, int64_t end_ns);
/* A call of the program that may wait, of one that does: add_call. */
void fake_add_sync_call(struct fake_run *run, size_t rank, const char *site, const char *call,
                        int64_t start_ns, int64_t end_ns);
void fake_add_call(struct fake_run *run, size_t rank, enum rkt_call_class call_class,
                   const char *name, int64_t start_ns, int64_t end_ns);
void fake_add_bucket(struct fake_run *run, size_t rank, uint64_t step, uint32_t index,
                     int64_t start_ns, int64_t end_ns);
/* Of device 0. */
void fake_add_counter(struct fake_run *run, size_t rank, enum rkt_counter counter, int64_t start_ns,
                      int64_t end_ns, uint64_t value);
/* A step whose host interval is its window; its number is the next from 0. */
struct rkt_step_result *fake_add_step(struct fake_run *run, size_t rank, int64_t start_ns,
                                      int64_t end_ns);

/* Sums what the ranks did by name and step (analysis/name_times.h). */
void fake_sum_names(struct fake_run *run);
/* The same, and matches and measures the collectives. */
void fake_match(struct fake_run *run);
/* The part of a rank, by position in ranks, in collective `c`. */
const struct rkt_participant *fake_part_of(const struct fake_run *run, size_t c, uint32_t rank);

#endif
