/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/name_times.h"
#include "analysis/stages.h"
#include "rkt_test.h"

static void *room(size_t count, size_t elem_bytes)
{
    void *items = calloc(count, elem_bytes);

    assert_non_null(items);
    return items;
}

void fake_run_init(struct fake_run *run, size_t rank_count)
{
    fake_run_init_small(run, rank_count, FAKE_RECORDS_MAX);
}

void fake_run_init_small(struct fake_run *run, size_t rank_count, size_t record_cap)
{
    assert_true(rank_count <= FAKE_RANKS_MAX);
    memset(run, 0, sizeof(*run));
    run->record_cap = record_cap;
    rkt_arena_init(&run->arena, (size_t)64 << 20);
    run->traces = room(FAKE_RANKS_MAX, sizeof(*run->traces));
    run->result.ranks = room(FAKE_RANKS_MAX, sizeof(*run->result.ranks));
    run->result.rank_count = rank_count;
    run->result.expected_rank_count = (uint32_t)rank_count;
    run->result.run = &run->info;
    run->result.health = &run->health;
    run->health.has_trailer = true;
    run->info.rank_count = (uint32_t)rank_count;
    for (size_t r = 0; r < rank_count; r++) {
        struct rkt_rank_trace *trace = &run->traces[r];

        trace->names = rkt_strtab_create();
        assert_non_null(trace->names);
        trace->works = room(record_cap, sizeof(*trace->works));
        trace->calls = room(record_cap, sizeof(*trace->calls));
        trace->ranges = room(record_cap, sizeof(*trace->ranges));
        trace->ops = room(record_cap, sizeof(*trace->ops));
        trace->buckets = room(record_cap, sizeof(*trace->buckets));
        trace->comms = room(record_cap, sizeof(*trace->comms));
        trace->gpu.counters = room(record_cap, sizeof(*trace->gpu.counters));
        trace->main_thread_id = 1;
        trace->source.has_end = true;
        trace->source.info.rank = (uint32_t)r;
        trace->source.info.rank_known = true;
        trace->source.end.reason = RKT_END_EXITED;
        run->result.ranks[r] =
            (struct rkt_rank_result){.rank = (uint32_t)r,
                                     .trace = trace,
                                     .align_state = RKT_ALIGN_REFERENCE,
                                     .steps = room(record_cap, sizeof(struct rkt_step_result))};
    }
}

void fake_run_release(struct fake_run *run)
{
    for (size_t r = 0; r < run->result.rank_count; r++) {
        struct rkt_rank_trace *trace = &run->traces[r];

        rkt_name_times_destroy(run->names[r]);
        rkt_strtab_destroy(trace->names);
        free(trace->works);
        free(trace->calls);
        free(trace->ranges);
        free(trace->ops);
        free(trace->buckets);
        free(trace->comms);
        free(trace->gpu.counters);
        free(trace->arrivals);
        free(trace->lane);
        free(trace->whole_index); /* of one that a test made thin */
        free(run->result.ranks[r].steps);
    }
    free(run->traces);
    free(run->result.ranks);
    rkt_arena_release(&run->arena);
}

static uint32_t name_id(struct rkt_rank_trace *trace, const char *name)
{
    return rkt_strtab_intern(trace->names, name, strlen(name));
}

void fake_add_comm(struct fake_run *run, size_t rank, uint64_t comm_id, int32_t comm_rank,
                   uint32_t rank_count)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    trace->comms[trace->comm_count++] =
        (struct rkt_comm){.comm_id = comm_id, .rank = comm_rank, .rank_count = rank_count};
}

uint32_t fake_add_work(struct fake_run *run, size_t rank, struct fake_work work)
{
    struct rkt_rank_trace *trace = &run->traces[rank];
    bool has_launch = work.launch_ns != 0;

    assert_true(trace->work_count < run->record_cap);
    trace->has_gpu = true;
    trace->works[trace->work_count] =
        (struct rkt_work){.start_ns = work.start_ns,
                          .end_ns = work.end_ns,
                          .launch_start_ns = has_launch ? work.launch_ns : RKT_TIME_UNKNOWN,
                          .launch_end_ns = has_launch ? work.launch_ns + 1000 : RKT_TIME_UNKNOWN,
                          .name_id = name_id(trace, work.name),
                          .stream_id = work.stream_id,
                          .launch_thread_id = work.thread_id == 0 ? 1 : work.thread_id,
                          .op = RKT_INDEX_NONE,
                          .step = RKT_INDEX_NONE,
                          .collective = RKT_INDEX_NONE,
                          .work_class = (uint8_t)work.work_class,
                          .copy_kind = RKT_COPY_HTOD};
    return (uint32_t)trace->work_count++;
}

void fake_add_op(struct fake_run *run, size_t rank, struct fake_op op)
{
    struct rkt_rank_trace *trace = &run->traces[rank];
    struct rkt_work *work = &trace->works[trace->work_count - 1];

    assert_true(trace->op_count < run->record_cap);
    trace->ops[trace->op_count] = (struct rkt_op){.work = (uint32_t)(trace->work_count - 1),
                                                  .type = RKT_NCCL_COLL,
                                                  .nccl = {.comm_id = op.comm_id,
                                                           .seq = op.seq,
                                                           .count = op.count,
                                                           .peer = op.peer,
                                                           .func = (uint8_t)op.func,
                                                           .datatype = 7}};
    if (work->op == RKT_INDEX_NONE)
        work->op = (uint32_t)trace->op_count;
    work->op_count++;
    trace->op_count++;
}

uint32_t fake_add_comm_work(struct fake_run *run, size_t rank, const char *name, int64_t start_ns,
                            int64_t end_ns)
{
    return fake_add_work(run, rank,
                         (struct fake_work){.work_class = RKT_WORK_COMM,
                                            .name = name,
                                            .stream_id = 20,
                                            .start_ns = start_ns,
                                            .end_ns = end_ns});
}

uint32_t fake_add_collective(struct fake_run *run, size_t rank, struct fake_op op, int64_t start_ns,
                             int64_t end_ns)
{
    char name[128];
    uint32_t work;

    snprintf(name, sizeof(name), "ncclDevKernel_%s_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
             rkt_nccl_func_name(op.func));
    work = fake_add_comm_work(run, rank, name, start_ns, end_ns);
    fake_add_op(run, rank, op);
    return work;
}

void fake_add_range(struct fake_run *run, size_t rank, enum rkt_range_type type, const char *name,
                    int64_t start_ns, int64_t end_ns)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    trace->ranges[trace->range_count++] = (struct rkt_range){.start_ns = start_ns,
                                                             .end_ns = end_ns,
                                                             .thread_id = 1,
                                                             .name_id = name_id(trace, name),
                                                             .type = (uint8_t)type};
}

void fake_add_sync_call(struct fake_run *run, size_t rank, const char *site, const char *call,
                        int64_t start_ns, int64_t end_ns)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    fake_add_range(run, rank, RKT_RANGE_SYNC_CALL, call, start_ns, end_ns);
    trace->ranges[trace->range_count - 1].domain_id = name_id(trace, site);
}

void fake_add_call(struct fake_run *run, size_t rank, enum rkt_call_class call_class,
                   const char *name, int64_t start_ns, int64_t end_ns)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    trace->calls[trace->call_count++] = (struct rkt_call){.start_ns = start_ns,
                                                          .end_ns = end_ns,
                                                          .thread_id = 1,
                                                          .name_id = name_id(trace, name),
                                                          .call_class = (uint8_t)call_class};
}

void fake_add_bucket(struct fake_run *run, size_t rank, uint64_t step, uint32_t index,
                     int64_t start_ns, int64_t end_ns)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    trace->buckets[trace->bucket_count++] = (struct rkt_bucket){.start_ns = start_ns,
                                                                .end_ns = end_ns,
                                                                .bytes = 1 << 20,
                                                                .step = step,
                                                                .index = index,
                                                                .thread_id = 1};
}

void fake_add_counter(struct fake_run *run, size_t rank, enum rkt_counter counter, int64_t start_ns,
                      int64_t end_ns, uint64_t value)
{
    struct rkt_rank_trace *trace = &run->traces[rank];

    assert_true(trace->gpu.counter_count < run->record_cap);
    trace->gpu.counters[trace->gpu.counter_count++] = (struct rkt_counter_sample){
        .start_ns = start_ns, .end_ns = end_ns, .value = value, .counter = (uint8_t)counter};
    if (end_ns - start_ns > trace->gpu.longest_ns)
        trace->gpu.longest_ns = end_ns - start_ns;
}

struct rkt_step_result *fake_add_step(struct fake_run *run, size_t rank, int64_t start_ns,
                                      int64_t end_ns)
{
    struct rkt_rank_result *result = &run->result.ranks[rank];
    struct rkt_step_result *step = &result->steps[result->step_count];

    *step = (struct rkt_step_result){.number = result->step_count++,
                                     .host_start_ns = start_ns,
                                     .host_end_ns = end_ns,
                                     .job_start_ns = start_ns,
                                     .own_work_ns = RKT_NA,
                                     .window = {.start_ns = start_ns, .end_ns = end_ns}};
    return step;
}

void fake_sum_names(struct fake_run *run)
{
    struct rkt_error err;

    for (size_t r = 0; r < run->result.rank_count; r++) {
        rkt_name_times_destroy(run->names[r]);
        run->names[r] = NULL;
        assert_rkt_ok(rkt_name_times_create(&run->result.ranks[r], &run->names[r], &err), err);
        run->result.ranks[r].names = run->names[r];
    }
}

void fake_match(struct fake_run *run)
{
    struct rkt_error err;

    fake_sum_names(run);
    assert_rkt_ok(rkt_match_collectives(&run->result, &run->arena, &err), err);
    rkt_measure_collectives(&run->result);
}

const struct rkt_participant *fake_part_of(const struct fake_run *run, size_t c, uint32_t rank)
{
    const struct rkt_collective *collective = &run->result.collectives[c];

    for (size_t i = 0; i < collective->participant_count; i++) {
        if (collective->participants[i].rank == rank)
            return &collective->participants[i];
    }
    fail_msg("rank %u has no part in collective %zu", rank, c);
    return NULL;
}
