/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_state.h"
#include "common/array.h"

static const char NO_MEMORY[] = "no memory to import a trace";

const char *rkt_kineto_text(struct rkt_kineto *kineto, const struct rkt_json_field *field)
{
    size_t len;

    if (!field || !rkt_array_reserve((void **)&kineto->scratch, &kineto->scratch_cap,
                                     field->value_bytes + 1, 1))
        return "";
    len = rkt_json_unescape(field->value, field->value_bytes, kineto->scratch);
    kineto->scratch[len] = '\0';
    return kineto->scratch;
}

uint32_t rkt_kineto_intern(struct rkt_kineto *kineto, const struct rkt_json_field *field)
{
    size_t len;

    if (!field)
        return 0;
    if (!memchr(field->value, '\\', field->value_bytes))
        return rkt_strtab_intern(kineto->names, field->value, field->value_bytes);
    if (!rkt_array_reserve((void **)&kineto->scratch, &kineto->scratch_cap, field->value_bytes, 1))
        return 0;
    len = rkt_json_unescape(field->value, field->value_bytes, kineto->scratch);
    return rkt_strtab_intern(kineto->names, kineto->scratch, len);
}

enum rkt_status rkt_kineto_add(struct rkt_kineto *kineto, const struct rkt_event *event,
                               struct rkt_error *err)
{
    return rkt_source_writer_add(kineto->writer, event, err);
}

static bool wants_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    struct rkt_kineto_fields picked;

    (void)ctx;
    rkt_kineto_pick(fields, count, &picked);
    if (!picked.of[RKT_KEY_PH] || !picked.of[RKT_KEY_NAME])
        return true; /* args come first in this file */
    if (rkt_kineto_equals(picked.of[RKT_KEY_PH], "M"))
        return true;
    return rkt_kineto_equals(picked.of[RKT_KEY_PH], "X") &&
           (!picked.of[RKT_KEY_CAT] ||
            rkt_kineto_slice_needs_args(rkt_kineto_class_of(picked.of[RKT_KEY_CAT]),
                                        picked.of[RKT_KEY_NAME]));
}

static enum rkt_status take_event(void *ctx, const struct rkt_json_object *event,
                                  struct rkt_error *err)
{
    struct rkt_kineto *kineto = ctx;
    struct rkt_kineto_fields fields;
    const struct rkt_json_field *ph;

    rkt_kineto_pick(event->fields, event->count, &fields);
    ph = fields.of[RKT_KEY_PH];
    if (rkt_kineto_equals(ph, "X"))
        return rkt_kineto_slice(kineto, &fields, err);
    if (rkt_kineto_equals(ph, "M"))
        return rkt_kineto_metadata(kineto, &fields, err);
    if (!ph || rkt_kineto_equals(ph, "B") || rkt_kineto_equals(ph, "E"))
        kineto->loose_ends++; /* Kineto itself writes whole slices only */
    else
        kineto->facts.left_out_count++;
    return RKT_OK;
}

static enum rkt_status take_member(void *ctx, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    static const char *const KINETO_MEMBERS[] = {
        "schemaVersion", "distributedInfo",     "deviceProperties",
        "traceName",     "baseTimeNanoseconds", "record_shapes",
    };
    struct rkt_kineto *kineto = ctx;
    struct rkt_json_field key = {.value = member->key, .value_bytes = member->key_bytes};

    for (size_t i = 0; i < sizeof(KINETO_MEMBERS) / sizeof(KINETO_MEMBERS[0]); i++)
        kineto->facts.is_kineto |= rkt_kineto_equals(&key, KINETO_MEMBERS[i]);
    if (rkt_kineto_equals(&key, "baseTimeNanoseconds"))
        kineto->facts.has_base =
            rkt_json_to_i64(member->value, member->value_bytes, &kineto->facts.base_ns);
    else if (rkt_kineto_equals(&key, "distributedInfo"))
        return rkt_kineto_distributed(kineto, member, err);
    else if (rkt_kineto_equals(&key, "deviceProperties"))
        return rkt_kineto_devices(kineto, member, err);
    else if (rkt_kineto_equals(&key, "host_name") || rkt_kineto_equals(&key, "hostname"))
        (void)snprintf(kineto->facts.host, sizeof(kineto->facts.host), "%s",
                       rkt_kineto_text(kineto, member));
    return RKT_OK;
}

static enum rkt_status add_loss(struct rkt_kineto *kineto, enum rkt_loss_reason reason,
                                enum rkt_event_kind kind, uint64_t count, uint64_t bytes,
                                struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_LOSS,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = (uint8_t)reason,
                              .loss = {count, bytes, (uint32_t)kind}};

    return count > 0 ? rkt_kineto_add(kineto, &event, err) : RKT_OK;
}

static enum rkt_status end_losses(struct rkt_kineto *kineto, struct rkt_error *err)
{
    const struct rkt_json_stats *json = &kineto->facts.json;
    enum rkt_status status = add_loss(kineto, RKT_LOSS_DAMAGED_INPUT, RKT_EVENT_NONE,
                                      json->damaged_count, json->damaged_bytes, err);

    kineto->facts.skipped_count = kineto->loose_ends;
    if (status == RKT_OK)
        status = add_loss(kineto, RKT_LOSS_BAD_STAMP, RKT_EVENT_NONE, kineto->loose_ends, 0, err);
    for (int kind = 0; kind < RKT_EVENT_KIND_COUNT && status == RKT_OK; kind++) {
        kineto->facts.skipped_count += kineto->bad_stamps[kind];
        status = add_loss(kineto, RKT_LOSS_BAD_STAMP, (enum rkt_event_kind)kind,
                          kineto->bad_stamps[kind], 0, err);
    }
    return status;
}

static enum rkt_status kineto_init(struct rkt_kineto *kineto, struct rkt_source_writer *writer,
                                   struct rkt_error *err)
{
    memset(kineto, 0, sizeof(*kineto));
    kineto->writer = writer;
    kineto->names = rkt_source_writer_strtab(writer);
    kineto->facts.first_ns = UINT64_MAX;
    kineto->parser = rkt_json_parser_create();
    kineto->tracks = rkt_strtab_create();
    kineto->shapes = rkt_strtab_create();
    kineto->correlations = rkt_strtab_create();
    kineto->processes = rkt_strtab_create();
    kineto->operators = rkt_strtab_create();
    if (!kineto->parser || !kineto->tracks || !kineto->shapes || !kineto->correlations ||
        !kineto->processes || !kineto->operators)
        return rkt_fail(err, RKT_ERR_NOMEM, NO_MEMORY);
    return RKT_OK;
}

static void kineto_release(struct rkt_kineto *kineto)
{
    rkt_json_parser_destroy(kineto->parser);
    rkt_strtab_destroy(kineto->tracks);
    rkt_strtab_destroy(kineto->shapes);
    rkt_strtab_destroy(kineto->correlations);
    rkt_strtab_destroy(kineto->processes);
    rkt_strtab_destroy(kineto->operators);
    free(kineto->process_names);
    free(kineto->thread_names);
    free(kineto->groups);
    free(kineto->collectives);
    free(kineto->launchers);
    free(kineto->mutes);
    free(kineto->name_classes);
    free(kineto->scratch);
}

enum rkt_status rkt_kineto_read(struct rkt_text_source *source, size_t window_bytes,
                                struct rkt_source_writer *writer,
                                struct rkt_kineto_facts *facts_out, struct rkt_error *err)
{
    struct rkt_kineto kineto;
    struct rkt_json_handler handler = {&kineto, wants_args, take_event, take_member};
    enum rkt_status status = kineto_init(&kineto, writer, err);

    if (status == RKT_OK)
        status = rkt_json_read(source, window_bytes, &handler, &kineto.facts.json, err);
    if (status == RKT_OK)
        status = rkt_kineto_end_comms(&kineto, err);
    if (status == RKT_OK)
        status = rkt_kineto_end_tracks(&kineto, err);
    if (status == RKT_OK)
        status = end_losses(&kineto, err);
    if (status == RKT_OK)
        *facts_out = kineto.facts;
    kineto_release(&kineto);
    return status;
}
