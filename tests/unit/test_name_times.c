/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept by name and step against a look at every record: for any steps that are asked for
 * the sums are those of the records in them, and the names come in the records' order.
 */
#include "analysis/name_times.h"

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define NAMES 5u
#define STEPS 6u

static const char *const NAME[NAMES] = {"a", "b", "c", "d", "e"};

/* Sums by name, and the names in the order in which they came. */
struct sums {
    int64_t ns[NAMES];
    uint64_t count[NAMES];
    uint32_t order[NAMES];
    size_t known;
};

static void add(struct sums *sums, const char *name, int64_t sum_ns, uint64_t count)
{
    uint32_t id = (uint32_t)(name[0] - 'a');
    size_t at = 0;

    while (at < sums->known && sums->order[at] != id)
        at++;
    if (at == sums->known)
        sums->order[sums->known++] = id;
    sums->ns[id] += sum_ns;
    sums->count[id] += count;
}

static struct sums walk(const struct fake_run *run, enum rkt_name_kind kind, uint32_t first,
                        uint32_t last)
{
    const struct rkt_rank_result *rank = &run->result.ranks[0];
    struct rkt_name_walk walk;
    struct rkt_name_time time;
    struct sums sums = {0};

    rkt_name_walk_init(&walk, rank->names, kind, first, last);
    while (rkt_name_walk_next(&walk, &time))
        add(&sums, rkt_strtab_get(rank->trace->names, time.name_id, NULL), time.sum_ns, time.count);
    assert_false(walk.from.has_failed);
    return sums;
}

static const char *name_of(const struct fake_run *run, uint32_t name_id)
{
    return rkt_strtab_get(run->traces[0].names, name_id, NULL);
}

static bool is_within(const struct rkt_rank_result *rank, uint32_t first, uint32_t last,
                      int64_t start_ns)
{
    return start_ns >= rank->steps[first].host_start_ns && start_ns < rank->steps[last].host_end_ns;
}

static bool holds_a_step(const struct rkt_rank_result *rank, const struct rkt_range *range)
{
    for (size_t i = 0; i < rank->step_count; i++) {
        if (rank->steps[i].host_start_ns >= range->start_ns &&
            rank->steps[i].host_end_ns <= range->end_ns)
            return true;
    }
    return false;
}

static struct sums look_at_records(const struct fake_run *run, enum rkt_name_kind kind,
                                   uint32_t first, uint32_t last)
{
    const struct rkt_rank_result *rank = &run->result.ranks[0];
    const struct rkt_rank_trace *trace = rank->trace;
    struct sums sums = {0};

    for (size_t i = 0; i < trace->work_count && kind <= RKT_NAMES_COPIES; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class == (kind == RKT_NAMES_COPIES ? RKT_WORK_COPY : RKT_WORK_COMPUTE) &&
            work->step >= first && work->step <= last)
            add(&sums, name_of(run, work->name_id), work->end_ns - work->start_ns, 1);
    }
    for (size_t i = 0; i < trace->call_count && kind == RKT_NAMES_ALLOCS; i++) {
        const struct rkt_call *call = &trace->calls[i];

        if (call->call_class == RKT_CALL_ALLOC && is_within(rank, first, last, call->start_ns))
            add(&sums, name_of(run, call->name_id), call->end_ns - call->start_ns, 1);
    }
    for (size_t i = 0; i < trace->range_count && kind == RKT_NAMES_RANGES; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (range->type == RKT_RANGE_USER && range->start_ns >= rank->steps[first].host_start_ns &&
            range->end_ns <= rank->steps[last].host_end_ns && !holds_a_step(rank, range))
            add(&sums, name_of(run, range->name_id), range->end_ns - range->start_ns, 1);
    }
    return sums;
}

/* Steps with and without time between them, and records anywhere. */
static void draw(struct fake_run *run, struct rkt_random *random)
{
    int64_t at = (int64_t)rkt_random_below(random, 50);

    fake_run_init(run, 1);
    for (size_t i = 0; i < STEPS; i++) {
        int64_t end = at + 1 + (int64_t)rkt_random_below(random, 40);

        fake_add_step(run, 0, at, end);
        at = end + (int64_t)rkt_random_below(random, 2) * (int64_t)rkt_random_below(random, 20);
    }
    for (int64_t start = 0; start < at + 40; start += (int64_t)rkt_random_below(random, 4)) {
        const char *name = NAME[rkt_random_below(random, NAMES)];
        int64_t end = start + (int64_t)rkt_random_below(random, 30);
        enum rkt_work_class work_class =
            rkt_random_below(random, 2) ? RKT_WORK_COPY : RKT_WORK_COMPUTE;
        uint32_t work =
            fake_add_work(run, 0, (struct fake_work){work_class, name, 7, start, end, 0, 0});
        uint64_t step = rkt_random_below(random, STEPS + 1);

        run->traces[0].works[work].step = step < STEPS ? (uint32_t)step : RKT_INDEX_NONE;
        fake_add_call(run, 0, RKT_CALL_ALLOC, name, start, end);
        fake_add_range(run, 0, RKT_RANGE_USER, name, start, end + 1); /* of no length: of no step */
    }
}

static void sums_are_those_of_the_records_of_the_steps(void **state)
{
    static const enum rkt_name_kind KINDS[] = {RKT_NAMES_KERNELS, RKT_NAMES_COPIES,
                                               RKT_NAMES_ALLOCS, RKT_NAMES_RANGES};

    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct rkt_random random = {seed};
        struct fake_run run;

        draw(&run, &random);
        fake_sum_names(&run);
        for (uint32_t first = 0; first < STEPS; first++) {
            for (uint32_t last = first; last < STEPS; last++) {
                for (size_t k = 0; k < sizeof(KINDS) / sizeof(KINDS[0]); k++) {
                    struct sums got = walk(&run, KINDS[k], first, last);
                    struct sums want = look_at_records(&run, KINDS[k], first, last);

                    if (KINDS[k] == RKT_NAMES_KERNELS)
                        assert_memory_equal(got.count, want.count, sizeof(got.count));
                    /* of others how often is not kept */
                    if (memcmp(got.ns, want.ns, sizeof(got.ns)) != 0 || got.known != want.known ||
                        memcmp(got.order, want.order, sizeof(got.order)) != 0)
                        fail_msg("seed %u, kind %d, steps %u to %u", seed, KINDS[k], first, last);
                }
            }
        }
        fake_run_release(&run);
    }
}

static void lines_have_their_calls_and_how_many(void **state)
{
    struct rkt_name_walk walk;
    struct rkt_name_time time;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 100);
    fake_add_step(&run, 0, 100, 200);
    for (int64_t at = 10; at < 200; at += 50) {
        fake_add_sync_call(&run, 0, "a.py:1", "Tensor.item", at, at + 9);
        fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", at, at + 7);
    }
    fake_sum_names(&run);
    rkt_name_walk_init(&walk, run.result.ranks[0].names, RKT_NAMES_LINES, 1, 1);
    assert_true(rkt_name_walk_next(&walk, &time));
    assert_string_equal(name_of(&run, time.name_id), "a.py:1");
    assert_string_equal(name_of(&run, time.variant), "Tensor.item");
    assert_int_equal(time.sum_ns, 14);
    assert_int_equal(time.count, 2);
    assert_false(rkt_name_walk_next(&walk, &time));
    fake_run_release(&run);
}

static void the_same_name_in_the_same_step_takes_no_more_room(void **state)
{
    struct fake_run run;
    size_t few_bytes;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 4000);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 0, 1000000, 0, 0});
    run.traces[0].works[0].step = 0;
    fake_sum_names(&run);
    few_bytes = run.names[0]->packed.len_bytes;
    for (int64_t i = 1; i < 1000; i++) {
        uint32_t work =
            fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, i, i + 1, 0, 0});

        run.traces[0].works[work].step = 0;
    }
    fake_sum_names(&run);
    assert_int_equal(run.names[0]->packed.len_bytes, few_bytes + 1); /* a thousand of them */
    assert_true(few_bytes < 12);
    fake_run_release(&run);
}

/*
 *     rank 0     gemm 8 x 1, gemm 9 x 1 in turn: two items, whatever their ids
 *     rank 1     the same shapes under other ids, and one without a shape
 */
static void a_kernel_is_told_apart_by_its_launch_shapes(void **state)
{
    static struct rkt_event_shape shapes[2][2] = {
        {{.shape_id = 1, .grid_x = 8, .registers = 32}, {.shape_id = 2, .grid_x = 9}},
        {{.shape_id = 1, .grid_x = 9}, {.shape_id = 2, .grid_x = 8}}};
    struct rkt_name_time times[2][4];
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_step(&run, r, 0, 4000);
        run.traces[r].shapes = shapes[r];
        run.traces[r].shape_count = 2;
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t work = fake_add_work(
                &run, r, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, i * 10, i * 10 + 5, 0, 0});

            run.traces[r].works[work].step = 0;
            run.traces[r].works[work].shape_id = r == 0 ? 1 + i % 2 : i % 3; /* 0: not known */
        }
    }
    fake_sum_names(&run);
    for (size_t r = 0; r < 2; r++) {
        struct rkt_name_walk walk;
        size_t count = 0;

        rkt_name_walk_init(&walk, run.result.ranks[r].names, RKT_NAMES_KERNELS, 0, 0);
        while (count < 4 && rkt_name_walk_next(&walk, &times[r][count]))
            count++;
        assert_int_equal(count, r == 0 ? 2 : 3);
        run.traces[r].shapes = NULL;
    }
    assert_int_equal(times[0][0].count, 4);
    assert_int_equal(times[0][1].sum_ns, 20);
    assert_int_not_equal(times[0][0].variant, times[0][1].variant);
    assert_int_equal(times[1][0].variant, 0);
    assert_int_equal(times[1][1].variant, times[0][1].variant);
    assert_int_equal(times[1][2].variant, times[0][0].variant);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_records_of_the_steps),
        cmocka_unit_test(lines_have_their_calls_and_how_many),
        cmocka_unit_test(the_same_name_in_the_same_step_takes_no_more_room),
        cmocka_unit_test(a_kernel_is_told_apart_by_its_launch_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
