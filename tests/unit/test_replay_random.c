/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs against brute force. */
#include <string.h>

#include "replay_made.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define RANDOM_RUNS 3000

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
        made_add_items(made, r, &post, 1);
        maker->posted[r][maker->posted_count[r]++] = *last;
    }
    if (count > 0)
        (void)made_add_event(made, parts, count, length(maker));
}

static void add_random_joins(struct maker *maker)
{
    for (uint32_t r = 0; r < maker->made->graph.rank_count; r++) {
        const struct timed_item work = WORK(length(maker));

        if (rkt_random_below(&maker->random, 2) == 0)
            made_add_items(maker->made, r, &work, 1);
        if (maker->posted_count[r] > 0 && rkt_random_below(&maker->random, 2) == 0) {
            uint32_t part =
                maker->posted[r][rkt_random_below(&maker->random, maker->posted_count[r])];
            const struct timed_item join = JOIN(length(maker), part);

            made_add_items(maker->made, r, &join, 1);
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

            made_add_items(made, r, &end, 1);
        }
    }
    made_lay_out(made);
    for (size_t r = 0; r < made->graph.rank_count; r++) {
        made->start_ns[r] = length(&maker);
        made->is_other[r] = rkt_random_below(&maker.random, 3) == 0;
    }
    for (size_t i = 0; i < made->first_item[made->graph.rank_count]; i++)
        made->other_ns[i] = length(&maker);
    if (seed % 2 == 0) {
        made->inputs.other_ns = made->other_ns;
        made->inputs.other_host_ns = made->other_host_ns;
        made->inputs.is_other = made->is_other;
        made->inputs.others_wait = seed % 4 == 0;
    }
}

static int64_t length_or_unknown(struct rkt_random *random)
{
    return rkt_random_below(random, 4) == 0 ? RKT_REPLAY_UNKNOWN
                                            : (int64_t)rkt_random_below(random, 60);
}

static void add_random_hosts(uint64_t seed, struct made *made)
{
    struct rkt_random random = {~seed};

    for (size_t i = 0; i < made->first_item[made->graph.rank_count]; i++) {
        made->hosts[i] = (struct rkt_replay_host){
            .bound_ns = length_or_unknown(&random),
            .own_ns = length_or_unknown(&random),
            .lead_ns = length_or_unknown(&random),
            .wait_ns = (int64_t)rkt_random_below(&random, 40),
            .wait_back = (uint32_t)rkt_random_below(&random, 4),
        };
        made->other_host_ns[i] = (int64_t)rkt_random_below(&random, 60);
    }
    made->inputs.hosts = made->hosts;
}

/* Of a rank while items are worked through one after the other. */
struct brute_lane {
    const struct made *made;
    size_t first;
    bool is_other;
    bool has_host;
    int64_t host;
    int64_t afters[LANE_MAX];
};

/* Its own work of an item ends then, if it begins at `now`. */
static int64_t brute_own_end(const struct brute_lane *lane, size_t i, int64_t now)
{
    const struct rkt_replay_inputs *inputs = &lane->made->inputs;
    const struct rkt_replay_host *host = &lane->made->hosts[i];
    int64_t less = 0, host_less = 0, bound;

    if (lane->is_other) {
        less = inputs->own_ns[i] - inputs->other_ns[i];
        host_less =
            host->own_ns == RKT_REPLAY_UNKNOWN ? 0 : host->own_ns - inputs->other_host_ns[i];
    }
    now += inputs->own_ns[i] - less;
    if (!inputs->hosts || !lane->has_host || host->bound_ns == RKT_REPLAY_UNKNOWN)
        return now;
    bound = lane->host + host->bound_ns - less - host_less;
    if (less > 0 && host_less > 0) /* the smaller one is part of the larger */
        bound += less < host_less ? less : host_less;
    if (less < 0 && host_less < 0)
        bound += less > host_less ? less : host_less;
    return bound > now ? bound : now;
}

static void brute_host(struct brute_lane *lane, size_t i)
{
    const struct rkt_replay_inputs *inputs = &lane->made->inputs;
    const struct rkt_replay_host *host = &lane->made->hosts[i];
    bool waits = host->wait_back > 0 && !(lane->is_other && !inputs->others_wait);

    if (!inputs->hosts || host->lead_ns == RKT_REPLAY_UNKNOWN)
        return;
    if (!lane->has_host || host->own_ns == RKT_REPLAY_UNKNOWN ||
        (waits && lane->first + host->wait_back > i)) {
        lane->has_host = true;
        lane->host = lane->afters[i - lane->first] - host->lead_ns;
        return;
    }
    lane->host += lane->is_other ? inputs->other_host_ns[i] : host->own_ns;
    if (waits && lane->afters[i - lane->first - host->wait_back] + host->wait_ns > lane->host)
        lane->host = lane->afters[i - lane->first - host->wait_back] + host->wait_ns;
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
            struct brute_lane lane = {
                made, made->first_item[r], made->inputs.other_ns && made->is_other[r], false, 0,
                {0}};
            int64_t now = made->start_ns[r];
            int64_t end = now;
            size_t step = 0;

            for (size_t i = made->first_item[r]; i < made->first_item[r + 1]; i++) {
                const struct rkt_replay_item *item = &made->items[i];

                now = brute_own_end(&lane, i, now);
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
                lane.afters[i - lane.first] = now;
                brute_host(&lane, i);
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
        if (seed % 3 != 0)
            add_random_hosts(seed, &made);
        made_run(&made, got);
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
    made_run(made, ends);
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
        replay = made_create(&made);
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
        cmocka_unit_test(random_graphs_agree_with_brute_force),
        cmocka_unit_test(a_path_tiles_its_step_and_the_end_hangs_on_each_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
