/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_run.h"

#include <stdlib.h>

/* The step that is being computed. */
struct meet {
    struct rkt_sim_run *run;
    uint32_t step;
    struct rkt_sim_rank **ranks;
    int64_t *starts_ns;       /* of its places: when the meeting could begin, then when it did */
    uint32_t *arrived_counts; /* by meeting */
    uint32_t *next_meetings;  /* by communicator */
    int64_t *free_ns;         /* by communicator: the end of its last meeting */
};

static void destroy_ranks(struct rkt_sim_rank **ranks, uint32_t count)
{
    for (uint32_t i = 0; ranks && i < count; i++)
        rkt_sim_rank_destroy(ranks[i]);
    free(ranks);
}

static enum rkt_status create_ranks(const struct rkt_sim_layout *layout,
                                    struct rkt_sim_rank ***ranks_out, struct rkt_error *err)
{
    uint32_t count = layout->scenario->rank_count;
    struct rkt_sim_rank **ranks = calloc(count, sizeof(struct rkt_sim_rank *));
    enum rkt_status status = RKT_OK;

    if (!ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u ranks", count);
    for (uint32_t i = 0; i < count && status == RKT_OK; i++)
        status = rkt_sim_rank_create(layout, i, NULL, NULL, &ranks[i], err);
    if (status != RKT_OK)
        destroy_ranks(ranks, count);
    else
        *ranks_out = ranks;
    return status;
}

static void take_posts(struct meet *meet, struct rkt_sim_rank *rank)
{
    const struct rkt_sim_part *part;
    int64_t ready_ns;

    while ((part = rkt_sim_rank_take_post(rank, &ready_ns))) {
        const struct rkt_sim_comm *comm = part->comm;

        meet->starts_ns[comm->first_place + (size_t)part->index * comm->rank_count + part->member] =
            ready_ns;
        meet->arrived_counts[comm->first_meeting + part->index]++;
    }
}

/* The communicator's meetings for which all are there, one after the other. */
static void hold_meetings(struct meet *meet, uint32_t comm_index)
{
    const struct rkt_sim_layout *layout = &meet->run->layout;
    const struct rkt_sim_comm *comm = &layout->comms[comm_index];
    int64_t *ends_ns = meet->run->ends_ns + (size_t)meet->step * layout->meeting_count;
    uint32_t *next = &meet->next_meetings[comm_index];

    for (; *next < comm->meeting_count; ++*next) {
        uint32_t meeting = comm->first_meeting + *next;
        int64_t *starts_ns = meet->starts_ns + comm->first_place + (size_t)*next * comm->rank_count;
        int64_t latest_ns = INT64_MIN;

        if (meet->arrived_counts[meeting] < comm->rank_count)
            return;
        for (uint32_t i = 0; i < comm->rank_count; i++) {
            if (meet->free_ns[comm_index] > starts_ns[i])
                starts_ns[i] = meet->free_ns[comm_index];
            if (starts_ns[i] > latest_ns)
                latest_ns = starts_ns[i];
        }
        ends_ns[meeting] = latest_ns + rkt_sim_transfer_ns(layout, comm, meet->step, *next);
        meet->free_ns[comm_index] = ends_ns[meeting];
    }
}

static void begin_step(struct meet *meet, uint32_t step)
{
    struct rkt_sim_run *run = meet->run;
    size_t meeting_count = run->layout.meeting_count;
    int64_t *ends_ns = run->ends_ns + step * meeting_count;

    meet->step = step;
    if (run->starts_ns)
        meet->starts_ns = run->starts_ns + step * run->layout.place_count;
    for (size_t i = 0; i < meeting_count; i++) {
        ends_ns[i] = RKT_SIM_UNKNOWN_NS;
        meet->arrived_counts[i] = 0;
    }
    for (uint32_t i = 0; i < run->layout.comm_count; i++)
        meet->next_meetings[i] = 0;
    for (uint32_t r = 0; r < run->scenario->rank_count; r++)
        rkt_sim_rank_begin_step(meet->ranks[r], step, ends_ns);
}

/* Each round ends at least one meeting, or a plan would wait for itself. */
static enum rkt_status run_step(struct meet *meet, uint32_t step, struct rkt_error *err)
{
    struct rkt_sim_run *run = meet->run;
    uint32_t rank_count = run->scenario->rank_count;
    enum rkt_status status = RKT_OK;
    uint32_t done_count = 0;

    begin_step(meet, step);
    while (done_count < rank_count && status == RKT_OK) {
        done_count = 0;
        for (uint32_t r = 0; r < rank_count && status == RKT_OK; r++) {
            bool is_done;

            status = rkt_sim_rank_advance(meet->ranks[r], &is_done, err);
            take_posts(meet, meet->ranks[r]);
            done_count += is_done;
        }
        for (uint32_t i = 0; i < run->layout.comm_count; i++)
            hold_meetings(meet, i);
    }
    for (uint32_t r = 0; r < rank_count; r++)
        run->steps[(size_t)step * rank_count + r] = *rkt_sim_rank_truth(meet->ranks[r]);
    return status;
}

static enum rkt_status run_steps(struct rkt_sim_run *run, struct rkt_error *err)
{
    const struct rkt_sim_layout *layout = &run->layout;
    int64_t *room = run->starts_ns ? NULL : calloc(layout->place_count + 1, sizeof(*room));
    struct meet meet = {
        .run = run,
        .starts_ns = room,
        .arrived_counts = calloc((size_t)layout->meeting_count + 1, sizeof(uint32_t)),
        .next_meetings = calloc((size_t)layout->comm_count + 1, sizeof(uint32_t)),
        .free_ns = calloc((size_t)layout->comm_count + 1, sizeof(int64_t)),
    };
    enum rkt_status status = RKT_ERR_NOMEM;

    if ((!room && !run->starts_ns) || !meet.arrived_counts || !meet.next_meetings || !meet.free_ns)
        (void)rkt_fail(err, status, "no memory for %u meetings", layout->meeting_count);
    else
        status = create_ranks(layout, &meet.ranks, err);
    for (uint32_t step = 0; meet.ranks && step < run->scenario->step_count && status == RKT_OK;
         step++)
        status = run_step(&meet, step, err);
    destroy_ranks(meet.ranks, run->scenario->rank_count);
    free(room);
    free(meet.arrived_counts);
    free(meet.next_meetings);
    free(meet.free_ns);
    return status;
}

static bool allocate(struct rkt_sim_run *run, bool keeps_starts)
{
    size_t step_count = run->scenario->step_count;

    run->ends_ns = calloc(step_count * run->layout.meeting_count + 1, sizeof(*run->ends_ns));
    run->steps = calloc(step_count * run->scenario->rank_count, sizeof(*run->steps));
    if (keeps_starts)
        run->starts_ns = calloc(step_count * run->layout.place_count + 1, sizeof(*run->starts_ns));
    return run->ends_ns && run->steps && (!keeps_starts || run->starts_ns);
}

enum rkt_status rkt_sim_run_init(struct rkt_sim_run *run, const struct rkt_scenario *scenario,
                                 bool keeps_starts, struct rkt_error *err)
{
    enum rkt_status status;

    *run = (struct rkt_sim_run){.scenario = scenario};
    status = rkt_sim_layout_init(&run->layout, scenario, err);
    if (status == RKT_OK && !allocate(run, keeps_starts))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u steps of %u ranks",
                          scenario->step_count, scenario->rank_count);
    if (status == RKT_OK)
        status = run_steps(run, err);
    if (status != RKT_OK)
        rkt_sim_run_release(run);
    return status;
}

void rkt_sim_run_release(struct rkt_sim_run *run)
{
    rkt_sim_layout_release(&run->layout);
    free(run->ends_ns);
    free(run->starts_ns);
    free(run->steps);
    *run = (struct rkt_sim_run){0};
}

int64_t rkt_sim_run_length_ns(const struct rkt_sim_run *run)
{
    const struct rkt_scenario *scenario = run->scenario;
    int64_t end_ns = 0;

    for (uint32_t r = 0; r < scenario->rank_count; r++) {
        int64_t rank_end_ns = rkt_sim_run_step(run, scenario->step_count - 1, r)->window_end_ns;

        if (rank_end_ns > end_ns)
            end_ns = rank_end_ns;
    }
    return end_ns - rkt_sim_run_step(run, 0, 0)->window_start_ns;
}
