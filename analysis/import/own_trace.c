/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/own_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_fields.h"
#include "analysis/range_name.h"
#include "analysis/rank_trace.h"
#include "common/array.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/event.h"
#include "common/units.h"

#define HEAD_BYTES 4096u
#define TEXT_BYTES 256u
#define PEEK_WINDOW_BYTES ((size_t)64 << 10)

static const char PRODUCER[] = "\"producer\": \"ranktrace ";

enum track_group {
    TRACK_UNKNOWN,
    TRACK_DERIVED,
    TRACK_STREAM,
    TRACK_THREAD,
    TRACK_ANNOTATIONS,
    TRACK_BUCKETS,
};

struct track {
    uint8_t group; /* enum track_group */
    uint32_t number;
    uint32_t device;
};

struct own {
    struct rkt_source_writer *writer; /* NULL: ranks are only counted */
    struct rkt_strtab *names;
    struct rkt_strtab *shapes;
    struct rkt_json_parser *parser; /* for nested values */
    struct rkt_trace_facts facts;
    struct rkt_error *err;
    enum rkt_status status; /* of what nested visitors did */
    size_t part;
    size_t rank_count;    /* in otherData */
    uint64_t pid;         /* of this part's events */
    int64_t shift_ns;     /* ts to the rank's own clock */
    struct track *tracks; /* by tid */
    size_t track_count;
    size_t track_cap;
    uint32_t correlation_id; /* of the kernel whose operations are read */
    uint64_t start_ns;
    uint64_t end_ns;
};

/* ---- fields ---- */

static const struct rkt_json_field *find(const struct rkt_json_object *object, const char *key)
{
    size_t bytes = strlen(key);

    for (size_t i = 0; i < object->count; i++) {
        if (object->fields[i].key_bytes == bytes && memcmp(object->fields[i].key, key, bytes) == 0)
            return &object->fields[i];
    }
    return NULL;
}

static uint64_t number(const struct rkt_json_object *object, const char *key, uint64_t fallback)
{
    const struct rkt_json_field *field = find(object, key);
    uint64_t value;

    return field && rkt_json_to_u64(field->value, field->value_bytes, &value) ? value : fallback;
}

static int64_t integer(const struct rkt_json_object *object, const char *key, int64_t fallback)
{
    const struct rkt_json_field *field = find(object, key);
    int64_t value;

    return field && rkt_json_to_i64(field->value, field->value_bytes, &value) ? value : fallback;
}

static bool is_true(const struct rkt_json_object *object, const char *key)
{
    return rkt_kineto_equals(find(object, key), "true");
}

static uint32_t intern_field(struct own *own, const struct rkt_json_field *field)
{
    char *text;
    uint32_t id;

    if (!field || field->value_bytes == 0)
        return 0;
    text = malloc(field->value_bytes);
    if (!text)
        return 0;
    id = rkt_strtab_intern(own->names, text,
                           rkt_json_unescape(field->value, field->value_bytes, text));
    free(text);
    return id;
}

static void copy_text(const struct rkt_json_object *object, const char *key, char *out,
                      size_t bytes)
{
    const struct rkt_json_field *field = find(object, key);
    char text[TEXT_BYTES];
    size_t len = 0;

    if (field && field->value_bytes < sizeof(text))
        len = rkt_json_unescape(field->value, field->value_bytes, text);
    (void)snprintf(out, bytes, "%.*s", (int)len, text);
}

static enum rkt_status add(struct own *own, const struct rkt_event *event)
{
    return rkt_source_writer_add(own->writer, event, own->err);
}

/* ---- who and where ---- */

static bool take_comm(void *ctx, const struct rkt_json_object *object)
{
    struct own *own = ctx;
    struct rkt_event event = {.kind = RKT_EVENT_COMM, .clock_id = RKT_CLOCK_TRACE};

    event.name_id = intern_field(own, find(object, "name"));
    event.comm.comm_id = number(object, "comm", 0);
    event.comm.rank = (int32_t)integer(object, "rank", -1);
    event.comm.rank_count = (uint32_t)number(object, "rank_count", 0);
    event.comm.members_id = intern_field(own, find(object, "members"));
    own->status = add(own, &event);
    return own->status == RKT_OK;
}

static enum rkt_status take_rank(struct own *own, const struct rkt_json_object *object)
{
    struct rkt_json_object_visitor visitor = {own, NULL, take_comm};
    const struct rkt_json_field *comms = find(object, "comms");
    struct rkt_trace_facts *facts = &own->facts;
    struct rkt_json_progress progress;

    facts->has_rank = true;
    facts->rank = (uint32_t)number(object, "rank", 0);
    facts->rank_source = "ranktrace's own export";
    facts->world_size = (uint32_t)number(object, "world_size", 0);
    facts->pid = number(object, "process", 0);
    facts->has_base = true;
    facts->base_ns = integer(object, "base_ns", 0);
    if (__builtin_sub_overflow(integer(object, "origin_ns", 0), facts->base_ns, &own->shift_ns))
        own->shift_ns = 0;
    copy_text(object, "host", facts->host, sizeof(facts->host));
    copy_text(object, "program", facts->program, sizeof(facts->program));
    if (comms)
        (void)rkt_json_parse_array(own->parser, comms->value, comms->value_bytes, &visitor,
                                   &progress);
    return own->status;
}

static enum track_group group_of(const struct rkt_json_field *name)
{
    static const struct {
        const char *name;
        enum track_group group;
    } GROUPS[] = {
        {"stream", TRACK_STREAM},
        {"thread", TRACK_THREAD},
        {"gpu annotations", TRACK_ANNOTATIONS},
        {"buckets", TRACK_BUCKETS},
    };

    for (size_t i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
        if (rkt_kineto_equals(name, GROUPS[i].name))
            return GROUPS[i].group;
    }
    return TRACK_DERIVED;
}

static enum rkt_status take_track(struct own *own, const struct rkt_json_object *object,
                                  uint64_t tid)
{
    struct track track = {(uint8_t)group_of(find(object, "group")),
                          (uint32_t)number(object, "number", 0),
                          (uint32_t)number(object, "device", 0)};
    struct rkt_event event = {.kind = RKT_EVENT_NAME,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = RKT_NAMED_THREAD,
                              .name_id = intern_field(own, find(object, "thread")),
                              .name = {.object_id = track.number}};

    if (tid >= RKT_STRING_COUNT_MAX || !rkt_array_reserve((void **)&own->tracks, &own->track_cap,
                                                          (size_t)tid + 1, sizeof(*own->tracks)))
        return rkt_fail(own->err, RKT_ERR_NOMEM, "no memory for track %llu",
                        (unsigned long long)tid);
    for (; own->track_count <= tid; own->track_count++)
        own->tracks[own->track_count] = (struct track){TRACK_UNKNOWN, 0, 0};
    own->tracks[tid] = track;
    return event.name_id != 0 ? add(own, &event) : RKT_OK;
}

static enum rkt_status take_metadata(struct own *own, const struct rkt_json_object *object,
                                     const struct rkt_kineto_fields *fields)
{
    uint64_t tid = 0;

    own->facts.fates[RKT_FATE_METADATA]++;
    if (rkt_kineto_equals(fields->of[RKT_KEY_NAME], "ranktrace_rank"))
        return take_rank(own, object);
    if (rkt_kineto_equals(fields->of[RKT_KEY_NAME], "ranktrace_track") &&
        rkt_kineto_u64(fields, RKT_KEY_TID, &tid))
        return take_track(own, object, tid);
    return RKT_OK;
}

/* ---- slices ---- */

static bool take_op(void *ctx, const struct rkt_json_object *object)
{
    struct own *own = ctx;
    struct rkt_event event = {.kind = RKT_EVENT_NCCL,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = RKT_NCCL_KERNEL_INFO,
                              .start_ns = own->start_ns,
                              .end_ns = own->end_ns,
                              .correlation_id = own->correlation_id};

    event.nccl.func = (uint8_t)number(object, "func", 0);
    event.nccl.comm_id = number(object, "comm", 0);
    event.nccl.seq = number(object, "seq", UINT64_MAX);
    event.nccl.count = number(object, "count", UINT64_MAX);
    event.nccl.datatype = (uint8_t)number(object, "datatype", RKT_DATATYPE_UNKNOWN);
    event.nccl.peer = (int32_t)integer(object, "peer", -1);
    own->status = add(own, &event);
    return own->status == RKT_OK;
}

static enum rkt_status add_ops(struct own *own, const struct rkt_json_object *object,
                               const struct rkt_event *kernel)
{
    struct rkt_json_object_visitor visitor = {own, NULL, take_op};
    const struct rkt_json_field *ops = find(object, "ops");
    struct rkt_json_progress progress;

    own->correlation_id = kernel->correlation_id;
    own->start_ns = kernel->start_ns;
    own->end_ns = kernel->end_ns;
    if (ops)
        (void)rkt_json_parse_array(own->parser, ops->value, ops->value_bytes, &visitor, &progress);
    return own->status;
}

static enum rkt_status add_kernel(struct own *own, const struct rkt_json_object *object,
                                  const struct track *track, struct rkt_event *event)
{
    struct rkt_event shape = {
        .kind = RKT_EVENT_SHAPE, .clock_id = RKT_CLOCK_TRACE, .name_id = event->name_id};
    uint64_t grid[3] = {0, 1, 1};
    uint64_t block[3] = {0, 1, 1};
    uint32_t known = rkt_strtab_count(own->shapes);
    enum rkt_status status = RKT_OK;

    event->kind = RKT_EVENT_KERNEL;
    event->kernel.device_id = track->device;
    event->kernel.stream_id = track->number;
    if (is_true(object, "from_graph"))
        event->flags |= RKT_FLAG_GRAPH;
    if (rkt_kineto_list(find(object, "grid"), grid, 3) == 3) {
        (void)rkt_kineto_list(find(object, "block"), block, 3);
        shape.shape.grid_x = (uint32_t)grid[0];
        shape.shape.grid_y = (uint16_t)grid[1];
        shape.shape.grid_z = (uint16_t)grid[2];
        shape.shape.block_x = (uint16_t)block[0];
        shape.shape.block_y = (uint16_t)block[1];
        shape.shape.block_z = (uint16_t)block[2];
        shape.shape.registers = (uint16_t)number(object, "registers per thread", 0);
        shape.shape.dynamic_shared_bytes = (uint32_t)number(object, "shared memory", 0);
        shape.shape.shape_id = rkt_strtab_intern(own->shapes, (const char *)&shape, sizeof(shape));
        event->kernel.shape_id = shape.shape.shape_id;
        if (shape.shape.shape_id >= known)
            status = add(own, &shape);
    }
    if (status == RKT_OK)
        status = add(own, event);
    return status == RKT_OK ? add_ops(own, object, event) : status;
}

static enum rkt_status add_copy(struct own *own, const struct rkt_json_object *object,
                                const struct track *track, struct rkt_event *event)
{
    uint64_t kind = number(object, "copy_kind", 0);

    if (is_true(object, "is_async"))
        event->flags |= RKT_FLAG_ASYNC;
    if (is_true(object, "from_graph"))
        event->flags |= RKT_FLAG_GRAPH;
    if (kind == RKT_COPY_MEMSET) {
        event->kind = RKT_EVENT_MEMSET;
        event->memset.device_id = track->device;
        event->memset.stream_id = track->number;
        event->memset.bytes = number(object, "copied_bytes", 0);
        return add(own, event);
    }
    event->kind = RKT_EVENT_MEMCPY;
    event->memcpy.device_id = track->device;
    event->memcpy.peer_device_id = track->device;
    event->memcpy.stream_id = track->number;
    event->memcpy.bytes = number(object, "copied_bytes", 0);
    event->memcpy.copy_kind = (uint8_t)kind;
    event->memcpy.src_kind = (uint8_t)number(object, "src_kind", 0);
    event->memcpy.dst_kind = (uint8_t)number(object, "dst_kind", 0);
    return add(own, event);
}

static bool is_call(const struct rkt_json_field *cat)
{
    return rkt_kineto_equals(cat, "api") || rkt_kineto_equals(cat, "launch") ||
           rkt_kineto_equals(cat, "sync") || rkt_kineto_equals(cat, "alloc");
}

static enum rkt_status add_range(struct own *own, const struct rkt_json_object *object,
                                 const struct rkt_json_field *cat, struct rkt_event *event)
{
    char type[TEXT_BYTES];
    const struct rkt_json_field *domain = find(object, "domain");

    (void)snprintf(type, sizeof(type), "%.*s", cat ? (int)cat->value_bytes : 0,
                   cat ? cat->value : "");
    event->kind = RKT_EVENT_RANGE;
    event->type = (uint8_t)rkt_range_type_of_name(type);
    event->range.value = number(object, "value", number(object, "asleep_ns", 0));
    event->range.domain_id = intern_field(own, domain ? domain : find(object, "site"));
    event->range.inputs_id = intern_field(own, find(object, "inputs"));
    return add(own, event);
}

static enum rkt_status add_bucket(struct own *own, const struct rkt_json_object *object,
                                  const struct rkt_json_field *name, struct rkt_event *event)
{
    uint64_t index = 0;

    (void)rkt_kineto_list(name, &index, 1);
    event->kind = RKT_EVENT_BUCKET;
    event->name_id = 0;
    event->bucket.bytes = number(object, "bytes", 0);
    event->bucket.step = number(object, "step", 0);
    event->bucket.index = (uint32_t)index;
    return add(own, event);
}

static enum rkt_status add_slice(struct own *own, const struct rkt_json_object *object,
                                 const struct rkt_kineto_fields *fields, const struct track *track,
                                 struct rkt_event *event)
{
    const struct rkt_json_field *cat = fields->of[RKT_KEY_CAT];

    event->name_id = intern_field(own, fields->of[RKT_KEY_NAME]);
    event->correlation_id = rkt_kineto_u32(fields, RKT_KEY_CORRELATION, 0);
    switch ((enum track_group)track->group) {
    case TRACK_STREAM:
        own->facts.gpu_count++;
        return rkt_kineto_equals(cat, "copy") ? add_copy(own, object, track, event)
                                              : add_kernel(own, object, track, event);
    case TRACK_THREAD:
        event->thread_id = track->number;
        if (!is_call(cat))
            return add_range(own, object, cat, event);
        event->kind = RKT_EVENT_API;
        return add(own, event);
    case TRACK_ANNOTATIONS:
        return add_range(own, object, cat, event);
    case TRACK_BUCKETS:
        return add_bucket(own, object, fields->of[RKT_KEY_NAME], event);
    case TRACK_UNKNOWN:
    case TRACK_DERIVED:
        break;
    }
    return RKT_OK;
}

static bool read_times(struct own *own, const struct rkt_kineto_fields *fields, bool is_instant,
                       struct rkt_event *event)
{
    const struct rkt_json_field *ts = fields->of[RKT_KEY_TS];
    const struct rkt_json_field *dur = fields->of[RKT_KEY_DUR];
    int64_t start_ns;
    int64_t dur_ns = 0;
    int64_t end_ns;

    if (!ts || !rkt_parse_us_to_ns(ts->value, ts->value_bytes, &start_ns) ||
        !rkt_add_i64(start_ns, own->shift_ns, &start_ns) || start_ns <= 0)
        return false;
    if (!is_instant && (!dur || !rkt_parse_us_to_ns(dur->value, dur->value_bytes, &dur_ns)))
        return false;
    if (dur_ns < 0 || !rkt_add_i64(start_ns, dur_ns, &end_ns))
        return false;
    event->start_ns = (uint64_t)start_ns;
    event->end_ns = (uint64_t)end_ns;
    return true;
}

static enum rkt_status take_slice(struct own *own, const struct rkt_json_object *object,
                                  const struct rkt_kineto_fields *fields, bool is_instant)
{
    static const struct track NONE;
    struct rkt_event event = {.clock_id = RKT_CLOCK_TRACE};
    struct rkt_trace_facts *facts = &own->facts;
    const struct track *track = &NONE;
    uint64_t tid;

    if (rkt_kineto_u64(fields, RKT_KEY_TID, &tid) && tid < own->track_count)
        track = &own->tracks[tid];
    if (track->group == TRACK_DERIVED || track->group == TRACK_UNKNOWN) {
        facts->fates[RKT_FATE_OTHER]++;
        return RKT_OK;
    }
    if (!read_times(own, fields, is_instant, &event)) {
        facts->fates[RKT_FATE_NO_TIME]++;
        return RKT_OK;
    }
    facts->fates[RKT_FATE_STORED]++;
    if (event.start_ns < facts->first_ns)
        facts->first_ns = event.start_ns;
    if (event.end_ns > facts->last_ns)
        facts->last_ns = event.end_ns;
    return add_slice(own, object, fields, track, &event);
}

static enum rkt_status take_event(void *ctx, const struct rkt_json_object *object,
                                  struct rkt_error *err)
{
    struct own *own = ctx;
    struct rkt_kineto_fields fields = {0};
    const struct rkt_json_field *ph;
    uint64_t pid;

    (void)err;
    if (!own->writer)
        return RKT_END; /* the ranks are counted */
    rkt_kineto_pick(object->fields, object->count, &fields);
    if (!rkt_kineto_u64(&fields, RKT_KEY_PID, &pid) || pid != own->pid)
        return RKT_OK;
    ph = fields.of[RKT_KEY_PH];
    own->facts.read_count++;
    if (rkt_kineto_equals(ph, "X"))
        return take_slice(own, object, &fields, false);
    if (rkt_kineto_equals(ph, "i"))
        return take_slice(own, object, &fields, true);
    if (rkt_kineto_equals(ph, "M"))
        return take_metadata(own, object, &fields);
    own->facts.fates[rkt_kineto_equals(ph, "C") ? RKT_FATE_OTHER : RKT_FATE_FLOW]++;
    return RKT_OK;
}

/* ---- the file ---- */

static bool take_listed_rank(void *ctx, const struct rkt_json_object *object)
{
    struct own *own = ctx;

    if (own->rank_count == own->part)
        own->pid = number(object, "rank", 0) + 1;
    own->rank_count++;
    return true;
}

static bool take_other_data(void *ctx, const struct rkt_json_object *object)
{
    struct own *own = ctx;
    struct rkt_json_object_visitor visitor = {own, NULL, take_listed_rank};
    const struct rkt_json_field *ranks = find(object, "ranks");
    struct rkt_json_parser *parser = ranks ? rkt_json_parser_create(NULL) : NULL;
    struct rkt_json_progress progress;

    if (parser)
        (void)rkt_json_parse_array(parser, ranks->value, ranks->value_bytes, &visitor, &progress);
    rkt_json_parser_destroy(parser);
    return true;
}

static enum rkt_status take_member(void *ctx, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    struct own *own = ctx;
    struct rkt_json_object_visitor visitor = {own, NULL, take_other_data};
    struct rkt_json_field key = {.value = member->key, .value_bytes = member->key_bytes};
    size_t end;

    (void)err;
    if (rkt_kineto_equals(&key, "otherData"))
        (void)rkt_json_parse_object(own->parser, member->value, member->value_bytes, &visitor,
                                    &end);
    return RKT_OK;
}

static bool begins_as_ours(const char *path)
{
    struct rkt_text_source *source = NULL;
    char head[HEAD_BYTES];
    size_t used = 0;
    size_t got = 0;

    if (rkt_text_source_open(path, &source, NULL) != RKT_OK)
        return false;
    while (used < sizeof(head) &&
           rkt_text_source_read(source, head + used, sizeof(head) - used, &got, NULL) == RKT_OK)
        used += got;
    rkt_text_source_close(source);
    return memmem(head, used, PRODUCER, sizeof(PRODUCER) - 1) != NULL;
}

size_t rkt_own_trace_count_parts(const char *path)
{
    struct own own = {.parser = NULL};
    struct rkt_json_handler handler = {
        .ctx = &own, .event = take_event, .member = take_member, .meaning_of = rkt_kineto_meaning};
    struct rkt_text_source *source = NULL;
    struct rkt_json_stats stats;

    if (!begins_as_ours(path) || rkt_text_source_open(path, &source, NULL) != RKT_OK)
        return 0;
    own.parser = rkt_json_parser_create(NULL);
    if (own.parser)
        (void)rkt_json_read(source, PEEK_WINDOW_BYTES, &handler, &stats, NULL);
    rkt_json_parser_destroy(own.parser);
    rkt_text_source_close(source);
    return own.rank_count;
}

enum rkt_status rkt_own_trace_read(struct rkt_text_source *source, size_t part,
                                   struct rkt_source_writer *writer,
                                   struct rkt_trace_facts *facts_out, struct rkt_error *err)
{
    struct own own = {.writer = writer,
                      .names = rkt_source_writer_strtab(writer),
                      .shapes = rkt_strtab_create(),
                      .parser = rkt_json_parser_create(NULL),
                      .facts = {.first_ns = UINT64_MAX, .is_trace = true},
                      .err = err,
                      .part = part};
    struct rkt_json_handler handler = {
        .ctx = &own, .event = take_event, .member = take_member, .meaning_of = rkt_kineto_meaning};
    enum rkt_status status = RKT_OK;

    if (!own.shapes || !own.parser)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to import a trace");
    if (status == RKT_OK)
        status = rkt_json_read(source, 0, &handler, &own.facts.json, err);
    if (status == RKT_OK && part == 0) { /* damage has no rank: it is said once */
        own.facts.fates[RKT_FATE_DAMAGED] = own.facts.json.damaged_count;
        own.facts.read_count += own.facts.json.damaged_count;
    }
    if (status == RKT_OK)
        *facts_out = own.facts;
    rkt_strtab_destroy(own.shapes);
    rkt_json_parser_destroy(own.parser);
    free(own.tracks);
    return status;
}
