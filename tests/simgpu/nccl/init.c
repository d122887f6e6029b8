/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/init.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct job *next;
    struct sim_init init;
    char *name;
    CUcontext context;
    pthread_t thread;
    bool has_thread;
    ncclResult_t result;
};

static _Thread_local struct job *jobs;

ncclResult_t sim_init_later(const struct sim_init *init)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return ncclSystemError;
    job->init = *init;
    if (init->name)
        job->name = strdup(init->name);
    job->init.name = job->name;
    if (cuCtxGetCurrent(&job->context) != CUDA_SUCCESS || !job->context) {
        free(job->name);
        free(job);
        return ncclUnhandledCudaError;
    }
    job->next = jobs;
    jobs = job;
    return ncclSuccess;
}

static void *make(void *arg)
{
    struct job *job = arg;
    const struct sim_init *init = &job->init;

    job->result = ncclUnhandledCudaError;
    if (cuCtxSetCurrent(job->context) == CUDA_SUCCESS)
        job->result =
            sim_comm_create(&init->id, init->rank, init->rank_count, init->name, init->comm_out);
    return NULL;
}

ncclResult_t sim_init_all(void)
{
    ncclResult_t result = ncclSuccess;

    for (struct job *job = jobs; job; job = job->next) {
        job->has_thread = pthread_create(&job->thread, NULL, make, job) == 0;
        if (!job->has_thread)
            job->result = ncclSystemError;
    }
    while (jobs) {
        struct job *job = jobs;

        jobs = job->next;
        if (job->has_thread)
            pthread_join(job->thread, NULL);
        if (result == ncclSuccess)
            result = job->result;
        free(job->name);
        free(job);
    }
    return result;
}
