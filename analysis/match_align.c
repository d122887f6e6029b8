/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match_align.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/key_index.h"

/* A shift is as good as the best when its spread is not above twice the best's and this. */
#define SPREAD_SLACK_NS 2000

/* So many pairs say what the offset of the clocks is at a point of the run. */
#define FOLLOWED 7

#define SHIFT_COUNT (2 * RKT_SHIFT_MAX + 1)

/* How well `list[i]` = `ref[i + shift]` holds. */
struct fit {
    int64_t shift;
    int64_t offset_ns; /* of ref's clock against list's, from the ends */
    int64_t spread_ns; /* of the better half of the differences of ends */
    size_t fit_count;
    size_t tried_count;
};

/* What a shift is tried by, of the units of one list: they are much wider. */
struct column {
    int64_t *ends_ns;
    uint8_t *kinds;
};

/* Kinds of operations: units of one kind fit the same others. Few occur; those past the limit are
 * one kind that has to be looked at each time. */
#define KINDS_MAX 64u

struct search {
    struct rkt_unit_list ref;
    struct rkt_unit_list list;
    bool clocks_known;
    struct column ref_column;
    struct column list_column;
    const struct rkt_match_unit *kinds[KINDS_MAX]; /* the first unit of each */
    uint64_t fitting[KINDS_MAX];                   /* by kind: a bit for each that fits it */
    unsigned kind_count;
    int64_t *diffs;   /* RKT_SHIFT_SAMPLE of room */
    uint32_t *cells;  /* as many */
    struct fit *fits; /* SHIFT_COUNT of room */
};

static void release(struct search *search)
{
    free(search->ref_column.ends_ns);
    free(search->ref_column.kinds);
    free(search->list_column.ends_ns);
    free(search->list_column.kinds);
    free(search->diffs);
    free(search->cells);
    free(search->fits);
}

static bool is_alike(const struct rkt_match_unit *a, const struct rkt_match_unit *b)
{
    return a->has_op == b->has_op && a->name_key == b->name_key && a->func == b->func &&
           a->datatype == b->datatype && a->count == b->count;
}

static uint8_t find_kind(struct search *search, const struct rkt_match_unit *unit)
{
    unsigned kind = 0;

    while (kind < search->kind_count && !is_alike(search->kinds[kind], unit))
        kind++;
    if (kind < search->kind_count || kind == KINDS_MAX)
        return (uint8_t)kind;
    search->kinds[search->kind_count++] = unit;
    for (unsigned other = 0; other <= kind; other++) {
        if (!rkt_match_units_fit(unit, search->kinds[other]))
            continue;
        search->fitting[kind] |= UINT64_C(1) << other;
        search->fitting[other] |= UINT64_C(1) << kind;
    }
    return (uint8_t)kind;
}

static bool fill_column(struct search *search, struct rkt_unit_list list, struct column *column)
{
    column->ends_ns = malloc(list.count * sizeof(*column->ends_ns));
    column->kinds = malloc(list.count);
    if (column->ends_ns == NULL || column->kinds == NULL)
        return false;
    for (size_t i = 0; i < list.count; i++) {
        column->ends_ns[i] = list.items[i].end_ns;
        column->kinds[i] = find_kind(search, &list.items[i]);
    }
    return true;
}

/* Does a unit of ref fit one of the list? */
static bool do_fit(const struct search *search, int64_t ref, int64_t unit)
{
    unsigned kind = search->ref_column.kinds[ref];
    unsigned other = search->list_column.kinds[unit];

    if (kind < KINDS_MAX && other < KINDS_MAX)
        return (search->fitting[kind] >> other & 1) != 0;
    return rkt_match_units_fit(&search->ref.items[ref], &search->list.items[unit]);
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t abs_i64(int64_t x)
{
    return x < 0 ? -x : x;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* [first, last) of the units of `list` that have a unit of `ref` under the shift. */
static void overlap_of(const struct search *search, int64_t shift, int64_t *first, int64_t *last)
{
    int64_t list_count = (int64_t)search->list.count;
    int64_t ref_count = (int64_t)search->ref.count;

    *first = shift < 0 ? -shift : 0;
    *last = ref_count - shift < list_count ? ref_count - shift : list_count;
    if (*last < *first)
        *last = *first;
}

/* The narrowest interval that holds most of the sorted differences: robust against a third of
 * them being wrong, and meaningful from three on. */
static void tightest(const int64_t *diffs, size_t count, struct fit *fit)
{
    size_t held = count / 2 + 1;

    if (held < min_size(count, 3))
        held = min_size(count, 3);
    fit->spread_ns = INT64_MAX;
    for (size_t i = 0; i + held <= count; i++) {
        int64_t width = diffs[i + held - 1] - diffs[i];

        if (width < fit->spread_ns) {
            fit->spread_ns = width;
            fit->offset_ns = diffs[i] + width / 2;
        }
    }
}

/* Voters side by side: one alone waits for its last vote each time. */
#define VOTERS 8u

struct votes {
    uint32_t numbers[VOTERS]; /* that may be most of a voter's cells */
    uint32_t counts[VOTERS];
    uint32_t held[VOTERS];
};

/* `half` added to a cell and then halved. */
static uint32_t number_of(uint32_t cell, unsigned half)
{
    return (cell + half) >> 1;
}

/* No branch: nobody can guess it. */
static void vote(struct votes *votes, const uint32_t *cells, unsigned half, size_t voters)
{
    for (size_t i = 0; i < voters; i++) {
        uint32_t number = number_of(cells[i], half);

        votes->numbers[i] = votes->counts[i] == 0 ? number : votes->numbers[i];
        votes->counts[i] += number == votes->numbers[i] ? 1 : UINT32_MAX;
    }
}

static void hold(struct votes *votes, const uint32_t *cells, unsigned half, size_t voters)
{
    for (size_t i = 0; i < voters; i++)
        votes->held[i] += number_of(cells[i], half) == votes->numbers[i];
}

/*
 * False where no number is that of most cells: it would be most of the cells of some voter, to whom
 * they are dealt in turn. A voter's vote finds the one that may be.
 */
static bool may_have_majority(const uint32_t *cells, size_t count, unsigned half)
{
    struct votes votes = {{0}, {0}, {0}};
    size_t whole = count - count % VOTERS;

    for (size_t i = 0; i < whole; i += VOTERS)
        vote(&votes, cells + i, half, VOTERS);
    vote(&votes, cells + whole, half, count - whole);
    for (size_t i = 0; i < whole; i += VOTERS)
        hold(&votes, cells + i, half, VOTERS);
    hold(&votes, cells + whole, half, count - whole);
    for (size_t i = 0; i < VOTERS; i++) {
        if (votes.held[i] > (whole / VOTERS + (i < count - whole)) / 2)
            return true;
    }
    return false;
}

/*
 * False where no interval of `width_ns` holds most of the differences, which is cheaper to see than
 * to sort them: it meets two neighbours of cells that are wider, and one of the two ways to join
 * cells in pairs joins these.
 */
static bool may_be_within(const struct search *search, size_t count, int64_t width_ns)
{
    unsigned cell_bits = 0; /* a power of two: dividing would cost more than all the rest */

    while (width_ns >> cell_bits != 0)
        cell_bits++;
    for (size_t i = 0; i < count; i++)
        search->cells[i] = (uint32_t)(rkt_key_of_time(search->diffs[i]) >> cell_bits);
    return may_have_majority(search->cells, count, 0) || may_have_majority(search->cells, count, 1);
}

/* False: too few units overlap, most of them do not fit, or the spread is above limit_ns. */
static bool try_shift(const struct search *search, int64_t shift, int64_t limit_ns,
                      struct fit *fit_out)
{
    size_t shorter = min_size(search->ref.count, search->list.count);
    int64_t first, last;
    size_t stride;
    struct fit fit = {.shift = shift};

    overlap_of(search, shift, &first, &last);
    if ((size_t)(last - first) < min_size(shorter, 3) || (size_t)(last - first) < shorter / 2)
        return false;
    stride = (size_t)(last - first) / RKT_SHIFT_SAMPLE + 1;
    for (int64_t i = first; i < last; i += (int64_t)stride) {
        search->diffs[fit.fit_count] =
            search->ref_column.ends_ns[i + shift] - search->list_column.ends_ns[i];
        fit.fit_count += do_fit(search, i + shift, i);
        fit.tried_count++;
    }
    if (fit.fit_count == 0 || fit.fit_count * 2 < fit.tried_count ||
        !may_be_within(search, fit.fit_count, limit_ns))
        return false;
    qsort(search->diffs, fit.fit_count, sizeof(*search->diffs), compare_i64);
    tightest(search->diffs, fit.fit_count, &fit);
    *fit_out = fit;
    return fit.spread_ns <= limit_ns;
}

/* Units of `in` that end before end_ns. */
static size_t count_before(struct rkt_unit_list in, int64_t end_ns)
{
    size_t low = 0;
    size_t high = in.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in.items[middle].end_ns < end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where clocks are known the search is around the shift under which the first ends meet. */
static int64_t centre_of(const struct search *search)
{
    size_t later;

    if (!search->clocks_known)
        return 0;
    later = count_before(search->ref, search->list.items[0].end_ns);
    if (later > 0)
        return (int64_t)later;
    return -(int64_t)count_before(search->list, search->ref.items[0].end_ns);
}

/* Of two shifts with spreads alike: the one that more units fit, then the one that needs the
 * smaller clock offset, then the smaller shift. */
static bool is_preferred(const struct search *search, const struct fit *a, const struct fit *b)
{
    size_t a_score = a->fit_count * b->tried_count;
    size_t b_score = b->fit_count * a->tried_count;

    if (a_score != b_score)
        return a_score > b_score;
    if (search->clocks_known && abs_i64(a->offset_ns) != abs_i64(b->offset_ns))
        return abs_i64(a->offset_ns) < abs_i64(b->offset_ns);
    return abs_i64(a->shift) < abs_i64(b->shift);
}

static int64_t limit_of(int64_t spread_ns)
{
    return spread_ns > (INT64_MAX - SPREAD_SLACK_NS) / 2 ? INT64_MAX
                                                         : spread_ns * 2 + SPREAD_SLACK_NS;
}

/* The best shift; false when none fits. *rivals_out: how many others fit as well. */
static bool best_shift(struct search *search, struct fit *best_out, size_t *rivals_out)
{
    int64_t centre = centre_of(search);
    int64_t tightest_ns = INT64_MAX;
    size_t fit_count = 0;
    bool is_found = false;

    if (try_shift(search, centre, INT64_MAX,
                  &search->fits[0])) /* mostly the best: others end early */
        tightest_ns = search->fits[0].spread_ns;
    for (int64_t shift = centre - RKT_SHIFT_MAX; shift <= centre + RKT_SHIFT_MAX; shift++) {
        struct fit *fit = &search->fits[fit_count];

        if (!try_shift(search, shift, limit_of(tightest_ns), fit))
            continue;
        fit_count++;
        if (fit->spread_ns < tightest_ns)
            tightest_ns = fit->spread_ns;
    }
    *rivals_out = 0;
    for (size_t i = 0; i < fit_count; i++) {
        const struct fit *fit = &search->fits[i];

        if (fit->spread_ns > limit_of(tightest_ns))
            continue;
        *rivals_out += is_found;
        if (!is_found || is_preferred(search, fit, best_out))
            *best_out = *fit;
        is_found = true;
    }
    return is_found;
}

/* The offset of the clocks along the run: they drift where they are not aligned, and single
 * ends differ by more than short kernels last. */
struct follower {
    int64_t last_ns[FOLLOWED];
    size_t next;
    int64_t offset_ns; /* median of the last differences of ends */
    int64_t slack_ns;
};

static void follower_init(struct follower *follower, const struct fit *fit)
{
    for (size_t i = 0; i < FOLLOWED; i++)
        follower->last_ns[i] = fit->offset_ns;
    follower->next = 0;
    follower->offset_ns = fit->offset_ns;
    follower->slack_ns = fit->spread_ns + SPREAD_SLACK_NS;
}

static void follow(struct follower *follower, int64_t diff_ns)
{
    int64_t sorted_ns[FOLLOWED];

    follower->last_ns[follower->next++ % FOLLOWED] = diff_ns;
    memcpy(sorted_ns, follower->last_ns, sizeof(sorted_ns));
    qsort(sorted_ns, FOLLOWED, sizeof(*sorted_ns), compare_i64);
    follower->offset_ns = sorted_ns[FOLLOWED / 2];
}

/* On one clock the kernels of one collective are all active at some instant. */
static bool do_meet(const struct rkt_match_unit *ref, const struct rkt_match_unit *unit,
                    const struct follower *follower)
{
    return ref->start_ns <= unit->end_ns + follower->offset_ns + follower->slack_ns &&
           unit->start_ns + follower->offset_ns <= ref->end_ns + follower->slack_ns;
}

/* True when every pair of the shift fits and meets: no record was lost in between. */
static bool number_by_shift(const struct search *search, const struct fit *fit)
{
    struct follower follower;
    int64_t first, last;

    follower_init(&follower, fit);
    overlap_of(search, fit->shift, &first, &last);
    for (int64_t i = first; i < last; i++) {
        const struct rkt_match_unit *ref = &search->ref.items[i + fit->shift];
        const struct rkt_match_unit *unit = &search->list.items[i];

        if (!rkt_match_units_fit(ref, unit) || !do_meet(ref, unit, &follower))
            return false;
        follow(&follower, ref->end_ns - unit->end_ns);
    }
    for (size_t i = 0; i < search->list.count; i++)
        search->list.items[i].number = (int64_t)i + fit->shift;
    return true;
}

/* Index in `in`, from `from` on, of the unit that fits and whose end is nearest to end_ns. */
static size_t nearest(struct rkt_unit_list in, size_t from, const struct rkt_match_unit *unit,
                      int64_t end_ns)
{
    size_t best = SIZE_MAX;
    int64_t best_ns = INT64_MAX;

    for (size_t i = from; i < in.count; i++) {
        int64_t apart_ns = abs_i64(in.items[i].end_ns - end_ns);

        if (rkt_match_units_fit(&in.items[i], unit) && apart_ns < best_ns) {
            best = i;
            best_ns = apart_ns;
        }
        if (in.items[i].end_ns - end_ns > best_ns)
            break;
    }
    return best;
}

/* Units that ended before `start_ns` can meet nothing that starts later. */
static void skip_ended(struct rkt_unit_list in, size_t *from, int64_t start_ns)
{
    while (*from < in.count && in.items[*from].end_ns < start_ns)
        (*from)++;
}

/* Pairs units that are each other's nearest by end and that meet. */
static void number_by_ends(const struct search *search, const struct fit *fit)
{
    struct follower follower;
    size_t from_ref = 0;
    size_t from_list = 0;

    follower_init(&follower, fit);
    for (size_t i = 0; i < search->list.count; i++) {
        struct rkt_match_unit *unit = &search->list.items[i];
        int64_t offset_ns = follower.offset_ns;
        const struct rkt_match_unit *ref;
        size_t found;

        skip_ended(search->ref, &from_ref, unit->start_ns + offset_ns - follower.slack_ns);
        found = nearest(search->ref, from_ref, unit, unit->end_ns + offset_ns);
        if (found == SIZE_MAX)
            continue;
        ref = &search->ref.items[found];
        skip_ended(search->list, &from_list, ref->start_ns - offset_ns - follower.slack_ns);
        if (!do_meet(ref, unit, &follower) ||
            nearest(search->list, from_list, ref, ref->end_ns - offset_ns) != i)
            continue;
        unit->number = (int64_t)found;
        from_ref = found + 1;
        from_list = i + 1;
        follow(&follower, ref->end_ns - unit->end_ns);
    }
}

enum rkt_status rkt_match_align(struct rkt_unit_list ref, struct rkt_unit_list list,
                                bool clocks_known, struct rkt_error *err)
{
    struct search search = {.ref = ref, .list = list, .clocks_known = clocks_known};
    struct fit best = {0};
    size_t rivals;

    for (size_t i = 0; i < ref.count; i++)
        ref.items[i].number = (int64_t)i;
    if (ref.count == 0 || list.count == 0)
        return RKT_OK;
    search.diffs = calloc(RKT_SHIFT_SAMPLE + 1, sizeof(*search.diffs)); /* one may not fit */
    search.cells = calloc(RKT_SHIFT_SAMPLE, sizeof(*search.cells));
    search.fits = calloc(SHIFT_COUNT, sizeof(*search.fits));
    if (search.diffs == NULL || search.cells == NULL || search.fits == NULL ||
        !fill_column(&search, ref, &search.ref_column) ||
        !fill_column(&search, list, &search.list_column)) {
        release(&search);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to match collectives");
    }
    if (best_shift(&search, &best, &rivals)) {
        if (!number_by_shift(&search, &best))
            number_by_ends(&search, &best);
        for (size_t i = 0; i < list.count; i++)
            list.items[i].is_ambiguous = rivals > 0 && !clocks_known;
    }
    release(&search);
    return RKT_OK;
}
