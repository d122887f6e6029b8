/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_FAKE_JOB_H
#define RKT_TESTS_UNIT_FAKE_JOB_H

/*
 * fake_job - steps of ranks that compute, post collectives and wait for them, as a fake_run.
 *
 *     fake_job_compute(&job, r, us)           a kernel of rank r
 *     fake_job_post(&job, comm, us)           an AllReduce of a communicator's members, so long
 *     fake_job_join(&job, comm)               their next kernels wait for it
 *     fake_job_end_step(&job)
 *     fake_job_find(&job)                     everything up to the straggler
 *
 * Transfers of one length are of one size. What does not compute counts as communication. The host
 * is far ahead all along. Each rank has a stream, and one for each communicator.
 */

#include "fake_run.h"

#define FAKE_JOB_COMMS_MAX 16u

struct fake_job_comm {
    uint32_t members[FAKE_RANKS_MAX];
    size_t member_count;
    uint64_t seq;
    int64_t end_us;
};

struct fake_job {
    struct fake_run run;
    struct fake_job_comm comms[FAKE_JOB_COMMS_MAX];
    size_t comm_count;
    int64_t now_us[FAKE_RANKS_MAX];
    int64_t end_us[FAKE_RANKS_MAX];    /* of the step so far */
    int64_t useful_us[FAKE_RANKS_MAX]; /* computed in it */
    uint32_t step;
    int64_t launch_us;
};

void fake_job_init(struct fake_job *job, size_t rank_count);
void fake_job_release(struct fake_job *job);

/* Returns its number, which is also its id less 100. */
size_t fake_job_add_comm(struct fake_job *job, const uint32_t *ranks, size_t count);

void fake_job_compute(struct fake_job *job, uint32_t rank, int64_t us);
/* The rank's lane is idle: its host, say, takes so long. */
void fake_job_idle(struct fake_job *job, uint32_t rank, int64_t us);
void fake_job_post(struct fake_job *job, size_t comm, int64_t transfer_us);
void fake_job_join(struct fake_job *job, size_t comm);
void fake_job_send(struct fake_job *job, size_t comm, int64_t transfer_us);
void fake_job_all_to_all(struct fake_job *job, size_t comm, int64_t transfer_us);
void fake_job_end_step(struct fake_job *job);

void fake_job_find(struct fake_job *job);
void fake_job_find_in(struct fake_run *run); /* of a job that goes no further */

/* With one communicator of all ranks. */
void fake_job_init_data_parallel(struct fake_job *job, size_t rank_count);
/* A step of two buckets, the second queued; rank r computes late_us[r] longer before the first. */
void fake_job_data_parallel_step(struct fake_job *job, size_t comm, const int64_t *late_us);

/* The test fails where the replay misses the job as it was, or ranks gain other than this. */
void fake_job_assert_replayed(const struct fake_job *job);
void fake_job_assert_gains(const struct fake_job *job, const int64_t *gains_us);

/* Two hosts of two ranks, of which the second computes longer: analysed, and the caller's. */
void fake_job_make_run(struct fake_run *run);

#endif
