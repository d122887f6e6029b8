/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/batches.h"
#include "analysis/compare_steps.h"
#include "analysis/report/report.h"
#include "analysis/result.h"
#include "common/array.h"
#include "common/json_walk.h"

#define SCHEMA "ranktrace-report"
#define MEMORY_MAX ((size_t)4 << 30)
#define STEP_FORM "ranks[].steps[]."

/* One collective; its function is in the arena. */
struct collective {
    const char *func;
    int64_t bytes;
    int64_t transfer_ns;
    int64_t step_index;
    int64_t member_count;
};

struct kernel {
    struct rkt_kernel_use use;
    int64_t batch_ns[RKT_BATCHES_MAX];
    size_t batch_count;
};

/* Of an operator: what it took on the device, and of the host. */
struct operator_row {
    const char *name;
    int64_t count;
    struct kernel self[2];
};
static const enum rkt_use_kind SELF_KINDS[] = {RKT_USE_OPERATOR_DEVICE, RKT_USE_OPERATOR_HOST};

struct reader {
    struct rkt_compare_run *run;
    bool is_report;
    int64_t version;
    int64_t expected_count;
    int64_t here_count;
    size_t rank_counts[2]; /* compared where there are any; apart, or without GPU records */
    bool rank_is_apart;    /* from the others: not compared where there are others */
    bool rank_has_steps;
    const char *rank_step_source;
    struct rkt_step_cell cell; /* that is being read, likewise the next three */
    struct rkt_step_gain gain;
    struct kernel kernel;
    struct operator_row operator_row;
    struct collective collective;
    const char *func; /* the last one in the arena */
    struct rkt_compare_steps steps;
    struct kernel *kernels;
    size_t kernel_count;
    size_t kernel_cap;
    int64_t
        batch_steps[RKT_BATCHES_MAX]; /* what is beyond counts for nothing, likewise of kernels */
    size_t batch_count;
    int64_t batch_ranks;
    struct collective *collectives;
    size_t collective_count;
    size_t collective_cap;
};

/* ---- single values ---- */

/* Keeps a text; the last one where it is the same again. */
static enum rkt_status keep_text(struct reader *reader, const char *text, const char **kept,
                                 struct rkt_error *err)
{
    if (*kept && strcmp(*kept, text) == 0)
        return RKT_OK;
    *kept = rkt_arena_strndup(&reader->run->arena, text, strlen(text));
    return *kept ? RKT_OK : rkt_fail(err, RKT_ERR_NOMEM, "no memory for the names of a report");
}

static int64_t integer_or_na(const struct rkt_json_value *value)
{
    return value->is_integer ? value->integer : RKT_NA;
}

static bool tells_of_a_gap(const struct rkt_json_value *value)
{
    if (strcmp(value->form, "run.is_complete") == 0)
        return value->number == 0;
    return value->number > 0 && (strcmp(value->form, "run.damaged_frames") == 0 ||
                                 strcmp(value->form, "run.seq_gap_count") == 0 ||
                                 strcmp(value->form, "run.unread_shard_count") == 0);
}

static enum rkt_status take_head(struct reader *reader, const struct rkt_json_value *value,
                                 struct rkt_error *err)
{
    struct rkt_compare_run *run = reader->run;
    const char *form = value->form;
    const struct {
        const char *form;
        const char **text;
    } TEXTS[] = {{"run.producer", &run->producer},
                 {"run.command", &run->command},
                 {"straggler.cause", &run->straggler_cause},
                 {"replay.why_not", &run->why_no_replay}};
    const struct {
        const char *form;
        int64_t *number;
    } NUMBERS[] = {{"schema_version", &reader->version},
                   {"run.expected_rank_count", &reader->expected_count},
                   {"run.rank_count", &reader->here_count},
                   {"run.loss_count", &run->loss_count},
                   {"clock.wait_gap_ns", &run->wait_gap_ns},
                   {"batches.rank_count", &reader->batch_ranks},
                   {"straggler.rank", &run->straggler_rank}};

    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        if (value->type == RKT_JSON_TEXT && strcmp(form, TEXTS[i].form) == 0)
            return keep_text(reader, value->text, TEXTS[i].text, err);
    }
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        if (strcmp(form, NUMBERS[i].form) == 0)
            *NUMBERS[i].number = integer_or_na(value);
    }
    run->is_incomplete |= tells_of_a_gap(value);
    if (strcmp(form, "schema") == 0)
        reader->is_report = value->type == RKT_JSON_TEXT && strcmp(value->text, SCHEMA) == 0;
    else if (strcmp(form, "efficiency.serial") == 0)
        run->serial = value->number;
    else if (strcmp(form, "efficiency.transfer") == 0)
        run->transfer = value->number;
    else if (strcmp(form, "selection.rank_count_in_all") == 0)
        run->is_part = true; /* null where it is the whole run: then it has no member */
    else if (strcmp(form, "straggler.is_found") == 0)
        run->has_straggler = value->number > 0;
    return RKT_OK;
}

/* ---- steps of ranks ---- */

static const struct {
    const char *key; /* behind STEP_FORM; one that ends in a dot: the sum of all below it */
    enum rkt_step_field field;
} FIELDS[] = {
    {"number", RKT_FIELD_NUMBER},
    {"is_recorded", RKT_FIELD_IS_RECORDED},
    {"is_warmup", RKT_FIELD_IS_WARMUP},
    {"window.window_ns", RKT_FIELD_WINDOW},
    {"window.compute_ns", RKT_FIELD_COMPUTE},
    {"window.comm_ns", RKT_FIELD_COMM},
    {"backward_overlap.buckets_ns", RKT_FIELD_BUCKETS},
    {"backward_overlap.overlapped_ns", RKT_FIELD_BUCKETS_COVERED},
    {"window.parts_ns.overlapped", RKT_FIELD_TOGETHER},
    {"window.parts_ns.comm_wait", RKT_FIELD_COMM_WAIT},
    {"window.parts_ns.comm_transfer", RKT_FIELD_COMM_TRANSFER},
    {"window.parts_ns.comm_unsplit", RKT_FIELD_COMM_UNSPLIT},
    {"window.parts_ns.copy.", RKT_FIELD_COPY},
    {"window.parts_ns.idle.sync", RKT_FIELD_IDLE_SYNC},
    {"window.parts_ns.idle.alloc", RKT_FIELD_IDLE_ALLOC},
    {"window.parts_ns.idle.input", RKT_FIELD_IDLE_INPUT},
    {"window.parts_ns.idle.host", RKT_FIELD_IDLE_HOST},
    {"window.parts_ns.idle.launch", RKT_FIELD_IDLE_LAUNCH},
    {"window.parts_ns.idle.dependency", RKT_FIELD_IDLE_DEPENDENCY},
    {"window.parts_ns.idle.device", RKT_FIELD_IDLE_DEVICE},
    {"window.parts_ns.idle.unknown", RKT_FIELD_IDLE_UNKNOWN},
    {"window.host_parts_ns.overlapped", RKT_FIELD_TOGETHER},
    {"window.host_parts_ns.comm", RKT_FIELD_COMM_TRANSFER},
    {"window.host_parts_ns.input", RKT_FIELD_IDLE_INPUT},
    {"window.host_parts_ns.host", RKT_FIELD_IDLE_HOST},
};

static bool key_fits(const char *key, const char *form)
{
    size_t length = strlen(key);

    return key[length - 1] == '.' ? strncmp(form, key, length) == 0 : strcmp(form, key) == 0;
}

static enum rkt_status take_field(struct reader *reader, const struct rkt_json_value *value,
                                  enum rkt_step_field field, struct rkt_error *err)
{
    int64_t number = value->type == RKT_JSON_BOOL ? value->number > 0 : integer_or_na(value);

    if (number == RKT_NA)
        return RKT_OK; /* null: stays 0 */
    if (field != RKT_FIELD_NUMBER && (number < 0 || number > RKT_FIELD_MAX))
        return rkt_fail(err, RKT_ERR_FORMAT, "%s is out of range", value->path);
    if (field == RKT_FIELD_COPY)
        number += reader->cell.fields[field];
    reader->cell.fields[field] = number;
    return RKT_OK;
}

static enum rkt_status take_step_value(struct reader *reader, const struct rkt_json_value *value,
                                       struct rkt_error *err)
{
    const char *key = value->form + strlen(STEP_FORM);

    if (value->type != RKT_JSON_NUMBER && value->type != RKT_JSON_BOOL)
        return RKT_OK;
    for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++) {
        if (key_fits(FIELDS[i].key, key))
            return take_field(reader, value, FIELDS[i].field, err);
    }
    return RKT_OK;
}

static enum rkt_status take_rank_value(struct reader *reader, const struct rkt_json_value *value,
                                       struct rkt_error *err)
{
    if (strcmp(value->form, "ranks[].is_host_view") == 0) {
        reader->rank_is_apart = value->number > 0;
    } else if (strcmp(value->form, "ranks[].is_set_apart") == 0) {
        reader->rank_is_apart |= value->number > 0;
    } else if (strcmp(value->form, "ranks[].step_source") == 0 && value->type == RKT_JSON_TEXT) {
        reader->rank_has_steps = strcmp(value->text, "window") != 0;
        return keep_text(reader, value->text, &reader->rank_step_source, err);
    }
    return RKT_OK;
}

/* ---- what lists have ---- */

static enum rkt_status take_list_value(struct reader *reader, const struct rkt_json_value *value,
                                       struct rkt_error *err)
{
    const char *form = value->form;
    const struct {
        const char *form;
        int64_t *number;
    } NUMBERS[] = {
        {"replay.steps[].number", &reader->gain.number},
        {"replay.steps[].gain_ns", &reader->gain.gain_ns},
        {"tables.kernels[].count", &reader->kernel.use.count},
        {"tables.kernels[].total_ns", &reader->kernel.use.total_ns},
        {"tables.operators[].count", &reader->operator_row.count},
        {"tables.operators[].self_device_ns", &reader->operator_row.self[0].use.total_ns},
        {"tables.operators[].self_host_ns", &reader->operator_row.self[1].use.total_ns},
        {"collectives[].bytes", &reader->collective.bytes},
        {"collectives[].transfer_ns", &reader->collective.transfer_ns},
        {"collectives[].step_index", &reader->collective.step_index},
        {"collectives[].expected_count", &reader->collective.member_count}};

    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        if (strcmp(form, NUMBERS[i].form) == 0) {
            *NUMBERS[i].number = integer_or_na(value);
            return RKT_OK;
        }
    }
    if (value->type != RKT_JSON_TEXT)
        return RKT_OK;
    if (strcmp(form, "tables.kernels[].kind") == 0)
        reader->kernel.use.kind = strcmp(value->text, "comm") == 0 ? RKT_USE_COMM : RKT_USE_COMPUTE;
    else if (strcmp(form, "tables.kernels[].name") == 0)
        return keep_text(reader, value->text, &reader->kernel.use.name, err);
    else if (strcmp(form, "tables.operators[].name") == 0)
        return keep_text(reader, value->text, &reader->operator_row.name, err);
    else if (strcmp(form, "collectives[].func") == 0) {
        enum rkt_status status = keep_text(reader, value->text, &reader->func, err);

        reader->collective.func = reader->func;
        return status;
    }
    return RKT_OK;
}

static enum rkt_status no_memory(struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_NOMEM, "no memory for what a report lists");
}

static void begin_member(struct reader *reader, const char *form)
{
    if (strcmp(form, "ranks[]") == 0) {
        reader->rank_is_apart = false;
        reader->rank_has_steps = false;
        reader->rank_step_source = "";
    } else if (strcmp(form, "ranks[].steps[]") == 0) {
        reader->cell = (struct rkt_step_cell){.order = reader->steps.cell_count};
    } else if (strcmp(form, "replay.steps[]") == 0) {
        reader->gain = (struct rkt_step_gain){.gain_ns = RKT_NA};
    } else if (strcmp(form, "tables.kernels[]") == 0) {
        reader->kernel = (struct kernel){.use = {.name = NULL}};
    } else if (strcmp(form, "tables.operators[]") == 0) {
        reader->operator_row = (struct operator_row){.name = NULL};
    } else if (strcmp(form, "collectives[]") == 0) {
        reader->collective = (struct collective){
            .bytes = RKT_NA, .transfer_ns = RKT_NA, .step_index = RKT_NA, .member_count = RKT_NA};
    }
}

/* A rank's steps are known to be its own when it ends: keys may come in any order. */
static void end_rank(struct reader *reader)
{
    size_t rank = reader->rank_counts[0] + reader->rank_counts[1];

    for (size_t i = reader->steps.cell_count; i-- > 0;) {
        struct rkt_step_cell *cell = &reader->steps.cells[i];

        if (cell->rank_index != UINT32_MAX)
            break;
        cell->rank_index = (uint32_t)rank;
        cell->is_host_view = reader->rank_is_apart;
        cell->is_whole_window = !reader->rank_has_steps;
    }
    if (!reader->rank_is_apart || reader->run->step_source[0] == '\0')
        reader->run->step_source = reader->rank_step_source;
    reader->rank_counts[reader->rank_is_apart]++;
}

/* What says neither how often nor how long it was is none. */
static bool add_kernel(struct reader *reader, const struct kernel *kernel)
{
    if (!kernel->use.name || kernel->use.count == RKT_NA || kernel->use.total_ns == RKT_NA)
        return true;
    if (!rkt_array_reserve((void **)&reader->kernels, &reader->kernel_cap, reader->kernel_count + 1,
                           sizeof(*reader->kernels)))
        return false;
    reader->kernels[reader->kernel_count++] = *kernel;
    return true;
}

static bool add_operator(struct reader *reader)
{
    struct operator_row *row = &reader->operator_row;
    bool is_added = true;

    for (size_t i = 0; i < 2 && is_added; i++) {
        row->self[i].use.name = row->name;
        row->self[i].use.count = row->count;
        row->self[i].use.kind = SELF_KINDS[i];
        is_added = row->self[i].use.total_ns == 0 || add_kernel(reader, &row->self[i]);
    }
    return is_added;
}

static enum rkt_status end_member(struct reader *reader, const char *form, struct rkt_error *err)
{
    struct rkt_compare_steps *steps = &reader->steps;

    if (strcmp(form, "ranks[]") == 0) {
        end_rank(reader);
    } else if (strcmp(form, "ranks[].steps[]") == 0) {
        if (!rkt_array_reserve((void **)&steps->cells, &steps->cell_cap, steps->cell_count + 1,
                               sizeof(*steps->cells)))
            return no_memory(err);
        reader->cell.rank_index = UINT32_MAX;
        steps->cells[steps->cell_count++] = reader->cell;
    } else if (strcmp(form, "replay.steps[]") == 0) {
        if (!rkt_array_reserve((void **)&steps->gains, &steps->gain_cap, steps->gain_count + 1,
                               sizeof(*steps->gains)))
            return no_memory(err);
        steps->gains[steps->gain_count++] = reader->gain;
    } else if (strcmp(form, "tables.kernels[]") == 0) {
        return add_kernel(reader, &reader->kernel) ? RKT_OK : no_memory(err);
    } else if (strcmp(form, "tables.operators[]") == 0) {
        return add_operator(reader) ? RKT_OK : no_memory(err);
    } else if (strcmp(form, "collectives[]") == 0 && reader->collective.func) {
        if (!rkt_array_reserve((void **)&reader->collectives, &reader->collective_cap,
                               reader->collective_count + 1, sizeof(*reader->collectives)))
            return no_memory(err);
        reader->collectives[reader->collective_count++] = reader->collective;
    }
    return RKT_OK;
}

/* Of batches. */
static bool take_batch(struct reader *reader, const struct rkt_json_value *value)
{
    const struct {
        const char *form;
        struct kernel *kernel;
    } LISTS[] = {
        {"tables.kernels[].total_ns_by_batch[]", &reader->kernel},
        {"tables.operators[].self_device_ns_by_batch[]", &reader->operator_row.self[0]},
        {"tables.operators[].self_host_ns_by_batch[]", &reader->operator_row.self[1]},
    };

    for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++) {
        struct kernel *kernel = LISTS[i].kernel;

        if (strcmp(value->form, LISTS[i].form) != 0)
            continue;
        if (kernel->batch_count < RKT_BATCHES_MAX)
            kernel->batch_ns[kernel->batch_count++] = integer_or_na(value);
        return true;
    }
    if (strcmp(value->form, "batches.items[].step_count") == 0) {
        if (reader->batch_count < RKT_BATCHES_MAX)
            reader->batch_steps[reader->batch_count++] = integer_or_na(value);
        return true;
    }
    return false;
}

static enum rkt_status take(void *ctx, const struct rkt_json_value *value, struct rkt_error *err)
{
    struct reader *reader = ctx;
    const char *form = value->form;

    if (value->type == RKT_JSON_BEGIN) {
        begin_member(reader, form);
        return RKT_OK;
    }
    if (value->type == RKT_JSON_END)
        return end_member(reader, form, err);
    if (strncmp(form, STEP_FORM, strlen(STEP_FORM)) == 0)
        return take_step_value(reader, value, err);
    if (strncmp(form, "ranks[]", 7) == 0)
        return take_rank_value(reader, value, err);
    if (take_batch(reader, value))
        return RKT_OK;
    if (strchr(form, '['))
        return take_list_value(reader, value, err);
    return take_head(reader, value, err);
}

/* ---- the whole of it ---- */

static int compare_kernels(const void *a, const void *b)
{
    const struct rkt_kernel_use *x = &((const struct kernel *)a)->use;
    const struct rkt_kernel_use *y = &((const struct kernel *)b)->use;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (int)x->kind - (int)y->kind;
}

static int compare_collectives(const void *a, const void *b)
{
    const struct collective *x = a;
    const struct collective *y = b;
    int order = strcmp(x->func, y->func);

    if (order != 0)
        return order;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->transfer_ns > y->transfer_ns) - (x->transfer_ns < y->transfer_ns);
}

static bool is_like(const struct collective *a, const struct collective *b)
{
    return a->bytes == b->bytes && strcmp(a->func, b->func) == 0;
}

/* Those from *at on that are alike. */
static void add_use(const struct reader *reader, size_t *at, double *transfers,
                    struct rkt_collective_use *use)
{
    const struct collective *first = &reader->collectives[*at];

    *use = (struct rkt_collective_use){.func = first->func, .bytes = first->bytes};
    use->transfer.sorted = transfers + *at;
    for (; *at < reader->collective_count && is_like(first, &reader->collectives[*at]); (*at)++) {
        const struct collective *one = &reader->collectives[*at];

        if (one->transfer_ns != RKT_NA)
            (transfers + (first - reader->collectives))[use->transfer.count++] =
                (double)one->transfer_ns;
        use->step_count_in += one->step_index != RKT_NA;
        if (one->member_count > (int64_t)use->member_count && one->member_count <= UINT32_MAX)
            use->member_count = (uint32_t)one->member_count;
    }
}

static enum rkt_status finish_collectives(struct reader *reader, struct rkt_error *err)
{
    struct rkt_compare_run *run = reader->run;
    double *transfers = RKT_ARENA_ARRAY(&run->arena, double, reader->collective_count + 1);

    if (reader->collective_count > 0)
        qsort(reader->collectives, reader->collective_count, sizeof(*reader->collectives),
              compare_collectives);
    for (size_t i = 0; i < reader->collective_count; i++)
        run->collective_count +=
            i == 0 || !is_like(&reader->collectives[i - 1], &reader->collectives[i]);
    run->collectives =
        RKT_ARENA_ARRAY(&run->arena, struct rkt_collective_use, run->collective_count + 1);
    if (!transfers || !run->collectives)
        return no_memory(err);
    for (size_t at = 0, use = 0; at < reader->collective_count; use++)
        add_use(reader, &at, transfers, &run->collectives[use]);
    return RKT_OK;
}

/* Per step and rank; nothing where the report does not tell it of every batch. */
static bool sample_batches(const struct reader *reader, const struct kernel *kernel,
                           struct rkt_kernel_use *use)
{
    double *values = RKT_ARENA_ARRAY(&reader->run->arena, double, kernel->batch_count + 1);

    if (!values)
        return false;
    if (kernel->batch_count != reader->batch_count || reader->batch_ranks < 1)
        return true;
    for (size_t i = 0; i < kernel->batch_count; i++) {
        double parts = (double)reader->batch_steps[i] * (double)reader->batch_ranks;

        if (kernel->batch_ns[i] < 0 || reader->batch_steps[i] < 1)
            return true;
        values[i] = (double)kernel->batch_ns[i] / parts;
    }
    rkt_sample_sort(values, kernel->batch_count);
    use->of_step = (struct rkt_sample){values, kernel->batch_count};
    return true;
}

static enum rkt_status finish_kernels(struct reader *reader, struct rkt_error *err)
{
    struct rkt_compare_run *run = reader->run;

    if (reader->kernel_count > 0)
        qsort(reader->kernels, reader->kernel_count, sizeof(*reader->kernels), compare_kernels);
    run->kernels = RKT_ARENA_ARRAY(&run->arena, struct rkt_kernel_use, reader->kernel_count + 1);
    if (!run->kernels)
        return no_memory(err);
    for (size_t i = 0; i < reader->kernel_count; i++) {
        struct rkt_kernel_use *use = &run->kernels[run->kernel_count++];

        *use = reader->kernels[i].use;
        if (!sample_batches(reader, &reader->kernels[i], use))
            return no_memory(err);
    }
    return RKT_OK;
}

static enum rkt_status check_schema(const struct reader *reader, struct rkt_error *err)
{
    if (!reader->is_report)
        return rkt_fail(err, RKT_ERR_FORMAT, "it is no report of 'ranktrace report'");
    if (reader->version != RKT_REPORT_SCHEMA_VERSION)
        return rkt_fail(err, RKT_ERR_VERSION,
                        "a report of version %lld; this ranktrace reads version %d",
                        (long long)reader->version, RKT_REPORT_SCHEMA_VERSION);
    return RKT_OK;
}

static enum rkt_status finish(struct reader *reader, struct rkt_error *err)
{
    struct rkt_compare_run *run = reader->run;
    int64_t rank_count = reader->expected_count > 0 ? reader->expected_count : reader->here_count;
    enum rkt_status status = check_schema(reader, err);

    if (status != RKT_OK)
        return status;
    if (rank_count < 1 || rank_count > INT32_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "its number of ranks is not known");
    run->rank_count = (uint32_t)rank_count;
    run->is_host_view = reader->rank_counts[0] == 0;
    run->compared_count = (uint32_t)reader->rank_counts[run->is_host_view];
    status = rkt_compare_steps_sample(&reader->steps, run, err);
    if (status == RKT_OK)
        status = finish_kernels(reader, err);
    return status == RKT_OK ? finish_collectives(reader, err) : status;
}

enum rkt_status rkt_compare_run_read(char *json, const char *label, struct rkt_compare_run *run,
                                     struct rkt_error *err)
{
    struct reader reader = {.run = run, .expected_count = RKT_NA, .here_count = RKT_NA};
    enum rkt_status status;

    *run = (struct rkt_compare_run){.label = label,
                                    .producer = "",
                                    .command = "",
                                    .step_source = "",
                                    .serial = (double)NAN,
                                    .transfer = (double)NAN,
                                    .why_no_replay = "",
                                    .straggler_rank = RKT_NA,
                                    .straggler_cause = ""};
    rkt_arena_init(&run->arena, MEMORY_MAX);
    status = rkt_json_walk(json, take, &reader, err);
    if (status == RKT_OK)
        status = finish(&reader, err);
    rkt_compare_steps_release(&reader.steps);
    free(reader.kernels);
    free(reader.collectives);
    if (status == RKT_OK)
        return status;
    rkt_error_prefix(err, label);
    rkt_compare_run_release(run);
    return status;
}

void rkt_compare_run_release(struct rkt_compare_run *run)
{
    rkt_arena_release(&run->arena);
    *run = (struct rkt_compare_run){0};
}
