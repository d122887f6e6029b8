/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_TRACE_PARTS_H
#define RKT_ANALYSIS_RANK_TRACE_PARTS_H

/*
 * rank_trace_parts - what the files of rank_trace share; for nobody else.
 *
 *   rank_trace_load.c   store -> raw events by kind, the clock map
 *   rank_trace_part.c   which of them, where not all are needed
 *   rank_trace_head.c   the earliest of the first batches
 *   rank_trace_build.c  raw events -> sorted arrays in rank time, classes by name
 *   rank_trace_gpu.c    which GPUs the rank uses, samples of them
 *   rank_trace_absurd.c records with impossible times
 *   rank_trace_join.c   GPU work with its launch, threads, SYNC records
 *   rank_trace_nccl.c   kernels with the NCCL operations that they carry out
 *   rank_trace_windows.c  when capture was open
 *   rank_trace_thin.c   what a trace says of itself, and letting go of most of it
 *   rank_trace.c        life cycle, and the order of all this
 */

#include "analysis/key_index.h"
#include "analysis/rank_trace.h"

/* 64 KiB of them: what grows is then a list of places, and no event is moved again. */
#define RKT_RAW_BLOCK_EVENTS 1024u

struct rkt_raw_events {
    struct rkt_event **blocks; /* of RKT_RAW_BLOCK_EVENTS each */
    size_t block_count;
    size_t block_cap;
    size_t count;
};

static inline const struct rkt_event *rkt_raw_event(const struct rkt_raw_events *list, size_t index)
{
    return &list->blocks[index / RKT_RAW_BLOCK_EVENTS][index % RKT_RAW_BLOCK_EVENTS];
}

/* The source's events as they are in the store, in file order per kind. */
struct rkt_raw_trace {
    struct rkt_raw_events by_kind[RKT_EVENT_KIND_COUNT];
};

void rkt_raw_trace_release(struct rkt_raw_trace *raw);

/* Which batches of a source are taken. */
struct rkt_raw_filter {
    size_t batch_count; /* at most, from the first on */
    bool (*has_kind)(const void *ctx, uint8_t kind);
    /* Of such a kind; NULL: any. */
    bool (*has_span)(const void *ctx, const struct rkt_batch_span *span);
    const void *ctx;
};

/* Fills raw, trace->source, ->names and ->clock. `filter` NULL: all. */
enum rkt_status rkt_raw_trace_load(struct rkt_store_reader *reader, size_t position,
                                   const struct rkt_raw_filter *filter, struct rkt_raw_trace *raw,
                                   struct rkt_rank_trace *trace, struct rkt_error *err);

/* Further kinds of the same source to raw. */
enum rkt_status rkt_raw_trace_add(struct rkt_store_reader *reader,
                                  const struct rkt_raw_filter *filter, struct rkt_raw_trace *raw,
                                  struct rkt_rank_trace *trace, struct rkt_error *err);

/* Load, of what the rules need; trace->read says how much that was. */
enum rkt_status rkt_raw_trace_load_part(struct rkt_store_reader *reader, size_t position,
                                        const struct rkt_work_rules *rules,
                                        struct rkt_raw_trace *raw, struct rkt_rank_trace *trace,
                                        struct rkt_error *err);

/* All arrays but ops, sorted; classes; losses. Raw SYNC and NCCL events are left for the joins. */
enum rkt_status rkt_rank_trace_build(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw,
                                     const struct rkt_work_rules *rules, struct rkt_error *err);

/* Ranges alone, sorted; build does it, too. After find_middle. */
enum rkt_status rkt_rank_trace_build_ranges(struct rkt_rank_trace *trace,
                                            const struct rkt_raw_trace *raw, struct rkt_error *err);

/* counters, sorted, and devices. */
enum rkt_status rkt_rank_trace_build_gpu(struct rkt_rank_trace *trace,
                                         const struct rkt_raw_trace *raw, struct rkt_error *err);

/* Fills in middle_ns, the middle of the rank's stamps: what is far from it is no stamp. */
enum rkt_status rkt_rank_trace_find_middle(struct rkt_rank_trace *trace,
                                           const struct rkt_raw_trace *raw, struct rkt_error *err);
/* Leaves out, and counts, GPU work that ends far outside everything else. */
void rkt_rank_trace_leave_out_endless(struct rkt_rank_trace *trace);

/* Both stamps to rank time; false (and counted in the trace) when they are impossible, far from the
 * middle, or of a clock that cannot be mapped. *error_ns_out (may be NULL) is the mapping's
 * bound. */
bool rkt_rank_trace_times(struct rkt_rank_trace *trace, const struct rkt_event *event,
                          int64_t *start_ns_out, int64_t *end_ns_out, int64_t *error_ns_out);

/* open_spans. After find_middle. */
enum rkt_status rkt_rank_trace_find_windows(struct rkt_rank_trace *trace,
                                            const struct rkt_raw_events *events,
                                            struct rkt_error *err);

/* Time without capture is none in a window: another tool had CUPTI. After find_windows and
 * build. */
enum rkt_status rkt_rank_trace_cut_gaps(struct rkt_rank_trace *trace,
                                        const struct rkt_raw_events *losses, struct rkt_error *err);

/* Launch of each work, SYNC records as blocking calls where no API record has their correlation,
 * main_thread_id. */
enum rkt_status rkt_rank_trace_join(struct rkt_rank_trace *trace,
                                    const struct rkt_raw_events *syncs, struct rkt_error *err);

/* That of the step marks; 0: there are none, or it is not known. */
uint32_t rkt_rank_trace_thread_of_marks(const struct rkt_rank_trace *trace);

/* ops, and their kernels; kernels launched by NCCL become comm whatever their name. */
enum rkt_status rkt_rank_trace_link_ops(struct rkt_rank_trace *trace,
                                        const struct rkt_raw_events *events, struct rkt_error *err);

/* hidden_count, hidden_ns. After join. */
void rkt_rank_trace_find_hidden(struct rkt_rank_trace *trace);

/* Is there a name that such a range has? */
bool rkt_rank_trace_names_all_to_all(const struct rkt_rank_trace *trace);

/* is_all_to_all, of kernels whose operation was not recorded. After link_ops. */
enum rkt_status rkt_rank_trace_find_all_to_alls(struct rkt_rank_trace *trace,
                                                struct rkt_error *err);

#endif
