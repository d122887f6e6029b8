/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a Kineto trace's events: files of tests/data/kineto, named by what they break. */
#include "rkt_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/import/import.h"
#include "common/store_reader.h"

struct dump {
    FILE *out;
    const struct rkt_strtab *names;
};

static const char *name_of(const struct dump *dump, uint32_t name_id)
{
    return rkt_strtab_get(dump->names, name_id, NULL);
}

static void dump_nccl(const struct dump *dump, const struct rkt_event *event)
{
    const struct rkt_event_nccl *nccl = &event->nccl;

    fprintf(dump->out, " type %u %s datatype %u count %" PRId64 " seq %" PRId64 " peer %d comm %s",
            event->type, rkt_nccl_func_name((enum rkt_nccl_func)nccl->func), nccl->datatype,
            (int64_t)nccl->count, (int64_t)nccl->seq, nccl->peer,
            nccl->comm_id == 0 ? "unknown" : "known");
}

static void dump_body(const struct dump *dump, const struct rkt_event *event)
{
    switch ((enum rkt_event_kind)event->kind) {
    case RKT_EVENT_KERNEL:
        fprintf(dump->out, " dev %u ctx %u stream %u shape %u graph %u node %" PRIu64,
                event->kernel.device_id, event->kernel.context_id, event->kernel.stream_id,
                event->kernel.shape_id, event->kernel.graph_id, event->kernel.graph_node_id);
        break;
    case RKT_EVENT_MEMCPY:
        fprintf(dump->out, " dev %u stream %u %s %u->%u bytes %" PRIu64, event->memcpy.device_id,
                event->memcpy.stream_id,
                rkt_copy_kind_name((enum rkt_copy_kind)event->memcpy.copy_kind),
                event->memcpy.src_kind, event->memcpy.dst_kind, event->memcpy.bytes);
        break;
    case RKT_EVENT_MEMSET:
        fprintf(dump->out, " dev %u stream %u bytes %" PRIu64, event->memset.device_id,
                event->memset.stream_id, event->memset.bytes);
        break;
    case RKT_EVENT_SYNC:
        fprintf(dump->out, " type %u stream %d event %d", event->type, (int)event->sync.stream_id,
                (int)event->sync.cuda_event_id);
        break;
    case RKT_EVENT_API:
        fprintf(dump->out, " type %u cbid %u", event->type, event->api.cbid);
        break;
    case RKT_EVENT_RANGE:
        fprintf(dump->out, " type %u stream %u", event->type, event->range.stream_id);
        break;
    case RKT_EVENT_NAME:
        fprintf(dump->out, " type %u object %" PRIu64, event->type, event->name.object_id);
        break;
    case RKT_EVENT_COMM:
        fprintf(dump->out, " rank %d of %u members %s", event->comm.rank, event->comm.rank_count,
                name_of(dump, event->comm.members_id));
        break;
    case RKT_EVENT_SHAPE:
        fprintf(dump->out, " %u: grid %u,%u,%u block %u,%u,%u regs %u shared %u",
                event->shape.shape_id, event->shape.grid_x, event->shape.grid_y,
                event->shape.grid_z, event->shape.block_x, event->shape.block_y,
                event->shape.block_z, event->shape.registers, event->shape.dynamic_shared_bytes);
        break;
    case RKT_EVENT_LOSS:
        fprintf(dump->out, " type %u kind %u count %" PRIu64, event->type, event->loss.lost_kind,
                event->loss.count);
        break;
    case RKT_EVENT_NCCL:
        dump_nccl(dump, event);
        break;
    case RKT_EVENT_NONE:
    case RKT_EVENT_BUCKET:
    case RKT_EVENT_CLOCK_PAIR:
    case RKT_EVENT_CLOCK_EXCHANGE:
    case RKT_EVENT_MEMORY:
    case RKT_EVENT_GRAPH:
    case RKT_EVENT_OVERHEAD:
    case RKT_EVENT_COUNTER:
    case RKT_EVENT_WINDOW:
    case RKT_EVENT_DEVICE:
    case RKT_EVENT_KIND_COUNT:
        break;
    }
}

static enum rkt_status dump_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    const struct dump *dump = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        const struct rkt_event *event = &events[i];

        fprintf(dump->out, "%s '%s' %" PRIu64 "-%" PRIu64 " thread %u corr %u",
                rkt_event_kind_name((enum rkt_event_kind)event->kind),
                name_of(dump, event->name_id), event->start_ns, event->end_ns, event->thread_id,
                event->correlation_id);
        dump_body(dump, event);
        fprintf(dump->out, "\n");
    }
    return RKT_OK;
}

static enum rkt_status skip_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    (void)ctx;
    (void)events;
    (void)count;
    (void)err;
    return RKT_OK;
}

/* Every event of the store, one per line, and a line per source; the caller frees it. */
static char *dump_store(const char *path)
{
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        struct rkt_strtab *names = rkt_strtab_create();
        struct dump dump = {out, names};

        fprintf(out,
                "source %u rank %u world %u pid %" PRIu64 " program '%s' state %u offset %" PRId64
                " cut %d\n",
                source->info.source, source->info.rank, source->info.world_size, source->info.pid,
                source->info.program, source->align.state,
                source->align.knot_count > 0 ? source->align.knots[0].offset_ns : -1,
                source->end.cut_short);
        /* names may come behind the events that use them: once for these, once for those */
        assert_rkt_ok(
            rkt_store_reader_walk(reader, source->info.source, names, skip_events, NULL, &err),
            err);
        assert_rkt_ok(
            rkt_store_reader_walk(reader, source->info.source, NULL, dump_events, &dump, &err),
            err);
        rkt_strtab_destroy(names);
    }
    rkt_store_reader_close(reader);
    assert_int_equal(fclose(out), 0);
    return text;
}

struct case_of {
    const char *file;
    const char *pieces[8]; /* all must be in the dump, in any order */
    uint64_t event_count;
    uint64_t skipped_count;
    uint64_t left_out_count;
};

static const struct case_of CASES[] = {
    {"br-05-newline-in-name.json",
     {"kernel 'one\ntwo\tthree' 10000-15000 thread 0 corr 1 dev 0 ctx 0 stream 7",
      "kernel 'plain' 20000-25000"},
     2,
     0,
     0},
    {"br-09-bare-word.json",
     {"nccl 'allreduce' 10000-15000 thread 0 corr 1 type 64 AllReduce datatype 7 count 64 seq -1 "
      "peer -1 comm known"},
     1,
     0,
     0},
    {"br-16-quotes-in-labels.json",
     {"name 'main \"loop\" \\' 0-0 thread 0 corr 0 type 1 object 1",
      "name 'stream 7 ' 0-0 thread 0 corr 0 type 2 object 7",
      "name 'py \"three\" \\ x' 0-0 thread 0 corr 0 type 0 object 100",
      "pid 100 program 'py \"three\"", "range 'aten::add' 5000-6000 thread 1 corr 0 type 9"},
     1,
     0,
     0},
    {"br-20-text-ids.json",
     {"name 'worker one' 0-0 thread 0 corr 0 type 1 object 1",
      "name 'thread 4093687616' 0-0 thread 0 corr 0 type 1 object 2",
      "range 'aten::add' 5000-14000 thread 1", "api 'cudaLaunchKernel' 6000-7000 thread 2 corr 3",
      "range 'aten::mul' 16000-17000 thread 2",
      "kernel 'add_kernel' 8000-10000 thread 0 corr 3 dev 0 ctx 1 stream 7"},
     4,
     0,
     0},
    {"br-22-large-pid.json",
     {"pid 7168000000", "range 'a' 5000-14000 thread 1", "range 'b' 5000-14000 thread 2",
      "kernel 'k' 8000-10000 thread 0 corr 2147483648",
      "api 'cudaLaunchKernel' 6000-7000 thread 1 corr 2147483648"},
     4,
     0,
     0},
    {"br-24-zero-ids.json",
     {"kernel 'k' 8000-10000 thread 0 corr 1 dev 0 ctx 0 stream 0",
      "api 'hipLaunchKernel' 6000-7000 thread 1 corr 1"},
     2,
     0,
     0},
    {"br-25-quoted-times.json",
     {"kernel 'k1' 1672924880617000250-1672924880617002750 thread 0 corr 1 dev 0 ctx 0 stream 1",
      "kernel 'k2' 1672924880617001000-1672924880617004000", "state 3 offset 0"},
     2,
     0,
     0},
    {"br-31-exact-times.json",
     {"1672924880617000000-1672924881307000000", "1672924881307000001-1672924881307000002",
      "1672924881308000000-1672924881309000000"},
     3,
     0,
     0},
    {"br-38-base-behind.json",
     {"kernel 'k' 6322354295053712-6322354295798475", "state 3 offset 1759300074000000000",
      "rank 5 world 8"},
     1,
     0,
     0},
    {"br-51-bad-stamps.json",
     {"kernel 'good'", "kernel 'zero long' 8000-8000",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 1 count 3",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 2 count 1",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 7 count 1",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 0 count 1"},
     2,
     6,
     2},
    {"br-71-rank-in-args.json",
     {"rank 5 ", /* the third of its group */
      /* BR-95: the kernel says nothing, the operator that launched it does */
      "nccl '_reduce_scatter_base' 8000-10000 thread 0 corr 1 type 64 ReduceScatter datatype 9 "
      "count 24 seq 9",
      "comm '7' 5000-5000 thread 0 corr 0 rank 2 of 4 members 1,3,5,7"},
     2,
     0,
     0},
    {"br-72-minified.json",
     {"rank 3 world 8",
      "kernel 'k' 8000-10000 thread 0 corr 11 dev 3 ctx 1 stream 7 shape 1 graph 4 node 99",
      "shape 'k' 0-0 thread 0 corr 0 1: grid 70000,2,1 block 128,1,1 regs 32 shared 4096",
      "dev 3 stream 7 HtoD 1->3 bytes 92928", "memset 'Memset (Device)' 28000-30000",
      "sync 'Stream Wait Event' 38000-38000 thread 0 corr 14 type 2 stream 7 event 6",
      "sync 'Context Sync' 39000-40000 thread 0 corr 15 type 4 stream -1 event -1",
      "range 'Optimizer.step' 8000-38000 thread 0 corr 0 type 11 stream 7"},
     9,
     0,
     0},
    {"br-81-metadata-only.json",
     {"rank 2", "name 'Some \"GPU\"' 0-0 thread 0 corr 0 type 3 object 0"},
     0,
     0,
     0},
    {"br-81-no-events.json", {"rank 0"}, 0, 0, 0},
    {"br-97-comms.json",
     {"corr 1 type 64 AllReduce datatype 7 count 1000 seq 41 peer -1 comm known",
      "corr 2 type 64 AllGather datatype 6 count 8 seq -1 peer -1 comm known",
      "corr 3 type 64 Send datatype 7 count 8 seq -1 peer 2 comm known",
      "rank 1 of 4 members 0,1,2,3", "rank 0 of 2 members 1,3"},
     5,
     0,
     0},
    {"br-110-external-id.json",
     {"api 'hipLaunchKernel' 4000-5000 thread 1 corr 2147483648",
      "kernel 'k' 8000-10000 thread 0 corr 2147483648",
      "api 'hipMalloc' 5000-6000 thread 1 corr 45"},
     3,
     0,
     0},
};

static void a_trace_becomes_the_events_that_it_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct case_of *c = &CASES[i];
        char store[] = "/tmp/rkt-kineto-XXXXXX";
        char path[512];
        const char *paths[] = {path};
        struct rkt_import_options options = {paths, 1, store, true};
        struct rkt_import_report report;
        struct rkt_error err = {0};
        int fd = mkstemp(store);
        char *text;

        assert_true(fd >= 0);
        close(fd);
        (void)snprintf(path, sizeof(path), "%s/kineto/%s", RKT_DATA_DIR, c->file);
        assert_rkt_ok(rkt_import(&options, &report, &err), err);
        text = dump_store(store);
        for (size_t k = 0; k < 8 && c->pieces[k]; k++) {
            if (!strstr(text, c->pieces[k]))
                fail_msg("%s: no \"%s\" in:\n%s", c->file, c->pieces[k], text);
        }
        if (report.files[0].event_count != c->event_count ||
            report.files[0].skipped_count != c->skipped_count ||
            report.files[0].left_out_count != c->left_out_count)
            fail_msg("%s: %" PRIu64 " events, %" PRIu64 " skipped, %" PRIu64 " left out", c->file,
                     report.files[0].event_count, report.files[0].skipped_count,
                     report.files[0].left_out_count);
        free(text);
        rkt_import_report_release(&report);
        (void)unlink(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_becomes_the_events_that_it_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
