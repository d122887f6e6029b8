/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cause.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/name_times.h"
#include "analysis/steady.h"

/* Of nested ranges that all hold the excess the innermost is named. */
#define EXCESS_OF_THE_LARGEST 0.8
#define HASH_LENGTH_MIN 16u
#define HASH_DIGITS_MIN 2u

void rkt_own_work_by_cause(const struct rkt_window *window,
                           int64_t by_cause_ns[RKT_CAUSE_OTHER + 1])
{
    const struct rkt_partition *parts = &window->parts;
    const struct rkt_host_partition *host = &window->host;

    memset(by_cause_ns, 0, (RKT_CAUSE_OTHER + 1) * sizeof(*by_cause_ns));
    if (window->is_host_view) {
        by_cause_ns[RKT_CAUSE_COMPUTE] = host->compute_ns + host->overlapped_ns;
        by_cause_ns[RKT_CAUSE_INPUT] = host->input_ns;
        by_cause_ns[RKT_CAUSE_HOST] = host->host_ns;
        return;
    }
    by_cause_ns[RKT_CAUSE_COMPUTE] = parts->compute_ns + parts->overlapped_ns;
    by_cause_ns[RKT_CAUSE_INPUT] = parts->idle_ns[RKT_IDLE_INPUT];
    by_cause_ns[RKT_CAUSE_HOST] = parts->idle_ns[RKT_IDLE_HOST];
    by_cause_ns[RKT_CAUSE_SYNC] = parts->idle_ns[RKT_IDLE_SYNC];
    by_cause_ns[RKT_CAUSE_ALLOC] = parts->idle_ns[RKT_IDLE_ALLOC];
    by_cause_ns[RKT_CAUSE_COPY] = rkt_partition_copy_ns(parts);
    by_cause_ns[RKT_CAUSE_LAUNCH] = parts->idle_ns[RKT_IDLE_LAUNCH];
    by_cause_ns[RKT_CAUSE_OTHER] = parts->idle_ns[RKT_IDLE_DEPENDENCY] +
                                   parts->idle_ns[RKT_IDLE_DEVICE] +
                                   parts->idle_ns[RKT_IDLE_UNKNOWN];
}

/* Totals by name and rank: totals[name * rank_count + rank]. */
struct tally {
    struct rkt_strtab *names;
    int64_t *totals;
    size_t name_cap;
    size_t rank_count;
    const struct rkt_rank_result *ranks;
    bool is_out_of_memory;
};

size_t rkt_mask_hashes(const char *name, size_t len_bytes, char masked[RKT_CAUSE_NAME_BYTES])
{
    size_t used = 0;

    if (len_bytes > RKT_CAUSE_NAME_BYTES)
        len_bytes = RKT_CAUSE_NAME_BYTES;
    for (size_t at = 0; at < len_bytes;) {
        size_t length = 0;
        size_t digits = 0;

        while (at + length < len_bytes && isalnum((unsigned char)name[at + length]))
            digits += isdigit((unsigned char)name[at + length++]) != 0;
        if (length == 0)
            length = 1;
        if (digits >= HASH_DIGITS_MIN && length >= HASH_LENGTH_MIN) {
            masked[used++] = '*';
        } else {
            memcpy(&masked[used], &name[at], length);
            used += length;
        }
        at += length;
    }
    return used;
}

static void add_to_tally(struct tally *tally, const char *name, size_t len_bytes, size_t rank,
                         int64_t duration_ns)
{
    char masked[RKT_CAUSE_NAME_BYTES];
    uint32_t id = rkt_strtab_intern(tally->names, masked, rkt_mask_hashes(name, len_bytes, masked));

    if (id >= tally->name_cap) {
        size_t cap = ((size_t)id + 1) * 2;
        int64_t *grown = calloc(cap * tally->rank_count, sizeof(*grown));

        if (grown == NULL) {
            tally->is_out_of_memory = true;
            return;
        }
        if (tally->totals != NULL)
            memcpy(grown, tally->totals, tally->name_cap * tally->rank_count * sizeof(*grown));
        free(tally->totals);
        tally->totals = grown;
        tally->name_cap = cap;
    }
    tally->totals[(size_t)id * tally->rank_count + rank] += duration_ns;
}

bool rkt_find_steady_span(const struct rkt_result *result, const struct rkt_step_table *table,
                          size_t rank, struct rkt_step_span *span_out)
{
    const struct rkt_step_result *steps = result->ranks[rank].steps;
    bool is_found = false;

    for (size_t i = 0; i < table->row_count; i++) {
        const struct rkt_step_result *step = table->rows[i].by_rank[rank].step;

        if (!rkt_step_row_is_steady(table, i))
            continue;
        if (!is_found)
            span_out->first_step = (uint32_t)(step - steps);
        span_out->last_step = (uint32_t)(step - steps);
        is_found = true;
    }
    return is_found;
}

/* False: the rank has none of this kind. */
static bool tally_kind(struct tally *tally, size_t rank, enum rkt_name_kind kind,
                       const struct rkt_step_span *span)
{
    const struct rkt_rank_result *of = &tally->ranks[rank];
    struct rkt_name_walk walk;
    struct rkt_name_time time;
    bool is_there = false;

    rkt_name_walk_init(&walk, of->names, kind, span->first_step, span->last_step);
    while (rkt_name_walk_next(&walk, &time)) {
        size_t len_bytes;
        const char *name = rkt_strtab_get(of->trace->names, time.name_id, &len_bytes);

        add_to_tally(tally, name, len_bytes, rank, time.sum_ns);
        is_there = true;
    }
    return is_there;
}

static int64_t asleep_ns_in(const struct rkt_rank_result *rank, int phase,
                            const struct rkt_step_span *span)
{
    int64_t asleep_ns = 0;

    for (uint32_t i = span->first_step; i <= span->last_step; i++)
        asleep_ns += rank->steps[i].asleep_ns[phase];
    return asleep_ns;
}

/* Phases by name, where their sleep makes up most of what is to be explained. */
static void tally_sleep(struct tally *tally, size_t rank, const struct rkt_straggler *straggler,
                        const struct rkt_step_span *span)
{
    static const char *const NAMES[] = {"", "asleep in forward", "asleep in backward",
                                        "asleep in optimizer"};

    for (int phase = RKT_PHASE_FORWARD; phase <= RKT_PHASE_OPTIMIZER; phase++) {
        int64_t asleep_ns = asleep_ns_in(&tally->ranks[rank], phase, span);
        int64_t step_count = (int64_t)span->last_step - span->first_step + 1;

        if (rank != straggler->rank || 2 * asleep_ns >= straggler->cause_ns * step_count)
            add_to_tally(tally, NAMES[phase], strlen(NAMES[phase]), rank, asleep_ns);
    }
}

static void tally_cause(struct tally *tally, size_t rank, const struct rkt_straggler *straggler,
                        const struct rkt_step_span *span)
{
    switch (straggler->cause) {
    case RKT_CAUSE_COMPUTE:
        (void)tally_kind(tally, rank, RKT_NAMES_KERNELS, span);
        return;
    case RKT_CAUSE_COPY:
        (void)tally_kind(tally, rank, RKT_NAMES_COPIES, span);
        return;
    case RKT_CAUSE_SYNC: /* lines of the program say more than names of calls */
        if (!tally_kind(tally, rank, RKT_NAMES_LINES, span))
            (void)tally_kind(tally, rank, RKT_NAMES_BLOCKING, span);
        return;
    case RKT_CAUSE_ALLOC:
        (void)tally_kind(tally, rank, RKT_NAMES_ALLOCS, span);
        return;
    case RKT_CAUSE_LAUNCH:
        (void)tally_kind(tally, rank, RKT_NAMES_LAUNCHES, span);
        return;
    case RKT_CAUSE_HOST:
        tally_sleep(tally, rank, straggler, span);
        (void)tally_kind(tally, rank, RKT_NAMES_RANGES, span);
        return;
    case RKT_CAUSE_INPUT:
        (void)tally_kind(tally, rank, RKT_NAMES_RANGES, span);
        return;
    case RKT_CAUSE_NONE:
    case RKT_CAUSE_OTHER:
        return;
    }
}

/* Total of `rank` above the lower median of the other ranks. */
static int64_t excess_of(const struct tally *tally, uint32_t name, size_t rank, int64_t *room)
{
    const int64_t *totals = &tally->totals[(size_t)name * tally->rank_count];
    size_t others = 0;

    for (size_t r = 0; r < tally->rank_count; r++) {
        if (r != rank && !tally->ranks[r].is_set_apart)
            room[others++] = totals[r];
    }
    return others == 0 ? 0 : totals[rank] - rkt_median_i64(room, others);
}

/* 0 (the empty name): none. */
static uint32_t most_excessive(const struct tally *tally, size_t rank, int64_t *room)
{
    uint32_t count = rkt_strtab_count(tally->names);
    int64_t largest_ns = 0;
    uint32_t best = 0;

    for (uint32_t name = 1; name < count && name < tally->name_cap; name++) {
        int64_t excess_ns = excess_of(tally, name, rank, room);

        largest_ns = excess_ns > largest_ns ? excess_ns : largest_ns;
    }
    for (uint32_t name = 1; name < count && name < tally->name_cap && largest_ns > 0; name++) {
        int64_t total_ns = tally->totals[(size_t)name * tally->rank_count + rank];
        int64_t best_ns = tally->totals[(size_t)best * tally->rank_count + rank];

        if ((double)excess_of(tally, name, rank, room) < EXCESS_OF_THE_LARGEST * (double)largest_ns)
            continue;
        if (best == 0 || total_ns < best_ns)
            best = name;
    }
    return best;
}

enum rkt_status rkt_name_cause(const struct rkt_result *result, const struct rkt_step_table *table,
                               struct rkt_straggler *straggler, struct rkt_arena *arena,
                               struct rkt_error *err)
{
    struct tally tally = {
        .names = rkt_strtab_create(), .rank_count = result->rank_count, .ranks = result->ranks};
    int64_t *room = calloc(result->rank_count + 1, sizeof(*room));
    const char *detail = NULL;
    size_t len_bytes;

    if (tally.names == NULL || room == NULL)
        goto done;
    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_step_span span = {0};

        /* The names of ranks that nobody compares are looked at by nobody. */
        if (!result->ranks[r].is_set_apart && rkt_find_steady_span(result, table, r, &span))
            tally_cause(&tally, r, straggler, &span);
    }
    if (tally.is_out_of_memory)
        goto done;
    detail = rkt_strtab_get(tally.names, most_excessive(&tally, straggler->rank, room), &len_bytes);
    detail = rkt_arena_strndup(arena, detail, len_bytes);
done:
    rkt_strtab_destroy(tally.names);
    free(tally.totals);
    free(room);
    if (detail == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the cause of a straggler");
    straggler->cause_detail = detail;
    return RKT_OK;
}
