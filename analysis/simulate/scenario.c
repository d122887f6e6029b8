/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/units.h"

#define LINE_BYTES 512
#define WORDS_MAX 8
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define US UINT64_C(1000)

enum value_type {
    VALUE_U32,
    VALUE_U64,
    VALUE_DURATION,
    VALUE_BYTES,
};

struct key {
    const char *name;
    enum value_type type;
    size_t offset;
};

#define KEY(name, type, member)                           \
    {                                                     \
        name, type, offsetof(struct rkt_scenario, member) \
    }

static const struct key KEYS[] = {
    KEY("seed", VALUE_U64, seed),
    KEY("ranks", VALUE_U32, rank_count),
    KEY("nodes", VALUE_U32, node_count),
    KEY("steps", VALUE_U32, step_count),
    KEY("forward-kernels", VALUE_U32, forward_kernels),
    KEY("backward-kernels", VALUE_U32, backward_kernels),
    KEY("optimizer-kernels", VALUE_U32, optimizer_kernels),
    KEY("kernel", VALUE_DURATION, kernel_ns),
    KEY("jitter-ppm", VALUE_U64, jitter_ppm),
    KEY("step-jitter-ppm", VALUE_U64, step_jitter_ppm),
    KEY("stall", VALUE_DURATION, stall_ns),
    KEY("launch", VALUE_DURATION, launch_ns),
    KEY("launch-latency", VALUE_DURATION, launch_latency_ns),
    KEY("queue", VALUE_U32, queue_kernels),
    KEY("buckets", VALUE_U32, bucket_count),
    KEY("bucket-bytes", VALUE_BYTES, bucket_bytes),
    KEY("bandwidth", VALUE_BYTES, bytes_per_s),
    KEY("collective", VALUE_DURATION, collective_ns),
    KEY("overlap", VALUE_U64, has_overlap),
    KEY("input", VALUE_DURATION, input_ns),
    KEY("input-bytes", VALUE_BYTES, input_bytes),
    KEY("copy-bandwidth", VALUE_BYTES, copy_bytes_per_s),
    KEY("clock-offset", VALUE_DURATION, clock_offset_ns),
    KEY("clock-drift-ppb", VALUE_U64, clock_drift_ppb),
    KEY("round-trip", VALUE_DURATION, round_trip_ns),
    KEY("unmeasured", VALUE_DURATION, unmeasured_ns),
    KEY("tp", VALUE_U32, tensor_ranks),
    KEY("tp-collectives", VALUE_U32, tensor_collectives),
    KEY("tp-bytes", VALUE_BYTES, tensor_bytes),
    KEY("pp", VALUE_U32, stage_count),
    KEY("pp-bytes", VALUE_BYTES, stage_bytes),
    KEY("micro-batches", VALUE_U32, micro_batches),
    KEY("1f1b", VALUE_U64, has_1f1b),
    KEY("ep", VALUE_U32, expert_ranks),
    KEY("ep-layers", VALUE_U32, expert_layers),
    KEY("ep-kernels", VALUE_U32, expert_kernels),
    KEY("ep-bytes", VALUE_BYTES, expert_bytes),
    KEY("ep-spread-ppm", VALUE_U64, expert_spread_ppm),
    KEY("gpu-samples", VALUE_DURATION, gpu_samples_ns),
    KEY("tracer-ppm", VALUE_U64, tracer_ppm),
    KEY("shapes", VALUE_U32, shape_count),
    KEY("operators", VALUE_U64, has_operators),
    KEY("allocator", VALUE_BYTES, allocator_bytes),
    KEY("cut", VALUE_DURATION, cut_ns),
};

static const struct {
    const char *name;
    enum value_type amount;
} FAULTS[] = {
    [RKT_FAULT_SLOW_COMPUTE] = {"slow-compute", VALUE_DURATION},
    [RKT_FAULT_EXTRA_WORK] = {"extra-work", VALUE_DURATION},
    [RKT_FAULT_SLOW_INPUT] = {"slow-input", VALUE_DURATION},
    [RKT_FAULT_SLOW_HOST] = {"slow-host", VALUE_DURATION},
    [RKT_FAULT_LAUNCH_GAPS] = {"launch-gaps", VALUE_DURATION},
    [RKT_FAULT_HIDDEN_SYNC] = {"hidden-sync", VALUE_U64},
    [RKT_FAULT_PAGEABLE_COPY] = {"pageable-copy", VALUE_BYTES},
    [RKT_FAULT_DEVICE_ALLOC] = {"device-alloc", VALUE_DURATION},
    [RKT_FAULT_THROTTLED] = {"throttled", VALUE_U64},
    [RKT_FAULT_SLOW_LINK] = {"slow-link", VALUE_DURATION},
    [RKT_FAULT_HOT_EXPERT] = {"hot-expert", VALUE_U64},
    [RKT_FAULT_CLOCK_AHEAD] = {"clock-ahead", VALUE_DURATION},
    [RKT_FAULT_CLOCK_BEHIND] = {"clock-behind", VALUE_DURATION},
    [RKT_FAULT_OTHER_SHAPES] = {"other-shapes", VALUE_DURATION},
    [RKT_FAULT_CHANGING_SHAPES] = {"changing-shapes", VALUE_U64},
};

const char *rkt_fault_name(enum rkt_fault_kind kind)
{
    return (unsigned)kind < COUNT(FAULTS) ? FAULTS[kind].name : "unknown";
}

void rkt_scenario_init(struct rkt_scenario *scenario)
{
    *scenario = (struct rkt_scenario){
        .seed = 1,
        .rank_count = 4,
        .node_count = 1,
        .step_count = 20,
        .forward_kernels = 40,
        .backward_kernels = 80,
        .optimizer_kernels = 8,
        .kernel_ns = 200 * US,
        .jitter_ppm = 20000,
        .launch_ns = 5 * US,
        .launch_latency_ns = 8 * US,
        .queue_kernels = 1024,
        .bucket_count = 4,
        .bucket_bytes = UINT64_C(25) << 20,
        .bytes_per_s = UINT64_C(20000000000),
        .collective_ns = 20 * US,
        .has_overlap = 1,
        .input_ns = 500 * US,
        .input_bytes = UINT64_C(4) << 20,
        .copy_bytes_per_s = UINT64_C(25000000000),
        .round_trip_ns = 16 * US,
        .tensor_ranks = 1,
        .tensor_collectives = 2,
        .tensor_bytes = UINT64_C(4) << 20,
        .stage_count = 1,
        .stage_bytes = UINT64_C(4) << 20,
        .micro_batches = 1,
        .expert_ranks = 1,
        .expert_layers = 2,
        .expert_kernels = 4,
        .expert_bytes = UINT64_C(4) << 20,
    };
}

/* ---- texts to numbers ---- */

static bool parse_value(enum value_type type, const char *text, uint64_t *value_out)
{
    switch (type) {
    case VALUE_U32:
        return rkt_parse_u64(text, value_out) && *value_out <= UINT32_MAX;
    case VALUE_U64:
        return rkt_parse_u64(text, value_out);
    case VALUE_DURATION:
        return rkt_parse_duration_ns(text, value_out);
    case VALUE_BYTES:
        return rkt_parse_bytes(text, value_out);
    }
    return false;
}

/* "5", or "5:10" for 5 to 9. */
static bool parse_span(char *text, uint32_t *first_out, uint32_t *end_out)
{
    char *colon = strchr(text, ':');
    uint64_t first, end;

    if (colon)
        *colon = '\0';
    if (!rkt_parse_u64(text, &first) || first >= UINT32_MAX)
        return false;
    end = first + 1;
    if (colon && (!rkt_parse_u64(colon + 1, &end) || end > UINT32_MAX || end <= first))
        return false;
    *first_out = (uint32_t)first;
    *end_out = (uint32_t)end;
    return true;
}

/* Cuts the line into words in place; returns how many. */
static size_t split(char *line, char **words)
{
    size_t count = 0;
    char *rest = line;

    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " \t\r", &rest));)
        words[count++] = word;
    return count;
}

/* ---- lines ---- */

static enum rkt_status refuse_key(const char *name, struct rkt_error *err)
{
    const char *names[COUNT(KEYS) + 1];
    const char *near;

    for (size_t i = 0; i < COUNT(KEYS); i++)
        names[i] = KEYS[i].name;
    names[COUNT(KEYS)] = "fault";
    near = rkt_nearest_name(name, names, COUNT(names));
    return rkt_fail(err, RKT_ERR_INVALID, "unknown key '%s'%s%s%s", name,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum rkt_status set_key(struct rkt_scenario *scenario, const char *name, const char *text,
                               struct rkt_error *err)
{
    for (size_t i = 0; i < COUNT(KEYS); i++) {
        uint64_t value = 0;

        if (strcmp(KEYS[i].name, name) != 0)
            continue;
        if (!parse_value(KEYS[i].type, text, &value))
            return rkt_fail(err, RKT_ERR_INVALID, "'%s' is no value for %s", text, name);
        if (KEYS[i].type == VALUE_U32)
            *(uint32_t *)(void *)((char *)scenario + KEYS[i].offset) = (uint32_t)value;
        else
            *(uint64_t *)(void *)((char *)scenario + KEYS[i].offset) = value;
        return RKT_OK;
    }
    return refuse_key(name, err);
}

static bool find_fault(const char *name, enum rkt_fault_kind *kind_out)
{
    for (size_t i = 0; i < COUNT(FAULTS); i++) {
        if (strcmp(FAULTS[i].name, name) == 0) {
            *kind_out = (enum rkt_fault_kind)i;
            return true;
        }
    }
    return false;
}

static bool set_part(struct rkt_fault *fault, char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    if (strcmp(word, "rank") == 0)
        return parse_span(value, &fault->first_rank, &fault->end_rank);
    if (strcmp(word, "steps") == 0)
        return parse_span(value, &fault->first_step, &fault->end_step);
    if (strcmp(word, "amount") == 0)
        return parse_value(FAULTS[fault->kind].amount, value, &fault->amount);
    return false;
}

static enum rkt_status add_fault(struct rkt_scenario *scenario, char **words, size_t count,
                                 struct rkt_error *err)
{
    struct rkt_fault fault = {.end_rank = UINT32_MAX, .end_step = UINT32_MAX};

    if (scenario->fault_count == RKT_FAULTS_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "more than %u faults", RKT_FAULTS_MAX);
    if (count == 0 || !find_fault(words[0], &fault.kind))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "'%s' is no fault: slow-compute, extra-work, slow-input, "
                        "slow-host, launch-gaps, hidden-sync, pageable-copy, device-alloc, "
                        "throttled, slow-link, hot-expert, clock-ahead, clock-behind",
                        count > 0 ? words[0] : "");
    for (size_t i = 1; i < count; i++) {
        if (!set_part(&fault, words[i]))
            return rkt_fail(err, RKT_ERR_INVALID,
                            "'%s' is no rank=N, rank=N:M, steps=N:M or amount=...", words[i]);
    }
    if (fault.amount == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "%s needs an amount", words[0]);
    scenario->faults[scenario->fault_count++] = fault;
    return RKT_OK;
}

enum rkt_status rkt_scenario_line(struct rkt_scenario *scenario, const char *line,
                                  struct rkt_error *err)
{
    char text[LINE_BYTES];
    char *words[WORDS_MAX];
    size_t len = strcspn(line, "#\n");
    char *equals;
    size_t count;

    if (len >= sizeof(text))
        return rkt_fail(err, RKT_ERR_INVALID, "longer than %d bytes", LINE_BYTES - 1);
    memcpy(text, line, len);
    text[len] = '\0';
    if (text[strspn(text, " \t\r")] == '\0')
        return RKT_OK;
    equals = strchr(text, '=');
    if (!equals)
        return rkt_fail(err, RKT_ERR_INVALID, "'%s' is no KEY = VALUE", text);
    *equals = '\0';
    if (split(text, words) != 1)
        return rkt_fail(err, RKT_ERR_INVALID, "no key before '='");
    equals++;
    if (strcmp(words[0], "fault") == 0) {
        count = split(equals, words);
        return add_fault(scenario, words, count, err);
    }
    if (split(equals, words + 1) != 1)
        return rkt_fail(err, RKT_ERR_INVALID, "%s takes one value", words[0]);
    return set_key(scenario, words[0], words[1], err);
}

enum rkt_status rkt_scenario_read(struct rkt_scenario *scenario, const char *path,
                                  struct rkt_error *err)
{
    FILE *file = fopen(path, "re");
    enum rkt_status status = RKT_OK;
    char *line = NULL;
    size_t cap = 0;
    struct rkt_error cause;

    if (!file)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", path);
    for (size_t number = 1; status == RKT_OK && getline(&line, &cap, file) >= 0; number++) {
        status = rkt_scenario_line(scenario, line, &cause);
        if (status != RKT_OK)
            (void)rkt_fail(err, status, "%s: line %zu: %s", path, number, cause.text);
    }
    free(line);
    (void)fclose(file);
    return status;
}

/* ---- check ---- */

static bool is_within(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static enum rkt_status check_experts(const struct rkt_scenario *scenario, struct rkt_error *err)
{
    uint32_t copies = scenario->rank_count / (scenario->tensor_ranks * scenario->stage_count);

    if (scenario->expert_ranks == 0 || copies % scenario->expert_ranks != 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%u copies, ranks / (tp x pp), are no multiple of ep = %u", copies,
                        scenario->expert_ranks);
    if (!is_within(scenario->expert_kernels, 1, 1000000) || scenario->expert_spread_ppm > 1000000 ||
        scenario->expert_bytes > UINT64_C(1) << 40)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "ep-kernels is 1 to 1000000, ep-spread-ppm up to 1000000, ep-bytes up to "
                        "1 TiB");
    return RKT_OK;
}

/* Stages, slices and micro-batches: each has something of everything. */
static enum rkt_status check_groups(const struct rkt_scenario *scenario, struct rkt_error *err)
{
    uint64_t micro_batches = scenario->micro_batches;
    uint64_t pieces = larger(scenario->tensor_ranks > 1 ? scenario->tensor_collectives : 0,
                             scenario->expert_ranks > 1 ? scenario->expert_layers : 0);
    uint64_t grid = (uint64_t)scenario->tensor_ranks * scenario->stage_count;

    if (grid == 0 || scenario->rank_count % grid != 0)
        return rkt_fail(
            err, RKT_ERR_INVALID,
            "ranks = %u is no multiple of pp = %u times tp = %u: set one of them so that it is",
            scenario->rank_count, scenario->stage_count, scenario->tensor_ranks);
    if (micro_batches == 0 || scenario->backward_kernels / micro_batches < 1 ||
        scenario->backward_kernels / micro_batches < pieces ||
        (micro_batches > 1 && scenario->forward_kernels < micro_batches) ||
        scenario->forward_kernels / micro_batches < pieces)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%u kernels of forward and %u of backward are too few for %u "
                        "micro-batches with %llu tp-collectives or ep-layers each",
                        scenario->forward_kernels, scenario->backward_kernels,
                        scenario->micro_batches, (unsigned long long)pieces);
    if (scenario->bucket_count > scenario->backward_kernels / micro_batches)
        return rkt_fail(err, RKT_ERR_INVALID, "%u buckets of %llu kernels of backward",
                        scenario->bucket_count,
                        (unsigned long long)(scenario->backward_kernels / micro_batches));
    return check_experts(scenario, err);
}

static enum rkt_status check_records(const struct rkt_scenario *scenario, struct rkt_error *err)
{
    if (scenario->shape_count > 64 || scenario->has_operators > 1 ||
        scenario->allocator_bytes > UINT64_C(1) << 30)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "shapes is up to 64, operators 0 or 1, allocator up to 1 GiB");
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (scenario->faults[i].kind == RKT_FAULT_CHANGING_SHAPES &&
            !is_within(scenario->faults[i].amount, 1, RKT_SIM_SHAPE_VARIANTS - 1))
            return rkt_fail(err, RKT_ERR_INVALID, "fault %zu, changing-shapes: amount is 1 to %u",
                            i + 1, RKT_SIM_SHAPE_VARIANTS - 1);
    }
    return RKT_OK;
}

enum rkt_status rkt_scenario_check(struct rkt_scenario *scenario, struct rkt_error *err)
{
    const uint64_t hour_ns = UINT64_C(3600000000000);

    if (!is_within(scenario->rank_count, 1, 16384) ||
        !is_within(scenario->node_count, 1, scenario->rank_count) ||
        scenario->rank_count % scenario->node_count != 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%u ranks on %u nodes: 1 to 16384 ranks, and as many on each node",
                        scenario->rank_count, scenario->node_count);
    if (!is_within(scenario->step_count, 1, 1000000) ||
        !is_within(scenario->backward_kernels, 1, 1000000) ||
        !is_within(scenario->optimizer_kernels, 1, 1000000) || scenario->forward_kernels > 1000000)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "steps, backward-kernels and optimizer-kernels are 1 to 1000000, "
                        "forward-kernels up to that");
    if (scenario->has_overlap > 1 || scenario->has_1f1b > 1)
        return rkt_fail(err, RKT_ERR_INVALID, "%s is 0 or 1, not %llu",
                        scenario->has_overlap > 1 ? "overlap" : "1f1b",
                        (unsigned long long)larger(scenario->has_overlap, scenario->has_1f1b));
    if (check_groups(scenario, err) != RKT_OK || check_records(scenario, err) != RKT_OK)
        return RKT_ERR_INVALID;
    if (!is_within(scenario->bytes_per_s, 1000, UINT64_C(1) << 50) ||
        !is_within(scenario->copy_bytes_per_s, 1000, UINT64_C(1) << 50) ||
        scenario->bucket_bytes > UINT64_C(1) << 40 || scenario->input_bytes > UINT64_C(1) << 40 ||
        scenario->tensor_bytes > UINT64_C(1) << 40 || scenario->stage_bytes > UINT64_C(1) << 40)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "bandwidths are 1 kB to 1 PiB a second, sizes up to 1 TiB");
    if (!is_within(scenario->queue_kernels, 1, 65536) || scenario->jitter_ppm > 1000000 ||
        scenario->tracer_ppm > 1000000 || scenario->step_jitter_ppm > 1000000 ||
        scenario->stall_ns > hour_ns || scenario->kernel_ns > hour_ns ||
        scenario->launch_ns > hour_ns || scenario->launch_latency_ns > hour_ns ||
        scenario->collective_ns > hour_ns || scenario->input_ns > hour_ns ||
        scenario->clock_offset_ns > hour_ns || scenario->unmeasured_ns > hour_ns ||
        scenario->round_trip_ns > hour_ns || scenario->gpu_samples_ns > hour_ns ||
        scenario->cut_ns > hour_ns || scenario->clock_drift_ppb > 500000)
        return rkt_fail(
            err, RKT_ERR_INVALID,
            "queue is 1 to 65536, jitters and tracer up to 1000000 ppm, clock-drift-ppb up to "
            "500000, times up to an hour");
    for (size_t i = 0; i < scenario->fault_count; i++) {
        struct rkt_fault *fault = &scenario->faults[i];

        fault->end_rank = smaller(fault->end_rank, scenario->rank_count);
        fault->end_step = smaller(fault->end_step, scenario->step_count);
        if (fault->first_rank >= fault->end_rank || fault->first_step >= fault->end_step)
            return rkt_fail(err, RKT_ERR_INVALID, "fault %zu, %s: there is no such rank or step",
                            i + 1, rkt_fault_name(fault->kind));
        if (fault->amount > (UINT64_C(1) << 40))
            return rkt_fail(err, RKT_ERR_INVALID, "fault %zu, %s: an absurd amount", i + 1,
                            rkt_fault_name(fault->kind));
    }
    return RKT_OK;
}

/* FNV-1a over the 8 bytes of a number. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t get_value(const struct key *key, const struct rkt_scenario *scenario)
{
    const char *at = (const char *)scenario + key->offset;
    uint32_t v32;
    uint64_t v64;

    if (key->type == VALUE_U32) {
        memcpy(&v32, at, sizeof(v32));
        return v32;
    }
    memcpy(&v64, at, sizeof(v64));
    return v64;
}

uint64_t rkt_scenario_id(const struct rkt_scenario *scenario)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < COUNT(KEYS); i++)
        hash = mix(hash, get_value(&KEYS[i], scenario));
    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];

        hash = mix(hash, (uint64_t)fault->kind);
        hash = mix(hash, (uint64_t)fault->first_rank << 32 | fault->end_rank);
        hash = mix(hash, (uint64_t)fault->first_step << 32 | fault->end_step);
        hash = mix(hash, fault->amount);
    }
    return hash ? hash : 1;
}
