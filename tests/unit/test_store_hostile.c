/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores whose checksums are right and whose contents are made to do harm: what is hostile is
 * counted as damaged, at no cost in memory, and all the rest is read.
 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/store_reader.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define HOSTILE_SOURCE 5u
#define FRAMES_MAX 200u
#define MEMORY_KIB (64l << 10) /* far below what the numbers below claim */

/* The sample store in memory. */
struct fixture {
    struct sharded_place *place;
    uint8_t *bytes;
    size_t len_bytes;
    size_t starts[FRAMES_MAX + 1];
    struct rkt_frame_head heads[FRAMES_MAX];
    size_t count;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    void *place;

    if (!fx)
        return -1;
    assert_int_equal(sharded_place_make(&place), 0);
    fx->place = place;
    sample_store_write(fx->place->index, RKT_STORE_LIVE);
    fx->bytes = sample_file_read(fx->place->index, &fx->len_bytes);
    for (size_t at = 0; at < fx->len_bytes; fx->count++) {
        struct rkt_frame_head *head = &fx->heads[fx->count];

        assert_true(fx->count < FRAMES_MAX);
        assert_rkt_status(rkt_frame_head_decode(fx->bytes + at, fx->len_bytes - at, head, NULL),
                          RKT_OK);
        fx->starts[fx->count] = at;
        at += RKT_FRAME_HEAD_BYTES + head->packed_bytes;
        fx->starts[fx->count + 1] = at;
    }
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    void *place = fx->place;

    sharded_place_remove(&place);
    free(fx->bytes);
    free(fx);
    return 0;
}

static long peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* ---- a payload ---- */

static size_t first_of_kind(const struct fixture *fx, uint8_t kind)
{
    for (size_t i = 0; i < fx->count; i++) {
        if (fx->heads[i].kind == kind)
            return i;
    }
    fail_msg("no frame of kind %u", kind);
    return 0;
}

/* The sample with one more frame in its middle, without index and trailer. */
static void write_with(const struct fixture *fx, const struct rkt_frame_head *head,
                       const uint8_t *payload)
{
    size_t middle = fx->starts[8];
    size_t end = fx->starts[first_of_kind(fx, RKT_FRAME_INDEX)];
    uint8_t *bytes = malloc(end + RKT_FRAME_HEAD_BYTES + head->packed_bytes);
    uint8_t *at = bytes + middle;

    assert_non_null(bytes);
    memcpy(bytes, fx->bytes, middle);
    rkt_frame_head_encode(head, at);
    at += RKT_FRAME_HEAD_BYTES;
    memcpy(at, payload, head->packed_bytes);
    at += head->packed_bytes;
    memcpy(at, fx->bytes + middle, end - middle);
    at += end - middle;
    sample_file_write(fx->place->index, bytes, (size_t)(at - bytes));
    free(bytes);
}

/* The walk of the hostile source, too, gives nothing. */
static void expect_harmless(const struct fixture *fx, const char *what, uint64_t damaged_frames)
{
    long before_kib = peak_kib();
    struct sharded_outcome outcome = sharded_run_read(fx->place->index);

    if (outcome.event_count != SAMPLE_SOURCES * SHARDED_EVENTS ||
        outcome.health.damaged_frames != damaged_frames)
        fail_msg("%s: %zu events, %llu damaged frames", what, outcome.event_count,
                 (unsigned long long)outcome.health.damaged_frames);
    if (peak_kib() - before_kib > MEMORY_KIB)
        fail_msg("%s took %ld KiB", what, peak_kib() - before_kib);
}

static void put_hostile(const struct fixture *fx, struct rkt_frame_head head,
                        const uint8_t *payload, size_t len_bytes)
{
    head.source = HOSTILE_SOURCE;
    head.packed_bytes = (uint32_t)len_bytes;
    head.payload_crc = rkt_frame_payload_crc(payload, len_bytes);
    write_with(fx, &head, payload);
}

static void msgpack_that_claims_too_much_is_damage(void **state)
{
    static const struct {
        const char *what;
        uint8_t kind;
        uint8_t bytes[24];
        size_t len;
    } CASES[] = {
        {"a batch of 2^32 - 1 keys", RKT_FRAME_BATCH, {0xdf, 0xff, 0xff, 0xff, 0xff, 0, 5}, 7},
        {"a batch of 2^64 - 1 rows",
         RKT_FRAME_BATCH,
         {0x85, 0, 5, 1, 2, 2, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0, 4, 1},
         19},
        {"a column of 4 GiB",
         RKT_FRAME_BATCH,
         {0x86, 0, 5, 1, 2, 2, 1, 3, 0, 4, 1, 18, 0xc6, 0xff, 0xff, 0xff, 0xff},
         17},
        {"2^32 - 1 names", RKT_FRAME_STRINGS, {0x82, 0, 1, 1, 0xdd, 0xff, 0xff, 0xff, 0xff}, 9},
        {"a name with the id 2^32 - 1",
         RKT_FRAME_STRINGS,
         {0x82, 0, 0xce, 0xff, 0xff, 0xff, 0xff, 1, 0x91, 0xc4, 1, 'a'},
         12},
        {"a name of 4 GiB",
         RKT_FRAME_STRINGS,
         {0x82, 0, 1, 1, 0x91, 0xc6, 0xff, 0xff, 0xff, 0xff},
         10},
        {"2^32 - 1 knots", RKT_FRAME_ALIGN, {0x81, 2, 0xdd, 0xff, 0xff, 0xff, 0xff}, 7},
        {"a descriptor of 2^32 - 1 keys", RKT_FRAME_SOURCE, {0xdf, 0xff, 0xff, 0xff, 0xff}, 5},
        {"a host of 4 GiB", RKT_FRAME_SOURCE, {0x81, 13, 0xc6, 0xff, 0xff, 0xff, 0xff}, 7},
        {"an end that is no map", RKT_FRAME_END, {0xc0}, 1},
    };
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_frame_head head = {.kind = CASES[i].kind, .raw_bytes = (uint32_t)CASES[i].len};

        put_hostile(fx, head, CASES[i].bytes, CASES[i].len);
        expect_harmless(fx, CASES[i].what, 1);
    }
}

/*
 * 4 million arrays inside each other where a value of an unknown key stands: passed over where they
 * have an end, and all that is required is there.
 */
static void msgpack_of_any_depth_does_no_harm(void **state)
{
    static const struct {
        uint8_t kind;
        uint64_t damaged_with_end;
    } CASES[] = {
        {RKT_FRAME_BATCH, 1}, {RKT_FRAME_STRINGS, 1}, {RKT_FRAME_SOURCE, 0},
        {RKT_FRAME_END, 0},   {RKT_FRAME_ALIGN, 0},
    };
    const size_t depth = 4000000;
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct fixture *fx = *state;
    uint8_t *raw = malloc(depth + 3);

    assert_non_null(raw);
    raw[0] = 0x81;
    raw[1] = 100;
    memset(raw + 2, 0x91, depth);
    raw[depth + 2] = 0xc0;
    for (size_t i = 0; i < 2 * sizeof(CASES) / sizeof(*CASES); i++) {
        bool has_end = i % 2;
        struct rkt_frame_head head = {.kind = CASES[i / 2].kind, .source = HOSTILE_SOURCE};
        struct rkt_bytes frame;
        struct rkt_error err;

        assert_rkt_ok(rkt_pack_frame(packer, &head, (struct rkt_bytes){raw, depth + 2 + has_end},
                                     &frame, &err),
                      err);
        write_with(fx, &head, frame.at + RKT_FRAME_HEAD_BYTES);
        expect_harmless(fx, "deep msgpack", has_end ? CASES[i / 2].damaged_with_end : 1);
    }
    free(raw);
    rkt_packer_destroy(packer);
}

/* ---- zstd ---- */

#define ZSTD_BLOCK_BYTES (128u << 10)

/*
 * A zstd frame of blocks that repeat one byte, 4 bytes each: without a content size for `claimed`
 * 0. Returns its length.
 */
static size_t make_bomb(uint8_t *out, size_t block_count, uint64_t claimed)
{
    const uint32_t repeats = ZSTD_BLOCK_BYTES << 3 | 1u << 1;
    size_t at = 0;

    rkt_put_u32(out, 0xfd2fb528u);
    at += 4;
    out[at++] = claimed ? 0xc0 : 0; /* content size in 8 bytes, or none */
    out[at++] = 7 << 3;             /* window of 128 KiB */
    if (claimed) {
        rkt_put_u64(out + at, claimed);
        at += 8;
    }
    for (size_t i = 0; i < block_count; i++) {
        uint32_t block = repeats | (i + 1 == block_count);

        out[at++] = (uint8_t)block;
        out[at++] = (uint8_t)(block >> 8);
        out[at++] = (uint8_t)(block >> 16);
        out[at++] = 0;
    }
    return at;
}

static void zstd_that_grows_past_what_its_head_says_is_damage(void **state)
{
    const size_t block_count = 16384; /* 2 GiB */
    static const struct {
        const char *what;
        uint32_t raw_bytes;
        uint64_t claimed;
    } CASES[] = {
        {"a bomb behind a head of 1000 bytes", 1000, 0},
        {"a bomb that tells its size", 1000, UINT64_C(2) << 30},
        {"a bomb that claims 2^62", 1000, UINT64_C(1) << 62},
        {"a bomb that claims to be small", 1000, 1000},
        {"a bomb behind a head of no bytes", 0, 0},
    };
    struct fixture *fx = *state;
    uint8_t *bomb = malloc(32 + 4 * block_count);

    assert_non_null(bomb);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_frame_head head = {
            .kind = RKT_FRAME_BATCH, .flags = RKT_FRAME_ZSTD, .raw_bytes = CASES[i].raw_bytes};

        put_hostile(fx, head, bomb, make_bomb(bomb, block_count, CASES[i].claimed));
        expect_harmless(fx, CASES[i].what, 1);
    }
    free(bomb);
}

/* The bomb is one: behind a head that tells the truth it is unpacked. */
static void a_bomb_within_the_limits_is_only_a_payload(void **state)
{
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    uint8_t bomb[64];
    size_t len = make_bomb(bomb, 8, 0);
    struct rkt_frame_head head = {.flags = RKT_FRAME_ZSTD, .packed_bytes = (uint32_t)len};
    struct rkt_bytes raw;
    struct rkt_error err;

    (void)state;
    head.raw_bytes = 8 * ZSTD_BLOCK_BYTES;
    assert_rkt_ok(rkt_unpack_payload(packer, &head, bomb, &raw, &err), err);
    assert_int_equal(raw.len_bytes, head.raw_bytes);
    assert_int_equal(raw.at[raw.len_bytes - 1], 0);
    rkt_packer_destroy(packer);
}

/* ---- an index ---- */

typedef void (*spoil_fn)(struct rkt_store_index *index);

static void spoil_previous(struct rkt_store_index *index)
{
    index->previous_offset = UINT64_MAX;
}

/* Its frames would still end where the INDEX frame begins. */
static void spoil_first(struct rkt_store_index *index)
{
    index->first_offset = UINT64_C(1) << 62;
}

static void spoil_size(struct rkt_store_index *index)
{
    index->entries[3].frame_bytes += RKT_FRAME_PACKED_BYTES_MAX / 2;
}

static void spoil_two_sizes(struct rkt_store_index *index)
{
    index->entries[3].frame_bytes += 4; /* and the sum is right */
    index->entries[4].frame_bytes -= 4;
}

static void spoil_source(struct rkt_store_index *index)
{
    index->entries[3].source = 1;
}

static void spoil_kind(struct rkt_store_index *index)
{
    index->entries[3].kind = RKT_FRAME_END;
}

static void spoil_count(struct rkt_store_index *index)
{
    index->entry_count -= 2;
}

/*
 * The sample with another INDEX frame, and a trailer that fits the file. The last frames before the
 * INDEX frame stand behind it, `behind` of them, and are not listed.
 */
static void write_with_index(const struct fixture *fx, spoil_fn spoil, size_t behind)
{
    static struct rkt_store_entry room[FRAMES_MAX];
    size_t at = first_of_kind(fx, RKT_FRAME_INDEX);
    size_t index_offset = fx->starts[at - behind];
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_frame_head head = fx->heads[at];
    uint8_t trailer_bytes[RKT_STORE_TRAILER_BYTES];
    struct rkt_store_trailer trailer;
    struct rkt_store_index index;
    struct rkt_codec_buf buf;
    struct rkt_bytes raw;
    struct rkt_error err;
    FILE *file;

    assert_rkt_ok(rkt_unpack_payload(packer, &head,
                                     fx->bytes + fx->starts[at] + RKT_FRAME_HEAD_BYTES, &raw, &err),
                  err);
    assert_rkt_ok(rkt_store_index_decode(raw, room, FRAMES_MAX, &index, &err), err);
    index.entry_count -= behind;
    if (spoil)
        spoil(&index);
    rkt_codec_buf_init(&buf);
    assert_rkt_ok(rkt_store_index_encode(&index, &buf, &err), err);
    assert_rkt_ok(
        rkt_pack_frame(packer, &head, (struct rkt_bytes){buf.bytes, buf.len_bytes}, &raw, &err),
        err);
    trailer = (struct rkt_store_trailer){
        .index_offset = index_offset,
        .frame_count = index.entry_count,
        .file_bytes = fx->starts[at] + raw.len_bytes + RKT_STORE_TRAILER_BYTES,
        .index_count = 1,
    };
    rkt_store_trailer_encode(&trailer, trailer_bytes);
    file = fopen(fx->place->index, "wbe");
    assert_non_null(file);
    assert_int_equal(fwrite(fx->bytes, 1, index_offset, file), index_offset);
    assert_int_equal(fwrite(raw.at, 1, raw.len_bytes, file), raw.len_bytes);
    assert_int_equal(fwrite(fx->bytes + index_offset, 1, fx->starts[at] - index_offset, file),
                     fx->starts[at] - index_offset);
    assert_int_equal(fwrite(trailer_bytes, 1, sizeof(trailer_bytes), file), sizeof(trailer_bytes));
    assert_int_equal(fclose(file), 0);
    rkt_codec_buf_release(&buf);
    rkt_packer_destroy(packer);
}

static void an_index_that_lies_costs_the_frames_it_lies_about_at_most(void **state)
{
    static const struct {
        const char *what;
        spoil_fn spoil;
        uint64_t damaged_frames; /* by an index that is believed */
    } CASES[] = {
        {"an index frame before that is outside the file", spoil_previous, 0},
        {"frames outside the file", spoil_first, 0},
        {"a frame that reaches out of the file", spoil_size, 0},
        {"fewer frames than there are", spoil_count, 0},
        {"frames that begin elsewhere", spoil_two_sizes, 2},
        {"a frame of another source", spoil_source, 1},
        {"a frame of another kind", spoil_kind, 1},
    };
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct sharded_outcome outcome;
        size_t lost = CASES[i].damaged_frames * SAMPLE_ROWS;

        write_with_index(fx, CASES[i].spoil, 0);
        outcome = sharded_run_read(fx->place->index);
        if (outcome.health.damaged_frames != CASES[i].damaged_frames ||
            outcome.event_count != SAMPLE_SOURCES * SHARDED_EVENTS - lost)
            fail_msg("%s: %zu events, %llu damaged frames", CASES[i].what, outcome.event_count,
                     (unsigned long long)outcome.health.damaged_frames);
    }
}

static void frames_behind_the_last_index_are_found(void **state)
{
    struct fixture *fx = *state;
    size_t at = first_of_kind(fx, RKT_FRAME_INDEX);
    struct sharded_outcome outcome;
    size_t behind = 1;

    while (!rkt_frame_is_of_events(fx->heads[at - behind].kind))
        behind++;
    write_with_index(fx, NULL, behind);
    outcome = sharded_run_read(fx->place->index);
    assert_int_equal(outcome.event_count, SAMPLE_SOURCES * SHARDED_EVENTS);
    assert_int_equal(outcome.health.damaged_frames, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(msgpack_that_claims_too_much_is_damage),
        CASE(msgpack_of_any_depth_does_no_harm),
        CASE(zstd_that_grows_past_what_its_head_says_is_damage),
        CASE(a_bomb_within_the_limits_is_only_a_payload),
        CASE(an_index_that_lies_costs_the_frames_it_lies_about_at_most),
        CASE(frames_behind_the_last_index_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
