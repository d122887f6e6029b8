/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of common/doc/clocks.md. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/clock_burst.h"
#include "common/clock_collectives.h"
#include "tests/unit/sample.h"

#define US INT64_C(1000)
#define ROWS_MAX 10

/* The rows behind the mark, us to ns; returns how many. */
static size_t read_example(const char *doc, struct rkt_event *events)
{
    const char *at = strstr(doc, "<!-- example-burst -->");
    size_t count = 0;

    assert_non_null(at);
    for (at = strstr(at, "\n| 1"); at && strncmp(at, "\n| 1", 4) == 0 && count < ROWS_MAX;
         at = strchr(at + 1, '\n')) {
        uint64_t cells[6]; /* t1, t2, t3, t4, t3 - t4, t2 - t1 */
        char *cell = (char *)at;

        for (int i = 0; i < 6; i++)
            cells[i] = strtoul(cell + 2 + (i == 0), &cell, 10);
        assert_int_equal(cells[2] - cells[3], cells[4]);
        assert_int_equal(cells[1] - cells[0], cells[5]);
        events[count] = (struct rkt_event){
            .kind = RKT_EVENT_CLOCK_EXCHANGE, .start_ns = cells[0] * US, .end_ns = cells[3] * US};
        events[count].clock_exchange.t2_ns = cells[1] * US;
        events[count++].clock_exchange.t3_ns = cells[2] * US;
    }
    return count;
}

static void the_example_is_what_the_code_says(void **state)
{
    size_t len;
    char *doc = (char *)sample_file_read(RKT_SOURCE_DIR "/common/doc/clocks.md", &len);
    struct rkt_event events[ROWS_MAX];
    struct rkt_clock_bursts bursts;
    struct rkt_arena arena;
    struct rkt_error err;
    size_t count, lower, upper;

    (void)state;
    doc[len] = '\0'; /* sample_file_read leaves room for it */
    count = read_example(doc, events);
    assert_int_equal(count, 3);
    assert_true(rkt_clock_burst_keep(events, count, &lower, &upper));
    assert_int_equal(lower, 1);
    assert_int_equal(upper, 2);
    rkt_arena_init(&arena, 1 << 16);
    assert_rkt_ok(rkt_clock_bursts_make(events, count, 0, &arena, &bursts, &err), err);
    assert_in_range(bursts.items[0].lower_ns, 992 * US - 60, 992 * US - 40);
    assert_in_range(bursts.items[0].upper_ns, 1007 * US + 40, 1007 * US + 60);
    rkt_arena_release(&arena);
    assert_non_null(strstr(doc, "999.5 ± 7.5 µs"));
    free(doc);
}

/* Start and end on ranks 0 and 1, in each row; returns how many parts that is. */
static size_t read_collectives(const char *doc, struct rkt_clock_part *parts)
{
    const char *at = strstr(doc, "<!-- example-collectives -->");
    size_t row = 0;

    assert_non_null(at);
    at = strstr(at, "|---|");
    assert_non_null(at);
    for (at = strchr(at, '\n'); at[1] == '|' && row < ROWS_MAX; at = strchr(at + 1, '\n'), row++) {
        int64_t cells[6];
        char *cell = (char *)at;

        for (int i = 0; i < 6; i++)
            cells[i] = strtol(strchr(cell, '|') + 1, &cell, 10);
        assert_int_equal(cells[0] - cells[3], cells[4]);
        assert_int_equal(cells[1] - cells[2], cells[5]);
        for (size_t rank = 0; rank < 2; rank++)
            parts[2 * row + rank] = (struct rkt_clock_part){.clock = (uint32_t)rank,
                                                            .collective = (uint32_t)row,
                                                            .start_ns = cells[2 * rank] * US,
                                                            .end_ns = cells[2 * rank + 1] * US,
                                                            .gives = true,
                                                            .takes = true};
    }
    return 2 * row;
}

static void the_collectives_allow_what_the_text_says(void **state)
{
    size_t len;
    char *doc = (char *)sample_file_read(RKT_SOURCE_DIR "/common/doc/clocks.md", &len);
    struct rkt_clock_part items[2 * ROWS_MAX];
    struct rkt_clock_parts parts = {.items = items, .collective_count = ROWS_MAX, .clock_count = 2};
    struct rkt_clock_ties ties;
    struct rkt_arena arena;
    struct rkt_error err;

    (void)state;
    doc[len] = '\0';
    parts.count = read_collectives(doc, items);
    assert_int_equal(parts.count, 6);
    rkt_arena_init(&arena, 1 << 16);
    assert_rkt_ok(rkt_clock_collectives_solve(&parts, 1, &arena, &ties, &err), err);
    assert_true(ties.items[1].is_tied);
    assert_in_range(ties.items[1].align.knots[0].offset_ns + 1000 * US + 10, 0, 20);
    assert_in_range(ties.items[1].align.knots[0].bound_ns, 12 * US, 12 * US + 20);
    rkt_arena_release(&arena);
    assert_non_null(strstr(doc, "-1000 ± 12 µs"));
    free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_what_the_code_says),
        cmocka_unit_test(the_collectives_allow_what_the_text_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
