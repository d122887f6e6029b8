/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/stages.h"

#define NOTE_BYTES_MAX 1024u
#define NOTES_AT_FIRST 8u

bool rkt_result_has_windows(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        if (result->ranks[r].trace->has_windows)
            return true;
    }
    return false;
}

int64_t rkt_partition_sum(const struct rkt_partition *parts)
{
    int64_t sum_ns = parts->overlapped_ns + parts->compute_ns + parts->comm_wait_ns +
                     parts->comm_transfer_ns + parts->comm_unsplit_ns;

    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        sum_ns += parts->copy_ns[i];
    for (size_t i = 0; i < RKT_IDLE_CAUSE_COUNT; i++)
        sum_ns += parts->idle_ns[i];
    return sum_ns;
}

int64_t rkt_host_partition_sum(const struct rkt_host_partition *parts)
{
    return parts->overlapped_ns + parts->compute_ns + parts->comm_ns + parts->input_ns +
           parts->host_ns;
}

void rkt_partition_add(struct rkt_partition *to, const struct rkt_partition *parts)
{
    to->window_ns += parts->window_ns;
    to->overlapped_ns += parts->overlapped_ns;
    to->compute_ns += parts->compute_ns;
    to->comm_wait_ns += parts->comm_wait_ns;
    to->comm_transfer_ns += parts->comm_transfer_ns;
    to->comm_unsplit_ns += parts->comm_unsplit_ns;
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        to->copy_ns[i] += parts->copy_ns[i];
    for (size_t i = 0; i < RKT_IDLE_CAUSE_COUNT; i++)
        to->idle_ns[i] += parts->idle_ns[i];
}

void rkt_host_partition_add(struct rkt_host_partition *to, const struct rkt_host_partition *parts)
{
    to->window_ns += parts->window_ns;
    to->overlapped_ns += parts->overlapped_ns;
    to->compute_ns += parts->compute_ns;
    to->comm_ns += parts->comm_ns;
    to->input_ns += parts->input_ns;
    to->host_ns += parts->host_ns;
}

/* Room doubles each time that it is full; what was there before stays in the arena, unused. */
static enum rkt_status grow_notes(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_error *err)
{
    size_t count = result->note_count;
    struct rkt_analysis_note *grown;

    if (count != 0 && (count < NOTES_AT_FIRST || (count & (count - 1)) != 0))
        return RKT_OK;
    grown = RKT_ARENA_ARRAY(arena, struct rkt_analysis_note,
                            count < NOTES_AT_FIRST ? NOTES_AT_FIRST : 2 * count);
    if (!grown)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu notes", count + 1);
    if (count > 0)
        memcpy(grown, result->notes, count * sizeof(*grown));
    result->notes = grown;
    return RKT_OK;
}

enum rkt_status rkt_add_note(struct rkt_result *result, struct rkt_arena *arena, int level,
                             struct rkt_error *err, const char *fmt, ...)
{
    char text[NOTE_BYTES_MAX];
    enum rkt_status status = grow_notes(result, arena, err);
    const char *kept;
    va_list args;

    if (status != RKT_OK)
        return status;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    kept = rkt_arena_strndup(arena, text, strlen(text));
    if (!kept)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a note");
    result->notes[result->note_count++] = (struct rkt_analysis_note){level, kept};
    return RKT_OK;
}

const char *rkt_note_level_name(int level)
{
    return level <= 0 ? "info" : level == 1 ? "warning" : "error";
}

const char *rkt_idle_cause_name(enum rkt_idle_cause cause)
{
    switch (cause) {
    case RKT_IDLE_SYNC:
        return "sync";
    case RKT_IDLE_ALLOC:
        return "alloc";
    case RKT_IDLE_INPUT:
        return "input";
    case RKT_IDLE_HOST:
        return "host";
    case RKT_IDLE_LAUNCH:
        return "launch";
    case RKT_IDLE_DEPENDENCY:
        return "dependency";
    case RKT_IDLE_DEVICE:
        return "device";
    case RKT_IDLE_UNKNOWN:
    case RKT_IDLE_CAUSE_COUNT:
        break;
    }
    return "unknown";
}

const char *rkt_copy_part_name(enum rkt_copy_part part)
{
    switch (part) {
    case RKT_COPY_PART_HTOD:
        return "HtoD";
    case RKT_COPY_PART_DTOH:
        return "DtoH";
    case RKT_COPY_PART_DTOD:
        return "DtoD";
    case RKT_COPY_PART_PTOP:
        return "PtoP";
    case RKT_COPY_PART_HTOH:
        return "HtoH";
    case RKT_COPY_PART_MEMSET:
        return "Memset";
    case RKT_COPY_PART_OTHER:
    case RKT_COPY_PART_COUNT:
        break;
    }
    return "other";
}

const char *rkt_cause_name(enum rkt_cause cause)
{
    switch (cause) {
    case RKT_CAUSE_NONE:
        return "none";
    case RKT_CAUSE_COMPUTE:
        return "compute";
    case RKT_CAUSE_INPUT:
        return "input";
    case RKT_CAUSE_HOST:
        return "host";
    case RKT_CAUSE_SYNC:
        return "sync";
    case RKT_CAUSE_ALLOC:
        return "alloc";
    case RKT_CAUSE_COPY:
        return "copy";
    case RKT_CAUSE_LAUNCH:
        return "launch";
    case RKT_CAUSE_OTHER:
        break;
    }
    return "other";
}

const char *rkt_match_confidence_name(enum rkt_match_confidence confidence)
{
    switch (confidence) {
    case RKT_MATCH_EXACT:
        return "exact";
    case RKT_MATCH_ORDERED:
        return "ordered";
    case RKT_MATCH_WEAK:
        break;
    }
    return "weak";
}

const char *rkt_step_source_name(enum rkt_step_source source)
{
    switch (source) {
    case RKT_STEPS_MARKS:
        return "marks";
    case RKT_STEPS_ANNOTATION:
        return "annotation";
    case RKT_STEPS_COLLECTIVES:
        return "collectives";
    case RKT_STEPS_WINDOW:
        break;
    }
    return "window";
}

const char *rkt_phase_source_name(enum rkt_phase_source source)
{
    switch (source) {
    case RKT_PHASES_MARKS:
        return "marks";
    case RKT_PHASES_THREAD_NAME:
        return "thread name";
    case RKT_PHASES_AUTOGRAD_OPS:
        return "autograd operators";
    case RKT_PHASES_NONE:
        break;
    }
    return "none";
}
