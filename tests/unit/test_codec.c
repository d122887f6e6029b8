/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/codec.h"
#include "common/codec_keys.h"
#include "common/codec_write.h"
#include "common/event_fields.h"
#include "tests/unit/rkt_random.h"

#define ROWS_MAX 300u

struct fixture {
    struct rkt_encoder *encoder;
    struct rkt_decoder *decoder;
    struct rkt_codec_buf buf;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    fx->encoder = rkt_encoder_create();
    fx->decoder = rkt_decoder_create();
    rkt_codec_buf_init(&fx->buf);
    *state = fx;
    return fx->encoder && fx->decoder ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    rkt_encoder_destroy(fx->encoder);
    rkt_decoder_destroy(fx->decoder);
    rkt_codec_buf_release(&fx->buf);
    free(fx);
    return 0;
}

/* A number whose size varies, so that all widths and constant columns occur. */
static uint64_t any_number(struct rkt_random *random)
{
    unsigned bits = (unsigned)rkt_random_below(random, 65);

    return bits == 0 ? 0 : rkt_random_next(random) >> (64 - bits);
}

/* What fields cover is random or, per column, the same on all rows; the rest is zero. */
static void fill_events(struct rkt_random *random, struct rkt_event *events, size_t count,
                        enum rkt_event_kind kind)
{
    size_t field_count;
    const struct rkt_field *fields = rkt_event_fields(kind, &field_count);

    memset(events, 0, count * sizeof(*events));
    for (size_t f = 0; f < field_count; f++) {
        bool is_constant = rkt_random_below(random, 3) == 0;
        uint64_t constant = any_number(random);

        for (size_t i = 0; i < count; i++) {
            uint64_t value = is_constant ? constant : any_number(random);

            memcpy((uint8_t *)&events[i] + fields[f].offset, &value, fields[f].bytes);
        }
    }
    for (size_t i = 0; i < count; i++) {
        events[i].kind = (uint8_t)kind;
        events[i].clock_id = RKT_CLOCK_MONOTONIC_RAW;
    }
}

static void expect_survives(struct fixture *fx, const struct rkt_event *events, size_t count)
{
    struct rkt_batch back;
    struct rkt_error err;
    struct rkt_bytes raw;

    assert_rkt_ok(rkt_encode_events(fx->encoder, events, count, &raw, &err), err);
    assert_rkt_ok(rkt_decode_events(fx->decoder, raw, &back, &err), err);
    assert_int_equal(back.count, count);
    assert_int_equal(back.unknown_count, 0);
    assert_memory_equal(back.events, events, count * sizeof(*events));
}

static void random_events_of_every_kind_survive(void **state)
{
    struct rkt_random random = {20240601};
    static struct rkt_event events[ROWS_MAX];

    for (unsigned round = 0; round < 100; round++) {
        for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
            size_t count = 1 + (size_t)rkt_random_below(&random, ROWS_MAX);

            fill_events(&random, events, count, (enum rkt_event_kind)kind);
            expect_survives(*state, events, count);
        }
    }
}

static void the_largest_batch_survives(void **state)
{
    struct rkt_random random = {7};
    struct rkt_event *events = calloc(RKT_BATCH_EVENTS_MAX, sizeof(*events));

    assert_non_null(events);
    fill_events(&random, events, RKT_BATCH_EVENTS_MAX, RKT_EVENT_NCCL);
    expect_survives(*state, events, RKT_BATCH_EVENTS_MAX);
    free(events);
}

static void times_that_run_backwards_survive(void **state)
{
    static const uint64_t TIMES[] = {UINT64_MAX, 0, UINT64_MAX / 2, 1, UINT64_MAX - 1, 5, 5};
    struct rkt_event events[7];

    memset(events, 0, sizeof(events));
    for (size_t i = 0; i < 7; i++) {
        events[i].kind = RKT_EVENT_RANGE;
        events[i].clock_id = RKT_CLOCK_REALTIME;
        events[i].start_ns = TIMES[i];
        events[i].end_ns = TIMES[6 - i];
    }
    expect_survives(*state, events, 7);
}

static void a_batch_that_cannot_be_is_a_callers_mistake(void **state)
{
    static const struct {
        const char *what;
        uint8_t kinds[2];
        uint8_t clock_ids[2];
        size_t count;
    } CASES[] = {
        {"no events", {RKT_EVENT_API, RKT_EVENT_API}, {1, 1}, 0},
        {"no kind", {RKT_EVENT_NONE, RKT_EVENT_NONE}, {1, 1}, 2},
        {"a kind that is none", {RKT_EVENT_KIND_COUNT, RKT_EVENT_KIND_COUNT}, {1, 1}, 1},
        {"two kinds", {RKT_EVENT_API, RKT_EVENT_KERNEL}, {1, 1}, 2},
        {"two clocks", {RKT_EVENT_API, RKT_EVENT_API}, {1, 2}, 2},
        {"too many", {RKT_EVENT_API, RKT_EVENT_API}, {1, 1}, (size_t)RKT_BATCH_EVENTS_MAX + 1},
    };
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_event events[2] = {{0}};
        struct rkt_bytes raw;

        for (size_t e = 0; e < 2; e++) {
            events[e].kind = CASES[i].kinds[e];
            events[e].clock_id = CASES[i].clock_ids[e];
        }
        if (rkt_encode_events(fx->encoder, events, CASES[i].count, &raw, NULL) != RKT_ERR_INVALID)
            fail_msg("%s: encoded", CASES[i].what);
    }
}

/* A batch written by hand: the four required keys, and room for more pairs. */
static void start_batch(struct rkt_codec_buf *buf, size_t more_pairs, uint64_t kind, uint64_t rows)
{
    rkt_codec_buf_reset(buf);
    rkt_write_map(buf, 4 + more_pairs);
    rkt_write_uint(buf, RKT_BATCH_ROW_COUNT); /* any order will do */
    rkt_write_uint(buf, rows);
    rkt_write_uint(buf, RKT_BATCH_KIND);
    rkt_write_uint(buf, kind);
    rkt_write_uint(buf, RKT_BATCH_CLOCK);
    rkt_write_uint(buf, RKT_CLOCK_TRACE);
    rkt_write_uint(buf, RKT_BATCH_BASE_START);
    rkt_write_uint(buf, 1000);
}

static enum rkt_status decode_buf(struct fixture *fx, struct rkt_batch *batch,
                                  struct rkt_error *err)
{
    return rkt_decode_events(fx->decoder, (struct rkt_bytes){fx->buf.bytes, fx->buf.len_bytes},
                             batch, err);
}

static void an_absent_column_is_zero_on_every_row(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;
    struct rkt_error err;

    start_batch(&fx->buf, 0, RKT_EVENT_API, 3);
    assert_rkt_ok(decode_buf(fx, &batch, &err), err);
    assert_int_equal(batch.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(batch.events[i].start_ns, 1000);
        assert_int_equal(batch.events[i].end_ns, 1000);
        assert_int_equal(batch.events[i].clock_id, RKT_CLOCK_TRACE);
        assert_int_equal(batch.events[i].api.cbid, 0);
    }
}

static void unknown_keys_are_skipped_and_counted(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;
    struct rkt_error err;

    start_batch(&fx->buf, 4, RKT_EVENT_API, 2);
    rkt_write_uint(&fx->buf, 120); /* a column of a later version */
    rkt_write_uint(&fx->buf, 5);
    rkt_write_uint(&fx->buf, 100000);
    rkt_write_map(&fx->buf, 1);
    rkt_write_array(&fx->buf, 0);
    rkt_write_array(&fx->buf, 0);
    rkt_write_bin(&fx->buf, "text", 4);
    rkt_write_bool(&fx->buf, true);
    rkt_write_uint(&fx->buf, 32);
    rkt_write_uint(&fx->buf, 211);
    assert_rkt_ok(decode_buf(fx, &batch, &err), err);
    assert_int_equal(batch.unknown_count, 3);
    assert_int_equal(batch.count, 2);
    assert_int_equal(batch.events[1].api.cbid, 211);
}

static void a_batch_of_an_unknown_kind_gives_no_events_and_is_counted(void **state)
{
    struct fixture *fx = *state;
    static const uint64_t KINDS[] = {0, RKT_EVENT_KIND_COUNT, 256 + RKT_EVENT_API, UINT64_MAX};

    for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++) {
        struct rkt_batch batch;
        struct rkt_error err;

        start_batch(&fx->buf, 0, KINDS[i], 2);
        assert_rkt_ok(decode_buf(fx, &batch, &err), err);
        assert_int_equal(batch.count, 0);
        assert_int_equal(batch.unknown_count, 1);
    }
}

static void write_column(struct rkt_codec_buf *buf, uint64_t key, size_t len_bytes)
{
    static const uint8_t ZEROS[64];

    rkt_write_uint(buf, key);
    rkt_write_bin(buf, ZEROS, len_bytes);
}

static void columns_of_a_wrong_size_are_refused_by_name(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *what;
        uint64_t column;
        size_t len_bytes;
        bool is_good;
    } CASES[] = {
        {"4 rows of 1 byte for a u32", 32, 4, true},
        {"4 rows of 4 bytes for a u32", 32, 16, true},
        {"4 rows of 8 bytes for a u32", 32, 32, false},
        {"4 rows of 3 bytes", 32, 12, false},
        {"no bytes", 32, 0, false},
        {"a byte too few", 32, 3, false},
        {"4 rows of 8 bytes for start_ns", 19, 32, true},
        {"4 rows of 2 bytes for a u8", 16, 8, false},
    };

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_batch batch;
        struct rkt_error err = {0};
        enum rkt_status status;

        start_batch(&fx->buf, 1, RKT_EVENT_API, 4);
        write_column(&fx->buf, CASES[i].column, CASES[i].len_bytes);
        status = decode_buf(fx, &batch, &err);
        if (status != (CASES[i].is_good ? RKT_OK : RKT_ERR_FORMAT))
            fail_msg("%s: %s", CASES[i].what, rkt_status_name(status));
        if (!CASES[i].is_good)
            assert_non_null(strstr(err.text, CASES[i].column == 32 ? "api.cbid" : "type"));
    }
}

static void a_constant_that_does_not_fit_its_field_is_refused(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;

    start_batch(&fx->buf, 1, RKT_EVENT_API, 4);
    rkt_write_uint(&fx->buf, 32);
    rkt_write_uint(&fx->buf, (uint64_t)UINT32_MAX + 1);
    assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
    start_batch(&fx->buf, 1, RKT_EVENT_API, 4);
    rkt_write_uint(&fx->buf, 32);
    rkt_write_int(&fx->buf, -1);
    assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
}

static void a_batch_without_its_required_keys_is_refused(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;

    for (unsigned missing = 0; missing < 4; missing++) {
        rkt_codec_buf_reset(&fx->buf);
        rkt_write_map(&fx->buf, 3);
        for (unsigned key = 0; key < 4; key++) {
            if (key == missing)
                continue;
            rkt_write_uint(&fx->buf, key);
            rkt_write_uint(&fx->buf, 1);
        }
        assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
    }
}

static void a_batch_with_too_few_or_too_many_rows_is_refused(void **state)
{
    static const uint64_t ROWS[] = {0, (uint64_t)RKT_BATCH_EVENTS_MAX + 1, UINT64_MAX};
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(*ROWS); i++) {
        struct rkt_batch batch;

        start_batch(&fx->buf, 0, RKT_EVENT_API, ROWS[i]);
        assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
    }
}

static void a_batch_whose_map_does_not_add_up_is_refused(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;

    start_batch(&fx->buf, 1, RKT_EVENT_API, 1); /* a pair less than the map says */
    assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
    start_batch(&fx->buf, 0, RKT_EVENT_API, 1); /* a byte too many */
    rkt_write_uint(&fx->buf, 0);
    assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
    start_batch(&fx->buf, 1, RKT_EVENT_API, 1); /* a key twice */
    rkt_write_uint(&fx->buf, RKT_BATCH_KIND);
    rkt_write_uint(&fx->buf, RKT_EVENT_API);
    assert_rkt_status(decode_buf(fx, &batch, NULL), RKT_ERR_FORMAT);
}

static void a_clock_of_a_later_version_is_unknown(void **state)
{
    struct fixture *fx = *state;
    struct rkt_batch batch;
    struct rkt_error err;

    rkt_codec_buf_reset(&fx->buf);
    rkt_write_map(&fx->buf, 4);
    for (unsigned key = 0; key < 4; key++) {
        rkt_write_uint(&fx->buf, key);
        rkt_write_uint(&fx->buf, key == RKT_BATCH_CLOCK ? RKT_CLOCK_COUNT : 1);
    }
    assert_rkt_ok(decode_buf(fx, &batch, &err), err);
    assert_int_equal(batch.events[0].clock_id, RKT_CLOCK_UNKNOWN);
}

static void a_batch_cut_anywhere_is_refused(void **state)
{
    struct fixture *fx = *state;
    struct rkt_random random = {3};
    struct rkt_event events[20];
    struct rkt_batch batch;
    struct rkt_error err;
    struct rkt_bytes raw;

    fill_events(&random, events, 20, RKT_EVENT_KERNEL);
    assert_rkt_ok(rkt_encode_events(fx->encoder, events, 20, &raw, &err), err);
    for (size_t len = 0; len < raw.len_bytes; len++)
        assert_rkt_status(
            rkt_decode_events(fx->decoder, (struct rkt_bytes){raw.at, len}, &batch, NULL),
            RKT_ERR_FORMAT);
}

/* Names with NULs and bytes that are no UTF-8; 2 MiB of them. */
static struct rkt_strtab *many_names(void)
{
    struct rkt_strtab *tab = rkt_strtab_create();
    struct rkt_random random = {5};

    assert_non_null(tab);
    for (unsigned i = 0; i < 2000; i++) {
        char text[2000];
        size_t len = 4 + (size_t)rkt_random_below(&random, sizeof(text) - 4);

        memset(text, (int)(i & 0xff), sizeof(text));
        memcpy(text, &i, sizeof(i));
        assert_int_equal(rkt_strtab_intern(tab, text, len), i + 1);
    }
    return tab;
}

static void names_survive_in_parts(void **state)
{
    struct fixture *fx = *state;
    struct rkt_strtab *tab = many_names();
    struct rkt_strtab *back = rkt_strtab_create();
    unsigned part_count = 0;
    struct rkt_error err;

    assert_non_null(back);
    for (uint32_t next_id = 1; next_id < rkt_strtab_count(tab); part_count++) {
        struct rkt_bytes raw;

        assert_rkt_ok(rkt_encode_strings(fx->encoder, tab, next_id, &next_id, &raw, &err), err);
        assert_true(raw.len_bytes < (size_t)2 * RKT_STRINGS_TEXT_BYTES_USUAL);
        assert_rkt_ok(rkt_decode_strings(raw, back, &err), err);
    }
    assert_true(part_count > 1);
    assert_int_equal(rkt_strtab_count(back), rkt_strtab_count(tab));
    for (uint32_t id = 0; id < rkt_strtab_count(tab); id++) {
        size_t len;
        size_t back_len;
        const char *text = rkt_strtab_get(tab, id, &len);

        assert_memory_equal(rkt_strtab_get(back, id, &back_len), text, len);
        assert_int_equal(back_len, len);
    }
    rkt_strtab_destroy(tab);
    rkt_strtab_destroy(back);
}

static void no_new_names_are_nothing_to_encode(void **state)
{
    struct fixture *fx = *state;
    struct rkt_strtab *tab = rkt_strtab_create();
    struct rkt_bytes raw;
    uint32_t next_id;

    assert_non_null(tab);
    assert_rkt_status(rkt_encode_strings(fx->encoder, tab, 1, &next_id, &raw, NULL),
                      RKT_ERR_INVALID);
    rkt_strtab_destroy(tab);
}

static enum rkt_status decode_names(struct fixture *fx, struct rkt_strtab *tab, uint64_t first_id,
                                    const char *const *texts, size_t count)
{
    rkt_codec_buf_reset(&fx->buf);
    rkt_write_map(&fx->buf, 2);
    rkt_write_uint(&fx->buf, RKT_STRINGS_TEXTS);
    rkt_write_array(&fx->buf, count);
    for (size_t i = 0; i < count; i++)
        rkt_write_bin(&fx->buf, texts[i], strlen(texts[i]));
    rkt_write_uint(&fx->buf, RKT_STRINGS_FIRST_ID);
    rkt_write_uint(&fx->buf, first_id);
    return rkt_decode_strings((struct rkt_bytes){fx->buf.bytes, fx->buf.len_bytes}, tab, NULL);
}

static void one_name_that_clashes_loses_no_other(void **state)
{
    static const char *const TEXTS[] = {"one", "two", "three"};
    struct rkt_strtab *tab = rkt_strtab_create();

    assert_non_null(tab);
    assert_rkt_status(rkt_strtab_define(tab, 2, "mine", 4), RKT_OK);
    assert_rkt_status(decode_names(*state, tab, 1, TEXTS, 3), RKT_ERR_FORMAT);
    assert_string_equal(rkt_strtab_get(tab, 1, NULL), "one");
    assert_string_equal(rkt_strtab_get(tab, 2, NULL), "mine");
    assert_string_equal(rkt_strtab_get(tab, 3, NULL), "three");
    rkt_strtab_destroy(tab);
}

static void names_with_impossible_ids_are_refused(void **state)
{
    static const uint64_t FIRST_IDS[] = {0, RKT_STRINGS_JUMP_MAX + 2, RKT_STRING_COUNT_MAX,
                                         UINT32_MAX, UINT64_MAX};
    static const char *const TEXT = "x";
    struct rkt_strtab *tab = rkt_strtab_create();

    assert_non_null(tab);
    for (size_t i = 0; i < sizeof(FIRST_IDS) / sizeof(*FIRST_IDS); i++)
        assert_rkt_status(decode_names(*state, tab, FIRST_IDS[i], &TEXT, 1), RKT_ERR_FORMAT);
    assert_int_equal(rkt_strtab_count(tab), 1);
    rkt_strtab_destroy(tab);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(random_events_of_every_kind_survive),
        CASE(the_largest_batch_survives),
        CASE(times_that_run_backwards_survive),
        CASE(a_batch_that_cannot_be_is_a_callers_mistake),
        CASE(an_absent_column_is_zero_on_every_row),
        CASE(unknown_keys_are_skipped_and_counted),
        CASE(a_batch_of_an_unknown_kind_gives_no_events_and_is_counted),
        CASE(columns_of_a_wrong_size_are_refused_by_name),
        CASE(a_constant_that_does_not_fit_its_field_is_refused),
        CASE(a_batch_without_its_required_keys_is_refused),
        CASE(a_batch_with_too_few_or_too_many_rows_is_refused),
        CASE(a_batch_whose_map_does_not_add_up_is_refused),
        CASE(a_clock_of_a_later_version_is_unknown),
        CASE(a_batch_cut_anywhere_is_refused),
        CASE(names_survive_in_parts),
        CASE(one_name_that_clashes_loses_no_other),
        CASE(no_new_names_are_nothing_to_encode),
        CASE(names_with_impossible_ids_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
