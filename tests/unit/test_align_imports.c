/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of imported ranks, whose collectives say how far their stamps are apart. */
#include "import_place.h"
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/align_imports.h"
#include "common/store_reader.h"

#define BASE_US 1700000000000000LL
#define US INT64_C(1000)
#define COLLECTIVES 8
#define COLLECTIVE_US 100
#define WIDTH_MAX_NS (INT64_C(2) * COLLECTIVE_US * US)

/* A rank of `world`: one AllReduce every millisecond, its stamps ahead by ahead_us[i]. */
static void add_rank(struct rkt_place *place, int rank, int world,
                     const long long ahead_us[COLLECTIVES])
{
    static char text[16384];
    char name[32];
    int used = snprintf(text, sizeof(text),
                        "{\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"traceEvents\":[",
                        rank, world);

    for (int i = 0; i < COLLECTIVES; i++)
        used += snprintf(
            text + used, sizeof(text) - (size_t)used,
            "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_"
            "LL\","
            "\"pid\":0,\"tid\":20,\"ts\":%lld,\"dur\":%d,\"args\":{\"device\":0,\"stream\":20,"
            "\"correlation\":%d,\"Collective name\":\"allreduce\",\"In msg nelems\":8,"
            "\"dtype\":\"Float\",\"Group size\":%d,\"Process Group Name\":\"0\","
            "\"Process Group Ranks\":\"[0, 1, 2]\",\"Seq\":%d}}",
            i > 0 ? "," : "", BASE_US + 1000LL * i + ahead_us[i], COLLECTIVE_US, i + 1, world, i);
    (void)snprintf(text + used, sizeof(text) - (size_t)used, "]}");
    (void)snprintf(name, sizeof(name), "rank%d.json", rank);
    rkt_add_file(place, name, text);
}

static void add_steady_rank(struct rkt_place *place, int rank, int world, long long ahead_us)
{
    long long all[COLLECTIVES];

    for (int i = 0; i < COLLECTIVES; i++)
        all[i] = ahead_us;
    add_rank(place, rank, world, all);
}

/* What is in the file `path`; the caller's. */
static char *bytes_of(const char *path, size_t *len_out)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = malloc(1 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *len_out = fread(bytes, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void import(const struct rkt_place *place)
{
    struct rkt_import_report report;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    rkt_import_report_release(&report);
}

static struct rkt_import_alignment align(const struct rkt_place *place)
{
    struct rkt_import_alignment alignment;
    struct rkt_error err = {0};

    memset(&alignment, 0x77, sizeof(alignment));
    assert_rkt_ok(rkt_align_imports(place->output, &alignment, &err), err);
    return alignment;
}

/* The same, and nothing is written. */
static struct rkt_import_alignment align_to_nothing(const struct rkt_place *place)
{
    struct rkt_import_alignment alignment;
    size_t len_before, len;
    char *before = bytes_of(place->output, &len_before);
    char *after;

    alignment = align(place);
    after = bytes_of(place->output, &len);
    assert_int_equal(len, len_before);
    assert_memory_equal(after, before, len);
    free(after);
    free(before);
    return alignment;
}

static void ranks_are_aligned_and_the_one_that_is_furthest_off_is_named(void **state)
{
    struct rkt_place *place = *state;
    static const int64_t AHEAD_US[] = {0, -7000, 2000};
    struct rkt_import_alignment alignment;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    int64_t first_ns = 0;

    for (int rank = 0; rank < 3; rank++)
        add_steady_rank(place, rank, 3, AHEAD_US[rank]);
    import(place);
    alignment = align(place);
    assert_int_equal(alignment.rank_count, 3);
    assert_int_equal(alignment.tied_count, 3);
    assert_int_equal(alignment.off_count, 2);
    assert_int_equal(alignment.off_rank, 1);
    assert_in_range(alignment.bound_ns, 1, WIDTH_MAX_NS);
    assert_in_range(alignment.off_bound_ns, 1, alignment.bound_ns);
    assert_in_range(-alignment.off_ns, 7000 * US - alignment.bound_ns,
                    7000 * US + alignment.bound_ns);
    assert_false(alignment.is_contradictory);

    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source_count(reader), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        const struct rkt_align_knot *knot = &source->align.knots[0];
        uint32_t rank = source->info.rank;

        assert_int_equal(source->align.state,
                         rank == 0 ? RKT_ALIGN_REFERENCE : RKT_ALIGN_COLLECTIVES);
        assert_int_equal(source->align.source, source->info.source);
        if (rank == 0)
            first_ns = knot->offset_ns;
        assert_true(llabs(knot->offset_ns - first_ns + AHEAD_US[rank] * US) <= knot->bound_ns);
        assert_true(knot->bound_ns <= alignment.bound_ns);
    }
    rkt_store_reader_close(reader);
}

static void stamps_that_are_right_are_aligned_and_none_is_off(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment;

    for (int rank = 0; rank < 3; rank++)
        add_steady_rank(place, rank, 3, 0);
    import(place);
    alignment = align(place);
    assert_int_equal(alignment.tied_count, 3);
    assert_int_equal(alignment.off_count, 0);
    assert_int_equal(alignment.off_ns, 0);
}

static void one_rank_alone_has_nothing_to_align(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment;

    add_steady_rank(place, 0, 1, 0);
    import(place);
    alignment = align_to_nothing(place);
    assert_int_equal(alignment.rank_count, 1);
    assert_int_equal(alignment.tied_count, 0);
}

static const char KERNEL[] = "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,"
                             "\"tid\":7,\"ts\":1700000000000000,\"dur\":5}]";

static void a_rank_that_shares_no_collective_stays_as_it_claims(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    add_steady_rank(place, 0, 2, 0);
    add_steady_rank(place, 1, 2, 3000);
    rkt_add_file(place, "rank2.json", KERNEL);
    import(place);
    alignment = align(place);
    assert_int_equal(alignment.rank_count, 3);
    assert_int_equal(alignment.tied_count, 2);
    assert_int_equal(alignment.off_count, 1);
    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    for (size_t i = 0; i < 3; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        static const uint8_t WANTED[] = {RKT_ALIGN_REFERENCE, RKT_ALIGN_COLLECTIVES,
                                         RKT_ALIGN_WALL_CLOCK};

        assert_in_range(source->info.rank, 0, 2);
        assert_int_equal(source->align.state, WANTED[source->info.rank]);
    }
    rkt_store_reader_close(reader);
}

static void ranks_without_collectives_stay_as_they_claim(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment;

    rkt_add_file(place, "rank0.json", KERNEL);
    rkt_add_file(place, "rank1.json", KERNEL);
    import(place);
    alignment = align_to_nothing(place);
    assert_int_equal(alignment.rank_count, 2);
    assert_int_equal(alignment.tied_count, 0);
    assert_int_equal(alignment.bound_ns, 0);
    assert_false(alignment.is_contradictory);
}

static void stamps_that_no_clocks_can_have_made_change_nothing(void **state)
{
    static const long long JUMPS[COLLECTIVES] = {0, 5000, -5000, 5000, -5000, 5000, -5000, 0};
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment;

    add_steady_rank(place, 0, 2, 0);
    add_rank(place, 1, 2, JUMPS);
    import(place);
    alignment = align_to_nothing(place);
    assert_true(alignment.is_contradictory);
    assert_int_equal(alignment.rank_count, 2);
    assert_int_equal(alignment.tied_count, 0);
}

static void a_file_that_is_not_there_leaves_the_result_alone(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_alignment alignment = {.rank_count = 77};
    struct rkt_error err = {0};

    assert_rkt_status(rkt_align_imports(place->output, &alignment, &err), RKT_ERR_IO);
    assert_non_null(strstr(err.text, place->output));
    assert_int_equal(alignment.rank_count, 77);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rkt_make_place, rkt_remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranks_are_aligned_and_the_one_that_is_furthest_off_is_named),
        CASE(stamps_that_are_right_are_aligned_and_none_is_off),
        CASE(one_rank_alone_has_nothing_to_align),
        CASE(a_rank_that_shares_no_collective_stays_as_it_claims),
        CASE(ranks_without_collectives_stay_as_they_claim),
        CASE(stamps_that_no_clocks_can_have_made_change_nothing),
        CASE(a_file_that_is_not_there_leaves_the_result_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
