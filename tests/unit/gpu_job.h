/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_GPU_JOB_H
#define RKT_TESTS_UNIT_GPU_JOB_H

/* gpu_job - what jobs on the stand-in for a GPU share, and what is asked of what they left. */

#include "capture_job.h"
#include "tests/simgpu/test/gpu.h"

/* In the job's process: die when it is not so. */
void must(int is_true);

/* The driver, which loads the library, and a context. */
struct test_gpu *start_gpu(void);

/* No line, no loss, and a good end. */
void assert_nothing_lost(const struct job *job);

/* The one call with the work's correlation id; NULL when there is none. */
const struct rkt_event *launch_of(const struct job *job, const struct rkt_event *work);

/* "" when it has none. */
const char *thread_name(const struct job *job, uint32_t thread_id);

#endif
