/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a Kineto trace's events: files of tests/data/kineto, named by what they break. */
#include "rkt_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/import/import.h"
#include "common/store_reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
        if (event->range.inputs_id != 0)
            fprintf(dump->out, " inputs %s", name_of(dump, event->range.inputs_id));
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
    case RKT_EVENT_MEMORY:
        fprintf(dump->out, " type %u bytes %" PRIu64 " at %" PRIu64 " dev %d kind %u", event->type,
                event->memory.bytes, event->memory.address, (int)event->memory.device_id,
                event->memory.memory_kind);
        break;
    case RKT_EVENT_COUNTER:
        fprintf(dump->out, " type %u value %" PRIu64 " dev %d", event->type, event->counter.value,
                (int)event->counter.device_id);
        break;
    case RKT_EVENT_OVERHEAD:
    case RKT_EVENT_WINDOW:
        fprintf(dump->out, " type %u", event->type);
        break;
    case RKT_EVENT_NONE:
    case RKT_EVENT_BUCKET:
    case RKT_EVENT_CLOCK_PAIR:
    case RKT_EVENT_CLOCK_EXCHANGE:
    case RKT_EVENT_GRAPH:
    case RKT_EVENT_DEVICE:
    case RKT_EVENT_CLOCK_STATE:
    case RKT_EVENT_CLOCK_TRUE:
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
    const char *pieces[12]; /* all must be in the dump, in any order */
    uint64_t stored;
    uint64_t rejected;
    uint64_t left_out;
    const char *note; /* is said of the file, \"\" nothing; NULL: no matter */
};

static const struct case_of CASES[] = {
    {"br-05-newline-in-name.json",
     {"kernel 'one\ntwo\tthree' 10000-15000 thread 0 corr 1 dev 0 ctx 0 stream 7",
      "kernel 'plain' 20000-25000"},
     2,
     0,
     0,
     NULL},
    {"br-09-bare-word.json",
     {"nccl 'allreduce' 10000-15000 thread 0 corr 1 type 64 AllReduce datatype 7 count 64 seq -1 "
      "peer -1 comm known"},
     1,
     0,
     0,
     NULL},
    {"br-16-quotes-in-labels.json",
     {"name 'main \"loop\" \\' 0-0 thread 0 corr 0 type 1 object 1",
      "name 'stream 7 ' 0-0 thread 0 corr 0 type 2 object 7",
      "name 'py \"three\" \\ x' 0-0 thread 0 corr 0 type 0 object 100",
      "pid 100 program 'py \"three\"", "range 'aten::add' 5000-6000 thread 1 corr 0 type 9"},
     1,
     0,
     0,
     NULL},
    {"br-20-text-ids.json",
     {"name 'worker one' 0-0 thread 0 corr 0 type 1 object 1",
      "name 'thread 4093687616' 0-0 thread 0 corr 0 type 1 object 2",
      "range 'aten::add' 5000-14000 thread 1", "api 'cudaLaunchKernel' 6000-7000 thread 2 corr 3",
      "range 'aten::mul' 16000-17000 thread 2",
      "kernel 'add_kernel' 8000-10000 thread 0 corr 3 dev 0 ctx 1 stream 7"},
     4,
     0,
     0,
     NULL},
    {"br-22-large-pid.json",
     {"pid 7168000000", "range 'a' 5000-14000 thread 1", "range 'b' 5000-14000 thread 2",
      "kernel 'k' 8000-10000 thread 0 corr 2147483648",
      "api 'cudaLaunchKernel' 6000-7000 thread 1 corr 2147483648"},
     4,
     0,
     0,
     NULL},
    {"br-24-zero-ids.json",
     {"kernel 'k' 8000-10000 thread 0 corr 1 dev 0 ctx 0 stream 0",
      "api 'hipLaunchKernel' 6000-7000 thread 1 corr 1"},
     2,
     0,
     0,
     NULL},
    {"br-25-quoted-times.json",
     {"kernel 'k1' 1672924880617000250-1672924880617002750 thread 0 corr 1 dev 0 ctx 0 stream 1",
      "kernel 'k2' 1672924880617001000-1672924880617004000", "state 3 offset 0"},
     2,
     0,
     0,
     NULL},
    {"br-31-exact-times.json",
     {"1672924880617000000-1672924881307000000", "1672924881307000001-1672924881307000002",
      "1672924881308000000-1672924881309000000"},
     3,
     0,
     0,
     NULL},
    {"br-38-base-behind.json",
     {"kernel 'k' 6322354295053712-6322354295798475", "state 3 offset 1759300074000000000",
      "rank 5 world 8"},
     1,
     0,
     0,
     NULL},
    {"br-51-bad-stamps.json",
     {"kernel 'good'", "kernel 'zero long' 8000-8000",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 1 count 3",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 2 count 1",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 7 count 1",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 15 count 1",
      "loss '' 0-0 thread 0 corr 0 type 3 kind 0 count 1"},
     2,
     7,
     1,
     "1 that end before they start"},
    {"br-71-rank-in-args.json",
     {"rank 5 ", /* the third of its group */
      /* BR-95: the kernel says nothing, the operator that launched it does */
      "nccl '_reduce_scatter_base' 8000-10000 thread 0 corr 1 type 64 ReduceScatter datatype 9 "
      "count 24 seq 9",
      "comm '7' 5000-5000 thread 0 corr 0 rank 2 of 4 members 1,3,5,7"},
     2,
     0,
     0,
     NULL},
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
     0,
     NULL},
    {"br-81-metadata-only.json",
     {"rank 2", "name 'Some \"GPU\"' 0-0 thread 0 corr 0 type 3 object 0"},
     0,
     0,
     0,
     NULL},
    {"br-81-no-events.json", {"rank 0"}, 0, 0, 0, NULL},
    {"br-97-comms.json",
     {"corr 1 type 64 AllReduce datatype 7 count 1000 seq 41 peer -1 comm known",
      "corr 2 type 64 AllGather datatype 6 count 8 seq -1 peer -1 comm known",
      "corr 3 type 64 Send datatype 7 count 8 seq -1 peer 2 comm known",
      "rank 1 of 4 members 0,1,2,3", "rank 0 of 2 members 1,3"},
     5,
     0,
     0,
     NULL},
    {"br-10-commas.json", {"kernel 'a' 10000-15000", "kernel 'b' 20000-25000"}, 2, 0, 0, NULL},
    {"br-17-bytes-in-args.json",
     {"kernel 'k\001\303\251\357\277\275' 10000-15000"},
     1,
     0,
     0,
     "1 events with characters that JSON forbids"},
    {"br-26-many-overlap.json",
     {"range 's0' 10000-110000 thread 1", "range 's8' 18000-118000 thread 1"},
     9,
     0,
     0,
     NULL},
    {"br-32-unpadded-fractions.json",
     {"kernel 'k' 1700000000000000000-1700000000000003000"}, /* as written: no guess */
     80,
     0,
     0,
     "unpadded fractions (1 us 5 ns as 1.5)"},
    {"br-32-stripped-fractions.json", {"kernel 'k' 1700000000000010137-"}, 80, 0, 0, ""},
    {"br-37-display-unit.json", {"kernel 'k' 1000000-1005000"}, 1, 0, 0, NULL},
    {"br-53-ties.json",
     {"kernel 'z0' 100000-100000", "kernel 'z5' 100000-100000", "range 'c0' 60000-60000"},
     9,
     0,
     0,
     NULL},
    {"inputs-of-operators.json",
     {"9 stream 0 inputs [[32, 64], [16, 64], []] [\"float\", \"c10::Half [x]\", \"Scalar\"]\n",
      "'aten::mm' 20000-25000 thread 1 corr 0 type 9 stream 0 inputs [[32,64]]\n",
      "'old' 30000-35000 thread 1 corr 0 type 9 stream 0 inputs [[7]] []\n",
      "'args first' 40000-45000 thread 1 corr 0 type 9 stream 0 inputs [[3, 5]] [\"int\"]\n",
      "'in halves' 50000-55000 thread 1 corr 0 type 9 stream 0 inputs [[11, 2]]\n",
      "'no sizes' 60000-65000 thread 1 corr 0 type 9 stream 0\n",
      "'no list' 70000-75000 thread 1 corr 0 type 9 stream 0\n",
      "'no list first' 80000-85000 thread 1 corr 0 type 9 stream 0\n",
      "'types are no list' 90000-95000 thread 1 corr 0 type 9 stream 0 inputs [[8]]\n",
      "'nothing' 100000-105000 thread 1 corr 0 type 9 stream 0\n"},
     10,
     0,
     0,
     NULL},
    {"br-58-zero-start.json", {"kernel 'known' 10000-15000"}, 1, 2, 0, "2 without a usable ts"},
    {"br-62-halves.json",
     {"range 'outer' 10000-20000 thread 1", "range 'inner' 12000-14000 thread 1",
      "range 'of two' 11000-15000 thread 2", "type 3 kind 0 count 3"},
     3,
     6,
     0,
     "1 without a usable ts and dur; 2 that end before they start; 2 ends without a begin; 1 "
     "begins "
     "without an end"},
    {"br-63-crossing-halves.json",
     {"range 'first' 100000-105000 thread 1", "range 'second' 103000-107000 thread 1",
      "range 'third' 110000-115000 thread 1", "range 'fourth' 113000-117000 thread 1"},
     4,
     0,
     0,
     NULL},
    {"br-68-computed-args.json", {"HtoD 2->3 bytes 8000"}, 1, 0, 0, NULL},
    {"br-91-hip-kernels.json",
     {"kernel 'hipLikeKernel_gemm'", "range 'nccl:all_reduce' 5000-8000 thread 1 corr 0 type 8",
      "range 'nccl:all_reduce' 20000-25000 thread 0 corr 0 type 11 stream 7"},
     4,
     0,
     0,
     NULL},
    {"chrome-async.json",
     {"range 'fetch' 10000-20000", "range 'fetch' 12000-30000 thread 3",
      "range 'legacy' 40000-45000",
      "counter 'memory used' 50000-50000 thread 0 corr 0 type 0 value 1000 dev -1",
      "counter 'memory free' 50000-50000 thread 0 corr 0 type 0 value 25 dev -1",
      "counter 'load' 51000-51000 thread 0 corr 0 type 0 value 7", "range 'mark' 53000-53000",
      "range 'retry' 15000-15000 thread 3", "name 'net 0x1'",
      "range 'slice' 60000-61500 thread 6 corr 0 type 13"},
     8,
     2,
     1,
     "1 objects that are no event; 1 counters without a number"},
    {"kineto-rare-events.json",
     {"' 10500-10500 thread 1 corr 0 type 1 bytes 512 at 139725623001088 dev 1 kind 3",
      "counter 'allocated memory' 10500-10500 thread 0 corr 0 type 0 value 3000 dev 1",
      "counter 'reserved memory' 10500-10500 thread 0 corr 0 type 0 value 4096 dev 1",
      "' 11000-11000 thread 1 corr 0 type 2 bytes 512 at 18446744073709551611 dev -1 kind 1",
      "overhead 'Lazy Function Loading' 12000-15000 thread 2 corr 0 type 6",
      "overhead 'Command Buffer Full' 16000-17000 thread 2 corr 0 type 7",
      "counter '__range0 smsp__inst.sum' 20000-25000 thread 0 corr 0 type 0 value 1234",
      "api 'urEnqueueKernelLaunch' 40000-42000 thread 1 corr 9 type 0",
      "kernel 'fc_kernel' 43000-48000 thread 0 corr 9 dev 3 ctx 0 stream 2",
      "kernel 'negative' 50000-55000 thread 0 corr 2147483648",
      "kernel 'huge' 60000-65000 thread 0 corr 2147483649",
      "comm 'mesh_tp (17)' 10500-10500 thread 0 corr 0 rank -1 of 2 members 0,1"},
     11,
     0,
     2,
     NULL},
    {"python-stacks-kept.json",
     {"range 'train.py(3): main' 30000-35000 thread 1 corr 0 type 10"},
     1,
     0,
     0,
     NULL},
    {"br-110-external-id.json",
     {"api 'hipLaunchKernel' 4000-5000 thread 1 corr 2147483648",
      "kernel 'k' 8000-10000 thread 0 corr 2147483648",
      "api 'hipMalloc' 5000-6000 thread 1 corr 45"},
     3,
     0,
     0,
     NULL},
};

static uint64_t sum_of(const struct rkt_import_file *file, bool (*is_counted)(enum rkt_fate fate))
{
    uint64_t sum = 0;

    for (int fate = 0; fate < RKT_FATE_COUNT; fate++)
        sum += is_counted((enum rkt_fate)fate) ? file->fates[fate] : 0;
    return sum;
}

static bool is_any(enum rkt_fate fate)
{
    (void)fate;
    return true;
}

static bool is_left_out(enum rkt_fate fate)
{
    return rkt_fate_is_left_out(fate);
}

static bool is_rejected(enum rkt_fate fate)
{
    return rkt_fate_is_rejected(fate);
}

static void check_report(const struct case_of *c, const struct rkt_import_file *file)
{
    if (file->fates[RKT_FATE_STORED] != c->stored || sum_of(file, is_rejected) != c->rejected ||
        sum_of(file, is_left_out) != c->left_out)
        fail_msg("%s: %" PRIu64 " stored, %" PRIu64 " rejected, %" PRIu64 " left out", c->file,
                 file->fates[RKT_FATE_STORED], sum_of(file, is_rejected),
                 sum_of(file, is_left_out));
    if (sum_of(file, is_any) != file->read_count)
        fail_msg("%s: %" PRIu64 " events have a fate, %" PRIu64 " were read", c->file,
                 sum_of(file, is_any), file->read_count);
    if (c->note && (!strstr(file->note, c->note) || (!c->note[0] && file->note[0])))
        fail_msg("%s: \"%s\" has no \"%s\"", c->file, file->note, c->note);
}

static void check_case(const struct case_of *c)
{
    char store[] = "/tmp/rkt-kineto-XXXXXX";
    char path[512];
    const char *paths[] = {path};
    struct rkt_import_options options = {
        .paths = paths, .path_count = 1, .output = store, .overwrite = true};
    struct rkt_import_report report;
    struct rkt_error err = {0};
    int fd = mkstemp(store);
    char *text;

    assert_true(fd >= 0);
    close(fd);
    options.keeps_python = strstr(c->file, "python") != NULL;
    (void)snprintf(path, sizeof(path), "%s/kineto/%s", RKT_DATA_DIR, c->file);
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    text = dump_store(store);
    for (size_t k = 0; k < COUNT(c->pieces) && c->pieces[k]; k++) {
        if (!strstr(text, c->pieces[k]))
            fail_msg("%s: no \"%s\" in:\n%s", c->file, c->pieces[k], text);
    }
    check_report(c, &report.files[0]);
    free(text);
    rkt_import_report_release(&report);
    (void)unlink(store);
}

static void a_trace_becomes_the_events_that_it_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++)
        check_case(&CASES[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_becomes_the_events_that_it_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
