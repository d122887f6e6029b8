/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cause_compute.h"
#include "analysis/critical_path.h"
#include "analysis/json_known.h"
#include "analysis/report/json_parts.h"

static void put_step(struct rkt_json *json, const struct rkt_result *result,
                     const struct rkt_step_whatif *step)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "number", step->number);
    rkt_json_known(json, "step_ns", step->step_ns);
    rkt_json_known(json, "replay_ns", step->replay_ns);
    if (step->rank == RKT_INDEX_NONE)
        rkt_json_null(json, "rank");
    else
        rkt_json_u64(json, "rank", result->ranks[step->rank].rank);
    rkt_json_known(json, "gain_ns", step->gain_ns);
    rkt_json_bool(json, "is_named", step->is_named);
    rkt_json_end(json);
}

static void put_piece(struct rkt_json *json, const struct rkt_result *result,
                      const struct rkt_path_piece *piece)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_known(json, "start_ns", piece->start_ns);
    rkt_json_known(json, "end_ns", piece->end_ns);
    rkt_json_u64(json, "rank", result->ranks[piece->rank].rank);
    if (piece->collective < result->collective_count) {
        rkt_json_null(json, "cause");
        rkt_json_text(json, "func", result->collectives[piece->collective].func_name);
    } else {
        rkt_json_text(json, "cause",
                      piece->cause == RKT_CAUSE_NONE ? "transfer" : rkt_cause_name(piece->cause));
        rkt_json_null(json, "func");
    }
    rkt_json_end(json);
}

static void put_path(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_critical_path *path = result->whatif.path;

    if (!path) {
        rkt_json_null(json, "critical_path");
        return;
    }
    rkt_json_begin_object(json, "critical_path");
    rkt_json_known(json, "total_ns", path->total_ns);
    rkt_json_known(json, "transfer_ns", path->transfer_ns);
    rkt_json_begin_object(json, "own_ns");
    for (int cause = 1; cause <= RKT_CAUSE_OTHER; cause++)
        rkt_json_known(json, rkt_cause_name((enum rkt_cause)cause), path->own_ns[cause]);
    rkt_json_end(json);
    rkt_json_begin_array(json, "own_by_rank_ns");
    for (size_t r = 0; r < result->rank_count; r++)
        rkt_json_i64(json, NULL, path->rank_ns[r]);
    rkt_json_end(json);
    rkt_json_u64(json, "step_number", path->step_number);
    rkt_json_begin_array(json, "pieces");
    for (size_t i = 0; i < path->piece_count; i++)
        put_piece(json, result, &path->pieces[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_json_put_whatif(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_whatif *whatif = &result->whatif;

    rkt_json_begin_object(json, "replay");
    rkt_json_bool(json, "is_valid", whatif->why_not[0] == '\0');
    rkt_json_text(json, "why_not", whatif->why_not);
    rkt_json_double(json, "miss", whatif->miss);
    rkt_json_known(json, "steps_ns", whatif->steps_ns);
    rkt_json_known(json, "inst_ns", whatif->inst_ns);
    rkt_json_known(json, "ideal_ns", whatif->ideal_ns);
    rkt_json_double(json, "slowdown", whatif->slowdown);
    rkt_json_double(json, "waste", whatif->waste);
    put_path(json, result);
    rkt_json_begin_array(json, "steps");
    for (size_t i = 0; i < whatif->step_count; i++)
        put_step(json, result, &whatif->steps[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_json_put_group(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_group_gain *group = &result->whatif.group;

    if (!group->is_found) {
        rkt_json_null(json, "group");
        return;
    }
    rkt_json_begin_object(json, "group");
    rkt_json_text(json, "kind", group->kind == RKT_GROUP_HOST ? "host" : "communicator");
    rkt_json_text(json, "name", group->name);
    rkt_json_begin_array(json, "ranks");
    for (size_t i = 0; i < group->rank_count; i++)
        rkt_json_u64(json, NULL, result->ranks[group->ranks[i]].rank);
    rkt_json_end(json);
    rkt_json_end(json);
}

void rkt_json_put_compute_cause(struct rkt_json *json, const struct rkt_compute_cause *cause)
{
    if (cause->kind == RKT_COMPUTE_UNKNOWN) {
        rkt_json_null(json, "compute");
        return;
    }
    rkt_json_begin_object(json, "compute");
    rkt_json_text(json, "kind", rkt_compute_kind_name(cause->kind));
    rkt_json_i64(json, "slower_ns", cause->slower_ns);
    rkt_json_i64(json, "more_kernels_ns", cause->more_ns);
    rkt_json_i64(json, "other_shapes_ns", cause->shapes_ns);
    rkt_json_double(json, "slowdown", cause->slowdown);
    rkt_json_double(json, "kernel_count", cause->kernel_count);
    rkt_json_double(json, "others_kernel_count", cause->others_kernel_count);
    rkt_json_end(json);
}
