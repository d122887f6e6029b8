/* SPDX-License-Identifier: Apache-2.0 */
/* Events of any values, well packed, and damaged files of them: the analysis and every report take
 * them, and say the same however many processes share the work. Under the sanitizers this also
 * finds sums that do not fit. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/report/report.h"
#include "common/transport.h"
#include "rkt_random.h"
#include "rkt_test.h"
#include "sample.h"
#include "store_maker.h"

#define RUNS 60
#define EVENTS 400
#define BASE_NS UINT64_C(1700000000000000000)

/* Mostly plausible, sometimes at the edge. */
static uint64_t any_time(struct rkt_random *random)
{
    static const uint64_t EDGES[] = {0,          1,
                                     INT64_MAX,  (uint64_t)INT64_MAX + 1,
                                     UINT64_MAX, UINT64_MAX - 1,
                                     BASE_NS,    (uint64_t)INT64_MAX - 5};

    if (rkt_random_below(random, 12) == 0)
        return EDGES[rkt_random_below(random, sizeof(EDGES) / sizeof(EDGES[0]))];
    return BASE_NS + rkt_random_below(random, 1000000000);
}

static uint64_t any_number(struct rkt_random *random)
{
    static const uint64_t EDGES[] = {0, 1, UINT32_MAX, UINT64_MAX, INT64_MAX};

    if (rkt_random_below(random, 6) == 0)
        return EDGES[rkt_random_below(random, sizeof(EDGES) / sizeof(EDGES[0]))];
    return rkt_random_below(random, 8);
}

static void fill_kind(struct rkt_random *random, struct rkt_event *event)
{
    if (event->kind == RKT_EVENT_NCCL) {
        event->type = (uint8_t)(rkt_random_below(random, 4) == 0 ? RKT_NCCL_KERNEL_LAUNCH
                                                                 : rkt_random_below(random, 70));
        event->nccl.comm_id = rkt_random_below(random, 3);
        event->nccl.seq = any_number(random);
        event->nccl.count = any_number(random);
        event->nccl.peer = (int32_t)any_number(random);
        event->nccl.func = (uint8_t)rkt_random_below(random, 15);
        event->nccl.datatype = (uint8_t)rkt_random_below(random, 14);
    } else if (event->kind == RKT_EVENT_COMM) {
        event->comm.comm_id = rkt_random_below(random, 3);
        event->comm.rank = (int32_t)any_number(random);
        event->comm.rank_count = (uint32_t)any_number(random);
    } else if (event->kind == RKT_EVENT_BUCKET) {
        event->bucket.bytes = any_number(random);
        event->bucket.step = any_number(random);
        event->bucket.index = (uint32_t)any_number(random);
    } else if (event->kind == RKT_EVENT_RANGE) {
        event->range.value = any_number(random);
    } else {
        event->kernel.device_id = (uint32_t)rkt_random_below(random, 2);
        event->kernel.stream_id = (uint32_t)any_number(random);
        event->memcpy.bytes = any_number(random);
        event->memcpy.copy_kind = (uint8_t)rkt_random_below(random, 13);
    }
}

static struct rkt_event any_event(struct rkt_random *random, const uint32_t names[4])
{
    static const uint8_t KINDS[] = {
        RKT_EVENT_KERNEL, RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_MEMSET, RKT_EVENT_API,
        RKT_EVENT_NCCL,   RKT_EVENT_RANGE,  RKT_EVENT_BUCKET, RKT_EVENT_COMM,   RKT_EVENT_SYNC,
        RKT_EVENT_LOSS,   RKT_EVENT_WINDOW, RKT_EVENT_NAME,   RKT_EVENT_SHAPE,  RKT_EVENT_GRAPH,
        RKT_EVENT_DEVICE, RKT_EVENT_COUNTER};
    struct rkt_event event = {.kind = KINDS[rkt_random_below(random, sizeof(KINDS))]};

    event.clock_id =
        (uint8_t)(rkt_random_below(random, 9) == 0 ? rkt_random_below(random, RKT_CLOCK_COUNT)
                                                   : RKT_CLOCK_TRACE);
    event.type = (uint8_t)rkt_random_below(random, 15);
    event.flags = (uint8_t)rkt_random_below(random, 16);
    event.name_id = names[rkt_random_below(random, 4)];
    event.start_ns = any_time(random);
    event.end_ns = rkt_random_below(random, 3) == 0
                       ? any_time(random)
                       : event.start_ns + rkt_random_below(random, 1000000);
    event.thread_id = (uint32_t)rkt_random_below(random, 4);
    event.correlation_id = (uint32_t)rkt_random_below(random, EVENTS / 4);
    fill_kind(random, &event);
    return event;
}

static void add_process(struct store_maker *maker, uint8_t role, uint32_t rank,
                        struct rkt_random *random)
{
    static const char *const NAMES[] = {"ncclDevKernel_AllReduce_RING_LL(x)", "gemm",
                                        "cudaLaunchKernel", "ProfilerStep#7"};
    uint32_t source =
        store_add_source(maker, (struct rkt_source_info){.producer = RKT_PRODUCER_KINETO,
                                                         .role = role,
                                                         .gpu_clock = RKT_CLOCK_TRACE,
                                                         .rank_known = true,
                                                         .rank = rank,
                                                         .world_size = 3});
    uint32_t names[4];

    for (size_t i = 0; i < 4; i++)
        names[i] = store_name(maker, source, NAMES[i]);
    for (size_t i = 0; i < EVENTS; i++) {
        struct rkt_event event = any_event(random, names);

        store_add(maker, source, event);
    }
}

/* ---- reports ---- */

/* All formats, one after the other; free(). */
static char *print(const struct rkt_result *result)
{
    struct rkt_error err;
    char *text = NULL;
    size_t len_bytes = 0;
    FILE *out = open_memstream(&text, &len_bytes);

    assert_non_null(out);
    for (size_t i = 0; i < RKT_REPORT_FORMAT_COUNT; i++)
        assert_rkt_ok(RKT_REPORT_FORMATS[i].write(result, NULL, out, &err), err);
    fclose(out);
    assert_true(len_bytes > 0);
    return text;
}

/* A child does its share, and is gone. */
static void work_as_member(struct rkt_store_reader *reader, struct rkt_team *team)
{
    const struct rkt_analysis_options options = {.team = team};
    struct rkt_analysis *analysis = NULL;
    struct rkt_error err = {0};
    enum rkt_status status = rkt_analysis_create(reader, &options, &analysis, &err);

    (void)rkt_team_give_end(team, status == RKT_END ? NULL : &err, NULL);
    _exit(rkt_team_wait_for_end(team, 1));
}

static char *report(const char *path, int team_size)
{
    struct rkt_transport *transport = NULL;
    struct rkt_analysis_options options = {0};
    struct rkt_store_reader *reader;
    struct rkt_analysis *analysis;
    struct rkt_error err = {0};
    char *text;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    if (team_size > 1) {
        assert_rkt_ok(rkt_transport_fork_create(team_size, &transport, &err), err);
        assert_rkt_ok(rkt_team_create(transport, &options.team, &err), err);
        if (rkt_team_place(options.team) > 0)
            work_as_member(reader, options.team);
    }
    assert_rkt_ok(rkt_analysis_create(reader, &options, &analysis, &err), err);
    text = print(rkt_analysis_result(analysis));
    if (options.team)
        rkt_team_dismiss(options.team, 0);
    rkt_team_destroy(options.team);
    rkt_transport_destroy(transport, true);
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(reader);
    return text;
}

static void damage(const char *path, struct rkt_random *random)
{
    size_t len_bytes;
    uint8_t *bytes = sample_file_read(path, &len_bytes);

    if (!bytes || len_bytes <= 64) {
        fail_msg("%s is no store", path);
        return;
    }
    for (int i = 0; i < 8; i++) /* not the head, by which a file is a store */
        bytes[64 + rkt_random_below(random, len_bytes - 64)] ^= 0x5a;
    sample_file_write(path, bytes, len_bytes);
    free(bytes);
}

static void a_store_of_any_events_gives_one_report(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct rkt_random random = {seed};
        struct store_maker maker;
        char *alone;
        char *shared;

        store_maker_init(&maker, RKT_PRODUCER_KINETO);
        for (uint32_t rank = 0; rank < 1 + seed % 3; rank++)
            add_process(&maker, RKT_ROLE_RANK, rank, &random);
        add_process(&maker, RKT_ROLE_SIDECAR, 0, &random);
        add_process(&maker, RKT_ROLE_HELPER, 0, &random);
        add_process(&maker, RKT_ROLE_RANK, 0, &random); /* carries the RANK of another */
        (void)store_open(&maker);
        if (seed % 4 == 0)
            damage(maker.path, &random);
        alone = report(maker.path, 1);
        shared = report(maker.path, 2 + (int)(seed % 3));
        if (strcmp(alone, shared) != 0)
            fail_msg("seed %u: several processes say something else", (unsigned)seed);
        free(shared);
        free(alone);
        store_maker_release(&maker);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_of_any_events_gives_one_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
