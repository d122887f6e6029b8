/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, processes and devices of a Kineto trace, and their names. */
#include <stdio.h>
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "common/array.h"

#define TRACK_KEY_BYTES 256
#define TRACK_SEPARATOR '\x1f' /* between pid and tid, which may hold blanks */

static const char STREAM_NAME[] = "stream ";

/* Up to half of the key's room; ids that long are cut, all in the same way. */
static size_t put_id(const struct rkt_json_field *id, char *out)
{
    size_t len = id ? id->value_bytes : 0;

    if (len > TRACK_KEY_BYTES / 2 - 1)
        len = TRACK_KEY_BYTES / 2 - 1;
    if (len > 0)
        memcpy(out, id->value, len);
    return len;
}

/* Is this the key of these two? Ids that were cut are not told. */
static bool is_key_of(const char *key, size_t key_bytes, const struct rkt_json_field *pid,
                      const struct rkt_json_field *tid)
{
    return pid && tid && key_bytes == pid->value_bytes + 1 + tid->value_bytes &&
           key[pid->value_bytes] == TRACK_SEPARATOR &&
           memcmp(key, pid->value, pid->value_bytes) == 0 &&
           memcmp(key + pid->value_bytes + 1, tid->value, tid->value_bytes) == 0;
}

/* Events of one thread mostly follow each other: the last one found is tried first. */
uint32_t rkt_kineto_thread(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    char key[TRACK_KEY_BYTES];
    const char *last;
    size_t len;

    last = rkt_strtab_get(kineto->tracks, kineto->last_track, &len);
    if (is_key_of(last, len, fields->of[RKT_KEY_PID], fields->of[RKT_KEY_TID]))
        return kineto->last_track;
    len = put_id(fields->of[RKT_KEY_PID], key);
    key[len++] = TRACK_SEPARATOR;
    len += put_id(fields->of[RKT_KEY_TID], key + len);
    kineto->last_track = rkt_strtab_intern(kineto->tracks, key, len);
    return kineto->last_track;
}

uint32_t rkt_kineto_async_track(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    char key[TRACK_KEY_BYTES * 2];
    size_t len = put_id(fields->of[RKT_KEY_PID], key);

    key[len++] = TRACK_SEPARATOR;
    len += put_id(fields->of[RKT_KEY_CAT], key + len);
    key[len++] = ' ';
    len += put_id(fields->of[RKT_KEY_ID], key + len);
    return rkt_strtab_intern(kineto->tracks, key, len);
}

static enum rkt_status add_name(struct rkt_kineto *kineto, enum rkt_named_object object,
                                uint64_t object_id, uint32_t name_id, struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_NAME,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = (uint8_t)object,
                              .name_id = name_id,
                              .name = {.object_id = object_id}};

    return rkt_kineto_add(kineto, &event, err);
}

/* Names come for every pid, also for those that stand for GPUs: kept until the end. */
static enum rkt_status keep_process_name(struct rkt_kineto *kineto,
                                         const struct rkt_kineto_fields *fields,
                                         struct rkt_error *err)
{
    uint64_t pid;
    uint32_t id;

    if (!rkt_kineto_u64(fields, RKT_KEY_PID, &pid))
        return RKT_OK;
    id = rkt_strtab_intern(kineto->processes, (const char *)&pid, sizeof(pid));
    if (id == 0 || !rkt_array_reserve((void **)&kineto->process_names, &kineto->process_cap,
                                      (size_t)id + 1, sizeof(*kineto->process_names)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for process names");
    for (; kineto->process_count <= id; kineto->process_count++)
        kineto->process_names[kineto->process_count] = 0;
    kineto->process_names[id] = rkt_kineto_intern(kineto, fields->of[RKT_KEY_ARG_NAME]);
    return RKT_OK;
}

static enum rkt_status name_thread(struct rkt_kineto *kineto,
                                   const struct rkt_kineto_fields *fields,
                                   const struct rkt_json_field *name, struct rkt_error *err)
{
    uint32_t id = rkt_kineto_thread(kineto, fields);

    if (id == 0 || !rkt_array_reserve((void **)&kineto->thread_names, &kineto->thread_cap,
                                      (size_t)id + 1, sizeof(*kineto->thread_names)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for thread names");
    for (; kineto->thread_count <= id; kineto->thread_count++)
        kineto->thread_names[kineto->thread_count] = 0;
    kineto->thread_names[id] = rkt_kineto_intern(kineto, name);
    return RKT_OK;
}

/* "stream 7 " names a stream, and so may its tid be written. */
static bool stream_of_text(const struct rkt_json_field *field, uint64_t *stream_out)
{
    return field && field->value_bytes > sizeof(STREAM_NAME) - 1 &&
           memcmp(field->value, STREAM_NAME, sizeof(STREAM_NAME) - 1) == 0 &&
           rkt_kineto_list(field, stream_out, 1) == 1;
}

enum rkt_status rkt_kineto_metadata(struct rkt_kineto *kineto,
                                    const struct rkt_kineto_fields *fields, struct rkt_error *err)
{
    const struct rkt_json_field *what = fields->of[RKT_KEY_NAME];
    const struct rkt_json_field *name = fields->of[RKT_KEY_ARG_NAME];
    uint64_t stream;

    if (!name)
        return RKT_OK; /* labels, sort orders */
    if (rkt_kineto_equals(what, "process_name"))
        return keep_process_name(kineto, fields, err);
    if (!rkt_kineto_equals(what, "thread_name"))
        return RKT_OK;
    if (stream_of_text(name, &stream))
        return add_name(kineto, RKT_NAMED_STREAM, stream, rkt_kineto_intern(kineto, name), err);
    return name_thread(kineto, fields, name, err);
}

struct device_reader {
    struct rkt_kineto *kineto;
    struct rkt_error *err;
    enum rkt_status status;
};

static bool read_device(void *ctx, const struct rkt_json_object *object)
{
    struct device_reader *reader = ctx;
    const struct rkt_json_field *name = NULL;
    uint64_t id = UINT64_MAX;

    for (size_t i = 0; i < object->count; i++) {
        const struct rkt_json_field *field = &object->fields[i];
        struct rkt_json_field key = {.value = field->key, .value_bytes = field->key_bytes};

        if (rkt_kineto_equals(&key, "id"))
            (void)rkt_json_to_u64(field->value, field->value_bytes, &id);
        else if (rkt_kineto_equals(&key, "name"))
            name = field;
    }
    if (name && name->value_bytes > 0 && id != UINT64_MAX)
        reader->status = add_name(reader->kineto, RKT_NAMED_DEVICE, id,
                                  rkt_kineto_intern(reader->kineto, name), reader->err);
    return reader->status == RKT_OK;
}

/* The member's text as an array or object that simdjson may read past. */
enum rkt_status rkt_kineto_devices(struct rkt_kineto *kineto, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    struct device_reader reader = {kineto, err, RKT_OK};
    struct rkt_json_object_visitor visitor = {&reader, NULL, read_device};
    struct rkt_json_progress progress;

    (void)rkt_json_parse_array(kineto->parser, member->value, member->value_bytes, &visitor,
                               &progress);
    return reader.status;
}

/* A thread without a name is called by its tid, which may be a text. */
static uint32_t name_of_track(struct rkt_kineto *kineto, uint32_t id)
{
    const char *tid = strchr(rkt_strtab_get(kineto->tracks, id, NULL), TRACK_SEPARATOR);
    char name[TRACK_KEY_BYTES + 16];
    int len;

    if (id < kineto->thread_count && kineto->thread_names[id] != 0)
        return kineto->thread_names[id];
    if (!tid || !tid[1])
        return 0;
    tid++;
    len = snprintf(name, sizeof(name), tid[strspn(tid, "0123456789")] ? "%s" : "thread %s", tid);
    return rkt_strtab_intern(kineto->names, name, len > 0 ? (size_t)len : 0);
}

static enum rkt_status add_thread_names(struct rkt_kineto *kineto, struct rkt_error *err)
{
    uint32_t count = rkt_strtab_count(kineto->tracks);
    enum rkt_status status = RKT_OK;

    for (uint32_t id = 1; id < count && status == RKT_OK; id++) {
        uint32_t name_id = name_of_track(kineto, id);

        if (name_id != 0)
            status = add_name(kineto, RKT_NAMED_THREAD, id, name_id, err);
    }
    return status;
}

const char *rkt_kineto_process_name(struct rkt_kineto *kineto, uint64_t pid, uint32_t *name_id_out)
{
    uint32_t id = 0;

    if (pid != 0)
        id = rkt_strtab_intern(kineto->processes, (const char *)&pid, sizeof(pid));
    if (id == 0 || id >= kineto->process_count)
        return ""; /* it has no name */
    if (name_id_out)
        *name_id_out = kineto->process_names[id];
    return rkt_strtab_get(kineto->names, kineto->process_names[id], NULL);
}

static enum rkt_status add_process_name(struct rkt_kineto *kineto, struct rkt_error *err)
{
    uint32_t name_id = 0;

    if (!rkt_kineto_process_name(kineto, kineto->pid, &name_id)[0])
        return RKT_OK;
    return add_name(kineto, RKT_NAMED_PROCESS, kineto->pid, name_id, err);
}

enum rkt_status rkt_kineto_end_tracks(struct rkt_kineto *kineto, struct rkt_error *err)
{
    enum rkt_status status = add_thread_names(kineto, err);

    return status == RKT_OK ? add_process_name(kineto, err) : status;
}
