/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wait_check.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/clock_gap.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "common/units.h"

#define PPB 1e9
#define SIGMA 1.4826        /* of a MAD */
#define MEDIAN_SIGMA 1.2533 /* of a median of n: over the square root of n */
#define SIGMAS 3
#define SANE_NS_MAX (INT64_C(1) << 61)
#define DRIFT_SAID_PPB 1000 /* less is in no result */

/* One rank's end in one collective. */
struct end {
    int64_t late_ns;      /* against the median rank's, in job time */
    int64_t at_ns;        /* of the lowest rank's stamps */
    int64_t behind_at_ns; /* own stamp - at_ns; RKT_NA where that rank is not in it */
};

struct checker {
    struct rkt_result *result;
    struct end *ends; /* by rank, then in order of the collectives */
    size_t *first;    /* by rank; one more at the end */
    int64_t *room;    /* for as many numbers as there are ends */
};

/* Weak matches count where no kernel was left over, as for the clocks (collective_clocks.h). */
static bool is_checked(const struct rkt_result *result, const struct rkt_collective *collective)
{
    return collective->participant_count > 1 && collective->end_spread_ns != RKT_NA &&
           (collective->confidence != RKT_MATCH_WEAK || result->unmatched_count == 0) &&
           rkt_clock_gap_all_wait(collective);
}

/* Clocks of broken files are anywhere: 73 years at most, so that further differences fit. */
static int64_t minus(int64_t a_ns, int64_t b_ns)
{
    __int128 difference_ns = (__int128)a_ns - b_ns;

    return difference_ns > SANE_NS_MAX    ? SANE_NS_MAX
           : difference_ns < -SANE_NS_MAX ? -SANE_NS_MAX
                                          : (int64_t)difference_ns;
}

static void add_ends(struct checker *checker, const struct rkt_collective *collective, size_t *next)
{
    const struct rkt_participant *lowest = &collective->participants[0];
    int64_t median_ns;

    for (size_t i = 0; i < collective->participant_count; i++)
        checker->room[i] = collective->participants[i].job_end_ns;
    median_ns = rkt_median_i64(checker->room, collective->participant_count);
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *self = &collective->participants[i];

        checker->ends[next[self->rank]++] = (struct end){
            .late_ns = minus(self->job_end_ns, median_ns),
            .at_ns = lowest->end_ns,
            .behind_at_ns = lowest->rank == 0 ? minus(self->end_ns, lowest->end_ns) : RKT_NA};
    }
}

static void collect(struct checker *checker)
{
    const struct rkt_result *result = checker->result;
    size_t *next = checker->first + 1;

    for (size_t c = 0; c < result->collective_count; c++) {
        const struct rkt_collective *collective = &result->collectives[c];

        for (size_t i = 0; is_checked(result, collective) && i < collective->participant_count; i++)
            checker->first[collective->participants[i].rank + 2]++;
    }
    for (size_t r = 2; r < result->rank_count + 2; r++)
        checker->first[r] += checker->first[r - 1];
    for (size_t c = 0; c < result->collective_count; c++) {
        if (is_checked(result, &result->collectives[c]))
            add_ends(checker, &result->collectives[c], next);
    }
}

/* ---- of one rank ---- */

enum field {
    FIELD_LATE,
    FIELD_AT,
    FIELD_BEHIND
};

static int64_t median_of(const struct end *ends, size_t count, enum field field, int64_t *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = field == FIELD_LATE ? ends[i].late_ns
                  : field == FIELD_AT ? ends[i].at_ns
                                      : ends[i].behind_at_ns;
    return rkt_median_i64(room, count);
}

/* Standard deviation of what is in `room`, whose median was just taken. */
static double noise_of(int64_t *room, size_t count, int64_t median_ns)
{
    return SIGMA * (double)rkt_mad_i64(room, count, median_ns);
}

static void measure_offset(const struct end *ends, size_t count, int64_t *room,
                           struct rkt_wait_check *check)
{
    check->offset_ns = median_of(ends, count, FIELD_LATE, room);
    check->noise_ns = (int64_t)noise_of(room, count, check->offset_ns);
}

/* Only of those in which the lowest rank is, too. */
static size_t keep_comparable(struct end *ends, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (ends[i].behind_at_ns != RKT_NA)
            ends[kept++] = ends[i];
    }
    return kept;
}

static void measure_drift(const struct end *ends, size_t count, int64_t *room,
                          struct rkt_wait_check *check)
{
    size_t third = count / 3;
    const struct end *thirds[] = {ends, ends + (count - third)};
    int64_t at_ns[2], behind_ns[2], span_ns;
    double noise_ns = 0;

    check->has_drift = count >= RKT_WAIT_CHECK_COUNT_MIN &&
                       minus(ends[count - 1].at_ns, ends[0].at_ns) >= RKT_WAIT_CHECK_SPAN_NS;
    if (!check->has_drift)
        return;
    for (int i = 0; i < 2; i++) {
        at_ns[i] = median_of(thirds[i], third, FIELD_AT, room);
        behind_ns[i] = median_of(thirds[i], third, FIELD_BEHIND, room);
        noise_ns += noise_of(room, third, behind_ns[i]);
    }
    span_ns = minus(at_ns[1], at_ns[0]);
    check->has_drift = span_ns > 0;
    if (!check->has_drift)
        return;
    check->drift_ppb = (double)minus(behind_ns[1], behind_ns[0]) * PPB / (double)span_ns;
    check->drift_noise_ppb = MEDIAN_SIGMA * noise_ns / sqrt((double)third) * PPB / (double)span_ns;
}

static void check_rank(struct checker *checker, size_t r)
{
    struct rkt_rank_result *rank = &checker->result->ranks[r];
    struct end *ends = &checker->ends[checker->first[r]];
    size_t count = checker->first[r + 1] - checker->first[r];
    int64_t gap_ns = checker->result->clock.gap_ns;

    rank->wait_check = (struct rkt_wait_check){.count = count};
    if (count == 0)
        return;
    measure_offset(ends, count, checker->room, &rank->wait_check);
    rank->wait_check.is_off =
        gap_ns != RKT_NA && count >= RKT_WAIT_CHECK_COUNT_MIN &&
        llabs(rank->wait_check.offset_ns) - SIGMAS * rank->wait_check.noise_ns > gap_ns;
    count = keep_comparable(ends, count);
    measure_drift(ends, count, checker->room, &rank->wait_check);
}

enum rkt_status rkt_check_waits(struct rkt_result *result, struct rkt_error *err)
{
    struct checker checker = {.result = result};
    size_t count = 1;
    enum rkt_status status = RKT_OK;

    for (size_t c = 0; c < result->collective_count; c++)
        count += result->collectives[c].participant_count;
    checker.ends = calloc(count, sizeof(*checker.ends));
    checker.room = calloc(count, sizeof(*checker.room));
    checker.first = calloc(result->rank_count + 2, sizeof(*checker.first));
    if (!checker.ends || !checker.room || !checker.first) {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for the ends of %zu collectives",
                          result->collective_count);
    } else {
        collect(&checker);
        for (size_t r = 0; r < result->rank_count; r++)
            check_rank(&checker, r);
    }
    free(checker.ends);
    free(checker.room);
    free(checker.first);
    return status;
}

bool rkt_wait_check_drifts(const struct rkt_wait_check *check)
{
    return check->has_drift && fabs(check->drift_ppb) > SIGMAS * check->drift_noise_ppb;
}

/* ---- what is said ---- */

static enum rkt_status note_offset(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    const struct rkt_rank_result *worst = NULL;
    char text[2][32];

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        if (rank->wait_check.is_off &&
            (!worst || llabs(rank->wait_check.offset_ns) > llabs(worst->wait_check.offset_ns)))
            worst = rank;
    }
    if (!worst)
        return RKT_OK;
    return rkt_add_note(
        result, arena, 1, err,
        "rank %u: its waits by the clock and from durations differ by %s +- %s all along: its "
        "clock is "
        "%s, or it ends %s than the others",
        worst->rank,
        rkt_format_duration(llabs(worst->wait_check.offset_ns), text[0], sizeof(text[0])),
        rkt_format_duration(worst->wait_check.noise_ns, text[1], sizeof(text[1])),
        worst->wait_check.offset_ns > 0 ? "ahead" : "behind",
        worst->wait_check.offset_ns > 0 ? "later" : "earlier");
}

static enum rkt_status note_drift(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_error *err)
{
    const struct rkt_rank_result *worst = NULL;

    for (size_t r = 1; r < result->rank_count; r++) {
        const struct rkt_wait_check *check = &result->ranks[r].wait_check;

        if (rkt_wait_check_drifts(check) && fabs(check->drift_ppb) >= DRIFT_SAID_PPB &&
            (!worst || fabs(check->drift_ppb) > fabs(worst->wait_check.drift_ppb)))
            worst = &result->ranks[r];
    }
    if (!worst)
        return RKT_OK;
    return rkt_add_note(result, arena, 0, err,
                        "rank %u: its stamps drift against rank %u's by %.2f +- %.2f ppm, as %zu "
                        "collectives show",
                        worst->rank, result->ranks[0].rank, worst->wait_check.drift_ppb / 1e3,
                        SIGMAS * worst->wait_check.drift_noise_ppb / 1e3, worst->wait_check.count);
}

enum rkt_status rkt_note_wait_check(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    enum rkt_status status = note_offset(result, arena, err);

    return status == RKT_OK ? note_drift(result, arena, err) : status;
}
