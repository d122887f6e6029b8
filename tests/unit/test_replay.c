/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/replay.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define RANKS_MAX 6
#define STEPS_MAX 4
#define EVENTS_MAX 40
#define PARTS_MAX (EVENTS_MAX * RANKS_MAX)
#define LANE_MAX 256
#define RANDOM_RUNS 3000

#define WORK(ns)               \
    {                          \
        ns,                    \
        {                      \
            0, RKT_REPLAY_WORK \
        }                      \
    }
#define POST(ns, part)            \
    {                             \
        ns,                       \
        {                         \
            part, RKT_REPLAY_POST \
        }                         \
    }
#define JOIN(ns, part)            \
    {                             \
        ns,                       \
        {                         \
            part, RKT_REPLAY_JOIN \
        }                         \
    }
#define STEP_END(ns)               \
    {                              \
        ns,                        \
        {                          \
            0, RKT_REPLAY_STEP_END \
        }                          \
    }

struct timed_item {
    int64_t own_ns;
    struct rkt_replay_item item;
};

/* A graph that is made lane by lane and event by event, and then laid out. */
struct made {
    struct rkt_replay_graph graph;
    struct timed_item lanes[RANKS_MAX][LANE_MAX];
    size_t lane_counts[RANKS_MAX];
    struct rkt_replay_part parts[PARTS_MAX];
    size_t first_part[EVENTS_MAX + 1];
    int64_t transfer_ns[EVENTS_MAX];
    struct rkt_replay_item items[RANKS_MAX * LANE_MAX];
    int64_t own_ns[RANKS_MAX * LANE_MAX];
    int64_t other_ns[RANKS_MAX * LANE_MAX];
    size_t first_item[RANKS_MAX + 1];
    int64_t start_ns[RANKS_MAX];
    bool is_other[RANKS_MAX];
    struct rkt_replay_inputs inputs;
};

static void add_items(struct made *made, size_t rank, const struct timed_item *items, size_t count)
{
    assert_true(made->lane_counts[rank] + count <= LANE_MAX);
    for (size_t i = 0; i < count; i++)
        made->lanes[rank][made->lane_counts[rank]++] = items[i];
}

/* Returns the event; its parts follow those of the event before it. */
static size_t add_event(struct made *made, const struct rkt_replay_part *parts, size_t count,
                        int64_t transfer_ns)
{
    size_t event = made->graph.event_count++;

    assert_true(event < EVENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct rkt_replay_part *part = &made->parts[made->first_part[event] + i];

        *part = parts[i];
        part->event = (uint32_t)event;
    }
    made->first_part[event + 1] = made->first_part[event] + count;
    made->transfer_ns[event] = transfer_ns;
    return event;
}

/* All ranks give and take. Its parts, by rank, come after all parts that there are. */
static void add_all(struct made *made, const uint32_t *before, int64_t transfer_ns)
{
    struct rkt_replay_part parts[RANKS_MAX];

    for (uint32_t r = 0; r < made->graph.rank_count; r++)
        parts[r] = (struct rkt_replay_part){.rank = r,
                                            .before = before ? before[r] : RKT_REPLAY_NONE,
                                            .gives = true,
                                            .takes = true};
    (void)add_event(made, parts, made->graph.rank_count, transfer_ns);
}

static void lay_out(struct made *made)
{
    size_t count = 0;

    for (size_t r = 0; r < made->graph.rank_count; r++) {
        made->first_item[r] = count;
        for (size_t i = 0; i < made->lane_counts[r]; i++, count++) {
            made->items[count] = made->lanes[r][i].item;
            made->own_ns[count] = made->lanes[r][i].own_ns;
        }
    }
    made->first_item[made->graph.rank_count] = count;
    made->graph.items = made->items;
    made->graph.first_item = made->first_item;
    made->graph.parts = made->parts;
    made->graph.first_part = made->first_part;
    made->inputs = (struct rkt_replay_inputs){
        .own_ns = made->own_ns, .transfer_ns = made->transfer_ns, .start_ns = made->start_ns};
}

static struct rkt_replay *create(const struct made *made)
{
    struct rkt_replay *replay = NULL;
    struct rkt_error err;

    assert_rkt_ok(rkt_replay_create(&made->graph, &replay, &err), err);
    return replay;
}

static void run(const struct made *made, int64_t *ends_out)
{
    struct rkt_replay *replay = create(made);

    rkt_replay_run(replay, &made->inputs, ends_out);
    rkt_replay_destroy(replay);
}

/* ---- hand-worked ---- */

/* metrics.md: gradients at 0-10 and 10-20, AllReduces 10-40 and 40-50. */
static void queued_collectives_wait_for_each_other_and_not_for_the_rank(void **state)
{
    static const struct timed_item LANE[2][3] = {
        {POST(10, 0), POST(10, 2), STEP_END(0)},
        {POST(10, 1), POST(10, 3), STEP_END(0)},
    };
    static const uint32_t BEFORE[] = {0, 1};
    struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
    int64_t ends[2];

    (void)state;
    add_all(&made, NULL, 30);
    add_all(&made, BEFORE, 10);
    add_items(&made, 0, LANE[0], 3);
    add_items(&made, 1, LANE[1], 3);
    lay_out(&made);
    run(&made, ends);
    assert_int_equal(ends[0], 50);
    assert_int_equal(ends[1], 50);
    made.inputs.transfer_ns = NULL;
    run(&made, ends);
    assert_int_equal(ends[0], 20); /* T_inst */
}

static void the_last_to_post_holds_the_others_up_at_their_joins(void **state)
{
    static const struct timed_item LANE[2][3] = {
        {POST(10, 0), JOIN(5, 0), STEP_END(7)},
        {POST(100, 1), JOIN(5, 1), STEP_END(7)},
    };
    struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
    int64_t ends[2];

    (void)state;
    add_all(&made, NULL, 20);
    add_items(&made, 0, LANE[0], 3);
    add_items(&made, 1, LANE[1], 3);
    lay_out(&made);
    run(&made, ends);
    assert_int_equal(ends[0], 127);
    assert_int_equal(ends[1], 127);
    for (size_t i = 0; i < 6; i++)
        made.other_ns[i] = made.own_ns[i % 3]; /* as rank 0 */
    made.is_other[1] = true;
    made.inputs.other_ns = made.other_ns;
    made.inputs.is_other = made.is_other;
    run(&made, ends);
    assert_int_equal(ends[0], 37);
    assert_int_equal(ends[1], 37);
}

static void who_does_not_take_waits_for_nobody_and_who_does_not_give_holds_nobody_up(void **state)
{
    static const struct rkt_replay_part BROADCAST[] = {
        {.rank = 0, .before = RKT_REPLAY_NONE, .gives = true},
        {.rank = 1, .before = RKT_REPLAY_NONE, .takes = true},
        {.rank = 2, .before = RKT_REPLAY_NONE, .takes = true},
    };
    struct made made = {.graph = {.rank_count = 3, .step_count = 1}};
    int64_t ends[3];

    (void)state;
    (void)add_event(&made, BROADCAST, 3, 10);
    for (uint32_t r = 0; r < 3; r++) {
        const struct timed_item lane[] = {POST(r == 0   ? 50
                                               : r == 1 ? 5
                                                        : 90,
                                               r),
                                          JOIN(0, r), STEP_END(0)};

        add_items(&made, r, lane, 3);
    }
    lay_out(&made);
    run(&made, ends);
    assert_int_equal(ends[0], 60);
    assert_int_equal(ends[1], 60);
    assert_int_equal(ends[2], 100);
}

static void a_lane_goes_on_from_step_to_step(void **state)
{
    static const struct timed_item FAST[] = {STEP_END(10), STEP_END(10), POST(10, 0), JOIN(0, 0),
                                             STEP_END(0)};
    static const struct timed_item SLOW[] = {STEP_END(30), STEP_END(30), POST(30, 1), JOIN(0, 1),
                                             STEP_END(0)};
    struct made made = {.graph = {.rank_count = 2, .step_count = 3}, .start_ns = {100, 105}};
    int64_t ends[6];

    (void)state;
    add_all(&made, NULL, 1);
    add_items(&made, 0, FAST, 5);
    add_items(&made, 1, SLOW, 5);
    lay_out(&made);
    run(&made, ends);
    assert_int_equal(ends[0], 110);
    assert_int_equal(ends[1], 135);
    assert_int_equal(ends[2], 120);
    assert_int_equal(ends[3], 165);
    assert_int_equal(ends[4], 196); /* ran ahead, and waits now */
    assert_int_equal(ends[5], 196);
}

static void what_cannot_run_is_refused(void **state)
{
    static const struct timed_item LANES[][2][4] = {
        /* each joins what the other posts later */
        {{JOIN(0, 0), POST(0, 2), POST(0, 0), STEP_END(0)},
         {JOIN(0, 3), POST(0, 1), POST(0, 3), STEP_END(0)}},
        /* a part that nobody posts */
        {{POST(0, 0), POST(0, 2), WORK(0), STEP_END(0)},
         {POST(0, 1), WORK(0), WORK(0), STEP_END(0)}},
        /* another rank's part, a part twice, no end of the step */
        {{POST(0, 0), POST(0, 1), WORK(0), STEP_END(0)},
         {POST(0, 3), POST(0, 2), WORK(0), STEP_END(0)}},
        {{POST(0, 0), POST(0, 0), POST(0, 2), STEP_END(0)},
         {POST(0, 1), POST(0, 3), WORK(0), STEP_END(0)}},
        {{POST(0, 0), POST(0, 2), WORK(0), WORK(0)},
         {POST(0, 1), POST(0, 3), WORK(0), STEP_END(0)}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(LANES) / sizeof(LANES[0]); i++) {
        struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
        struct rkt_replay *replay = NULL;
        struct rkt_error err;

        add_all(&made, NULL, 1);
        add_all(&made, NULL, 1);
        add_items(&made, 0, LANES[i][0], 4);
        add_items(&made, 1, LANES[i][1], 4);
        lay_out(&made);
        if (rkt_replay_create(&made.graph, &replay, &err) != RKT_ERR_INVALID)
            fail_msg("case %zu is not refused", i);
        assert_null(replay);
    }
}

/* ---- random graphs against brute force ---- */

struct maker {
    struct rkt_random random;
    struct made *made;
    uint32_t last_on_stream[RANKS_MAX][2];
    uint32_t posted[RANKS_MAX][EVENTS_MAX];
    size_t posted_count[RANKS_MAX];
};

static int64_t length(struct maker *maker)
{
    return (int64_t)rkt_random_below(&maker->random, 40);
}

static void add_random_event(struct maker *maker)
{
    struct made *made = maker->made;
    struct rkt_replay_part parts[RANKS_MAX];
    uint32_t first = (uint32_t)made->first_part[made->graph.event_count];
    uint64_t kind = rkt_random_below(&maker->random, 3);
    size_t count = 0;

    for (uint32_t r = 0; r < made->graph.rank_count; r++) {
        uint32_t *last = &maker->last_on_stream[r][rkt_random_below(&maker->random, 2)];
        uint32_t before = maker->last_on_stream[r][rkt_random_below(&maker->random, 2)];
        const struct timed_item post = POST(length(maker), first + (uint32_t)count);

        if (rkt_random_below(&maker->random, 4) == 0)
            continue;
        parts[count] = (struct rkt_replay_part){.rank = r,
                                                .before = before,
                                                .gives = kind != 1 || count == 0,
                                                .takes = kind != 2 || count == 0};
        if (kind == 1 && count == 0)
            parts[count].takes = false;
        *last = first + (uint32_t)count++;
        add_items(made, r, &post, 1);
        maker->posted[r][maker->posted_count[r]++] = *last;
    }
    if (count > 0)
        (void)add_event(made, parts, count, length(maker));
}

static void add_random_joins(struct maker *maker)
{
    for (uint32_t r = 0; r < maker->made->graph.rank_count; r++) {
        const struct timed_item work = WORK(length(maker));

        if (rkt_random_below(&maker->random, 2) == 0)
            add_items(maker->made, r, &work, 1);
        if (maker->posted_count[r] > 0 && rkt_random_below(&maker->random, 2) == 0) {
            uint32_t part =
                maker->posted[r][rkt_random_below(&maker->random, maker->posted_count[r])];
            const struct timed_item join = JOIN(length(maker), part);

            add_items(maker->made, r, &join, 1);
        }
    }
}

static void make_random(uint64_t seed, struct made *made)
{
    struct maker maker = {.random = {seed}, .made = made};

    *made = (struct made){0};
    made->graph.rank_count = 1 + rkt_random_below(&maker.random, RANKS_MAX);
    made->graph.step_count = 1 + rkt_random_below(&maker.random, STEPS_MAX);
    memset(maker.last_on_stream, 0xff, sizeof(maker.last_on_stream));
    for (size_t s = 0; s < made->graph.step_count; s++) {
        uint64_t events = rkt_random_below(&maker.random, 8);

        for (uint64_t i = 0; i < events; i++) {
            add_random_event(&maker);
            add_random_joins(&maker);
        }
        for (uint32_t r = 0; r < made->graph.rank_count; r++) {
            const struct timed_item end = STEP_END(length(&maker));

            add_items(made, r, &end, 1);
        }
    }
    lay_out(made);
    for (size_t r = 0; r < made->graph.rank_count; r++) {
        made->start_ns[r] = length(&maker);
        made->is_other[r] = rkt_random_below(&maker.random, 3) == 0;
    }
    for (size_t i = 0; i < made->first_item[made->graph.rank_count]; i++)
        made->other_ns[i] = length(&maker);
    if (seed % 2 == 0) {
        made->inputs.other_ns = made->other_ns;
        made->inputs.is_other = made->is_other;
    }
}

/* Ends of parts are guessed too early and put right until nothing changes. */
static void brute_force(const struct made *made, int64_t *ends)
{
    const struct rkt_replay_graph *graph = &made->graph;
    int64_t part_ends[PARTS_MAX] = {0}, posts[PARTS_MAX] = {0};
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (size_t r = 0; r < graph->rank_count; r++) {
            int64_t now = made->start_ns[r];
            int64_t end = now;
            size_t step = 0;

            for (size_t i = made->first_item[r]; i < made->first_item[r + 1]; i++) {
                const struct rkt_replay_item *item = &made->items[i];

                now += made->inputs.other_ns && made->is_other[r] ? made->other_ns[i]
                                                                  : made->own_ns[i];
                if (item->kind == RKT_REPLAY_JOIN && part_ends[item->part] > now)
                    now = part_ends[item->part];
                if (item->kind == RKT_REPLAY_POST) {
                    posts[item->part] = now;
                    end = part_ends[item->part] > end ? part_ends[item->part] : end;
                }
                if (item->kind == RKT_REPLAY_STEP_END) {
                    end = now > end ? now : end;
                    ends[step++ * graph->rank_count + r] = end;
                }
            }
        }
        for (size_t p = 0; p < made->first_part[graph->event_count]; p++) {
            const struct rkt_replay_part *part = &made->parts[p];
            int64_t end = INT64_MIN;

            for (size_t q = made->first_part[part->event]; q < made->first_part[part->event + 1];
                 q++) {
                uint32_t before = made->parts[q].before;

                if (q != p && !(part->takes && made->parts[q].gives))
                    continue;
                end = posts[q] > end ? posts[q] : end;
                if (before != RKT_REPLAY_NONE && part_ends[before] > end)
                    end = part_ends[before];
            }
            end += made->transfer_ns[part->event];
            has_changed |= end != part_ends[p];
            part_ends[p] = end;
        }
    }
}

static void random_graphs_agree_with_brute_force(void **state)
{
    static struct made made;
    int64_t got[STEPS_MAX * RANKS_MAX], want[STEPS_MAX * RANKS_MAX] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_RUNS; seed++) {
        make_random(seed, &made);
        run(&made, got);
        brute_force(&made, want);
        for (size_t i = 0; i < made.graph.step_count * made.graph.rank_count; i++) {
            if (got[i] != want[i])
                fail_msg("seed %d: end %zu is %lld, not %lld", (int)seed, i, (long long)got[i],
                         (long long)want[i]);
        }
    }
}

struct path {
    struct rkt_replay_piece pieces[2 * RANKS_MAX * LANE_MAX];
    size_t count;
};

static void take_piece(void *ctx, const struct rkt_replay_piece *piece)
{
    struct path *path = ctx;

    path->pieces[path->count++] = *piece;
}

static int64_t last_end(const int64_t *ends, const struct made *made, size_t step)
{
    const int64_t *of_step = &ends[step * made->graph.rank_count];
    int64_t last = of_step[0];

    for (size_t r = 1; r < made->graph.rank_count; r++)
        last = of_step[r] > last ? of_step[r] : last;
    return last;
}

/* One more ns in a whole piece of the path is one more in the end that hangs on it. */
static void lengthen(struct made *made, const struct rkt_replay_piece *piece, size_t step,
                     int64_t end_ns)
{
    int64_t ends[STEPS_MAX * RANKS_MAX];
    int64_t *ns = piece->item == RKT_REPLAY_NONE ? &made->transfer_ns[piece->event]
                  : made->inputs.other_ns && made->is_other[piece->rank]
                      ? &made->other_ns[piece->item]
                      : &made->own_ns[piece->item];

    (*ns)++;
    run(made, ends);
    (*ns)--;
    assert_int_equal(last_end(ends, made, step), end_ns + 1);
}

static void a_path_tiles_its_step_and_the_end_hangs_on_each_piece(void **state)
{
    static struct made made;
    static struct path path;
    int64_t ends[STEPS_MAX * RANKS_MAX];

    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_RUNS / 10; seed++) {
        struct rkt_replay *replay;

        make_random(seed, &made);
        replay = create(&made);
        rkt_replay_run(replay, &made.inputs, ends);
        for (size_t step = 0; step < made.graph.step_count; step++) {
            int64_t end_ns = last_end(ends, &made, step);
            int64_t from_ns = step > 0 ? last_end(ends, &made, step - 1) : 40;
            int64_t at_ns = end_ns;

            const struct rkt_replay_path asked = {&made.inputs, ends, step, from_ns};

            path.count = 0;
            rkt_replay_walk(replay, &asked, take_piece, &path);
            for (size_t i = 0; i < path.count; i++) {
                assert_int_equal(path.pieces[i].end_ns, at_ns);
                at_ns = path.pieces[i].start_ns;
                lengthen(&made, &path.pieces[i], step, end_ns);
            }
            assert_int_equal(at_ns, end_ns > from_ns ? from_ns : end_ns);
        }
        rkt_replay_destroy(replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_collectives_wait_for_each_other_and_not_for_the_rank),
        cmocka_unit_test(the_last_to_post_holds_the_others_up_at_their_joins),
        cmocka_unit_test(who_does_not_take_waits_for_nobody_and_who_does_not_give_holds_nobody_up),
        cmocka_unit_test(a_lane_goes_on_from_step_to_step),
        cmocka_unit_test(what_cannot_run_is_refused),
        cmocka_unit_test(random_graphs_agree_with_brute_force),
        cmocka_unit_test(a_path_tiles_its_step_and_the_end_hangs_on_each_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
