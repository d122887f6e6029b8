/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/clock_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/stages.h"
#include "common/units.h"

/* Stamps and bounds of broken files are anywhere: up to these, sums and their differences fit. */
#define TIME_NS_MAX (INT64_C(1) << 61)
#define BOUND_NS_MAX (INT64_C(1) << 59)

/* One of the others: by how much it is contradicted, and its likely bound. */
struct contradiction {
    double by_ns;
    double likely_ns;
    uint32_t clock;
};

/* What is found of each rank. */
struct finding {
    uint32_t clock;      /* the first rank that reads the same one */
    size_t proven_count; /* in how many it is suspect */
    size_t likely_count;
    size_t clock_count; /* likewise its clock, of the grade that is looked at */
    int64_t low_ns;     /* between these it is ahead, the clocks of others being right */
    int64_t high_ns;
    double sum_ns; /* of a clock, in spread_ns; else 0 */
};

struct checker {
    const struct rkt_result *result;
    struct rkt_clock_check check;
    struct finding *ranks;
    struct contradiction *room; /* for as many as there are ranks */
};

static bool depends_on_all(const struct rkt_collective *collective)
{
    return collective->func == RKT_NCCL_FUNC_ALLREDUCE ||
           collective->func == RKT_NCCL_FUNC_ALLGATHER ||
           collective->func == RKT_NCCL_FUNC_REDUCESCATTER ||
           collective->func == RKT_NCCL_FUNC_ALLTOALL || collective->func == RKT_NCCL_FUNC_BARRIER;
}

/* ---- bounds ---- */

typedef int64_t (*bound_fn)(const struct rkt_result *result, const struct rkt_participant *part);

static int64_t sane(int64_t bound_ns)
{
    return bound_ns < BOUND_NS_MAX ? bound_ns : BOUND_NS_MAX;
}

static int64_t sane_time(int64_t job_ns)
{
    return job_ns > TIME_NS_MAX ? TIME_NS_MAX : job_ns < -TIME_NS_MAX ? -TIME_NS_MAX : job_ns;
}

static int64_t guaranteed(const struct rkt_result *result, const struct rkt_participant *part)
{
    int64_t bound_ns = result->ranks[part->rank].bound_ns;

    return bound_ns > 0 ? sane(bound_ns) : 0; /* none is known: as the stamps claim */
}

/* Below 0: none is known. */
static int64_t likely(const struct rkt_result *result, const struct rkt_participant *part)
{
    if (part->likely_ns != RKT_LIKELY_UNKNOWN)
        return part->likely_ns;
    return sane(result->ranks[part->rank].likely_ns);
}

/* A weak match among kernels that were left over may be its neighbour's: no sign of a clock. */
static bool is_judged(const struct rkt_result *result, const struct rkt_collective *collective)
{
    if (collective->confidence == RKT_MATCH_WEAK && result->unmatched_count > 0)
        return false;
    for (size_t i = 0; i < collective->participant_count; i++) {
        if (likely(result, &collective->participants[i]) < 0)
            return false;
    }
    return collective->participant_count > 1;
}

/* ---- of one collective ---- */

/* Who may have ended first, or begun last, as far as the bounds go; and what is so on other
 * clocks. */
struct edge {
    const struct rkt_participant *part;
    uint32_t clock;
    int64_t at_ns;
    int64_t next_ns; /* the edge's own start where there is no other clock */
};

struct edges {
    struct edge end;   /* least of E + bound */
    struct edge start; /* least of bound - S */
};

static void offer(struct edge *edge, const struct rkt_participant *part, uint32_t clock,
                  int64_t at_ns)
{
    if (at_ns < edge->at_ns) {
        if (clock != edge->clock)
            edge->next_ns = edge->at_ns;
        *edge = (struct edge){part, clock, at_ns, edge->next_ns};
    } else if (clock != edge->clock && at_ns < edge->next_ns) {
        edge->next_ns = at_ns;
    }
}

/* Of one participant at least. */
static struct edges find_edges(const struct checker *checker,
                               const struct rkt_collective *collective, bound_fn bound)
{
    const struct rkt_participant *any = &collective->participants[0];
    struct edges edges = {.end = {any, RKT_INDEX_NONE, INT64_MAX, INT64_MAX},
                          .start = {any, RKT_INDEX_NONE, INT64_MAX, INT64_MAX}};

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *part = &collective->participants[i];
        int64_t bound_ns = bound(checker->result, part);
        uint32_t clock = checker->ranks[part->rank].clock;

        offer(&edges.end, part, clock, sane_time(part->job_end_ns) + bound_ns);
        offer(&edges.start, part, clock, bound_ns - sane_time(part->job_start_ns));
    }
    return edges;
}

/* The one that contradicts more others than its counterpart does; or both, of two clocks. */
struct suspects {
    bool is_first;
    bool is_last;
};

static struct suspects find_suspects(const struct rkt_collective *collective,
                                     const struct edges *edges)
{
    const struct rkt_participant *first = edges->end.part, *last = edges->start.part;
    size_t first_count = 0, last_count = 0;

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *part = &collective->participants[i];

        first_count += part->job_start_ns > first->job_end_ns;
        last_count += last->job_start_ns > part->job_end_ns;
    }
    return (struct suspects){first_count >= last_count,
                             last_count > first_count || (last_count == first_count &&
                                                          edges->start.clock != edges->end.clock)};
}

/* ---- what is likely ---- */

static int compare_contradictions(const void *a, const void *b)
{
    double x = ((const struct contradiction *)a)->by_ns;
    double y = ((const struct contradiction *)b)->by_ns;

    return (x < y) - (x > y);
}

/* By how much `part`'s start is behind the others' ends, or its end before their starts; most
 * first. */
static size_t find_contradictions(struct checker *checker, const struct rkt_collective *collective,
                                  const struct rkt_participant *part, bool by_start)
{
    size_t count = 0;

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *other = &collective->participants[i];
        int64_t by_ns = by_start ? sane_time(part->job_start_ns) - sane_time(other->job_end_ns)
                                 : sane_time(other->job_start_ns) - sane_time(part->job_end_ns);

        if (other != part && by_ns > 0)
            checker->room[count++] =
                (struct contradiction){(double)by_ns, (double)likely(checker->result, other),
                                       checker->ranks[other->rank].clock};
    }
    qsort(checker->room, count, sizeof(*checker->room), compare_contradictions);
    return count;
}

/* Errors of different clocks are independent, but those of all against the reference. */
static double spread_ns(struct checker *checker, const struct contradiction *other, double own_ns,
                        double *squares)
{
    double *sum_ns = &checker->ranks[other->clock].sum_ns;
    double before_ns = *sum_ns;

    if (own_ns <= 0) {
        *squares = fmax(*squares, other->likely_ns * other->likely_ns);
        return sqrt(*squares);
    }
    *sum_ns += other->likely_ns;
    *squares += *sum_ns * *sum_ns - before_ns * before_ns;
    return sqrt(*squares) / (double)(other - checker->room + 1);
}

/*
 * clock_check.h: whether the clock of `part` is likely off, by the k others that it contradicts
 * most, for whichever k it is plainest; by how much, they being right, goes into its limits.
 */
static bool is_likely_off(struct checker *checker, const struct rkt_collective *collective,
                          const struct rkt_participant *part, bool by_start)
{
    size_t count = find_contradictions(checker, collective, part, by_start);
    struct finding *found = &checker->ranks[part->rank];
    double own_ns = (double)likely(checker->result, part);
    double sum_ns = 0, squares = 0, most_ns = 0;
    bool is_off = false;

    for (size_t k = 0; k < count; k++) {
        double others_ns = spread_ns(checker, &checker->room[k], own_ns, &squares);

        sum_ns += checker->room[k].by_ns;
        most_ns = fmax(most_ns, sum_ns / (double)(k + 1) - others_ns);
        is_off = is_off || sum_ns / (double)(k + 1) > hypot(own_ns, others_ns);
    }
    for (size_t k = 0; k < count; k++)
        checker->ranks[checker->room[k].clock].sum_ns = 0;
    if (is_off && by_start && (int64_t)most_ns > found->low_ns)
        found->low_ns = (int64_t)most_ns;
    if (is_off && !by_start && -(int64_t)most_ns < found->high_ns)
        found->high_ns = -(int64_t)most_ns;
    return is_off;
}

/* What the collective says of each of its clocks, if the others are right to their bounds. */
static void narrow_offsets(struct checker *checker, const struct rkt_collective *collective,
                           const struct edges *edges)
{
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *part = &collective->participants[i];
        struct finding *found = &checker->ranks[part->rank];
        bool is_end = edges->end.clock == found->clock,
             is_start = edges->start.clock == found->clock;
        int64_t end_ns = is_end ? edges->end.next_ns : edges->end.at_ns;
        int64_t start_ns = is_start ? edges->start.next_ns : edges->start.at_ns;

        if (end_ns == INT64_MAX || start_ns == INT64_MAX)
            return; /* one clock */
        if (sane_time(part->job_start_ns) - end_ns > found->low_ns)
            found->low_ns = sane_time(part->job_start_ns) - end_ns;
        if (sane_time(part->job_end_ns) + start_ns < found->high_ns)
            found->high_ns = sane_time(part->job_end_ns) + start_ns;
    }
}

/* Between the end of one clock and the start of another, with both bounds; RKT_NA: it is one
 * clock. */
static int64_t least_ns(const struct edges *edges)
{
    int64_t by_end_ns, by_start_ns;

    if (edges->end.clock != edges->start.clock)
        return edges->end.at_ns + edges->start.at_ns;
    if (edges->end.next_ns == INT64_MAX || edges->start.next_ns == INT64_MAX)
        return RKT_NA;
    by_end_ns = edges->end.next_ns + edges->start.at_ns;
    by_start_ns = edges->end.at_ns + edges->start.next_ns;
    return by_end_ns < by_start_ns ? by_end_ns : by_start_ns;
}

static void judge(struct checker *checker, const struct rkt_collective *collective)
{
    struct rkt_clock_check *check = &checker->check;
    struct edges edges = find_edges(checker, collective, likely);
    int64_t floor_ns = least_ns(&edges);
    bool is_off;

    check->judged_count++;
    narrow_offsets(checker, collective, &edges);
    is_off = is_likely_off(checker, collective, edges.start.part, true);
    is_off = is_likely_off(checker, collective, edges.end.part, false) || is_off;
    if (is_off) {
        struct suspects suspects = find_suspects(collective, &edges);

        check->likely.count++;
        checker->ranks[edges.end.part->rank].likely_count += suspects.is_first;
        checker->ranks[edges.start.part->rank].likely_count += suspects.is_last;
    } else if (floor_ns != RKT_NA && (check->floor_ns == RKT_NA || floor_ns < check->floor_ns)) {
        check->floor_ns = floor_ns;
    }
}

static void check_collective(struct checker *checker, const struct rkt_collective *collective)
{
    struct edges edges = find_edges(checker, collective, guaranteed);

    checker->check.checked_count++;
    if (edges.end.at_ns + edges.start.at_ns < 0) {
        struct suspects suspects = find_suspects(collective, &edges);

        checker->check.proven.count++;
        checker->ranks[edges.end.part->rank].proven_count += suspects.is_first;
        checker->ranks[edges.start.part->rank].proven_count += suspects.is_last;
    }
    if (is_judged(checker->result, collective))
        judge(checker, collective);
}

/* ---- of all ---- */

static size_t count_of(const struct finding *found, bool is_proven)
{
    return is_proven ? found->proven_count : found->likely_count;
}

/* The clock that is alone with the most, and how many; RKT_INDEX_NONE: none is. */
static uint32_t name_clock(struct checker *checker, bool is_proven, size_t *count_out)
{
    struct finding *ranks = checker->ranks;
    size_t rank_count = checker->result->rank_count, most = 0, second = 0;
    uint32_t clock = RKT_INDEX_NONE;

    for (size_t r = 0; r < rank_count; r++)
        ranks[r].clock_count = 0;
    for (size_t r = 0; r < rank_count; r++)
        ranks[ranks[r].clock].clock_count += count_of(&ranks[r], is_proven);
    for (uint32_t r = 0; r < rank_count; r++) {
        size_t count = ranks[r].clock_count;

        second = count > most ? most : count > second ? count : second;
        clock = count > most ? r : clock;
        most = count > most ? count : most;
    }
    *count_out = most;
    return most > second ? clock : RKT_INDEX_NONE;
}

/* Of that clock the rank that has most of them. */
static void name_rank(struct checker *checker, bool is_proven, struct rkt_clock_breach *breach)
{
    const struct finding *ranks = checker->ranks;
    size_t clock_count, most = 0;
    uint32_t clock = name_clock(checker, is_proven, &clock_count);

    breach->rank = RKT_INDEX_NONE;
    breach->rank_count = clock == RKT_INDEX_NONE ? 0 : clock_count;
    for (uint32_t r = 0; r < checker->result->rank_count; r++) {
        size_t count = count_of(&ranks[r], is_proven);

        if (ranks[r].clock == clock && count > most) {
            breach->rank = r;
            most = count;
        }
    }
}

static void check_all(struct checker *checker)
{
    const struct rkt_result *result = checker->result;
    struct rkt_clock_check *check = &checker->check;

    check->floor_ns = RKT_NA;
    for (size_t r = 0; r < result->rank_count; r++)
        checker->ranks[r] =
            (struct finding){.clock = result->clocks ? result->clocks[r] : (uint32_t)r,
                             .low_ns = INT64_MIN,
                             .high_ns = INT64_MAX};
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (collective->start_spread_ns != RKT_NA && collective->participant_count > 0 &&
            depends_on_all(collective))
            check_collective(checker, collective);
    }
    name_rank(checker, true, &check->proven);
    name_rank(checker, false, &check->likely);
    if (check->likely.count > 0)
        check->floor_ns = RKT_NA;
    if (check->likely.rank != RKT_INDEX_NONE) {
        check->off_low_ns = checker->ranks[check->likely.rank].low_ns;
        check->off_high_ns = checker->ranks[check->likely.rank].high_ns;
    }
}

enum rkt_status rkt_check_clocks(const struct rkt_result *result, struct rkt_clock_check *check_out,
                                 struct rkt_error *err)
{
    struct checker checker = {.result = result};
    enum rkt_status status = RKT_OK;

    checker.ranks = calloc(result->rank_count + 1, sizeof(*checker.ranks));
    checker.room = calloc(result->rank_count + 1, sizeof(*checker.room));
    if (checker.ranks && checker.room) {
        check_all(&checker);
        *check_out = checker.check;
    } else {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to check the clocks of %zu ranks",
                          result->rank_count);
    }
    free(checker.ranks);
    free(checker.room);
    return status;
}

/* ---- what is said ---- */

static enum rkt_status note_proven(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    const struct rkt_clock_check *check = &result->clock_check;
    char who[64] = "";

    if (check->proven.rank != RKT_INDEX_NONE)
        (void)snprintf(who, sizeof(who), "; rank %u is suspect in %zu of them",
                       result->ranks[check->proven.rank].rank, check->proven.rank_count);
    return rkt_add_note(result, arena, 2, err,
                        "in %zu of %zu collectives a rank ended before another began, by more "
                        "than the clocks' bounds: stamps, clocks or the matching are wrong "
                        "there%s",
                        check->proven.count, check->checked_count, who);
}

/* Stamps that make no sense may be off by anything. */
static int64_t negated(int64_t ns)
{
    return ns == INT64_MIN ? INT64_MAX : -ns;
}

static void describe_offset(const struct rkt_clock_check *check, char *text, size_t text_bytes)
{
    bool is_ahead = check->off_low_ns > 0;
    int64_t least_ns = is_ahead ? check->off_low_ns : negated(check->off_high_ns);
    int64_t most_ns = is_ahead ? check->off_high_ns : negated(check->off_low_ns);
    const char *where = is_ahead ? "ahead" : "behind";
    char least[32], most[32];

    (void)rkt_format_duration(least_ns, least, sizeof(least));
    (void)rkt_format_duration(most_ns, most, sizeof(most));
    if (check->off_low_ns > check->off_high_ns)
        (void)snprintf(text, text_bytes,
                       "%s by %s at least at times, and not by the same all along", where, least);
    else
        (void)snprintf(text, text_bytes, "%s by %s to %s", where, least, most);
}

static enum rkt_status note_likely(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    const struct rkt_clock_check *check = &result->clock_check;
    char who[192] = "whose is not told";
    char offset[128];

    if (check->likely.rank != RKT_INDEX_NONE) {
        describe_offset(check, offset, sizeof(offset));
        (void)snprintf(who, sizeof(who), "most often that of rank %u (in %zu of them), likely %s",
                       result->ranks[check->likely.rank].rank, check->likely.rank_count, offset);
    }
    return rkt_add_note(result, arena, 1, err,
                        "in %zu of %zu collectives a rank ended before another began, by more "
                        "than the clocks' likely errors: a clock is off, %s",
                        check->likely.count, check->judged_count, who);
}

enum rkt_status rkt_note_clock_check(struct rkt_result *result, struct rkt_arena *arena,
                                     struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (result->clock_check.proven.count > 0)
        status = note_proven(result, arena, err);
    if (status == RKT_OK && result->clock_check.likely.count > 0)
        status = note_likely(result, arena, err);
    return status;
}
