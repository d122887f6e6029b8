/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/simulate/sim_align.h"
#include "analysis/simulate/sim_clock.h"
#include "analysis/simulate/sim_output.h"
#include "common/clock.h"
#include "common/source_writer.h"

#define BURST_EVERY_NS INT64_C(2000000000)
#define PAIR_EVERY_NS INT64_C(1000000000)
#define LOAD_EVERY_NS INT64_C(500000000)
#define BEFORE_NS INT64_C(500000000) /* bursts begin so long before the job, and end so after */
#define EXCHANGES_PER_BURST 32u
#define EXCHANGE_EVERY_NS 50000
#define PEER_NS 1000 /* from t2 to t3 */
#define CUT_KEY UINT64_C(0x6375740000000000)
#define DELAY_KEY UINT64_C(0x64656c6179000000)

/* One source being written. */
struct target {
    struct rkt_source_writer *writer;
    struct rkt_sim_clock clock;
    int64_t cut_ns;      /* job time; what began before is not recorded */
    uint32_t cut_launch; /* correlation id of the last launch before */
    uint32_t names[RKT_SIM_NAME_COUNT];
};

static enum rkt_status append(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    return rkt_sim_output_append(ctx, frame, frame_bytes, err);
}

/* As in a capture that began late: GPU work comes or goes with its launch. Correlation ids grow. */
static bool is_recorded(struct target *target, const struct rkt_event *event)
{
    if (event->kind == RKT_EVENT_NAME || event->kind == RKT_EVENT_COMM)
        return true;
    if (event->kind == RKT_EVENT_API && (int64_t)event->start_ns < target->cut_ns)
        target->cut_launch = event->correlation_id;
    if (event->correlation_id > 0)
        return event->correlation_id > target->cut_launch;
    return (int64_t)event->start_ns >= target->cut_ns;
}

static enum rkt_status add(void *ctx, const struct rkt_event *event, struct rkt_error *err)
{
    struct target *target = ctx;
    struct rkt_event stored = *event;
    bool is_real = event->clock_id == RKT_CLOCK_REALTIME;
    int64_t (*read)(const struct rkt_sim_clock *, int64_t) =
        is_real ? rkt_sim_clock_real_ns : rkt_sim_clock_raw_ns;

    if (!is_recorded(target, event))
        return RKT_OK;
    stored.start_ns = (uint64_t)read(&target->clock, (int64_t)event->start_ns);
    stored.end_ns = (uint64_t)read(&target->clock, (int64_t)event->end_ns);
    stored.name_id = target->names[event->name_id];
    return rkt_source_writer_add(target->writer, &stored, err);
}

/* ---- sources ---- */

/* At least 1; a scenario that was checked gives no other. */
static uint32_t ranks_per_node(const struct rkt_scenario *scenario)
{
    uint32_t nodes = scenario->node_count > 0 ? scenario->node_count : 1;

    return scenario->rank_count >= nodes ? scenario->rank_count / nodes : 1;
}

static uint32_t node_of(const struct rkt_scenario *scenario, uint32_t rank)
{
    return rank / ranks_per_node(scenario);
}

static struct rkt_source_info describe(const struct rkt_scenario *scenario, uint32_t source,
                                       uint32_t node)
{
    struct rkt_source_info info = {
        .source = source,
        .producer = RKT_PRODUCER_CAPTURE,
        .gpu_clock = RKT_CLOCK_REALTIME,
        .world_size = scenario->rank_count,
        .node = node,
    };

    (void)snprintf(info.host, sizeof(info.host), "node%u", node);
    (void)snprintf(info.boot_id, sizeof(info.boot_id), "simulated-%u", node);
    (void)snprintf(info.program, sizeof(info.program), "simulate");
    return info;
}

static enum rkt_status open_target(struct rkt_sim_output *output,
                                   const struct rkt_scenario *scenario,
                                   const struct rkt_source_info *info, struct target *target,
                                   struct rkt_error *err)
{
    enum rkt_status status = rkt_source_writer_create(info, append, output, &target->writer, err);
    struct rkt_strtab *tab;

    if (status != RKT_OK)
        return status;
    target->clock = rkt_sim_clock_of(scenario, info->node);
    tab = rkt_source_writer_strtab(target->writer);
    for (unsigned i = 1; i < RKT_SIM_NAME_COUNT; i++) {
        const char *name = rkt_sim_name(i);

        target->names[i] = rkt_strtab_intern(tab, name, strlen(name));
    }
    return RKT_OK;
}

static enum rkt_status close_target(struct target *target, enum rkt_status status,
                                    uint64_t *event_count, struct rkt_error *err)
{
    struct rkt_end_info end = {.reason = RKT_END_EXITED};

    if (status == RKT_OK)
        status = rkt_source_writer_end(target->writer, &end, err);
    *event_count += end.event_count;
    rkt_source_writer_destroy(target->writer);
    target->writer = NULL;
    return status;
}

/* ---- a rank ---- */

/* By how much its stamps are later than the clocks that its node records. */
static int64_t ahead_ns(const struct rkt_scenario *scenario, uint32_t rank)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];

        if (rank < fault->first_rank || rank >= fault->end_rank)
            continue;
        if (fault->kind == RKT_FAULT_CLOCK_AHEAD)
            sum_ns += (int64_t)fault->amount;
        if (fault->kind == RKT_FAULT_CLOCK_BEHIND)
            sum_ns -= (int64_t)fault->amount;
    }
    return sum_ns;
}

static enum rkt_status run_rank(const struct rkt_sim_run *run, uint32_t rank, struct target *target,
                                struct rkt_error *err)
{
    struct rkt_sim_rank *sim = NULL;
    enum rkt_status status = rkt_sim_rank_create(&run->layout, rank, add, target, &sim, err);
    bool is_done; /* always: the ends are known */

    for (uint32_t step = 0; step < run->scenario->step_count && status == RKT_OK; step++) {
        rkt_sim_rank_begin_step(sim, step, rkt_sim_run_ends(run, step));
        status = rkt_sim_rank_advance(sim, &is_done, err);
    }
    rkt_sim_rank_destroy(sim);
    return status;
}

static enum rkt_status write_rank(const struct rkt_sim_run *run, struct rkt_sim_output *output,
                                  uint32_t rank, uint64_t *event_count, struct rkt_error *err)
{
    const struct rkt_scenario *scenario = run->scenario;
    struct rkt_source_info info =
        describe(scenario, scenario->node_count + rank, node_of(scenario, rank));
    struct target target = {0};
    enum rkt_status status;

    info.role = RKT_ROLE_RANK;
    info.rank_known = true;
    info.rank = rank;
    info.local_rank = rank % ranks_per_node(scenario);
    info.pid = 1000 + rank;
    target.cut_ns = rkt_sim_run_step(run, 0, 0)->window_start_ns +
                    (int64_t)rkt_sim_draw(scenario, CUT_KEY | rank, scenario->cut_ns + 1);
    status = open_target(output, scenario, &info, &target, err);
    if (status != RKT_OK)
        return status;
    target.clock.offset_ns += ahead_ns(scenario, rank);
    status = run_rank(run, rank, &target, err);
    return close_target(&target, status, event_count, err);
}

/* ---- a node's clocks ---- */

static enum rkt_status add_pairs(const struct target *target, int64_t end_ns, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (int64_t at_ns = 0; at_ns < end_ns + PAIR_EVERY_NS && status == RKT_OK;
         at_ns += PAIR_EVERY_NS) {
        int64_t raw_ns = rkt_sim_clock_raw_ns(&target->clock, at_ns);
        struct rkt_event pair = {
            .kind = RKT_EVENT_CLOCK_PAIR,
            .clock_id = RKT_CLOCK_MONOTONIC_RAW,
            .start_ns = (uint64_t)raw_ns,
            .end_ns = (uint64_t)raw_ns,
            .clock_pair = {.realtime_ns = (uint64_t)rkt_sim_clock_real_ns(&target->clock, at_ns),
                           .monotonic_ns = (uint64_t)raw_ns},
        };

        status = rkt_source_writer_add(target->writer, &pair, err);
    }
    return status;
}

/* What the sidecar says of itself, in pieces as it would. */
static enum rkt_status add_load(const struct rkt_scenario *scenario, const struct target *target,
                                int64_t end_ns, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (int64_t at_ns = 0; at_ns < end_ns && status == RKT_OK; at_ns += LOAD_EVERY_NS) {
        struct rkt_event load = {
            .kind = RKT_EVENT_COUNTER,
            .type = RKT_COUNTER_NAMED,
            .clock_id = RKT_CLOCK_MONOTONIC_RAW,
            .start_ns = (uint64_t)rkt_sim_clock_raw_ns(&target->clock, at_ns),
            .end_ns = (uint64_t)rkt_sim_clock_raw_ns(&target->clock, at_ns + LOAD_EVERY_NS),
            .counter = {.value = scenario->tracer_ppm / 100},
        };

        status = rkt_source_writer_add(target->writer, &load, err);
    }
    return status;
}

/* Half the best round trip each way, and what queues add: mostly little, at times much. */
static int64_t delay_ns(const struct rkt_scenario *scenario, uint64_t key)
{
    uint64_t rare = rkt_sim_draw(scenario, key ^ 1, 16) == 0 ? 8 : 1;

    return (int64_t)(scenario->round_trip_ns / 2 +
                     rkt_sim_draw(scenario, key, scenario->round_trip_ns / 4 * rare + 1));
}

static void make_burst(const struct rkt_scenario *scenario, const struct target *target,
                       uint32_t burst, int64_t at_ns,
                       struct rkt_event exchanges[EXCHANGES_PER_BURST])
{
    static const struct rkt_sim_clock reference = {0};

    for (uint32_t i = 0; i < EXCHANGES_PER_BURST; i++) {
        uint64_t key = DELAY_KEY ^ (uint64_t)burst << 20 ^ (uint64_t)i << 8;
        int64_t t1_ns = at_ns + (int64_t)i * EXCHANGE_EVERY_NS;
        int64_t t2_ns = t1_ns + delay_ns(scenario, key);
        int64_t t4_ns = t2_ns + PEER_NS + delay_ns(scenario, key ^ 2);

        exchanges[i] = (struct rkt_event){
            .kind = RKT_EVENT_CLOCK_EXCHANGE,
            .clock_id = RKT_CLOCK_MONOTONIC_RAW,
            .start_ns = (uint64_t)rkt_sim_clock_raw_ns(&target->clock, t1_ns),
            .end_ns = (uint64_t)rkt_sim_clock_raw_ns(&target->clock, t4_ns),
            .clock_exchange = {.t2_ns = (uint64_t)rkt_sim_clock_raw_ns(&reference, t2_ns),
                               .t3_ns = (uint64_t)rkt_sim_clock_raw_ns(&reference, t2_ns + PEER_NS),
                               .peer_source = 0,
                               .burst = burst},
        };
    }
}

/* One node's measuring. */
struct measuring {
    const struct rkt_scenario *scenario;
    const struct target *target;
    struct rkt_sim_align *align;
    uint32_t node;
};

static enum rkt_status add_burst(const struct measuring *measuring, uint32_t burst, int64_t at_ns,
                                 struct rkt_error *err)
{
    struct rkt_event exchanges[EXCHANGES_PER_BURST];
    enum rkt_status status = RKT_OK;

    make_burst(measuring->scenario, measuring->target, burst, at_ns, exchanges);
    for (uint32_t i = 0; i < EXCHANGES_PER_BURST && status == RKT_OK; i++)
        status = rkt_source_writer_add(measuring->target->writer, &exchanges[i], err);
    if (status == RKT_OK)
        status = rkt_sim_align_keep(measuring->align, measuring->node, exchanges,
                                    EXCHANGES_PER_BURST, err);
    return status;
}

static enum rkt_status add_bursts(const struct measuring *measuring, int64_t end_ns,
                                  struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    uint32_t burst = measuring->node << 16;
    int64_t at_ns = BEFORE_NS;

    for (; at_ns < end_ns && status == RKT_OK; at_ns += BURST_EVERY_NS) {
        int64_t from_middle_ns = at_ns < end_ns / 2 ? end_ns / 2 - at_ns : at_ns - end_ns / 2;

        if ((uint64_t)from_middle_ns * 2 >= measuring->scenario->unmeasured_ns)
            status = add_burst(measuring, burst++, at_ns, err);
    }
    if (status == RKT_OK)
        status = add_burst(measuring, burst, end_ns + BEFORE_NS, err);
    return status;
}

/* Where all of a run goes. */
struct writing {
    const struct rkt_sim_run *run;
    struct rkt_sim_output *output;
    struct rkt_sim_align *align;
    uint64_t event_count;
};

static enum rkt_status write_sidecar(struct writing *writing, uint32_t node, struct rkt_error *err)
{
    const struct rkt_sim_run *run = writing->run;
    const struct rkt_scenario *scenario = run->scenario;
    struct rkt_source_info info = describe(scenario, node, node);
    int64_t end_ns = rkt_sim_run_step(run, 0, 0)->window_start_ns + rkt_sim_run_length_ns(run);
    struct target target = {0};
    const struct measuring measuring = {
        .scenario = scenario, .target = &target, .align = writing->align, .node = node};
    enum rkt_status status;

    info.role = RKT_ROLE_SIDECAR;
    status = open_target(writing->output, scenario, &info, &target, err);
    if (status != RKT_OK)
        return status;
    status = add_pairs(&target, end_ns + BEFORE_NS, err);
    if (status == RKT_OK && node == 0 && scenario->tracer_ppm > 0)
        status = add_load(scenario, &target, end_ns, err);
    if (status == RKT_OK && node > 0)
        status = add_bursts(&measuring, end_ns, err);
    return close_target(&target, status, &writing->event_count, err);
}

/* ---- all of it ---- */

static struct rkt_run_info describe_run(const struct rkt_scenario *scenario)
{
    struct rkt_run_info info = {
        .producer = RKT_PRODUCER_CAPTURE,
        .reference_clock = RKT_CLOCK_MONOTONIC_RAW,
        .rank_count = scenario->rank_count,
        .start_realtime_ns = (uint64_t)RKT_SIM_REAL_BASE_NS,
        .run_id = rkt_scenario_id(scenario),
    };

    (void)snprintf(info.version, sizeof(info.version), "%s", RKT_VERSION);
    (void)snprintf(info.command, sizeof(info.command), "ranktrace simulate, seed %llu",
                   (unsigned long long)scenario->seed);
    (void)snprintf(info.host, sizeof(info.host), "node0");
    return info;
}

/* The shards of all nodes but the first. */
static void describe_shards(const struct rkt_scenario *scenario, uint64_t run_id,
                            struct rkt_shard_info *shards)
{
    for (uint32_t node = 1; node < scenario->node_count; node++) {
        struct rkt_shard_info *shard = &shards[node - 1];

        shard->rank = node * ranks_per_node(scenario);
        (void)snprintf(shard->host, sizeof(shard->host), "node%u", node);
        rkt_shard_file_name(run_id, shard->rank, shard->file);
    }
}

static enum rkt_status write_node(struct writing *writing, uint32_t node, struct rkt_error *err)
{
    uint32_t rank_count = ranks_per_node(writing->run->scenario);
    enum rkt_status status = rkt_sim_output_begin_node(writing->output, node, err);

    if (status == RKT_OK)
        status = write_sidecar(writing, node, err);
    for (uint32_t i = 0; i < rank_count && status == RKT_OK; i++)
        status = write_rank(writing->run, writing->output, node * rank_count + i,
                            &writing->event_count, err);
    return status;
}

static enum rkt_status write_all(struct writing *writing, struct rkt_error *err)
{
    const struct rkt_scenario *scenario = writing->run->scenario;
    enum rkt_status status = RKT_OK;

    for (uint32_t node = 0; node < scenario->node_count && status == RKT_OK; node++)
        status = write_node(writing, node, err);
    if (status == RKT_OK)
        status =
            rkt_sim_align_write(writing->align, ranks_per_node(scenario), writing->output, err);
    if (status == RKT_OK)
        status = rkt_sim_output_close(writing->output, err);
    return status;
}

enum rkt_status rkt_sim_store_check(const struct rkt_scenario *scenario, const char *path,
                                    struct rkt_error *err)
{
    struct rkt_shard_info *shards = calloc(scenario->node_count, sizeof(*shards));
    enum rkt_status status;

    if (!shards)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u nodes", scenario->node_count);
    describe_shards(scenario, rkt_scenario_id(scenario), shards);
    status = rkt_sim_output_check(path, shards, scenario->node_count - 1, err);
    free(shards);
    return status;
}

enum rkt_status rkt_sim_store_write(const struct rkt_sim_run *run, const char *path,
                                    bool is_sharded, uint64_t *event_count_out,
                                    struct rkt_error *err)
{
    struct rkt_run_info info = describe_run(run->scenario);
    uint32_t node_count = run->scenario->node_count;
    struct rkt_shard_info *shards = calloc(node_count, sizeof(*shards));
    struct writing writing = {.run = run, .align = rkt_sim_align_create(node_count)};
    enum rkt_status status;

    if (!shards || !writing.align) {
        free(shards);
        rkt_sim_align_destroy(writing.align);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u nodes", node_count);
    }
    describe_shards(run->scenario, info.run_id, shards);
    status = rkt_sim_output_create(path, &info, shards, is_sharded ? node_count - 1 : 0,
                                   &writing.output, err);
    if (status == RKT_OK)
        status = write_all(&writing, err);
    rkt_sim_output_destroy(writing.output);
    rkt_sim_align_destroy(writing.align);
    free(shards);
    *event_count_out = writing.event_count;
    return status;
}
