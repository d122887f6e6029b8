/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "analysis/load.h"
#include "analysis/selection.h"
#include "analysis/stages.h"
#include "common/units.h"

/* The steps and the length of all ranks together. */
static struct rkt_whole_rank sum_up(const struct rkt_result *result)
{
    struct rkt_whole_rank whole = {.first_step = UINT64_MAX};

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_whole_rank *rank = &result->ranks[r].whole;

        whole.selected_count += rank->selected_count;
        whole.length_ns = rank->length_ns > whole.length_ns ? rank->length_ns : whole.length_ns;
        if (rank->step_count == 0)
            continue;
        whole.step_count += rank->step_count;
        whole.first_step =
            rank->first_step < whole.first_step ? rank->first_step : whole.first_step;
        whole.last_step = rank->last_step > whole.last_step ? rank->last_step : whole.last_step;
    }
    return whole;
}

enum rkt_status rkt_load_check_part(const struct rkt_result *result, struct rkt_error *err)
{
    const struct rkt_selection *selection = result->selection;
    struct rkt_whole_rank whole = sum_up(result);
    char text[RKT_SELECTION_TEXT_BYTES];
    char length[32];

    if (!selection || (!selection->has_steps && !selection->has_time) || whole.selected_count > 0)
        return RKT_OK;
    rkt_selection_describe(selection, text);
    rkt_format_duration(whole.length_ns, length, sizeof(length));
    if (whole.step_count == 0 && selection->has_steps)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "nothing is selected (%s): no steps were found; --step-range NAME tells "
                        "which ranges are steps",
                        text);
    if (whole.step_count == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "nothing is selected (%s): the run is %s long", text,
                        length);
    return rkt_fail(err, RKT_ERR_INVALID,
                    "nothing is selected (%s): no whole step is in it; there are steps %" PRIu64
                    " to %" PRIu64 ", and the run is %s long",
                    text, whole.first_step, whole.last_step, length);
}

static enum rkt_status note_lacking(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        count += result->ranks[r].whole.selected_count == 0;
    if (count == 0)
        return RKT_OK;
    return rkt_add_note(result, arena, 1, err,
                        "%zu of the %zu ranks have nothing of what is selected", count,
                        result->rank_count);
}

/* A name that no rank has is a mistake; it may be one that only some have. */
static enum rkt_status note_step_range(const char *step_range, struct rkt_result *result,
                                       struct rkt_arena *arena, struct rkt_error *err)
{
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        count += result->ranks[r].lacks_step_range;
    if (count == 0)
        return RKT_OK;
    if (count < result->rank_count)
        return rkt_add_note(result, arena, 1, err,
                            "--step-range %s: %zu of %zu ranks have no range whose name begins so",
                            step_range, count, result->rank_count);
    return rkt_add_note(result, arena, 1, err,
                        "--step-range %s: no range's name begins so: steps are from %s", step_range,
                        rkt_step_source_name(result->ranks[0].step_source));
}

enum rkt_status rkt_load_part_notes(const struct rkt_analysis_options *options,
                                    struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (options && options->step_range)
        status = note_step_range(options->step_range, result, arena, err);
    if (status != RKT_OK || !result->selection ||
        (!result->selection->has_steps && !result->selection->has_time))
        return status;
    return note_lacking(result, arena, err);
}
