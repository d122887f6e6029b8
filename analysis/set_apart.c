/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/set_apart.h"

#include <stdio.h>

#include "analysis/stages.h"

#define LIST_BYTES 128

/* Marks and ranges have the job's own numbers; what repeats is counted from 0. */
enum kind {
    KIND_NONE,
    KIND_REPEATS,
    KIND_MARKED,
    KIND_COUNT
};

static enum kind kind_of(const struct rkt_rank_result *rank)
{
    switch (rank->step_source) {
    case RKT_STEPS_MARKS:
    case RKT_STEPS_ANNOTATION:
        return KIND_MARKED;
    case RKT_STEPS_COLLECTIVES:
        return KIND_REPEATS;
    case RKT_STEPS_WINDOW:
        break;
    }
    return KIND_NONE;
}

static void set_host_only_apart(struct rkt_result *result)
{
    bool has_gpu = false;

    for (size_t r = 0; r < result->rank_count; r++)
        has_gpu |= result->ranks[r].trace->has_gpu;
    for (size_t r = 0; r < result->rank_count; r++)
        result->ranks[r].is_set_apart = has_gpu && !result->ranks[r].trace->has_gpu;
}

/* How most ranks' steps were found, of equally many the better way; KIND_NONE: none have steps. */
static enum kind usual_kind(const struct rkt_result *result)
{
    size_t counts[KIND_COUNT] = {0};
    enum kind usual = KIND_NONE;

    for (size_t r = 0; r < result->rank_count; r++)
        counts[kind_of(&result->ranks[r])] += !result->ranks[r].is_set_apart;
    if (counts[KIND_REPEATS] > 0)
        usual = KIND_REPEATS;
    if (counts[KIND_MARKED] > 0 && counts[KIND_MARKED] >= counts[KIND_REPEATS])
        usual = KIND_MARKED;
    return usual;
}

void rkt_set_apart(struct rkt_result *result)
{
    enum kind usual;

    set_host_only_apart(result);
    usual = usual_kind(result);
    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_rank_result *rank = &result->ranks[r];

        rank->has_other_steps = !rank->is_set_apart && kind_of(rank) != usual;
        rank->is_set_apart |= rank->has_other_steps;
    }
}

const struct rkt_rank_result *rkt_first_compared(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        if (!result->ranks[r].is_set_apart)
            return &result->ranks[r];
    }
    return result->rank_count > 0 ? &result->ranks[0] : NULL;
}

/* "3, 5, 7 and others" */
static void list_other_steps(const struct rkt_result *result, char *text, size_t text_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t r = 0; r < result->rank_count; r++) {
        size_t room = text_bytes - used;

        if (!result->ranks[r].has_other_steps)
            continue;
        if (room < 40) {
            (void)snprintf(text + used, room, " and others");
            return;
        }
        used += (size_t)snprintf(text + used, room, "%s%u", used > 0 ? ", " : "",
                                 result->ranks[r].rank);
    }
}

static enum rkt_status note_other_steps(struct rkt_result *result, size_t count,
                                        struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_rank_result *usual = rkt_first_compared(result);
    const struct rkt_rank_result *other = NULL;
    char list[LIST_BYTES];

    for (size_t r = 0; r < result->rank_count && !other; r++)
        other = result->ranks[r].has_other_steps ? &result->ranks[r] : NULL;
    if (!other)
        return RKT_OK;
    list_other_steps(result, list, sizeof(list));
    return rkt_add_note(
        result, arena, 1, err,
        "rank%s %s: steps from %s, those of the others from %s; set apart, in no sum "
        "over ranks and not compared",
        count == 1 ? "" : "s", list, rkt_step_source_name(other->step_source),
        rkt_step_source_name(usual->step_source));
}

enum rkt_status rkt_note_set_apart(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    size_t host_only = 0, other_steps = 0;
    enum rkt_status status = RKT_OK;

    for (size_t r = 0; r < result->rank_count; r++) {
        other_steps += result->ranks[r].has_other_steps;
        host_only += result->ranks[r].is_set_apart && !result->ranks[r].has_other_steps;
    }
    if (host_only > 0)
        status =
            rkt_add_note(result, arena, 1, err,
                         "%zu of %zu ranks recorded no GPU work; their numbers are a host view, in "
                         "no sum over ranks and not compared with the others'",
                         host_only, result->rank_count);
    return status == RKT_OK ? note_other_steps(result, other_steps, arena, err) : status;
}
