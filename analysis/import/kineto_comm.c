/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the communication kernels of a Kineto trace carry out, and between whom.
 *
 * All of it goes out at the end: a group's members may be said first by a later event or by
 * distributedInfo, and the operator that explains a kernel may come behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "analysis/rank_trace.h"
#include "common/array.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static enum rkt_status out_of_memory(struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the collectives of a trace");
}

/* ---- groups ---- */

/* The group of this name, new or known; UINT32_MAX when memory is out. */
static uint32_t group_of_name(struct rkt_kineto *kineto, uint32_t name_id)
{
    struct rkt_kineto_group group = {.name_id = name_id, .own_rank = -1};

    for (size_t i = 0; i < kineto->group_count; i++) {
        if (kineto->groups[i].name_id == name_id)
            return (uint32_t)i;
    }
    if (!rkt_array_reserve((void **)&kineto->groups, &kineto->group_cap, kineto->group_count + 1,
                           sizeof(*kineto->groups)))
        return UINT32_MAX;
    kineto->groups[kineto->group_count] = group;
    return (uint32_t)kineto->group_count++;
}

/* "[0, 1, 2]" becomes "0,1,2"; a list that the writer cut stays as it is, apart. */
static void learn_members(struct rkt_kineto *kineto, struct rkt_kineto_group *group,
                          const struct rkt_json_field *list)
{
    size_t used = 0;
    char *text;

    if (!list || list->value_bytes < 2 || group->members_id != 0)
        return;
    text = malloc(list->value_bytes);
    if (!text)
        return; /* members stay unknown */
    for (size_t i = 0; i < list->value_bytes; i++) {
        if ((list->value[i] >= '0' && list->value[i] <= '9') || list->value[i] == ',')
            text[used++] = list->value[i];
    }
    if (memchr(list->value, '.', list->value_bytes) || used > RKT_STRING_BYTES_MAX)
        group->short_id = rkt_kineto_intern(kineto, list);
    else if (used > 0)
        group->members_id = rkt_strtab_intern(kineto->names, text, used);
    free(text);
}

/* The group that an event names, with what it says of it; UINT32_MAX if it names none. */
static uint32_t learn_group(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    const struct rkt_json_field *name = fields->of[RKT_KEY_GROUP_NAME];
    struct rkt_kineto_group *group;
    uint32_t index;
    uint32_t own_rank = rkt_kineto_u32(fields, RKT_KEY_RANK, UINT32_MAX);

    if (!name || name->value_bytes == 0)
        name = fields->of[RKT_KEY_GROUP_ID];
    if (!name)
        return UINT32_MAX;
    index = group_of_name(kineto, rkt_kineto_intern(kineto, name));
    if (index == UINT32_MAX)
        return index;
    group = &kineto->groups[index];
    if (group->size == 0)
        group->size = rkt_kineto_u32(fields, RKT_KEY_GROUP_SIZE, 0);
    if (group->text_id == 0)
        group->text_id = rkt_kineto_intern(kineto, fields->of[RKT_KEY_GROUP_TEXT]);
    if (own_rank <= INT32_MAX)
        group->own_rank = (int32_t)own_rank;
    learn_members(kineto, group, fields->of[RKT_KEY_GROUP_RANKS]);
    return index;
}

static uint64_t fnv(uint64_t hash, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * FNV_PRIME;
    return hash;
}

/* Equal on all ranks: name, members as far as they are known, size. */
static uint64_t comm_id_of(const struct rkt_kineto *kineto, const struct rkt_kineto_group *group)
{
    uint64_t hash = FNV_OFFSET;
    char size[16];
    int size_bytes = snprintf(size, sizeof(size), "%u", group->size);
    size_t len;
    const char *text = rkt_strtab_get(kineto->names, group->name_id, &len);

    hash = fnv(hash, text, len + 1);
    text = rkt_strtab_get(kineto->names, group->members_id ? group->members_id : group->short_id,
                          &len);
    hash = fnv(hash, text, len + 1);
    return fnv(hash, size, (size_t)size_bytes);
}

/* The number at `index` of "0,1,2"; false past the end. */
static bool member_at(const char *members, uint32_t index, uint32_t *rank_out)
{
    for (; index > 0; index--) {
        members = strchr(members, ',');
        if (!members)
            return false;
        members++;
    }
    *rank_out = (uint32_t)strtoul(members, NULL, 10);
    return *members != '\0';
}

static int32_t index_of_member(const char *members, uint32_t rank)
{
    uint32_t member;

    for (uint32_t i = 0; member_at(members, i, &member); i++) {
        if (member == rank)
            return (int32_t)i;
    }
    return -1;
}

/* ---- collectives ---- */

static int32_t peer_of(const struct rkt_kineto_fields *fields, enum rkt_nccl_func func)
{
    enum rkt_kineto_key key = func == RKT_NCCL_FUNC_SEND   ? RKT_KEY_DST_RANK
                              : func == RKT_NCCL_FUNC_RECV ? RKT_KEY_SRC_RANK
                                                           : RKT_KEY_ROOT_RANK;
    uint32_t peer = rkt_kineto_u32(fields, key, UINT32_MAX);

    return peer <= INT32_MAX ? (int32_t)peer : -1;
}

/* Elements as passed to NCCL: its ReduceScatter counts what comes out, all others what goes in. */
static uint64_t count_of(const struct rkt_kineto_fields *fields, enum rkt_nccl_func func)
{
    bool is_out = func == RKT_NCCL_FUNC_REDUCESCATTER || func == RKT_NCCL_FUNC_RECV;
    uint64_t count = UINT64_MAX;

    if (!rkt_kineto_u64(fields, is_out ? RKT_KEY_OUT_COUNT : RKT_KEY_IN_COUNT, &count))
        (void)rkt_kineto_u64(fields, is_out ? RKT_KEY_IN_COUNT : RKT_KEY_OUT_COUNT, &count);
    return count;
}

static struct rkt_kineto_collective read_collective(struct rkt_kineto *kineto,
                                                    const struct rkt_kineto_fields *fields)
{
    const struct rkt_json_field *name = fields->of[RKT_KEY_COLLECTIVE];
    struct rkt_kineto_collective collective = {.group = learn_group(kineto, fields)};
    struct rkt_event *event = &collective.event;
    enum rkt_nccl_func func = rkt_nccl_func_parse(rkt_kineto_text(kineto, name));

    event->kind = RKT_EVENT_NCCL;
    event->clock_id = RKT_CLOCK_TRACE;
    event->type = RKT_NCCL_KERNEL_INFO;
    event->name_id = rkt_kineto_intern(kineto, name);
    event->nccl.func = (uint8_t)func;
    event->nccl.datatype = rkt_datatype_parse(rkt_kineto_text(kineto, fields->of[RKT_KEY_DTYPE]));
    event->nccl.count = count_of(fields, func);
    event->nccl.peer = peer_of(fields, func);
    event->nccl.seq = UINT64_MAX;
    (void)rkt_kineto_u64(fields, RKT_KEY_SEQ, &event->nccl.seq);
    return collective;
}

static enum rkt_status keep_collective(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_collective *collective,
                                       struct rkt_error *err)
{
    if (!rkt_array_reserve((void **)&kineto->collectives, &kineto->collective_cap,
                           kineto->collective_count + 1, sizeof(*kineto->collectives)))
        return out_of_memory(err);
    kineto->collectives[kineto->collective_count++] = *collective;
    return RKT_OK;
}

static enum rkt_status keep_mute(struct rkt_kineto *kineto, const struct rkt_event *event,
                                 uint64_t external_id, struct rkt_error *err)
{
    struct rkt_kineto_mute_kernel mute = {event->start_ns, event->end_ns, external_id,
                                          event->correlation_id};

    if (!rkt_array_reserve((void **)&kineto->mutes, &kineto->mute_cap, kineto->mute_count + 1,
                           sizeof(*kineto->mutes)))
        return out_of_memory(err);
    kineto->mutes[kineto->mute_count++] = mute;
    return RKT_OK;
}

/* The class of a kernel's name, which is looked at once per name. */
static bool is_comm_name(struct rkt_kineto *kineto, uint32_t name_id)
{
    if (!rkt_array_reserve((void **)&kineto->name_classes, &kineto->name_class_cap,
                           (size_t)name_id + 1, 1))
        return false;
    for (; kineto->name_class_count <= name_id; kineto->name_class_count++)
        kineto->name_classes[kineto->name_class_count] = 0;
    if (kineto->name_classes[name_id] == 0) {
        const char *name = rkt_strtab_get(kineto->names, name_id, NULL);

        kineto->name_classes[name_id] = (uint8_t)(1 + rkt_work_class_of_kernel(name));
    }
    return kineto->name_classes[name_id] == 1 + RKT_WORK_COMM;
}

enum rkt_status rkt_kineto_comm_kernel(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_fields *fields,
                                       const struct rkt_event *event, struct rkt_error *err)
{
    struct rkt_kineto_collective collective;
    uint64_t external_id;

    if (!fields->of[RKT_KEY_COLLECTIVE]) {
        if (is_comm_name(kineto, event->name_id) &&
            rkt_kineto_u64(fields, RKT_KEY_EXTERNAL_ID, &external_id))
            return keep_mute(kineto, event, external_id, err);
        return RKT_OK;
    }
    collective = read_collective(kineto, fields);
    collective.event.start_ns = event->start_ns;
    collective.event.end_ns = event->end_ns;
    collective.event.correlation_id = event->correlation_id;
    return keep_collective(kineto, &collective, err);
}

enum rkt_status rkt_kineto_comm_operator(struct rkt_kineto *kineto,
                                         const struct rkt_kineto_fields *fields,
                                         struct rkt_error *err)
{
    struct rkt_kineto_collective collective = read_collective(kineto, fields);
    uint64_t external_id;
    uint32_t id;

    if (!rkt_kineto_u64(fields, RKT_KEY_EXTERNAL_ID, &external_id))
        return RKT_OK;
    id = rkt_strtab_intern(kineto->operators, (const char *)&external_id, sizeof(external_id));
    if (id == 0 || !rkt_array_reserve((void **)&kineto->launchers, &kineto->launcher_cap,
                                      (size_t)id + 1, sizeof(*kineto->launchers)))
        return out_of_memory(err);
    kineto->launchers[id] = collective;
    return RKT_OK;
}

/* ---- distributedInfo ---- */

struct info_reader {
    struct rkt_kineto *kineto;
    struct rkt_json_field groups; /* pg_config */
};

static const struct rkt_json_field *find_field(const struct rkt_json_object *object,
                                               const char *key)
{
    size_t bytes = strlen(key);

    for (size_t i = 0; i < object->count; i++) {
        if (object->fields[i].key_bytes == bytes && memcmp(object->fields[i].key, key, bytes) == 0)
            return &object->fields[i];
    }
    return NULL;
}

static bool read_u32(const struct rkt_json_object *object, const char *key, uint32_t *out)
{
    const struct rkt_json_field *field = find_field(object, key);
    uint64_t value;

    if (!field || !rkt_json_to_u64(field->value, field->value_bytes, &value) || value > INT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_info(void *ctx, const struct rkt_json_object *info)
{
    struct info_reader *reader = ctx;
    struct rkt_trace_facts *facts = &reader->kineto->facts;
    const struct rkt_json_field *groups = find_field(info, "pg_config");

    facts->has_rank = read_u32(info, "rank", &facts->rank);
    if (facts->has_rank)
        facts->rank_source = "distributedInfo";
    (void)read_u32(info, "world_size", &facts->world_size);
    if (groups)
        reader->groups = *groups;
    return true;
}

static bool read_group(void *ctx, const struct rkt_json_object *config)
{
    struct rkt_kineto *kineto = ctx;
    const struct rkt_json_field *name = find_field(config, "pg_name");
    uint32_t index = name ? group_of_name(kineto, rkt_kineto_intern(kineto, name)) : UINT32_MAX;
    struct rkt_kineto_group *group;

    if (index == UINT32_MAX)
        return true;
    group = &kineto->groups[index];
    group->members_id = 0; /* this list is whole */
    learn_members(kineto, group, find_field(config, "ranks"));
    if (group->size == 0)
        (void)read_u32(config, "pg_size", &group->size);
    return true;
}

enum rkt_status rkt_kineto_distributed(struct rkt_kineto *kineto,
                                       const struct rkt_json_field *member, struct rkt_error *err)
{
    struct info_reader reader = {.kineto = kineto};
    struct rkt_json_object_visitor info = {&reader, NULL, read_info};
    struct rkt_json_object_visitor group = {kineto, NULL, read_group};
    struct rkt_json_progress progress;
    size_t end;

    (void)err;
    (void)rkt_json_parse_object(kineto->parser, member->value, member->value_bytes, &info, &end);
    if (reader.groups.value)
        (void)rkt_json_parse_array(kineto->parser, reader.groups.value, reader.groups.value_bytes,
                                   &group, &progress);
    return RKT_OK;
}

/* ---- the end ---- */

/* Kernels that said nothing, through the operator that was running when they were launched. */
static enum rkt_status join_mutes(struct rkt_kineto *kineto, struct rkt_error *err)
{
    uint32_t known = rkt_strtab_count(kineto->operators);
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < kineto->mute_count && status == RKT_OK; i++) {
        const struct rkt_kineto_mute_kernel *mute = &kineto->mutes[i];
        struct rkt_kineto_collective collective;
        uint32_t id = rkt_strtab_intern(kineto->operators, (const char *)&mute->external_id,
                                        sizeof(mute->external_id));

        if (id == 0 || id >= known)
            continue;
        collective = kineto->launchers[id];
        collective.event.start_ns = mute->start_ns;
        collective.event.end_ns = mute->end_ns;
        collective.event.correlation_id = mute->correlation_id;
        status = keep_collective(kineto, &collective, err);
    }
    return status;
}

/* The global rank, from a group whose members and own index are known, or from the default one. */
static void find_rank(struct rkt_kineto *kineto)
{
    struct rkt_trace_facts *facts = &kineto->facts;

    for (size_t i = 0; i < kineto->group_count && !facts->has_rank; i++) {
        const struct rkt_kineto_group *group = &kineto->groups[i];
        const char *name = rkt_strtab_get(kineto->names, group->name_id, NULL);
        const char *members = rkt_strtab_get(kineto->names, group->members_id, NULL);
        bool is_default = strcmp(name, "0") == 0 || strcmp(name, "default_pg") == 0;

        if (group->own_rank < 0)
            continue;
        facts->has_rank = member_at(members, (uint32_t)group->own_rank, &facts->rank);
        if (!facts->has_rank && is_default) {
            facts->has_rank = true;
            facts->rank = (uint32_t)group->own_rank;
        }
        if (facts->has_rank)
            facts->rank_source = "collective args";
        if (is_default && facts->world_size == 0)
            facts->world_size = group->size;
    }
}

/* "mesh_tp (17)": the number alone says little; "default_pg" and the like say no more. */
static uint32_t name_of_group(struct rkt_kineto *kineto, const struct rkt_kineto_group *group)
{
    const char *name = rkt_strtab_get(kineto->names, group->name_id, NULL);
    const char *text = rkt_strtab_get(kineto->names, group->text_id, NULL);
    char both[256];
    int bytes;

    if (!text[0] || strcmp(text, "default_pg") == 0 || strcmp(text, "undefined") == 0 ||
        strcmp(text, name) == 0)
        return group->name_id;
    bytes = snprintf(both, sizeof(both), "%s (%s)", text, name);
    if (bytes < 0 || (size_t)bytes >= sizeof(both))
        return group->name_id;
    return rkt_strtab_intern(kineto->names, both, (size_t)bytes);
}

static enum rkt_status add_group(struct rkt_kineto *kineto, const struct rkt_kineto_group *group,
                                 struct rkt_error *err)
{
    const char *members = rkt_strtab_get(kineto->names, group->members_id, NULL);
    struct rkt_event event = {.kind = RKT_EVENT_COMM,
                              .clock_id = RKT_CLOCK_TRACE,
                              .name_id = name_of_group(kineto, group),
                              .start_ns = kineto->first_ns,
                              .end_ns = kineto->first_ns};

    event.comm.comm_id = comm_id_of(kineto, group);
    event.comm.rank = group->own_rank;
    if (event.comm.rank < 0 && kineto->has_rank)
        event.comm.rank = index_of_member(members, kineto->rank);
    event.comm.rank_count = group->size;
    event.comm.members_id = group->members_id;
    return rkt_kineto_add(kineto, &event, err);
}

enum rkt_status rkt_kineto_end_file_comms(struct rkt_kineto *kineto, struct rkt_error *err)
{
    find_rank(kineto);
    return join_mutes(kineto, err);
}

enum rkt_status rkt_kineto_end_comms(struct rkt_kineto *kineto, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < kineto->collective_count && status == RKT_OK; i++) {
        struct rkt_kineto_collective *collective = &kineto->collectives[i];

        if (collective->group != UINT32_MAX) {
            struct rkt_kineto_group *group = &kineto->groups[collective->group];

            group->is_used = true;
            collective->event.nccl.comm_id = comm_id_of(kineto, group);
        }
        status = rkt_kineto_add(kineto, &collective->event, err);
    }
    for (size_t i = 0; i < kineto->group_count && status == RKT_OK; i++) {
        if (kineto->groups[i].is_used)
            status = add_group(kineto, &kineto->groups[i], err);
    }
    return status;
}
