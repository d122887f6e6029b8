/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store_maker.h"

#include <stdio.h>

#include "tests/unit/rkt_test.h"
#include "tests/unit/sample.h"

void store_maker_init(struct store_maker *maker, uint8_t producer)
{
    const struct rkt_run_info run = {
        .producer = producer,
        .reference_clock = producer == RKT_PRODUCER_KINETO ? 6 : 2,
    };
    struct rkt_error err;

    memset(maker, 0, sizeof(*maker));
    sample_folder_make(maker->folder, sizeof(maker->folder));
    snprintf(maker->path, sizeof(maker->path), "%s/timeline.rkt", maker->folder);
    assert_rkt_ok(rkt_store_writer_create(maker->path, RKT_STORE_LIVE, &run, &maker->store, &err),
                  err);
}

void store_maker_release(struct store_maker *maker)
{
    for (size_t i = 0; i < maker->source_count; i++)
        rkt_source_writer_destroy(maker->sources[i]);
    rkt_store_writer_destroy(maker->store);
    rkt_store_reader_close(maker->reader);
    sample_folder_remove(maker->folder);
}

static enum rkt_status append(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

uint32_t store_add_source(struct store_maker *maker, struct rkt_source_info info)
{
    struct rkt_error err;

    assert_true(maker->source_count < STORE_SOURCES_MAX);
    info.source = (uint32_t)maker->source_count;
    assert_rkt_ok(rkt_source_writer_create(&info, append, maker->store,
                                           &maker->sources[maker->source_count], &err),
                  err);
    maker->source_count++;
    return info.source;
}

uint32_t store_name(struct store_maker *maker, uint32_t source, const char *name)
{
    return rkt_strtab_intern(rkt_source_writer_strtab(maker->sources[source]), name, strlen(name));
}

void store_add(struct store_maker *maker, uint32_t source, struct rkt_event event)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_source_writer_add(maker->sources[source], &event, &err), err);
}

void store_end(struct store_maker *maker, uint32_t source, struct rkt_end_info end)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_source_writer_end(maker->sources[source], &end, &err), err);
}

struct rkt_store_reader *store_open(struct store_maker *maker)
{
    struct rkt_error err;

    for (size_t i = 0; i < maker->source_count; i++)
        assert_rkt_ok(rkt_source_writer_flush(maker->sources[i], &err), err);
    assert_rkt_ok(rkt_store_writer_close(maker->store, &err), err);
    assert_rkt_ok(rkt_store_reader_open(maker->path, &maker->reader, &err), err);
    return maker->reader;
}
