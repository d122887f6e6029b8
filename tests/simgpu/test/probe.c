/* SPDX-License-Identifier: Apache-2.0 */

/*
 * probe - a library in the two roles of the capture library, injected by the driver and plugged
 * into NCCL, that writes all it is told as lines of text to SIMGPU_PROBE_DIR/<RANK>.txt:
 *
 *     injected <0 or 1: cuInit inside the hook worked>
 *     kernel <stream> <start> <end> <correlation> <name>
 *     copy <copy kind> <source memory> <target memory> <bytes> <start> <end>
 *     api <cbid> <correlation> <name of the calling thread>
 *     runtime <cbid> <correlation> <name of the calling thread>
 *     sync <type> <start> <end>
 *     dropped <records>
 *     init <version> <ranks> <rank> [<name>]  (plugin; SIMGPU_PROBE_MASK is the mask)
 *     start <event> <parent event> <func> <seq>
 *     start <event> <parent event> captured | own | foreign | <channel> <name of the calling thread>
 *     stop <event> | state <event> <number> [0] | finalize | unloaded
 *
 * Events of the mask SIMGPU_PROBE_NULL get no handle.
 */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/capture/nccl_api/profiler.h"

#define BUFFER_BYTES 16384u
#define EXPORTED __attribute__((visibility("default")))

int InitializeInjection(void) EXPORTED;

static struct {
    pthread_mutex_t lock; /* guards the file */
    FILE *file;
} probe = {.lock = PTHREAD_MUTEX_INITIALIZER};

static FILE *open_file(void)
{
    const char *folder = getenv("SIMGPU_PROBE_DIR");
    const char *rank = getenv("RANK");
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.txt", folder ? folder : ".", rank ? rank : "0");
    return fopen(path, "ae");
}

static void write_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void write_line(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    pthread_mutex_lock(&probe.lock);
    if (!probe.file)
        probe.file = open_file();
    if (probe.file) {
        vfprintf(probe.file, fmt, args);
        fputc('\n', probe.file);
        fflush(probe.file);
    }
    pthread_mutex_unlock(&probe.lock);
    va_end(args);
}

/* "?" when the thread has ended. */
static void read_thread_name(uint32_t thread_id, char name[32])
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
    snprintf(name, 32, "?");
    file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(name, 32, file))
        name[strcspn(name, "\n")] = '\0';
    fclose(file);
}

static void write_api(const char *word, const CUpti_ActivityAPI *api)
{
    char thread[32];

    read_thread_name(api->threadId, thread);
    write_line("%s %u %u %s", word, api->cbid, api->correlationId, thread);
}

static void write_record(const CUpti_Activity *record)
{
    const CUpti_ActivityKernel4 *kernel = (const void *)record;
    const CUpti_ActivityMemcpy *copy = (const void *)record;
    const CUpti_ActivitySynchronization *sync = (const void *)record;

    switch ((int)record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        write_line("kernel %u %llu %llu %u %s", kernel->streamId, (unsigned long long)kernel->start,
                   (unsigned long long)kernel->end, kernel->correlationId, kernel->name);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        write_line("copy %u %u %u %llu %llu %llu", copy->copyKind, copy->srcKind, copy->dstKind,
                   (unsigned long long)copy->bytes, (unsigned long long)copy->start,
                   (unsigned long long)copy->end);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        write_line("sync %d %llu %llu", (int)sync->type, (unsigned long long)sync->start,
                   (unsigned long long)sync->end);
        break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
        write_api("api", (const void *)record);
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        write_api("runtime", (const void *)record);
        break;
    default:
        break;
    }
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *record_max = 0;
}

static void completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    CUpti_Activity *record = NULL;

    (void)context;
    (void)stream_id;
    (void)bytes;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        write_record(record);
    free(buffer);
}

static void at_exit(void)
{
    size_t dropped = 0;

    cuptiActivityFlushAll(1);
    cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    write_line("dropped %zu", dropped);
}

int InitializeInjection(void)
{
    static const CUpti_ActivityKind KINDS[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_RUNTIME};

    write_line("injected %d", cuInit(0) == CUDA_SUCCESS);
    cuptiActivityRegisterCallbacks(requested, completed);
    cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        cuptiActivityEnable(KINDS[i]);
    atexit(at_exit);
    return 1;
}

/* A handle is the event's own name, so that a child can say who its parent is. */
static const char *event_name(uint64_t type)
{
    switch (type) {
    case RKT_NCCL_EVENT_GROUP:
        return "Group";
    case RKT_NCCL_EVENT_COLL:
        return "Coll";
    case RKT_NCCL_EVENT_P2P:
        return "P2p";
    case RKT_NCCL_EVENT_GROUP_API:
        return "GroupApi";
    case RKT_NCCL_EVENT_COLL_API:
        return "CollApi";
    case RKT_NCCL_EVENT_P2P_API:
        return "P2pApi";
    case RKT_NCCL_EVENT_KERNEL_LAUNCH:
        return "KernelLaunch";
    case RKT_NCCL_EVENT_KERNEL_CH:
        return "KernelCh";
    case RKT_NCCL_EVENT_PROXY_OP:
        return "ProxyOp";
    case RKT_NCCL_EVENT_PROXY_STEP:
        return "ProxyStep";
    case RKT_NCCL_EVENT_PROXY_CTRL:
        return "ProxyCtrl";
    case RKT_NCCL_EVENT_NET_PLUGIN:
        return "NetPlugin";
    default:
        return "Unknown";
    }
}

static int mask_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);

    return text ? (int)strtol(text, NULL, 0) : otherwise;
}

static int init(int version, void **context, int *mask, const char *name, int rank_count, int rank)
{
    *context = NULL;
    *mask = mask_of("SIMGPU_PROBE_MASK", 0xf06);
    write_line("init %d %d %d%s%s", version, rank_count, rank, name ? " " : "", name ? name : "");
    return 0;
}

/* A handle, or none for what the test says. */
static void give_handle(uint64_t type, void **handle)
{
    const char *name = event_name(type);

    if (mask_of("SIMGPU_PROBE_NULL", 0) & (int)type)
        *handle = NULL;
    else
        memcpy(handle, &name, sizeof(name)); /* not const there */
}

/* v3 is told of no communicator. */
static int init_v3(void **context, int *mask)
{
    return init(3, context, mask, NULL, 0, 0);
}

static int init_v4(void **context, int *mask, const char *name, uint64_t id, int node_count,
                   int rank_count, int rank, rkt_nccl_log_fn log)
{
    (void)id;
    (void)node_count;
    (void)log;
    return init(4, context, mask, name, rank_count, rank);
}

#define INIT_V5_AND_LATER(version)                                                            \
    static int init_v##version(void **context, uint64_t id, int *mask, const char *name,      \
                               int node_count, int rank_count, int rank, rkt_nccl_log_fn log) \
    {                                                                                         \
        (void)id;                                                                             \
        (void)node_count;                                                                     \
        (void)log;                                                                            \
        return init(version, context, mask, name, rank_count, rank);                          \
    }

INIT_V5_AND_LATER(5)
INIT_V5_AND_LATER(6)
INIT_V5_AND_LATER(7)

static int start_v3(void *context, void **handle, struct rkt_nccl_descr_v3 *descr)
{
    const char *parent = descr->parent ? descr->parent : "-";

    (void)context;
    give_handle(descr->type, handle);
    if (descr->type == RKT_NCCL_EVENT_COLL)
        write_line("start Coll %s %s %llu", parent, descr->coll.func,
                   (unsigned long long)descr->coll.seq);
    else
        write_line("start %s %s", event_name(descr->type), parent);
    return 0;
}

static void write_channel(const char *parent, const struct rkt_nccl_descr *descr)
{
    char thread[32] = "";

    pthread_getname_np(pthread_self(), thread, sizeof(thread));
    write_line("start KernelCh %s %u %s", parent, descr->kernel_ch.channel_id, thread);
}

static int start_typed(uint64_t type, void **handle, const struct rkt_nccl_descr *descr)
{
    const char *parent = descr->parent ? descr->parent : "-";
    bool is_captured = (type == RKT_NCCL_EVENT_GROUP_API && descr->group_api.is_captured) ||
                       (type == RKT_NCCL_EVENT_COLL_API && descr->coll_api.is_captured);

    give_handle(type, handle);
    if (type == RKT_NCCL_EVENT_COLL)
        write_line("start Coll %s %s %llu", parent, descr->coll.func,
                   (unsigned long long)descr->coll.seq);
    else if (type == RKT_NCCL_EVENT_KERNEL_CH)
        write_channel(parent, descr);
    else if (type == RKT_NCCL_EVENT_PROXY_OP)
        write_line("start ProxyOp %s %s", parent,
                   descr->proxy_op.pid == getpid() ? "own" : "foreign");
    else
        write_line("start %s %s%s", event_name(type), parent, is_captured ? " captured" : "");
    return 0;
}

static int start_v4(void *context, void **handle, struct rkt_nccl_descr *descr)
{
    (void)context;
    return start_typed(rkt_nccl_descr_type_v4(descr), handle, descr);
}

static int start_v5(void *context, void **handle, struct rkt_nccl_descr *descr)
{
    (void)context;
    return start_typed(descr->type, handle, descr);
}

static int stop(void *handle)
{
    write_line("stop %s", (const char *)handle);
    return 0;
}

static int record(void *handle, int state, union rkt_nccl_state_args *args)
{
    bool has_no_time = state == RKT_NCCL_STATE_KERNEL_CH_STOP && args->timer_ns == 0;

    write_line("state %s %d%s", (const char *)handle, state, has_no_time ? " 0" : "");
    return 0;
}

static int record_v3(void *handle, int state, void *args)
{
    return record(handle, state, args);
}

static int finalize(void *context)
{
    (void)context;
    write_line("finalize");
    return 0;
}

#define TABLE(number, layout, record_fn)                                         \
    extern const struct rkt_nccl_profiler_v##layout ncclProfiler_v##number;      \
    EXPORTED const struct rkt_nccl_profiler_v##layout ncclProfiler_v##number = { \
        "probe", init_v##number, start_v##layout, stop, record_fn, finalize}

TABLE(3, 3, record_v3);
TABLE(4, 4, record);
TABLE(5, 5, record);
TABLE(6, 5, record);
TABLE(7, 5, record);

static void __attribute__((destructor)) unloaded(void)
{
    write_line("unloaded");
    if (probe.file)
        fclose(probe.file);
    probe.file = NULL;
}
