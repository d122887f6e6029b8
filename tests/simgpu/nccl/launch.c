/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/launch.h"

#include <stdlib.h>

#include "tests/simgpu/hooks.h"

#define THREADS_PER_BLOCK 544

/* One task of a kernel under way: what it waits for. */
struct wait {
    bool is_message;
    int from; /* messages */
    int to;
    uint64_t index;
    uint64_t transfer_ns;
};

/* Belongs to the kernel from the launch to its end; only the device's thread uses it then. */
struct gate {
    struct sim_meet *meet;
    uint64_t start_ns;
    size_t wait_count;
    struct wait waits[];
};

static void gate_started(void *arg, uint64_t start_ns)
{
    struct gate *gate = arg;

    gate->start_ns = start_ns;
    for (size_t i = 0; i < gate->wait_count; i++) {
        const struct wait *wait = &gate->waits[i];

        if (wait->is_message)
            sim_meet_start_message(gate->meet, wait->from, wait->to, wait->index, start_ns);
        else
            sim_meet_start(gate->meet, wait->index, start_ns);
    }
}

static bool others_have_started(const struct gate *gate, const struct wait *wait, uint64_t *last_ns)
{
    if (wait->is_message)
        return sim_meet_has_peer_started(gate->meet, wait->from, wait->to, wait->index, last_ns);
    return sim_meet_have_all_started(gate->meet, wait->index, last_ns);
}

/* The tasks of one kernel follow one another. */
static bool gate_ended(void *arg, uint64_t *end_ns)
{
    struct gate *gate = arg;
    uint64_t at_ns = gate->start_ns;

    if (sim_meet_is_aborted(gate->meet)) {
        *end_ns = gate->start_ns;
        return true;
    }
    for (size_t i = 0; i < gate->wait_count; i++) {
        uint64_t last_ns;

        if (!others_have_started(gate, &gate->waits[i], &last_ns))
            return false;
        if (last_ns > at_ns)
            at_ns = last_ns;
        at_ns += gate->waits[i].transfer_ns;
    }
    *end_ns = at_ns;
    return true;
}

static void gate_release(void *arg)
{
    struct gate *gate = arg;

    sim_meet_unref(gate->meet);
    free(gate);
}

static void fill_wait(const struct sim_task *task, struct wait *wait)
{
    ncclComm_t comm = task->comm;

    wait->transfer_ns = sim_task_transfer_ns(task);
    wait->is_message = sim_task_is_p2p(task);
    if (task->func == SIM_SEND) {
        wait->from = comm->rank;
        wait->to = task->root;
        wait->index = comm->sent_count[task->root]++;
    } else if (task->func == SIM_RECV) {
        wait->from = task->root;
        wait->to = comm->rank;
        wait->index = comm->received_count[task->root]++;
    } else {
        wait->index = comm->collective_count++;
    }
}

static struct gate *make_gate(const struct sim_task *tasks)
{
    size_t count = 0;
    struct gate *gate;

    for (const struct sim_task *task = tasks; task; task = task->next)
        count++;
    gate = calloc(1, sizeof(*gate) + count * sizeof(gate->waits[0]));
    if (!gate)
        return NULL;
    for (const struct sim_task *task = tasks; task; task = task->next)
        fill_wait(task, &gate->waits[gate->wait_count++]);
    gate->meet = tasks->comm->meet;
    sim_meet_ref(gate->meet);
    return gate;
}

CUfunction sim_launch_prepare(const struct sim_task *tasks)
{
    char name[128];

    sim_task_kernel_name(tasks, name, sizeof(name));
    return sim_comm_kernel(tasks->comm, name);
}

ncclResult_t sim_launch(const struct sim_task *tasks, CUfunction function)
{
    CUlaunchConfig config = {.gridDimX = sim_task_channel_count(tasks),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = THREADS_PER_BLOCK,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = tasks->stream};
    struct gate *gate = make_gate(tasks);

    if (!gate)
        return ncclSystemError;
    simgpuGateNextLaunch(&(struct simgpu_gate){
        .arg = gate, .started = gate_started, .ended = gate_ended, .release = gate_release});
    if (cuLaunchKernelEx(&config, function, NULL, NULL) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    return ncclSuccess;
}
