/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/clock_curve.h"
#include "common/event_fields.h"
#include "common/frame.h"
#include "common/source_writer.h"
#include "tests/unit/rkt_test.h"

static uint64_t plain_value(const struct rkt_field *field, size_t row)
{
    static const uint64_t FACTORS[9] = {[1] = 1, [2] = 100, [4] = 100000, [8] = 10000000000};

    if (row == 2)
        return UINT64_MAX;
    return field->column * FACTORS[field->bytes] + row;
}

void sample_event(enum rkt_event_kind kind, size_t row, struct rkt_event *event_out)
{
    struct rkt_event event;
    size_t field_count;
    const struct rkt_field *fields = rkt_event_fields(kind, &field_count);

    memset(&event, 0, sizeof(event));
    for (size_t f = 0; f < field_count; f++) {
        uint64_t value = plain_value(&fields[f], row);

        memcpy((uint8_t *)&event + fields[f].offset, &value, fields[f].bytes);
    }
    event.kind = (uint8_t)kind;
    event.clock_id = RKT_CLOCK_MONOTONIC_RAW;
    event.type = 0;
    event.flags = 8;
    event.name_id = (uint32_t)row % (SAMPLE_NAMES + 1);
    event.thread_id = 4242;
    event.start_ns = 1000000000 + row * 300 - (row == 3 ? 1000 : 0); /* row 3 steps back */
    event.end_ns = event.start_ns + 70000 * row;
    memcpy(event_out, &event, sizeof(event));
}

struct rkt_run_info sample_run(void)
{
    struct rkt_run_info run = {
        .producer = RKT_PRODUCER_CAPTURE,
        .reference_clock = RKT_CLOCK_MONOTONIC_RAW,
        .rank_count = SAMPLE_SOURCES,
        .start_realtime_ns = 1717243200000000000,
        .version = "1.0.0",
        .command = "python train.py",
        .host = "node01",
        .run_id = 0x123456789abcdef0,
    };

    return run;
}

struct rkt_source_info sample_source(uint32_t source)
{
    struct rkt_source_info info = {
        .source = source,
        .producer = RKT_PRODUCER_CAPTURE,
        .role = RKT_ROLE_RANK,
        .gpu_clock = RKT_CLOCK_REALTIME,
        .rank_known = true,
        .rank = source,
        .local_rank = source,
        .world_size = SAMPLE_SOURCES,
        .node = 0,
        .restart_count = 1,
        .pid = 31337,
        .start_raw_ns = 999000000,
        .base_ns = -5,
        .host = "node01",
        .boot_id = "0d9c5d7e-0f4d-4a7e-9f6a-1b2c3d4e5f60",
        .file = "",
        .program = "python3",
    };

    return info;
}

struct rkt_end_info sample_end(void)
{
    struct rkt_end_info end = {
        .reason = RKT_END_SIGNALED,
        .cut_short = true,
        .exit_code = -1,
        .signal_number = 9,
        .dropped_count = 17,
    };

    return end;
}

struct rkt_align_info sample_align(uint32_t source)
{
    static const struct rkt_align_knot KNOTS[] = {
        {1000000000, -123456, 250, 90},
        {2000000000, -123400, 300, 100},
    };
    struct rkt_align_info align = {.source = source,
                                   .state = RKT_ALIGN_MEASURED,
                                   .hop_count = 2,
                                   .hops = {7, 0},
                                   .knots = KNOTS,
                                   .knot_count = 2,
                                   .first_rate_ppb = -15000,
                                   .last_rate_ppb = 56,
                                   .growth_ppb = 320,
                                   .flags = RKT_CLOCK_RHO_WIDENED | RKT_CLOCK_SILENT,
                                   .rho_ppb = 600,
                                   .kappa_permille = 300,
                                   .noise_ppt = 2000};

    return align;
}

void sample_expect_align_making(const struct rkt_align_info *align, bool is_said)
{
    struct rkt_align_info want = sample_align(align->source);

    if (!is_said)
        want = (struct rkt_align_info){0};
    assert_int_equal(align->hop_count, want.hop_count);
    assert_memory_equal(align->hops, want.hops, sizeof(want.hops));
    assert_int_equal(align->first_rate_ppb, want.first_rate_ppb);
    assert_int_equal(align->last_rate_ppb, want.last_rate_ppb);
    assert_int_equal(align->growth_ppb, want.growth_ppb);
    assert_int_equal(align->flags, want.flags);
    assert_int_equal(align->rho_ppb, want.rho_ppb);
    assert_int_equal(align->kappa_permille, want.kappa_permille);
    assert_int_equal(align->noise_ppt, want.noise_ppt);
}

struct rkt_shard_info sample_shard(void)
{
    struct rkt_shard_info shard = {.host = "node02", .rank = 8};

    rkt_shard_file_name(sample_run().run_id, shard.rank, shard.file);
    return shard;
}

const char *sample_name(size_t i)
{
    static const char *const NAMES[SAMPLE_NAMES] = {"ncclDevKernel_AllReduce", "gemm", "\xff\xfe"};

    return NAMES[i];
}

void sample_expect_run(const struct rkt_run_info *got)
{
    struct rkt_run_info want = sample_run();
    uint8_t raw[2][RKT_DESCRIPTOR_BYTES_MAX];
    size_t len[2];

    assert_rkt_status(rkt_run_info_encode(got, raw[0], sizeof(raw[0]), &len[0], NULL), RKT_OK);
    assert_rkt_status(rkt_run_info_encode(&want, raw[1], sizeof(raw[1]), &len[1], NULL), RKT_OK);
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(raw[0], raw[1], len[0]);
}

void sample_expect_source(const struct rkt_source_info *got)
{
    struct rkt_source_info want = sample_source(got->source);
    uint8_t raw[2][RKT_DESCRIPTOR_BYTES_MAX];
    size_t len[2];

    assert_rkt_status(rkt_source_info_encode(got, raw[0], sizeof(raw[0]), &len[0], NULL), RKT_OK);
    assert_rkt_status(rkt_source_info_encode(&want, raw[1], sizeof(raw[1]), &len[1], NULL), RKT_OK);
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(raw[0], raw[1], len[0]);
}

static enum rkt_status append(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

static void add_events(struct rkt_source_writer *writer)
{
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        for (size_t row = 0; row < SAMPLE_ROWS; row++) {
            struct rkt_event event;
            struct rkt_error err;

            sample_event((enum rkt_event_kind)kind, row, &event);
            assert_rkt_ok(rkt_source_writer_add(writer, &event, &err), err);
        }
    }
}

void sample_source_fill(struct rkt_store_writer *store, uint32_t source)
{
    struct rkt_source_info info = sample_source(source);
    struct rkt_end_info end = sample_end();
    struct rkt_source_writer *writer;
    struct rkt_error err;

    assert_rkt_ok(rkt_source_writer_create(&info, append, store, &writer, &err), err);
    for (size_t i = 0; i < SAMPLE_NAMES; i++)
        rkt_strtab_intern(rkt_source_writer_strtab(writer), sample_name(i), strlen(sample_name(i)));
    add_events(writer);
    assert_rkt_ok(rkt_source_writer_end(writer, &end, &err), err);
    rkt_source_writer_destroy(writer);
}

void sample_align_fill(struct rkt_store_writer *store, uint32_t source)
{
    struct rkt_align_info align = sample_align(source);
    struct rkt_error err;
    uint8_t raw[256];
    size_t raw_bytes;

    assert_rkt_ok(rkt_align_info_encode(&align, raw, sizeof(raw), &raw_bytes, &err), err);
    assert_rkt_ok(
        rkt_store_writer_append_payload(store, RKT_FRAME_ALIGN, source, raw, raw_bytes, &err), err);
}

void sample_store_fill(struct rkt_store_writer *writer)
{
    for (uint32_t source = 0; source < SAMPLE_SOURCES; source++) {
        sample_source_fill(writer, source);
        sample_align_fill(writer, source);
    }
}

void sample_store_write(const char *path, enum rkt_store_mode mode)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_writer_create(path, mode, &run, &writer, &err), err);
    sample_store_fill(writer);
    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
}

void sample_folder_make(char *folder, size_t folder_bytes)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder, folder_bytes, "%s/rkt-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
}

void sample_folder_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *item;

    assert_non_null(dir);
    while ((item = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
        if (item->d_name[0] != '.')
            unlinkat(dirfd(dir), item->d_name, 0);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

uint8_t *sample_file_read(const char *path, size_t *len_out)
{
    FILE *file = fopen(path, "rbe");
    struct stat st;
    uint8_t *bytes;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    *len_out = fread(bytes, 1, (size_t)st.st_size, file);
    assert_int_equal(*len_out, st.st_size);
    fclose(file);
    return bytes;
}

uint64_t sample_file_bytes(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

void sample_file_write(const char *path, const uint8_t *bytes, size_t len_bytes)
{
    /* not O_TRUNC: ext4 flushes a file to the disk at close when it was truncated to 0 */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len_bytes), len_bytes);
    assert_int_equal(ftruncate(fd, (off_t)len_bytes), 0);
    assert_int_equal(close(fd), 0);
}
