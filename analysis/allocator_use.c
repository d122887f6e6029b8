/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     reserved   ____|~~~~~~~~~~~~~~~~~~~|______      held: from CUDA taken, not given back
 *     allocated  ____|~~~~~|___|~~~|______|____       in use by tensors
 *     gap                   xxx     xxxxxx            held, and of use to nobody else
 */
#include "analysis/allocator_use.h"

#include <string.h>

#include "analysis/stages.h"
#include "analysis/steady.h"

/* As the import of a PyTorch trace names them. */
static const char RESERVED[] = "reserved memory";
static const char ALLOCATED[] = "allocated memory";

/* What is known of a GPU up to a moment. */
struct level {
    uint64_t reserved_bytes;
    uint64_t allocated_bytes;
    bool has_reserved;
    bool has_allocated;
};

static void apply(struct level *level, const struct rkt_rank_trace *trace,
                  const struct rkt_counter_sample *sample)
{
    const char *name = rkt_strtab_get(trace->names, sample->name_id, NULL);

    if (strcmp(name, RESERVED) == 0) {
        level->reserved_bytes = sample->value;
        level->has_reserved = true;
    } else if (strcmp(name, ALLOCATED) == 0) {
        level->allocated_bytes = sample->value;
        level->has_allocated = true;
    }
}

static void note_level(struct rkt_allocator_use *use, const struct level *level, int64_t time_ns)
{
    uint64_t gap_bytes;

    if (!level->has_reserved || !level->has_allocated ||
        level->allocated_bytes > level->reserved_bytes)
        return;
    gap_bytes = level->reserved_bytes - level->allocated_bytes;
    if (level->reserved_bytes > use->reserved_bytes)
        use->reserved_bytes = level->reserved_bytes;
    if (level->allocated_bytes > use->allocated_bytes)
        use->allocated_bytes = level->allocated_bytes;
    if (gap_bytes > use->gap_bytes) {
        use->gap_bytes = gap_bytes;
        use->gap_ns = time_ns;
    }
}

/* Both numbers of one moment come one after the other: they are looked at together. */
static struct rkt_allocator_use use_of_device(const struct rkt_rank_trace *trace,
                                              uint32_t device_id, int64_t start_ns, int64_t end_ns)
{
    struct rkt_allocator_use use = {.device_id = device_id, .gap_ns = start_ns};
    const struct rkt_counter_sample *samples = trace->gpu.counters;
    struct level level = {0};
    int64_t level_ns = INT64_MIN;

    for (size_t i = 0; i < trace->gpu.counter_count && samples[i].start_ns < end_ns; i++) {
        if (samples[i].counter != RKT_COUNTER_NAMED || samples[i].device_id != device_id)
            continue;
        if (samples[i].start_ns > level_ns && samples[i].start_ns > start_ns)
            note_level(&use, &level, level_ns > start_ns ? level_ns : start_ns);
        apply(&level, trace, &samples[i]);
        level_ns = samples[i].start_ns;
    }
    note_level(&use, &level, level_ns > start_ns ? level_ns : start_ns);
    return use;
}

bool rkt_allocator_use_over(const struct rkt_rank_trace *trace, int64_t start_ns, int64_t end_ns,
                            struct rkt_allocator_use *use_out)
{
    struct rkt_allocator_use most = {0};
    uint32_t ids[RKT_DEVICES_MAX];
    size_t count = rkt_gpu_list(trace, ids);

    for (size_t i = 0; i < count; i++) {
        struct rkt_allocator_use use = use_of_device(trace, ids[i], start_ns, end_ns);

        if (use.reserved_bytes > most.reserved_bytes)
            most = use;
    }
    if (most.reserved_bytes == 0)
        return false;
    *use_out = most;
    return true;
}

/* ---- the stage ---- */

enum rkt_status rkt_find_allocator_use(struct rkt_result *result, struct rkt_arena *arena,
                                       struct rkt_error *err)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_rank_result *rank = &result->ranks[r];
        struct rkt_allocator_use use;
        struct rkt_allocator_use *kept;
        int64_t start_ns;
        int64_t end_ns;

        rkt_steady_stretch(rank, &start_ns, &end_ns);
        if (!rkt_allocator_use_over(rank->trace, start_ns, end_ns, &use))
            continue;
        kept = RKT_ARENA_ARRAY(arena, struct rkt_allocator_use, 1);
        if (!kept)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the allocators' use");
        *kept = use;
        rank->allocator = kept;
    }
    return RKT_OK;
}
