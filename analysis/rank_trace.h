/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_TRACE_H
#define RKT_ANALYSIS_RANK_TRACE_H

/*
 * rank_trace - everything one rank recorded, in rank time, sorted and joined.
 *
 * Place:   store -> [rank_trace] -> step, phase, partition, match, ... The only reader of
 *          store events in analysis.
 * Time:    rank time (common/clock_map.h): one clock per rank, exact within the rank. job
 *          time only through `clock`. Records of the rank's own clock (all GPU work; all of
 *          an import) keep their stamps. Of another clock both ends are mapped, so that
 *          what enclosed or followed another record still does, also across clocks; a
 *          duration then changes by the clocks' difference in rate (below 500 ppm).
 * Order:   every array by start_ns, then by order in the file; but ops: those of a
 *          kernel are neighbours, in order of works, then the others.
 * Memory:  its own; freed by rkt_rank_trace_destroy. Read only after load, except the fields
 *          marked "filled by". A thin trace has let go of all but what comparing ranks needs.
 * Left out: records with start 0, end < start or absurd times (metrics.md, "Records"); counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/open_span.h"
#include "analysis/rank_gpus.h"
#include "analysis/rank_records.h"
#include "common/clock_map.h"
#include "common/event.h"
#include "common/status.h"
#include "common/store_reader.h"
#include "common/strtab.h"

struct rkt_lane_item;
struct rkt_selection;

/* What a reader's health grew by. */
struct rkt_read_damage {
    uint64_t damaged_frames;
    uint64_t skipped_bytes;
    uint64_t unknown_frames;
    uint64_t unknown_keys;
};

/* Where not all records were read: GPU work and calls are as in the whole rank around some
 * steps. */
struct rkt_read_part {
    bool is_part;
    size_t first_step; /* from its mark on, which is the first of these */
    int64_t end_ns;    /* rank time; INT64_MAX: to the end */
};

struct rkt_rank_trace {
    struct rkt_store_source source; /* who; how it ended */
    struct rkt_read_part read;
    struct rkt_read_damage damage; /* found when its records were read */
    struct rkt_clock_map *clock;   /* NULL where another process worked on the rank */
    struct rkt_strtab *names;

    struct rkt_work *works; /* device order: start_ns, end_ns */
    size_t work_count;
    struct rkt_call *calls;
    size_t call_count;
    struct rkt_range *ranges;
    size_t range_count;
    struct rkt_op *ops;
    size_t op_count;
    struct rkt_bucket *buckets;
    size_t bucket_count;
    struct rkt_comm *comms;
    size_t comm_count;
    struct rkt_named *named; /* in order of the file */
    size_t named_count;
    struct rkt_event_shape *shapes; /* by shape_id */
    size_t shape_count;
    /* NULL: a whole trace. Thin: works are kernels of collectives alone, and this is what index
     * each has in the whole trace; there are no calls, ranges and shapes, and buckets only where
     * there is no GPU work. */
    uint32_t *whole_index;
    struct rkt_comm_arrival *arrivals; /* beside works; NULL but until collectives are matched */
    struct rkt_lane_item *lane;        /* lane.h; filled by lane, kept by a thin trace */
    size_t lane_count;
    struct rkt_open_span *open_spans; /* by start; only with has_windows */
    size_t open_count;

    struct rkt_rank_gpus gpu;
    uint32_t work_counts[RKT_DEVICES_MAX]; /* pieces of GPU work by device_id; larger ids in none */
    uint8_t clock_id;                      /* enum rkt_clock_id: that of rank time */
    uint32_t main_thread_id; /* of the step marks, else with most launches; 0 unknown */
    bool has_windows;        /* capture was not open all along: a window's edge, or a gap */
    bool has_gpu;            /* any GPU work: else a host view */
    int64_t middle_ns;       /* median of its stamps; RKT_TIME_UNKNOWN without any */
    int64_t first_ns;        /* its earliest stamp; RKT_TIME_UNKNOWN without any */
    size_t early_count;      /* pieces of work that start before their own launch */
    size_t whole_graph_count;
    size_t hidden_count;     /* launches of graphs that ran on behind their last recorded kernel */
    int64_t hidden_ns;       /* so long at least */
    bool has_sync_calls;     /* ranges of type SYNC_CALL */
    bool is_nccl_by_nvtx;    /* some operation is known by its NVTX range */
    uint64_t left_out_count; /* records with impossible times */
    uint64_t unmapped_count; /* records of a clock that could not be mapped */
    int64_t clock_error_ns;  /* worst error of mapping between this rank's own clocks */
    uint64_t losses[RKT_LOSS_REASONS_MAX]; /* by enum rkt_loss_reason */
    int64_t capture_off_ns; /* total time in which capture was off or another tool's */
    int64_t overhead_ns;    /* what CUPTI says that tracing cost; pieces may overlap */
    int64_t sidecar_ns;     /* how long its sidecar told its CPU time; 0: it did not */
    int64_t sidecar_cpu_ns; /* and that time; on rank 0's host the aggregator is in it */
};

/* Name of a thread; "" unknown. */
const char *rkt_rank_trace_thread_name(const struct rkt_rank_trace *trace, uint32_t thread_id);

/* Job time, where `clock` is there; rank time where there is none, or the rank is not aligned. */
int64_t rkt_rank_trace_job_ns(const struct rkt_rank_trace *trace, int64_t rank_ns);

struct rkt_work_rules {
    const char *comm_kernel_regex; /* the user's --comm-kernel; NULL for none */
    bool only_matches;             /* of records only what collectives are matched by */
    /* Of records what this part of a run needs by its steps or time, where marks tell the steps and
     * the store tells when batches are; NULL: all. */
    const struct rkt_selection *selection;
    const char *step_range; /* as of the analysis; only with selection */
};

/* Loads the source at `position` of the reader with its node's clock records. */
enum rkt_status rkt_rank_trace_load(struct rkt_store_reader *reader, size_t position,
                                    const struct rkt_work_rules *rules,
                                    struct rkt_rank_trace **trace_out, struct rkt_error *err);
void rkt_rank_trace_destroy(struct rkt_rank_trace *trace); /* NULL is fine */

/* Of a source's first batches: its clock and first_ns, and no records. */
enum rkt_status rkt_rank_trace_load_head(struct rkt_store_reader *reader, size_t position,
                                         struct rkt_rank_trace **trace_out, struct rkt_error *err);

/* first_ns, early_count and the like, which a thin trace could not tell; load does it. */
void rkt_rank_trace_count(struct rkt_rank_trace *trace);

/* About how much memory it takes. */
size_t rkt_rank_trace_bytes(const struct rkt_rank_trace *trace);

/* To a thin trace. */
enum rkt_status rkt_rank_trace_thin(struct rkt_rank_trace *trace, struct rkt_error *err);

/* Between an index in the whole trace, which others keep, and the place in works. */
static inline uint32_t rkt_rank_trace_whole_index(const struct rkt_rank_trace *trace, size_t place)
{
    return trace->whole_index ? trace->whole_index[place] : (uint32_t)place;
}
/* NULL where a thin trace has let go of it. */
struct rkt_work *rkt_rank_trace_work(const struct rkt_rank_trace *trace, uint32_t whole_index);

/* Class by name (metrics.md, "Records"). Threads: any. */
enum rkt_work_class rkt_work_class_of_kernel(const char *name);
/* "cudaStreamSynchronize", "hipMemcpyAsync", ... */
enum rkt_call_class rkt_call_class_of_name(const char *name);

#endif
