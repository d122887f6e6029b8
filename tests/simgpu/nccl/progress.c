/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/progress.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/simgpu/nccl/mode.h"

#define POLL_NS 20000
#define STEPS 2 /* of each network operation */
#define NET_PLUGIN_ID 0x10001
/* A device counts from the Unix epoch, as it sees it, in steps of 32 ns. */
#define DEVICE_EPOCH_NS 1700000000000000000ull
#define DEVICE_TICK_NS 32

#define NETWORK_EVENTS \
    (RKT_NCCL_EVENT_PROXY_OP | RKT_NCCL_EVENT_PROXY_STEP | RKT_NCCL_EVENT_NET_PLUGIN)

/* What was told of a kernel. */
struct sim_progress_state {
    bool has_begun;
    void *proxies[]; /* two per operation: send, receive */
};

struct sim_progress {
    const struct sim_plugin_comm *plugin;
    void *channels[SIM_CHANNELS_MAX]; /* handles of the operation before; the thread's own */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t cond;
    struct sim_watch *posted;
    struct sim_watch **posted_end;
    bool is_stopping;
};

bool sim_progress_is_needed(int mask)
{
    return (mask & RKT_NCCL_EVENT_KERNEL_CH) ||
           ((mask & NETWORK_EVENTS) && sim_mode_is(SIM_MODE_NET));
}

struct sim_watch *sim_watch_create(int mask, int op_count)
{
    struct sim_watch *watch = calloc(1, sizeof(*watch) + (size_t)op_count * sizeof(watch->ops[0]));

    if (!watch)
        return NULL;
    watch->state = calloc(1, sizeof(*watch->state) + 2 * (size_t)op_count * sizeof(void *));
    if (!watch->state) {
        free(watch);
        return NULL;
    }
    watch->ref_count = 1;
    watch->mask = mask;
    watch->op_count = op_count;
    return watch;
}

struct sim_watch *sim_watch_ref(struct sim_watch *watch)
{
    if (watch)
        atomic_fetch_add(&watch->ref_count, 1);
    return watch;
}

void sim_watch_unref(struct sim_watch *watch)
{
    if (!watch || atomic_fetch_sub(&watch->ref_count, 1) != 1)
        return;
    free(watch->state);
    free(watch);
}

/* ---- what the plugin is told ---- */

static uint64_t device_time(uint64_t ns)
{
    return (DEVICE_EPOCH_NS + ns) / DEVICE_TICK_NS * DEVICE_TICK_NS;
}

static void *start_channel(const struct sim_plugin_comm *plugin, const struct sim_watch *watch,
                           int op, uint8_t channel)
{
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_KERNEL_CH,
        .parent = watch->ops[op].handle,
        .rank = plugin->rank,
        .kernel_ch = {.channel_id = channel, .timer_ns = device_time(watch->start_ns)}};

    return sim_plugin_start(plugin, &descr);
}

static void stop_channel(const struct sim_plugin_comm *plugin, const struct sim_watch *watch,
                         void *handle)
{
    uint64_t end_ns = sim_mode_is(SIM_MODE_ZERO_STOP) ? 0 : device_time(watch->end_ns);

    sim_plugin_record(plugin, handle, RKT_NCCL_STATE_KERNEL_CH_STOP, end_ns);
    sim_plugin_stop(plugin, handle);
}

/* All channels of an operation begin, and end, together. */
static void tell_channels(struct sim_progress *progress, const struct sim_watch *watch, int op)
{
    const struct sim_plugin_comm *plugin = progress->plugin;
    void **channels = progress->channels;
    uint8_t count = watch->ops[op].channel_count;

    for (uint8_t i = 0; i < count; i++) {
        if (sim_mode_is(SIM_MODE_EARLY_STOP))
            stop_channel(plugin, watch, channels[i]); /* still of the one before */
        channels[i] = start_channel(plugin, watch, op, i);
    }
    for (uint8_t i = 0; i < count && !sim_mode_is(SIM_MODE_EARLY_STOP); i++)
        stop_channel(plugin, watch, channels[i]);
}

static void *start_proxy_op(const struct sim_plugin_comm *plugin, const struct sim_watch *watch,
                            int op, bool is_send)
{
    const struct sim_watch_op *what = &watch->ops[op];
    int offset = is_send ? 1 : plugin->rank_count - 1;
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_PROXY_OP,
        .parent = what->handle,
        .rank = plugin->rank,
        .proxy_op = {.pid = sim_mode_is(SIM_MODE_PXN) ? getppid() : getpid(),
                     .peer =
                         what->is_p2p ? what->peer : (plugin->rank + offset) % plugin->rank_count,
                     .step_count = STEPS,
                     .chunk_bytes = (int)(what->bytes / STEPS),
                     .is_send = is_send}};

    return sim_plugin_start(plugin, &descr);
}

static void tell_step(const struct sim_plugin_comm *plugin, const struct sim_watch *watch,
                      void *proxy, int number, bool is_send)
{
    static const int STATES[2][3] = {
        {RKT_NCCL_STATE_STEP_RECV_WAIT, RKT_NCCL_STATE_STEP_RECV_FLUSH_WAIT,
         RKT_NCCL_STATE_STEP_RECV_GPU_WAIT},
        {RKT_NCCL_STATE_STEP_SEND_GPU_WAIT, RKT_NCCL_STATE_STEP_SEND_PEER_WAIT,
         RKT_NCCL_STATE_STEP_SEND_WAIT},
    };
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_PROXY_STEP,
                                   .parent = proxy,
                                   .rank = plugin->rank,
                                   .proxy_step = {.step = number}};
    struct rkt_nccl_descr net = {.type = RKT_NCCL_EVENT_NET_PLUGIN,
                                 .rank = plugin->rank,
                                 .net_plugin = {.id = NET_PLUGIN_ID}};
    void *step = sim_plugin_start(plugin, &descr);

    for (int i = 0; i < 3; i++)
        sim_plugin_record(plugin, step, STATES[is_send][i], watch->ops[0].bytes);
    net.parent = step;
    if (watch->mask & RKT_NCCL_EVENT_NET_PLUGIN)
        sim_plugin_stop(plugin, sim_plugin_start(plugin, &net));
    sim_plugin_stop(plugin, step);
}

static bool has_network_side(const struct sim_watch_op *op, bool is_send)
{
    return !op->is_p2p || op->is_send == is_send;
}

static void begin_network(const struct sim_plugin_comm *plugin, const struct sim_watch *watch)
{
    for (int i = 0; i < 2 * watch->op_count; i++) {
        bool is_send = i % 2 == 0;

        if (!has_network_side(&watch->ops[i / 2], is_send))
            continue;
        watch->state->proxies[i] = start_proxy_op(plugin, watch, i / 2, is_send);
        sim_plugin_record(plugin, watch->state->proxies[i], RKT_NCCL_STATE_PROXY_OP_IN_PROGRESS, 0);
    }
}

static void end_network(const struct sim_plugin_comm *plugin, const struct sim_watch *watch)
{
    for (int i = 0; i < 2 * watch->op_count; i++) {
        bool is_send = i % 2 == 0;

        if (!has_network_side(&watch->ops[i / 2], is_send))
            continue;
        for (int step = 0;
             step < STEPS && watch->mask & (RKT_NCCL_EVENT_PROXY_STEP | RKT_NCCL_EVENT_NET_PLUGIN);
             step++)
            tell_step(plugin, watch, watch->state->proxies[i], step, is_send);
        sim_plugin_stop(plugin, watch->state->proxies[i]);
    }
}

/* True: its end was told. */
static bool progress_one(struct sim_progress *progress, struct sim_watch *watch)
{
    const struct sim_plugin_comm *plugin = progress->plugin;
    bool has_network = sim_mode_is(SIM_MODE_NET) && (watch->mask & NETWORK_EVENTS);

    if (watch->start_ns != 0 && !watch->state->has_begun) {
        watch->state->has_begun = true;
        if (has_network)
            begin_network(plugin, watch);
    }
    if (watch->end_ns == 0)
        return false;
    if (has_network)
        end_network(plugin, watch);
    for (int op = 0; op < watch->op_count && watch->mask & RKT_NCCL_EVENT_KERNEL_CH; op++)
        tell_channels(progress, watch, op);
    return true;
}

/* ---- the thread ---- */

static void tell_control(const struct sim_plugin_comm *plugin, void **handle, int state)
{
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_PROXY_CTRL, .rank = plugin->rank};

    if (state == RKT_NCCL_STATE_CTRL_SLEEP && sim_plugin_mask(plugin) & RKT_NCCL_EVENT_PROXY_CTRL)
        *handle = sim_plugin_start(plugin, &descr);
    sim_plugin_record(plugin, *handle, state, 0);
    if (state == RKT_NCCL_STATE_CTRL_WAKEUP) {
        sim_plugin_stop(plugin, *handle);
        *handle = NULL;
    }
}

/* All that was posted; NULL only when the thread is to end, or has something to do already. */
static struct sim_watch *take_posted(struct sim_progress *progress, bool has_work)
{
    struct sim_watch *taken;
    void *control = NULL;
    bool sleeps;

    pthread_mutex_lock(&progress->lock);
    sleeps = !has_work && !progress->posted && !progress->is_stopping;
    if (sleeps)
        tell_control(progress->plugin, &control, RKT_NCCL_STATE_CTRL_SLEEP);
    while (!has_work && !progress->posted && !progress->is_stopping)
        pthread_cond_wait(&progress->cond, &progress->lock);
    if (sleeps)
        tell_control(progress->plugin, &control, RKT_NCCL_STATE_CTRL_WAKEUP);
    taken = progress->posted;
    progress->posted = NULL;
    progress->posted_end = &progress->posted;
    pthread_mutex_unlock(&progress->lock);
    return taken;
}

static bool is_stopping(struct sim_progress *progress)
{
    bool stopping;

    pthread_mutex_lock(&progress->lock);
    stopping = progress->is_stopping;
    pthread_mutex_unlock(&progress->lock);
    return stopping;
}

static void progress_all(struct sim_progress *progress, struct sim_watch **active)
{
    for (struct sim_watch **link = active; *link;) {
        struct sim_watch *watch = *link;

        if (progress_one(progress, watch)) {
            *link = watch->next;
            sim_watch_unref(watch);
        } else {
            link = &watch->next;
        }
    }
}

static void take_all(struct sim_progress *progress, struct sim_watch **active)
{
    struct sim_watch **end = active;

    while (*end)
        end = &(*end)->next;
    *end = take_posted(progress, *active != NULL);
    progress_all(progress, active);
}

static void *run(void *arg)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    struct sim_progress *progress = arg;
    struct sim_watch *active = NULL;

    while (!is_stopping(progress)) {
        take_all(progress, &active);
        if (active)
            nanosleep(&pause, NULL);
    }
    take_all(progress, &active); /* kernels that are over are told to their end */
    while (active) {
        struct sim_watch *watch = active;

        active = watch->next;
        sim_watch_unref(watch);
    }
    return NULL;
}

struct sim_progress *sim_progress_create(const struct sim_plugin_comm *plugin)
{
    struct sim_progress *progress = calloc(1, sizeof(*progress));

    if (!progress)
        return NULL;
    progress->plugin = plugin;
    progress->posted_end = &progress->posted;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->cond, NULL);
    return progress;
}

void sim_progress_destroy(struct sim_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->is_stopping = true;
    pthread_cond_signal(&progress->cond);
    pthread_mutex_unlock(&progress->lock);
    if (progress->has_thread)
        pthread_join(progress->thread, NULL);
    while (progress->posted) {
        struct sim_watch *watch = progress->posted;

        progress->posted = watch->next;
        sim_watch_unref(watch);
    }
    pthread_cond_destroy(&progress->cond);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
}

void sim_progress_post(struct sim_progress *progress, struct sim_watch *watch)
{
    pthread_mutex_lock(&progress->lock);
    watch->next = NULL;
    *progress->posted_end = watch;
    progress->posted_end = &watch->next;
    if (!progress->has_thread && pthread_create(&progress->thread, NULL, run, progress) == 0) {
        progress->has_thread = true;
        pthread_setname_np(progress->thread, "NCCL Progress 0");
    }
    pthread_cond_signal(&progress->cond);
    pthread_mutex_unlock(&progress->lock);
}
