/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/launch.h"

#include <pthread.h>
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
    struct sim_watch *watch; /* NULL: nobody looks */
    uint64_t start_ns;
    size_t wait_count;
    struct wait waits[];
};

static void gate_started(void *arg, uint64_t start_ns)
{
    struct gate *gate = arg;

    gate->start_ns = start_ns;
    if (gate->watch)
        gate->watch->start_ns = start_ns;
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
static bool find_end(const struct gate *gate, uint64_t *end_ns)
{
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

static bool gate_ended(void *arg, uint64_t *end_ns)
{
    struct gate *gate = arg;

    if (!find_end(gate, end_ns))
        return false;
    if (gate->watch)
        gate->watch->end_ns = *end_ns;
    return true;
}

static void gate_release(void *arg)
{
    struct gate *gate = arg;

    sim_watch_unref(gate->watch);
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

static size_t count_tasks(const struct sim_task *tasks)
{
    size_t count = 0;

    for (const struct sim_task *task = tasks; task; task = task->next)
        count++;
    return count;
}

/* Refers to `watch`, which may be NULL. */
static bool make_gate(const struct sim_task *tasks, struct sim_watch *watch,
                      struct simgpu_gate *gate_out)
{
    size_t count = count_tasks(tasks);
    struct gate *gate;

    gate = calloc(1, sizeof(*gate) + count * sizeof(gate->waits[0]));
    if (!gate)
        return false;
    for (const struct sim_task *task = tasks; task; task = task->next)
        fill_wait(task, &gate->waits[gate->wait_count++]);
    gate->meet = tasks->comm->meet;
    gate->watch = sim_watch_ref(watch);
    sim_meet_ref(gate->meet);
    *gate_out = (struct simgpu_gate){
        .arg = gate, .started = gate_started, .ended = gate_ended, .release = gate_release};
    return true;
}

/* With the gate or replay of this thread's next launch set. */
static ncclResult_t launch_kernel(const struct sim_task *tasks, const struct sim_tell *tell,
                                  CUfunction function)
{
    const struct sim_plugin_comm *plugin = &tasks->comm->plugin;
    CUlaunchConfig config = {.gridDimX = sim_task_channel_count(tasks),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = THREADS_PER_BLOCK,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = tasks->stream};
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_KERNEL_LAUNCH,
                                   .rank = tasks->comm->rank,
                                   .parent = tell->api_handle,
                                   .kernel_launch = {.stream = tasks->stream}};
    void *handle = NULL;
    CUresult result;

    if (tell->mask & RKT_NCCL_EVENT_KERNEL_LAUNCH)
        handle = sim_plugin_start(plugin, &descr);
    result = cuLaunchKernelEx(&config, function, NULL, NULL);
    sim_plugin_stop(plugin, handle);
    return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

static ncclResult_t launch_now(const struct sim_task *tasks, const struct sim_tell *tell,
                               CUfunction function)
{
    struct sim_watch *watch = NULL;
    struct simgpu_gate gate;
    ncclResult_t result;

    if (sim_progress_is_needed(tell->mask))
        watch = sim_watch_create(tell->mask, (int)count_tasks(tasks));
    if (!make_gate(tasks, watch, &gate)) {
        sim_watch_unref(watch);
        return ncclSystemError;
    }
    simgpuGateNextLaunch(&gate);
    result = launch_kernel(tasks, tell, function);
    if (result == ncclSuccess)
        sim_tell_kernel(tell, tasks, watch);
    else
        sim_watch_unref(watch);
    return result;
}

/* ---- as a node of a graph ---- */

enum side {
    SIDE_KERNEL,
    SIDE_HOST
};

/*
 * A captured kernel. Each launch of its graph makes a gate and, if it is told, calls the host
 * function; the n-th of both share a watch, whichever comes first.
 */
struct plan {
    struct sim_task *tasks; /* copies */
    struct sim_tell tell;
    bool is_told;
    pthread_mutex_t lock; /* guards the rest */
    struct sim_watch *first;
    struct sim_watch **end;
    enum side waiting; /* whose watches those are */
    int untold_count;  /* launches without their host function */
    bool is_released;
};

static void free_plan(struct plan *plan)
{
    while (plan->tasks) {
        struct sim_task *task = plan->tasks;

        plan->tasks = task->next;
        free(task);
    }
    while (plan->first) {
        struct sim_watch *watch = plan->first;

        plan->first = watch->plan_next;
        sim_watch_unref(watch);
    }
    pthread_mutex_destroy(&plan->lock);
    free(plan);
}

static struct plan *make_plan(const struct sim_task *tasks, const struct sim_tell *tell)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    struct sim_task **link;

    if (!plan)
        return NULL;
    pthread_mutex_init(&plan->lock, NULL);
    plan->end = &plan->first;
    plan->tell = *tell;
    plan->tell.is_replay = true;
    plan->is_told = sim_progress_is_needed(tell->mask);
    link = &plan->tasks;
    for (const struct sim_task *task = tasks; task; task = task->next) {
        *link = malloc(sizeof(**link));
        if (!*link) {
            free_plan(plan);
            return NULL;
        }
        **link = *task;
        (*link)->next = NULL;
        link = &(*link)->next;
    }
    return plan;
}

/* Under the lock. The caller's reference; NULL: no memory. */
static struct sim_watch *share_watch(struct plan *plan, enum side side)
{
    struct sim_watch *watch = plan->first;

    if (watch && plan->waiting != side) {
        plan->first = watch->plan_next;
        if (!plan->first)
            plan->end = &plan->first;
        return watch;
    }
    watch = sim_watch_create(plan->tell.mask, (int)count_tasks(plan->tasks));
    if (watch) {
        *plan->end = sim_watch_ref(watch);
        plan->end = &watch->plan_next;
        plan->waiting = side;
    }
    return watch;
}

static bool plan_make_gate(void *arg, struct simgpu_gate *gate_out)
{
    struct plan *plan = arg;
    struct sim_watch *watch = NULL;
    bool is_made;

    pthread_mutex_lock(&plan->lock);
    if (plan->is_told) {
        watch = share_watch(plan, SIDE_KERNEL);
        plan->untold_count++;
    }
    is_made = make_gate(plan->tasks, watch, gate_out);
    pthread_mutex_unlock(&plan->lock);
    sim_watch_unref(watch);
    return is_made;
}

/* The driver's thread of host functions. */
static void plan_tell(void *arg)
{
    struct plan *plan = arg;
    struct sim_watch *watch;
    bool is_over;

    pthread_mutex_lock(&plan->lock);
    watch = share_watch(plan, SIDE_HOST);
    pthread_mutex_unlock(&plan->lock);
    sim_tell_kernel(&plan->tell, plan->tasks, watch);
    pthread_mutex_lock(&plan->lock);
    is_over = --plan->untold_count == 0 && plan->is_released;
    pthread_mutex_unlock(&plan->lock);
    if (is_over)
        free_plan(plan);
}

static void plan_release(void *arg)
{
    struct plan *plan = arg;
    bool is_over;

    pthread_mutex_lock(&plan->lock);
    plan->is_released = true;
    is_over = plan->untold_count == 0;
    pthread_mutex_unlock(&plan->lock);
    if (is_over)
        free_plan(plan);
}

static ncclResult_t launch_captured(const struct sim_task *tasks, const struct sim_tell *tell,
                                    CUfunction function)
{
    struct plan *plan = make_plan(tasks, tell);

    if (!plan)
        return ncclSystemError;
    if (plan->is_told && cuLaunchHostFunc(tasks->stream, plan_tell, plan) != CUDA_SUCCESS) {
        free_plan(plan);
        return ncclUnhandledCudaError;
    }
    simgpuReplayNextLaunch(
        &(struct simgpu_replay){.arg = plan, .make_gate = plan_make_gate, .release = plan_release});
    return launch_kernel(tasks, tell, function);
}

bool sim_launch_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status;

    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

ncclResult_t sim_launch(const struct sim_task *tasks, const struct sim_tell *tell)
{
    CUfunction function;
    char name[128];

    sim_task_kernel_name(tasks, name, sizeof(name));
    function = sim_comm_kernel(tasks->comm, name);
    if (!function)
        return ncclUnhandledCudaError;
    if (sim_launch_is_captured(tasks->stream))
        return launch_captured(tasks, tell, function);
    return launch_now(tasks, tell, function);
}
