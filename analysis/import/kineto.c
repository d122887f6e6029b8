/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "common/array.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
    if (field->shape == RKT_JSON_PLAIN_TEXT || !memchr(field->value, '\\', field->value_bytes))
        return rkt_strtab_intern(kineto->names, field->value, field->value_bytes);
    if (!rkt_array_reserve((void **)&kineto->scratch, &kineto->scratch_cap, field->value_bytes, 1))
        return 0;
    len = rkt_json_unescape(field->value, field->value_bytes, kineto->scratch);
    return rkt_strtab_intern(kineto->names, kineto->scratch, len);
}

enum rkt_kineto_class rkt_kineto_class(struct rkt_kineto *kineto, const struct rkt_json_field *cat)
{
    uint8_t *known;

    if (!cat || cat->kind == 0)
        return rkt_kineto_class_of(cat);
    known = &kineto->kind_classes[cat->kind];
    if (*known == 0)
        *known = (uint8_t)(1 + rkt_kineto_class_of(cat));
    return (enum rkt_kineto_class)(*known - 1);
}

enum rkt_status rkt_kineto_add(struct rkt_kineto *kineto, const struct rkt_event *event,
                               struct rkt_error *err)
{
    return rkt_source_writer_add(kineto->writer, event, err);
}

static char phase_of(const struct rkt_json_field *ph)
{
    if (!ph || ph->value_bytes != 1)
        return '\0';
    return ph->value[0];
}

/* Of an event that does not begin as Kineto's do. */
static bool others_want_args(struct rkt_kineto *kineto, const struct rkt_json_field *fields,
                             size_t count)
{
    const struct rkt_json_field *of[RKT_KEY_NAME + 1] = {NULL};

    for (size_t i = count; i > 0; i--) { /* the first of each */
        if (fields[i - 1].meaning <= RKT_KEY_NAME)
            of[fields[i - 1].meaning] = &fields[i - 1];
    }
    if (!of[RKT_KEY_PH] || !of[RKT_KEY_NAME])
        return true; /* args come first in this file */
    switch (phase_of(of[RKT_KEY_PH])) {
    case 'X':
    case 'B':
        return !of[RKT_KEY_CAT] || rkt_kineto_slice_needs_args(
                                       rkt_kineto_class(kineto, of[RKT_KEY_CAT]), of[RKT_KEY_NAME]);
    case 'M':
    case 'C':
    case 'i':
        return true;
    default:
        return false;
    }
}

/* Decided by ph, cat and name alone: every event with args is asked. */
static bool wants_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    if (count > RKT_KEY_NAME && fields[0].meaning == RKT_KEY_PH &&
        fields[1].meaning == RKT_KEY_CAT && fields[2].meaning == RKT_KEY_NAME &&
        phase_of(&fields[0]) == 'X')
        return rkt_kineto_slice_needs_args(rkt_kineto_class(ctx, &fields[1]), &fields[2]);
    return others_want_args(ctx, fields, count);
}

/* A third of the events of many traces: told by their first field, which is their ph. */
static bool is_arrow(const struct rkt_json_object *event)
{
    const struct rkt_json_field *first = event->fields;
    char phase;

    if (event->count == 0 || first->key_bytes != 2 || memcmp(first->key, "ph", 2) != 0)
        return false;
    phase = phase_of(first);
    return phase == 's' || phase == 't' || phase == 'f';
}

/* By the phase of Chrome's format. */
static enum rkt_status take_phase(struct rkt_kineto *kineto, char phase,
                                  const struct rkt_kineto_fields *fields, struct rkt_error *err)
{
    switch (phase) {
    case 'X':
        return rkt_kineto_slice(kineto, fields, err);
    case 'M':
        kineto->facts.fates[RKT_FATE_METADATA]++;
        return rkt_kineto_metadata(kineto, fields, err);
    case 'B':
        return rkt_kineto_begin(kineto, fields, false, err);
    case 'E':
        return rkt_kineto_close(kineto, fields, false, err);
    case 'b':
    case 'S':
        return rkt_kineto_begin(kineto, fields, true, err);
    case 'e':
    case 'F':
        return rkt_kineto_close(kineto, fields, true, err);
    case 'C':
        return rkt_kineto_counter(kineto, fields, err);
    case 'i':
    case 'I':
    case 'R':
        return rkt_kineto_instant(kineto, fields, false, err);
    case 'n':
        return rkt_kineto_instant(kineto, fields, true, err);
    case 's':
    case 't':
    case 'f':
        kineto->facts.fates[RKT_FATE_FLOW]++;
        break;
    case '\0':
        rkt_kineto_reject(kineto, RKT_FATE_NO_PHASE, RKT_EVENT_NONE);
        break;
    default:
        kineto->facts.fates[RKT_FATE_OTHER]++;
    }
    return RKT_OK;
}

/* What an event is and where it ran, as one number. */
static uint32_t mark_of(const struct rkt_kineto_fields *fields)
{
    uLong sum = crc32(0, Z_NULL, 0);

    for (int key = RKT_KEY_PH; key <= RKT_KEY_TID; key++) {
        const struct rkt_json_field *field = fields->of[key];

        if (field)
            sum = crc32(sum, (const Bytef *)field->value, (uInt)field->value_bytes);
        sum = crc32(sum, (const Bytef *)"", 1); /* its NUL tells where a value ends */
    }
    return (uint32_t)sum;
}

/*
 * The first event with a time ends the walk. Names of threads may have a time too, often the same
 * one in each file: the first of them counts only where nothing else has one.
 */
static enum rkt_status peek_event(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    bool is_name = phase_of(fields->of[RKT_KEY_PH]) == 'M';
    struct rkt_trace_facts *facts = &kineto->facts;
    int64_t start_ns;

    if (!rkt_kineto_start(kineto, fields, &start_ns) || (is_name && facts->first_ns != UINT64_MAX))
        return RKT_OK;
    facts->first_ns = (uint64_t)start_ns;
    facts->first_mark = mark_of(fields);
    return is_name ? RKT_OK : RKT_END;
}

static enum rkt_status take_event(void *ctx, const struct rkt_json_object *event,
                                  struct rkt_error *err)
{
    struct rkt_kineto *kineto = ctx;
    struct rkt_kineto_fields *fields = &kineto->fields;
    enum rkt_status status;

    if (is_arrow(event)) {
        kineto->facts.fates[RKT_FATE_FLOW]++;
        return RKT_OK;
    }
    rkt_kineto_pick(event->fields, event->count, fields);
    fields->unread = event->unread;
    fields->unread_end = event->text_end;
    status = kineto->options.is_peek
                 ? peek_event(kineto, fields)
                 : take_phase(kineto, phase_of(fields->of[RKT_KEY_PH]), fields, err);
    rkt_kineto_clear(fields);
    return status;
}

/* "schema 1, CUPTI 18": the writer's version is nowhere said outright. */
static void add_version(struct rkt_kineto *kineto, const char *what,
                        const struct rkt_json_field *member)
{
    char *text = kineto->facts.version;
    size_t used = strlen(text);

    (void)snprintf(text + used, sizeof(kineto->facts.version) - used, "%s%s %s",
                   used > 0 ? ", " : "", what, rkt_kineto_text(kineto, member));
}

static enum rkt_status take_member(void *ctx, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    static const char *const KINETO_MEMBERS[] = {
        "schemaVersion", "distributedInfo",     "deviceProperties",
        "traceName",     "baseTimeNanoseconds", "record_shapes",
    };
    static const char *const VERSIONS[][2] = {
        {"schemaVersion", "schema"},
        {"cupti_version", "CUPTI"},
        {"roctracer_version", "roctracer"},
        {"torch_version", "PyTorch"},
    };
    struct rkt_kineto *kineto = ctx;
    struct rkt_trace_facts *facts = &kineto->facts;
    struct rkt_json_field key = {.value = member->key, .value_bytes = member->key_bytes};

    for (size_t i = 0; i < COUNT(KINETO_MEMBERS); i++)
        facts->is_trace |= rkt_kineto_equals(&key, KINETO_MEMBERS[i]);
    for (size_t i = 0; i < COUNT(VERSIONS); i++) {
        if (rkt_kineto_equals(&key, VERSIONS[i][0]))
            add_version(kineto, VERSIONS[i][1], member);
    }
    if (rkt_kineto_equals(&key, "baseTimeNanoseconds"))
        facts->has_base = rkt_json_to_i64(member->value, member->value_bytes, &facts->base_ns);
    else if (rkt_kineto_equals(&key, "distributedInfo"))
        return rkt_kineto_distributed(kineto, member, err);
    else if (rkt_kineto_equals(&key, "deviceProperties"))
        return rkt_kineto_devices(kineto, member, err);
    else if (rkt_kineto_equals(&key, "host_name") || rkt_kineto_equals(&key, "hostname"))
        (void)snprintf(facts->host, sizeof(facts->host), "%s", rkt_kineto_text(kineto, member));
    return RKT_OK;
}

/* ---- a file ---- */

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

    kineto->facts.fates[RKT_FATE_DAMAGED] = json->damaged_count;
    kineto->facts.read_count = json->event_count + json->damaged_count;
    for (int kind = 0; kind < RKT_EVENT_KIND_COUNT && status == RKT_OK; kind++)
        status = add_loss(kineto, RKT_LOSS_BAD_STAMP, (enum rkt_event_kind)kind,
                          kineto->rejected[kind], 0, err);
    return status;
}

static enum rkt_status begin_file(struct rkt_kineto *kineto, int64_t shift_ns,
                                  struct rkt_error *err)
{
    memset(&kineto->facts, 0, sizeof(kineto->facts));
    memset(&kineto->times, 0, sizeof(kineto->times));
    memset(kineto->rejected, 0, sizeof(kineto->rejected));
    memset(kineto->kind_classes, 0, sizeof(kineto->kind_classes));
    kineto->facts.first_ns = UINT64_MAX;
    kineto->shift_ns = shift_ns;
    kineto->correlation_base = kineto->correlation_max;
    rkt_strtab_destroy(kineto->operators);
    kineto->operators = rkt_strtab_create();
    kineto->mute_count = 0;
    return kineto->operators ? RKT_OK : rkt_fail(err, RKT_ERR_NOMEM, NO_MEMORY);
}

/* What only the whole file shows. */
static enum rkt_status end_file(struct rkt_kineto *kineto, struct rkt_error *err)
{
    struct rkt_trace_facts *facts = &kineto->facts;
    enum rkt_status status = rkt_kineto_end_file_comms(kineto, err);

    rkt_kineto_end_opens(kineto);
    if (status == RKT_OK)
        status = end_losses(kineto, err);
    facts->is_unpadded = rkt_kineto_times_are_unpadded(&kineto->times);
    facts->is_whole_us = kineto->times.count > 0 && kineto->times.with_fraction == 0;
    (void)snprintf(facts->program, sizeof(facts->program), "%s",
                   rkt_kineto_process_name(kineto, facts->pid, NULL));
    if (facts->first_ns < kineto->first_ns)
        kineto->first_ns = facts->first_ns;
    if (kineto->pid == 0)
        kineto->pid = facts->pid;
    if (facts->has_rank) {
        kineto->has_rank = true;
        kineto->rank = facts->rank;
    }
    kineto->window++;
    return status;
}

enum rkt_status rkt_kineto_read(struct rkt_kineto *kineto, struct rkt_text_source *source,
                                int64_t shift_ns, struct rkt_trace_facts *facts_out,
                                struct rkt_error *err)
{
    struct rkt_json_handler handler = {
        .ctx = kineto,
        .wants_args = wants_args,
        .event = take_event,
        .member = take_member,
        .meaning_of = rkt_kineto_meaning,
        .kind_meanings = UINT64_C(1) << RKT_KEY_PH | UINT64_C(1) << RKT_KEY_CAT,
        .parses_all = kineto->options.parses_all,
    };
    enum rkt_status status = begin_file(kineto, shift_ns, err);

    if (status == RKT_OK)
        status =
            rkt_json_read(source, kineto->options.window_bytes, &handler, &kineto->facts.json, err);
    if (status == RKT_END) /* a peek has seen enough */
        status = RKT_OK;
    else if (status == RKT_OK)
        status = end_file(kineto, err);
    if (status == RKT_OK)
        *facts_out = kineto->facts;
    return status;
}

enum rkt_status rkt_kineto_end(struct rkt_kineto *kineto, struct rkt_error *err)
{
    enum rkt_status status = rkt_kineto_end_comms(kineto, err);

    return status == RKT_OK ? rkt_kineto_end_tracks(kineto, err) : status;
}

/* ---- life cycle ---- */

enum rkt_status rkt_kineto_create(const struct rkt_kineto_options *options,
                                  struct rkt_source_writer *writer, struct rkt_kineto **kineto_out,
                                  struct rkt_error *err)
{
    struct rkt_kineto *kineto = calloc(1, sizeof(*kineto));

    if (!kineto)
        return rkt_fail(err, RKT_ERR_NOMEM, NO_MEMORY);
    kineto->options = *options;
    kineto->writer = writer;
    kineto->names = rkt_source_writer_strtab(writer);
    kineto->first_ns = UINT64_MAX;
    kineto->free_open = RKT_KINETO_OPEN_NONE;
    kineto->parser = rkt_json_parser_create(NULL);
    kineto->tracks = rkt_strtab_create();
    kineto->shapes = rkt_strtab_create();
    kineto->correlations = rkt_strtab_create();
    kineto->processes = rkt_strtab_create();
    if (!kineto->parser || !kineto->tracks || !kineto->shapes || !kineto->correlations ||
        !kineto->processes) {
        rkt_kineto_destroy(kineto);
        return rkt_fail(err, RKT_ERR_NOMEM, NO_MEMORY);
    }
    *kineto_out = kineto;
    return RKT_OK;
}

void rkt_kineto_destroy(struct rkt_kineto *kineto)
{
    if (!kineto)
        return;
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
    free(kineto->open_heads);
    free(kineto->opens);
    free(kineto->name_classes);
    free(kineto->copies);
    free(kineto->scratch);
    free(kineto);
}
