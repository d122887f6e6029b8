/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/nsys_state.h"
#include "common/array.h"
#include "common/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NO_ID ((int64_t)UINT32_MAX)
#define CLASS_RUNTIME 0 /* eventClass of API calls */
#define CLASS_DRIVER 1

enum column {
    START,
    END,
    GLOBAL_PID,
    GLOBAL_TID,
    DEVICE,
    CONTEXT,
    STREAM,
    CORRELATION,
    DEMANGLED_NAME,
    SHORT_NAME,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    REGISTERS,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    GRAPH_NODE,
    GRAPH,
    BYTES,
    COPY_KIND,
    SRC_KIND,
    DST_KIND,
    VALUE,
    SYNC_TYPE,
    CUDA_EVENT,
    EVENT_CLASS,
    NAME,
    RETURN_VALUE,
    COLUMN_COUNT
};

static const char *const COLUMNS[COLUMN_COUNT] = {
    [START] = "start",
    [END] = "end",
    [GLOBAL_PID] = "globalPid",
    [GLOBAL_TID] = "globalTid",
    [DEVICE] = "deviceId",
    [CONTEXT] = "contextId",
    [STREAM] = "streamId",
    [CORRELATION] = "correlationId",
    [DEMANGLED_NAME] = "demangledName",
    [SHORT_NAME] = "shortName",
    [GRID_X] = "gridX",
    [GRID_Y] = "gridY",
    [GRID_Z] = "gridZ",
    [BLOCK_X] = "blockX",
    [BLOCK_Y] = "blockY",
    [BLOCK_Z] = "blockZ",
    [REGISTERS] = "registersPerThread",
    [STATIC_SHARED] = "staticSharedMemory",
    [DYNAMIC_SHARED] = "dynamicSharedMemory",
    [GRAPH_NODE] = "graphNodeId",
    [GRAPH] = "graphId",
    [BYTES] = "bytes",
    [COPY_KIND] = "copyKind",
    [SRC_KIND] = "srcKind",
    [DST_KIND] = "dstKind",
    [VALUE] = "value",
    [SYNC_TYPE] = "syncType",
    [CUDA_EVENT] = "eventId",
    [EVENT_CLASS] = "eventClass",
    [NAME] = "nameId",
    [RETURN_VALUE] = "returnValue",
};

/* Tables whose rows are work of a GPU, or belong to it. */
static const struct {
    const char *name;
    enum rkt_event_kind kind;
} TABLES[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", RKT_EVENT_KERNEL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", RKT_EVENT_MEMCPY},
    {"CUPTI_ACTIVITY_KIND_MEMSET", RKT_EVENT_MEMSET},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", RKT_EVENT_GRAPH},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", RKT_EVENT_SYNC},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", RKT_EVENT_API},
};

/* Tables that are only counted. */
static const char *const LEFT_OUT[] = {"OSRT_API", "SCHED_EVENTS", "COMPOSITE_EVENTS",
                                       "GPU_METRICS", "CUDA_GPU_MEMORY_USAGE_EVENTS"};

static uint32_t id_of(const struct rkt_nsys_table *row, enum column column, int64_t fallback)
{
    int64_t value = rkt_nsys_number(row, column, fallback);

    return value >= 0 && value <= UINT32_MAX ? (uint32_t)value : (uint32_t)fallback;
}

static uint16_t small_of(const struct rkt_nsys_table *row, enum column column)
{
    int64_t value = rkt_nsys_number(row, column, 0);

    return value < 0 ? 0 : value <= UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

static uint64_t bytes_of(const struct rkt_nsys_table *row)
{
    int64_t bytes = rkt_nsys_number(row, BYTES, 0);

    return bytes > 0 ? (uint64_t)bytes : 0;
}

enum rkt_status rkt_nsys_add(struct rkt_nsys *nsys, const struct rkt_event *event,
                             struct rkt_error *err)
{
    struct rkt_trace_facts *facts = nsys->facts;

    facts->fates[RKT_FATE_STORED]++;
    facts->gpu_count += event->kind >= RKT_EVENT_KERNEL && event->kind <= RKT_EVENT_MEMSET;
    facts->gpu_count += event->kind == RKT_EVENT_GRAPH;
    if (event->start_ns < facts->first_ns)
        facts->first_ns = event->start_ns;
    if (event->end_ns > facts->last_ns)
        facts->last_ns = event->end_ns;
    return rkt_source_writer_add(nsys->writer, event, err);
}

/* "cudaMemcpy_v3020" is cudaMemcpy. */
static size_t without_version(const char *text)
{
    size_t len = strlen(text);
    size_t at = len;

    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    return at < len && at > 2 && text[at - 1] == 'v' && text[at - 2] == '_' ? at - 2 : len;
}

uint32_t rkt_nsys_name(struct rkt_nsys *nsys, int64_t string_id)
{
    uint32_t known = rkt_strtab_count(nsys->strings);
    uint32_t id = rkt_strtab_intern(nsys->strings, (const char *)&string_id, sizeof(string_id));
    const char *text;

    if (id == 0 || !rkt_array_reserve((void **)&nsys->string_names, &nsys->string_cap,
                                      (size_t)id + 1, sizeof(*nsys->string_names)))
        return 0;
    if (id < known)
        return nsys->string_names[id];
    text = rkt_nsys_string(nsys->file, string_id);
    nsys->string_names[id] = rkt_strtab_intern(nsys->names, text, without_version(text));
    return nsys->string_names[id];
}

/* ---- what a row becomes ---- */

static enum rkt_status fill_kernel(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                   struct rkt_event *event, struct rkt_error *err)
{
    struct rkt_event shape = {.kind = RKT_EVENT_SHAPE, .clock_id = RKT_CLOCK_TRACE};
    uint32_t known = rkt_strtab_count(nsys->shapes);
    int64_t node = rkt_nsys_number(row, GRAPH_NODE, 0);

    event->name_id = rkt_nsys_name(
        nsys, rkt_nsys_number(row, DEMANGLED_NAME, rkt_nsys_number(row, SHORT_NAME, -1)));
    event->kernel.device_id = id_of(row, DEVICE, 0);
    event->kernel.context_id = id_of(row, CONTEXT, 0);
    event->kernel.stream_id = id_of(row, STREAM, 0);
    event->kernel.graph_id = id_of(row, GRAPH, 0);
    event->kernel.graph_node_id = (uint64_t)node;
    if (node != 0)
        event->flags |= RKT_FLAG_GRAPH;
    shape.name_id = event->name_id;
    shape.shape.grid_x = id_of(row, GRID_X, 0);
    shape.shape.grid_y = small_of(row, GRID_Y);
    shape.shape.grid_z = small_of(row, GRID_Z);
    shape.shape.block_x = small_of(row, BLOCK_X);
    shape.shape.block_y = small_of(row, BLOCK_Y);
    shape.shape.block_z = small_of(row, BLOCK_Z);
    shape.shape.registers = small_of(row, REGISTERS);
    shape.shape.static_shared_bytes = id_of(row, STATIC_SHARED, 0);
    shape.shape.dynamic_shared_bytes = id_of(row, DYNAMIC_SHARED, 0);
    shape.shape.shape_id = rkt_strtab_intern(nsys->shapes, (const char *)&shape, sizeof(shape));
    event->kernel.shape_id = shape.shape.shape_id;
    return shape.shape.shape_id >= known ? rkt_source_writer_add(nsys->writer, &shape, err)
                                         : RKT_OK;
}

/* CUPTI's kinds of copies, and those of unified memory behind them. */
static uint8_t copy_kind_of(int64_t kind)
{
    static const uint8_t UNIFIED[] = {RKT_COPY_HTOD, RKT_COPY_DTOH, RKT_COPY_DTOD};

    if (kind > RKT_COPY_PTOP && kind <= RKT_COPY_PTOP + (int64_t)sizeof(UNIFIED))
        return UNIFIED[kind - RKT_COPY_PTOP - 1];
    return kind >= 0 && kind <= RKT_COPY_PTOP ? (uint8_t)kind : RKT_COPY_UNKNOWN;
}

/* Nsight Systems counts kinds of memory from pageable on, CUPTI from unknown. */
static uint8_t memory_kind_of(int64_t kind)
{
    return kind >= 0 && kind < RKT_MEMORY_MANAGED_STATIC ? (uint8_t)(kind + 1) : RKT_MEMORY_UNKNOWN;
}

static void fill_memcpy(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                        struct rkt_event *event)
{
    char name[32];
    int len;

    event->memcpy.device_id = id_of(row, DEVICE, 0);
    event->memcpy.context_id = id_of(row, CONTEXT, 0);
    event->memcpy.stream_id = id_of(row, STREAM, 0);
    event->memcpy.peer_device_id = event->memcpy.device_id;
    event->memcpy.bytes = bytes_of(row);
    event->memcpy.copy_kind = copy_kind_of(rkt_nsys_number(row, COPY_KIND, 0));
    event->memcpy.src_kind = memory_kind_of(rkt_nsys_number(row, SRC_KIND, -1));
    event->memcpy.dst_kind = memory_kind_of(rkt_nsys_number(row, DST_KIND, -1));
    event->memcpy.graph_id = id_of(row, GRAPH, 0);
    len = snprintf(name, sizeof(name), "Memcpy %s",
                   rkt_copy_kind_name((enum rkt_copy_kind)event->memcpy.copy_kind));
    event->name_id = rkt_strtab_intern(nsys->names, name, (size_t)len);
}

static void fill_memset(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                        struct rkt_event *event)
{
    event->memset.device_id = id_of(row, DEVICE, 0);
    event->memset.context_id = id_of(row, CONTEXT, 0);
    event->memset.stream_id = id_of(row, STREAM, 0);
    event->memset.value = id_of(row, VALUE, 0);
    event->memset.bytes = bytes_of(row);
    event->memset.graph_id = id_of(row, GRAPH, 0);
    event->name_id = rkt_strtab_intern(nsys->names, "Memset", strlen("Memset"));
}

static void fill_graph(const struct rkt_nsys_table *row, struct rkt_event *event)
{
    event->graph.device_id = id_of(row, DEVICE, 0);
    event->graph.context_id = id_of(row, CONTEXT, 0);
    event->graph.stream_id = id_of(row, STREAM, 0);
    event->graph.graph_id = id_of(row, GRAPH, 0);
}

static void fill_sync(const struct rkt_nsys_table *row, struct rkt_event *event)
{
    int64_t type = rkt_nsys_number(row, SYNC_TYPE, RKT_SYNC_UNKNOWN);

    event->type = type >= 0 && type <= RKT_SYNC_CONTEXT ? (uint8_t)type : RKT_SYNC_UNKNOWN;
    event->sync.device_id = id_of(row, DEVICE, 0);
    event->sync.context_id = id_of(row, CONTEXT, 0);
    event->sync.stream_id = id_of(row, STREAM, NO_ID);
    event->sync.cuda_event_id = id_of(row, CUDA_EVENT, NO_ID);
}

/* Calls of CUDA; those of other libraries in the same table are ranges. */
static void fill_api(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                     struct rkt_event *event)
{
    int64_t class = rkt_nsys_number(row, EVENT_CLASS, CLASS_RUNTIME);

    event->name_id = rkt_nsys_name(nsys, rkt_nsys_number(row, NAME, -1));
    event->thread_id = (uint32_t)(rkt_nsys_number(row, GLOBAL_TID, 0) & 0xffffff);
    if (class == CLASS_RUNTIME || class == CLASS_DRIVER) {
        event->type = class == CLASS_DRIVER ? RKT_API_DRIVER : RKT_API_RUNTIME;
        event->api.return_value = (int32_t)rkt_nsys_number(row, RETURN_VALUE, 0);
        return;
    }
    event->kind = RKT_EVENT_RANGE;
    event->type = RKT_RANGE_OTHER;
    event->correlation_id = 0;
}

static enum rkt_status fill(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                            struct rkt_event *event, struct rkt_error *err)
{
    switch ((int)event->kind) {
    case RKT_EVENT_KERNEL:
        return fill_kernel(nsys, row, event, err);
    case RKT_EVENT_MEMCPY:
        fill_memcpy(nsys, row, event);
        break;
    case RKT_EVENT_MEMSET:
        fill_memset(nsys, row, event);
        break;
    case RKT_EVENT_GRAPH:
        fill_graph(row, event);
        break;
    case RKT_EVENT_SYNC:
        fill_sync(row, event);
        break;
    default:
        fill_api(nsys, row, event);
    }
    return RKT_OK;
}

/* ---- tables ---- */

static bool is_of_process(const struct rkt_nsys *nsys, const struct rkt_nsys_table *row)
{
    int64_t id = rkt_nsys_number(row, GLOBAL_PID, rkt_nsys_number(row, GLOBAL_TID, -1));

    return id >> RKT_NSYS_ID_BITS == nsys->process;
}

static enum rkt_status take_row(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                enum rkt_event_kind kind, struct rkt_error *err)
{
    struct rkt_event event = {.kind = (uint8_t)kind, .clock_id = RKT_CLOCK_TRACE};
    int64_t start_ns = rkt_nsys_number(row, START, 0);
    int64_t end_ns = rkt_nsys_number(row, END, 0);
    enum rkt_fate fate = RKT_FATE_STORED;
    enum rkt_status status;

    if (start_ns <= 0 || end_ns <= 0)
        fate = RKT_FATE_NO_TIME;
    else if (end_ns < start_ns)
        fate = RKT_FATE_REVERSED;
    nsys->facts->read_count++;
    if (fate != RKT_FATE_STORED) {
        struct rkt_event loss = {.kind = RKT_EVENT_LOSS,
                                 .clock_id = RKT_CLOCK_TRACE,
                                 .type = RKT_LOSS_BAD_STAMP,
                                 .loss = {1, 0, (uint32_t)kind}};

        nsys->facts->fates[fate]++;
        return rkt_source_writer_add(nsys->writer, &loss, err);
    }
    event.start_ns = (uint64_t)start_ns;
    event.end_ns = (uint64_t)end_ns;
    event.correlation_id = id_of(row, CORRELATION, 0);
    status = fill(nsys, row, &event, err);
    return status == RKT_OK ? rkt_nsys_add(nsys, &event, err) : status;
}

static enum rkt_status read_table(struct rkt_nsys *nsys, const char *name, enum rkt_event_kind kind,
                                  struct rkt_error *err)
{
    struct rkt_nsys_table *row = NULL;
    enum rkt_status status =
        rkt_nsys_table_open(nsys->file, name, COLUMNS, COLUMN_COUNT, &row, err);

    if (!row)
        return status;
    while ((status = rkt_nsys_next(row, err)) == RKT_OK) {
        if (is_of_process(nsys, row))
            status = take_row(nsys, row, kind, err);
        if (status != RKT_OK)
            break;
    }
    rkt_nsys_table_close(row);
    return status == RKT_END ? RKT_OK : status;
}

static enum rkt_status count_left_out(struct rkt_nsys *nsys, const char *name,
                                      struct rkt_error *err)
{
    struct rkt_nsys_table *row = NULL;
    enum rkt_status status =
        rkt_nsys_table_open(nsys->file, name, COLUMNS, COLUMN_COUNT, &row, err);

    if (!row)
        return status;
    while ((status = rkt_nsys_next(row, err)) == RKT_OK) {
        if (rkt_nsys_is_null(row, GLOBAL_TID) || is_of_process(nsys, row)) {
            nsys->facts->read_count++;
            nsys->facts->fates[RKT_FATE_OTHER]++;
        }
    }
    rkt_nsys_table_close(row);
    return status == RKT_END ? RKT_OK : status;
}

static enum rkt_status read_tables(struct rkt_nsys *nsys, struct rkt_error *err)
{
    enum rkt_status status = rkt_nsys_read_info(nsys, err);

    for (size_t i = 0; i < COUNT(TABLES) && status == RKT_OK; i++)
        status = read_table(nsys, TABLES[i].name, TABLES[i].kind, err);
    if (status == RKT_OK)
        status = rkt_nsys_read_nvtx(nsys, err);
    for (size_t i = 0; i < COUNT(LEFT_OUT) && status == RKT_OK; i++)
        status = count_left_out(nsys, LEFT_OUT[i], err);
    return status;
}

/* ---- processes ---- */

struct process {
    int64_t id; /* globalPid >> 24 */
    int64_t device;
    bool has_work;
};

struct processes {
    struct process *items;
    size_t count;
    size_t cap;
};

static enum rkt_status note_process(struct processes *list, int64_t id, int64_t device,
                                    bool has_work, struct rkt_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        struct process *item = &list->items[i];

        if (item->id != id)
            continue;
        if (has_work && (!item->has_work || device < item->device))
            item->device = device;
        item->has_work |= has_work;
        return RKT_OK;
    }
    if (list->count == RKT_NSYS_PARTS_MAX)
        return rkt_fail(err, RKT_ERR_RANGE, "more than %u processes", RKT_NSYS_PARTS_MAX);
    if (!rkt_array_reserve((void **)&list->items, &list->cap, list->count + 1,
                           sizeof(*list->items)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of processes");
    list->items[list->count++] = (struct process){id, device, has_work};
    return RKT_OK;
}

static int by_device(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    if (x->has_work != y->has_work)
        return y->has_work - x->has_work;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Those of the table, without telling one row from the next. */
static enum rkt_status list_from(struct rkt_nsys_file *file, const char *name, bool is_work,
                                 struct processes *list, struct rkt_error *err)
{
    struct rkt_nsys_table *row = NULL;
    enum rkt_status status = rkt_nsys_table_open(file, name, COLUMNS, COLUMN_COUNT, &row, err);

    if (!row)
        return status;
    while ((status = rkt_nsys_next(row, err)) == RKT_OK) {
        int64_t id = rkt_nsys_number(row, GLOBAL_PID, rkt_nsys_number(row, GLOBAL_TID, -1));

        if (id < 0)
            continue;
        status = note_process(list, id >> RKT_NSYS_ID_BITS, rkt_nsys_number(row, DEVICE, 0),
                              is_work, err);
        if (status != RKT_OK)
            break;
    }
    rkt_nsys_table_close(row);
    return status == RKT_END || status == RKT_ERR_FORMAT ? RKT_OK : status;
}

/* By device; those without GPU work only where none has any. */
static enum rkt_status list_processes(struct rkt_nsys_file *file, struct processes *list,
                                      struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t working = 0;

    for (size_t i = 0; i < COUNT(TABLES) && status == RKT_OK; i++) {
        bool is_work = TABLES[i].kind != RKT_EVENT_SYNC && TABLES[i].kind != RKT_EVENT_API;

        status = list_from(file, TABLES[i].name, is_work, list, err);
    }
    if (status == RKT_OK)
        status = list_from(file, "NVTX_EVENTS", false, list, err);
    if (status == RKT_OK && list->count == 0)
        status = rkt_fail(err, RKT_ERR_FORMAT,
                          "is an SQLite file without the tables of Nsight Systems; make one by "
                          "'nsys export --type sqlite'");
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), by_device);
    while (working < list->count && list->items[working].has_work)
        working++;
    if (working > 0)
        list->count = working;
    return status;
}

/* ---- life cycle ---- */

bool rkt_nsys_is_sqlite(const char *path)
{
    static const char MAGIC[] = "SQLite format 3";
    char head[sizeof(MAGIC)] = {0};
    FILE *file = fopen(path, "rbe");
    bool is_sqlite;

    if (!file)
        return false;
    is_sqlite = fread(head, 1, sizeof(head), file) == sizeof(head) &&
                memcmp(head, MAGIC, sizeof(MAGIC)) == 0;
    (void)fclose(file);
    return is_sqlite;
}

enum rkt_status rkt_nsys_count_parts(const char *path, size_t *count_out, struct rkt_error *err)
{
    struct processes list = {0};
    struct rkt_nsys_file *file = NULL;
    enum rkt_status status = rkt_nsys_open(path, &file, err);

    if (status == RKT_OK)
        status = list_processes(file, &list, err);
    if (status == RKT_OK)
        *count_out = list.count;
    free(list.items);
    rkt_nsys_close(file);
    return status;
}

static enum rkt_status nsys_init(struct rkt_nsys *nsys, const char *path, size_t part,
                                 struct rkt_error *err)
{
    struct processes list = {0};
    enum rkt_status status = rkt_nsys_open(path, &nsys->file, err);

    if (status == RKT_OK)
        status = list_processes(nsys->file, &list, err);
    if (status == RKT_OK && part >= list.count)
        status = rkt_fail(err, RKT_ERR_INVALID, "process %zu of %zu", part, list.count);
    if (status == RKT_OK)
        nsys->process = list.items[part].id;
    free(list.items);
    nsys->strings = rkt_strtab_create();
    nsys->domains = rkt_strtab_create();
    nsys->shapes = rkt_strtab_create();
    if (status == RKT_OK && (!nsys->strings || !nsys->domains || !nsys->shapes))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to import a trace");
    return status;
}

static void nsys_release(struct rkt_nsys *nsys)
{
    rkt_nsys_close(nsys->file);
    rkt_strtab_destroy(nsys->strings);
    rkt_strtab_destroy(nsys->domains);
    rkt_strtab_destroy(nsys->shapes);
    free(nsys->string_names);
    free(nsys->domain_names);
}

enum rkt_status rkt_nsys_read(const char *path, size_t part, struct rkt_source_writer *writer,
                              struct rkt_trace_facts *facts_out, struct rkt_text_damage *damage_out,
                              struct rkt_error *err)
{
    struct rkt_trace_facts facts = {.first_ns = UINT64_MAX, .is_trace = true};
    struct rkt_nsys nsys = {
        .writer = writer, .facts = &facts, .names = rkt_source_writer_strtab(writer)};
    struct rkt_text_damage damage = {0};
    struct rkt_error inner = {0};
    enum rkt_status status = nsys_init(&nsys, path, part, err);

    if (status == RKT_OK) {
        facts.pid = (uint64_t)nsys.process & 0xffffff;
        status = read_tables(&nsys, &inner);
        if (status == RKT_ERR_FORMAT) { /* some page of it: the rows before are there */
            damage.is_damaged = true;
            (void)snprintf(damage.what, sizeof(damage.what), "%.90s", inner.text);
            status = RKT_OK;
        } else if (status != RKT_OK && err) {
            *err = inner;
        }
    }
    nsys_release(&nsys);
    if (status == RKT_OK) {
        *facts_out = facts;
        *damage_out = damage;
    }
    return status;
}
