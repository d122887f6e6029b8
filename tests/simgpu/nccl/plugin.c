/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/nccl/version.h"

#define ENV_NAME "NCCL_PROFILER_PLUGIN"
#define OLDEST_VERSION 3    /* v1 and v2, which a NCCL before 2.26 looks for, nobody here has */
#define UNDEFINED_BYTE 0xa5 /* where a version defines nothing */

union table {
    const void *any;
    const struct rkt_nccl_profiler_v3 *v3;
    const struct rkt_nccl_profiler_v4 *v4;
    const struct rkt_nccl_profiler_v5 *v5; /* and later */
};

static struct {
    pthread_mutex_t lock; /* guards loading and unloading */
    unsigned int ref_count;
    bool has_failed;
    void *library;
    union table table; /* set while ref_count > 0 */
    int version;
    int mask; /* the plugin keeps its address and may change it at any time */
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void log_nothing(int level, unsigned long flags, const char *file, int line, const char *fmt,
                        ...)
{
    (void)level;
    (void)flags;
    (void)file;
    (void)line;
    (void)fmt;
}

static void *open_library(void)
{
    const char *name = getenv(ENV_NAME); /* NOLINT(concurrency-mt-unsafe): as NCCL does */
    char full[256];
    void *library;

    if (!name || !*name)
        return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
    if (strcmp(name, "none") == 0)
        return NULL;
    if (strcmp(name, "STATIC_PLUGIN") == 0)
        return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library || strchr(name, '/'))
        return library;
    snprintf(full, sizeof(full), "libnccl-profiler-%s.so", name);
    return dlopen(full, RTLD_NOW | RTLD_LOCAL);
}

static bool find_table(void)
{
    for (int version = sim_nccl_profiler_version(); version >= OLDEST_VERSION; version--) {
        char symbol[32];

        snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
        plugin.table.any = dlsym(plugin.library, symbol);
        plugin.version = version;
        if (plugin.table.any)
            return true;
    }
    plugin.version = 0;
    return false;
}

static bool load_locked(void)
{
    if (plugin.has_failed)
        return false;
    plugin.library = open_library();
    if (plugin.library && find_table())
        return true;
    if (plugin.library)
        dlclose(plugin.library);
    plugin.library = NULL;
    plugin.has_failed = true;
    return false;
}

/* What init returns changes nothing: NCCL before 2.30 goes on with the plugin. */
static void call_init(struct sim_plugin_comm *comm)
{
    if (plugin.version == 3)
        plugin.table.v3->init(&comm->context, &plugin.mask);
    else if (plugin.version == 4)
        plugin.table.v4->init(&comm->context, &plugin.mask, comm->name, comm->id, comm->node_count,
                              comm->rank_count, comm->rank, log_nothing);
    else
        plugin.table.v5->init(&comm->context, comm->id, &plugin.mask, comm->name, comm->node_count,
                              comm->rank_count, comm->rank, log_nothing);
}

static void call_finalize(const struct sim_plugin_comm *comm)
{
    if (plugin.version == 3)
        plugin.table.v3->finalize(comm->context);
    else if (plugin.version == 4)
        plugin.table.v4->finalize(comm->context);
    else
        plugin.table.v5->finalize(comm->context);
}

void sim_plugin_open(struct sim_plugin_comm *comm)
{
    pthread_mutex_lock(&plugin.lock);
    comm->is_on = plugin.ref_count > 0 || load_locked();
    if (comm->is_on)
        plugin.ref_count++;
    pthread_mutex_unlock(&plugin.lock);
    if (comm->is_on)
        call_init(comm);
}

void sim_plugin_close(struct sim_plugin_comm *comm)
{
    if (!comm->is_on)
        return;
    comm->is_on = false;
    call_finalize(comm);
    pthread_mutex_lock(&plugin.lock);
    if (--plugin.ref_count == 0) {
        dlclose(plugin.library);
        plugin.library = NULL;
        plugin.table.any = NULL;
        plugin.version = 0;
    }
    pthread_mutex_unlock(&plugin.lock);
}

int sim_plugin_mask(const struct sim_plugin_comm *comm)
{
    return comm->is_on ? __atomic_load_n(&plugin.mask, __ATOMIC_RELAXED) : 0;
}

int sim_plugin_version(void)
{
    return plugin.version;
}

static size_t descr_bytes(int version)
{
    static const size_t BYTES[] = {[4] = RKT_NCCL_DESCR_BYTES_V4,
                                   [5] = RKT_NCCL_DESCR_BYTES_V5,
                                   [6] = RKT_NCCL_DESCR_BYTES_V6,
                                   [7] = RKT_NCCL_DESCR_BYTES_V7};

    return BYTES[version];
}

static void *start_v3(void *context, const struct rkt_nccl_descr *descr)
{
    struct rkt_nccl_descr_v3 *old = calloc(1, sizeof(*old));
    void *handle = NULL;

    if (!old)
        return NULL;
    old->type = (uint8_t)descr->type;
    old->parent = descr->parent;
    old->rank = descr->rank;
    if (descr->type == RKT_NCCL_EVENT_COLL) { /* name and hash stay NULL and 0, as in NCCL 2.27 */
        old->coll.seq = descr->coll.seq;
        old->coll.func = descr->coll.func;
        old->coll.send = descr->coll.send;
        old->coll.recv = descr->coll.recv;
        old->coll.count = descr->coll.count;
        old->coll.root = descr->coll.root;
        old->coll.datatype = descr->coll.datatype;
        old->coll.channel_max = descr->coll.channel_count;
        old->coll.warp_count = descr->coll.warp_count;
        old->coll.algo = descr->coll.algo;
        old->coll.proto = descr->coll.proto;
    } else if (descr->type == RKT_NCCL_EVENT_P2P) {
        old->p2p.func = descr->p2p.func;
        old->p2p.buffer = descr->p2p.buffer;
        old->p2p.datatype = descr->p2p.datatype;
        old->p2p.count = descr->p2p.count;
        old->p2p.peer = descr->p2p.peer;
    }
    plugin.table.v3->start(context, &handle, old);
    free(old);
    return handle;
}

static void *start_v4_or_later(void *context, const struct rkt_nccl_descr *descr)
{
    size_t bytes = descr_bytes(plugin.version);
    struct rkt_nccl_descr *copy = malloc(bytes);
    void *handle = NULL;

    if (!copy)
        return NULL;
    memcpy(copy, descr, bytes);
    if (plugin.version == 4) {
        memset(copy, UNDEFINED_BYTE, sizeof(copy->type));
        *(uint8_t *)copy = (uint8_t)descr->type;
        plugin.table.v4->start(context, &handle, copy);
    } else {
        plugin.table.v5->start(context, &handle, copy);
    }
    free(copy);
    return handle;
}

/* Events that a version does not have never reach it. */
static uint64_t known_events(int version)
{
    if (version <= 4)
        return RKT_NCCL_EVENT_GROUP_API - 1;
    if (version == 5)
        return RKT_NCCL_EVENT_CE_COLL - 1;
    return UINT64_MAX;
}

void *sim_plugin_start(const struct sim_plugin_comm *comm, const struct rkt_nccl_descr *descr)
{
    if (!comm->is_on || !(descr->type & known_events(plugin.version)))
        return NULL;
    if (plugin.version == 3)
        return start_v3(comm->context, descr);
    return start_v4_or_later(comm->context, descr);
}

void sim_plugin_stop(const struct sim_plugin_comm *comm, void *handle)
{
    if (!handle || !comm->is_on)
        return;
    if (plugin.version == 3)
        plugin.table.v3->stop(handle);
    else if (plugin.version == 4)
        plugin.table.v4->stop(handle);
    else
        plugin.table.v5->stop(handle);
}

void sim_plugin_record(const struct sim_plugin_comm *comm, void *handle, int state,
                       uint64_t timer_ns)
{
    union rkt_nccl_state_args args = {.timer_ns = timer_ns};

    if (!handle || !comm->is_on || plugin.version == 3)
        return;
    if (plugin.version == 4)
        plugin.table.v4->record(handle, state, &args);
    else
        plugin.table.v5->record(handle, state, &args);
}
