/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_work STORE - every piece of GPU work as the analysis sees it, one per line:
 *     rank start_ns end_ns class
 * in job time; then one line per rank with what was left out. For comparison with the oracle.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/rank_trace.h"

static int fail(const struct rkt_error *err)
{
    (void)fprintf(stderr, "dump_work: %s\n", err->text);
    return 1;
}

static void print_trace(const struct rkt_rank_trace *trace)
{
    static const char *const CLASSES[] = {"compute", "comm", "copy"};
    uint32_t rank = trace->source.info.rank;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        (void)printf("%" PRIu32 " %" PRId64 " %" PRId64 " %s\n", rank,
                     rkt_clock_map_to_job(trace->clock, work->start_ns, NULL).ns,
                     rkt_clock_map_to_job(trace->clock, work->end_ns, NULL).ns,
                     CLASSES[work->work_class]);
    }
    (void)printf("%" PRIu32 " left_out %" PRIu64 " ops %zu comms %zu\n", rank,
                 trace->left_out_count, trace->op_count, trace->comm_count);
}

int main(int argc, char **argv)
{
    struct rkt_work_rules rules = {NULL};
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    enum rkt_status status = RKT_OK;

    if (argc != 2)
        return 2;
    if (rkt_store_reader_open(argv[1], &reader, &err) != RKT_OK)
        return fail(&err);
    for (size_t i = 0; i < rkt_store_reader_source_count(reader) && status == RKT_OK; i++) {
        struct rkt_rank_trace *trace = NULL;

        status = rkt_rank_trace_load(reader, i, &rules, &trace, &err);
        if (status == RKT_OK)
            print_trace(trace);
        rkt_rank_trace_destroy(trace);
    }
    rkt_store_reader_close(reader);
    return status == RKT_OK ? 0 : fail(&err);
}
