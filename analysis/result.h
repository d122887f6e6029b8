/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RESULT_H
#define RKT_ANALYSIS_RESULT_H

/*
 * result - what an analysis found; plain data that the reports print.
 *
 * Definitions and formulas: analysis/doc/metrics.md. All times are integer ns; rank time
 * unless the name says job. A number that cannot be given is RKT_NA (int64) or NAN
 * (double): printed as n/a, JSON null, never as 0.
 *
 * Memory: everything belongs to the analysis (analysis.h). Read only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/allocator_use.h"
#include "analysis/gpu_use.h"
#include "analysis/rank_trace.h"
#include "analysis/sync_lines.h"
#include "analysis/whatif.h"

#define RKT_NA INT64_MIN

struct rkt_bucket_row;   /* analysis/bucket_table.h */
struct rkt_efficiency;   /* analysis/efficiency.h */
struct rkt_trace_keeper; /* analysis/trace_keeper.h */
struct rkt_activity;     /* analysis/activity.h */
struct rkt_host_view;    /* analysis/host_view.h */
struct rkt_interval_set; /* analysis/interval.h */
struct rkt_name_times;   /* analysis/name_times.h */
struct rkt_batches;      /* analysis/batches.h */
struct rkt_tables;       /* analysis/key_table.h */
struct rkt_places;       /* analysis/place.h */
struct rkt_findings;     /* analysis/finding.h */
struct rkt_selection;    /* analysis/selection.h */

enum rkt_idle_cause {
    RKT_IDLE_SYNC,
    RKT_IDLE_ALLOC,
    RKT_IDLE_INPUT,
    RKT_IDLE_HOST, /* the launch gap: Python, dispatch */
    RKT_IDLE_LAUNCH,
    RKT_IDLE_DEPENDENCY,
    RKT_IDLE_DEVICE,
    RKT_IDLE_UNKNOWN,
    RKT_IDLE_CAUSE_COUNT
};

enum rkt_copy_part {
    RKT_COPY_PART_HTOD,
    RKT_COPY_PART_DTOH,
    RKT_COPY_PART_DTOD,
    RKT_COPY_PART_PTOP,
    RKT_COPY_PART_HTOH,
    RKT_COPY_PART_MEMSET,
    RKT_COPY_PART_OTHER,
    RKT_COPY_PART_COUNT
};

/* Which part of a rank's own work is larger than the median rank's. */
enum rkt_cause {
    RKT_CAUSE_NONE,
    RKT_CAUSE_COMPUTE,
    RKT_CAUSE_INPUT,
    RKT_CAUSE_HOST,
    RKT_CAUSE_SYNC,
    RKT_CAUSE_ALLOC,
    RKT_CAUSE_COPY,
    RKT_CAUSE_LAUNCH,
    RKT_CAUSE_OTHER,
};

/* Exclusive parts of a window; rkt_partition_sum is exactly window_ns. */
struct rkt_partition {
    int64_t window_ns;
    int64_t overlapped_ns; /* compute and comm */
    int64_t compute_ns;    /* compute alone */
    int64_t comm_wait_ns;  /* exposed comm before its release point */
    int64_t comm_transfer_ns;
    int64_t comm_unsplit_ns; /* exposed comm that matched no other rank's */
    int64_t copy_ns[RKT_COPY_PART_COUNT];
    int64_t idle_ns[RKT_IDLE_CAUSE_COUNT];
};

/* Host view of a rank without GPU records; also sums exactly to window_ns. */
struct rkt_host_partition {
    int64_t window_ns;
    int64_t overlapped_ns; /* compute under a bucket's collective */
    int64_t compute_ns;    /* forward, backward, optimizer, alone */
    int64_t comm_ns;       /* exposed */
    int64_t input_ns;
    int64_t host_ns; /* everything else */
};

/* Unions over a window: they overlap each other and do not sum to it. */
struct rkt_window {
    int64_t start_ns;
    int64_t end_ns;
    bool is_host_view;
    struct rkt_partition parts;     /* GPU ranks */
    struct rkt_host_partition host; /* host view */
    int64_t compute_ns;             /* |U(compute)| */
    int64_t comm_ns;                /* |U(comm)| */
    int64_t copy_ns;                /* |U(copy)| */
    int64_t copy_by_kind_ns[RKT_COPY_PART_COUNT];
    double comm_share;    /* |U(comm)| / window */
    double exposed_share; /* |U(comm) \ U(compute)| / window */
    double overlap;       /* |U(comm) ∩ U(compute)| / |U(comm)| */
    double gpu_util;      /* as nvidia-smi would say: |U(kernels)| / window; n/a in host view */
    double compute_share;
    uint64_t kernel_counts[3]; /* by enum rkt_work_class: works that start in the window */
};

/* AllReduce/backward overlap of one step. */
struct rkt_backward_overlap {
    int64_t buckets_ns;    /* |U(buckets)| */
    int64_t overlapped_ns; /* |U(buckets) ∩ U(compute) ∩ B| */
    int64_t tail_ns;       /* |U(buckets) after the end of B| */
    int64_t start_ns;      /* of the last run of B; RKT_NA without */
    double ratio;          /* NAN without buckets */
    int64_t prefetch_ns;   /* |U(HtoD) ∩ B|: what brings a later step's input; RKT_NA without B */
    double prefetch_ratio; /* of the window's HtoD; NAN without */
    uint32_t bucket_count;
};

struct rkt_step_result {
    uint64_t number; /* as marked */
    int64_t host_start_ns;
    int64_t host_end_ns;
    bool is_warmup; /* left out of the statistics */
    bool
        is_unrecorded; /* not wholly in a capture window of all ranks: likewise, and not measured */
    bool is_cut;       /* overlapped the next mark and was cut at it */
    struct rkt_window window;
    int64_t job_start_ns; /* its window's, as job time; rank time where the rank is not aligned */
    int64_t phase_ns[4];  /* host time by enum rkt_phase; [0]: input ranges; RKT_NA unknown */
    int64_t asleep_ns[4]; /* host view: what phases slept, by enum rkt_phase; [0] is 0 */
    struct rkt_backward_overlap backward;
    int64_t backward_launch_ns; /* host: begin of the backward that launched buckets; RKT_NA */
    int64_t own_work_ns;        /* of metrics.md, "Stragglers"; RKT_NA */
    int64_t own_by_cause_ns[RKT_CAUSE_OTHER + 1]; /* which add up to it; [0] is 0 */
};

static inline bool rkt_step_counts(const struct rkt_step_result *step)
{
    return !step->is_warmup && !step->is_unrecorded;
}

enum rkt_step_source {
    RKT_STEPS_WINDOW,      /* none found: the whole window is one step */
    RKT_STEPS_MARKS,       /* ranktrace_step */
    RKT_STEPS_ANNOTATION,  /* ProfilerStep#N or --step-range */
    RKT_STEPS_COLLECTIVES, /* the shortest repeating sequence of collectives */
};

enum rkt_phase_source {
    RKT_PHASES_NONE,
    RKT_PHASES_MARKS,
    RKT_PHASES_THREAD_NAME,  /* pt_autograd_* */
    RKT_PHASES_AUTOGRAD_OPS, /* Kineto: inside autograd::engine::evaluate_function */
};

/* What a rank has before a part of it is selected. */
struct rkt_whole_rank {
    size_t step_count; /* 0: no steps were found */
    uint64_t first_step;
    uint64_t last_step;
    int64_t length_ns;     /* from the run's start to the end of the rank */
    size_t selected_count; /* of its steps; without steps 1 where some of it is selected */
};

/* How waits by the clock and from durations differ (wait_check.h). */
struct rkt_wait_check {
    size_t count;      /* collectives; 0: the rest means nothing */
    int64_t offset_ns; /* above 0: its clock is ahead, or it ends later */
    int64_t noise_ns;
    bool is_off; /* by more than clocks' bounds and noise */
    bool has_drift;
    double drift_ppb; /* of its stamps against the lowest rank's */
    double drift_noise_ppb;
};

struct rkt_rank_result {
    uint32_t rank;
    struct rkt_rank_trace *trace;           /* may be thin: rkt_trace_open gives the whole one */
    struct rkt_activity *activity;          /* while the rank is worked on; NULL in host view */
    const struct rkt_host_view *host_view;  /* while it is measured; NULL with GPU records */
    const struct rkt_interval_set *exposed; /* exposed.h; NULL where nothing was measured */
    const struct rkt_name_times *names;     /* of what the rank did, by step; never printed */
    struct rkt_window run; /* [first start, last end of work); host view: of the marks */
    /* Before the first and after the last step: two stretches of the run as one window, whose
     * start and end are the run's; window_ns 0 if there are none. */
    struct rkt_window outside;
    struct rkt_step_result *steps;
    size_t step_count;
    struct rkt_whole_rank whole; /* only with a selection */
    enum rkt_step_source step_source;
    bool lacks_step_range; /* no range of its is named as --step-range asks */
    enum rkt_phase_source phase_source;
    const struct rkt_gpu_use *gpus;            /* over the steady steps; main GPU first */
    size_t gpu_count;                          /* 0: no samples */
    const struct rkt_allocator_use *allocator; /* in the steady steps; NULL: not recorded */
    const struct rkt_sync_line *sync_lines;    /* that wait in the steady steps, longest first */
    size_t sync_line_count;
    int64_t gain_ns;                 /* mean over steps, were it like its peers; RKT_NA */
    const struct rkt_tables *tables; /* by segment; NULL until it is measured, likewise: */
    const struct rkt_places *places; /* where it lost most */
    bool is_cut_short;               /* its process was killed or lost */
    bool is_set_apart;               /* set_apart.h: in no sum over ranks, not compared */
    bool has_other_steps; /* that is why: they were found in another way than the others' */
    enum rkt_align_state align_state;
    uint32_t align_flags; /* enum rkt_clock_flag */
    int64_t bound_ns;     /* worst guaranteed ± to the reference over the run; -1 unknown */
    int64_t likely_ns;    /* worst likely ± */
    int64_t own_bound_ns; /* of bound_ns that part in which two ranks of one clock may differ */
    struct rkt_wait_check wait_check;
};

enum rkt_match_confidence {
    RKT_MATCH_EXACT,   /* communicator, func, seq */
    RKT_MATCH_ORDERED, /* order in the communicator, func, count and datatype equal, best shift */
    RKT_MATCH_WEAK,    /* order of kernel names, or an unknown communicator */
};

/* One rank's part in a collective. */
struct rkt_participant {
    uint32_t rank;    /* position in ranks, not the rank's number */
    uint32_t work;    /* index in works; RKT_INDEX_NONE in host view */
    uint32_t bucket;  /* host view: index in buckets; else RKT_INDEX_NONE */
    int64_t start_ns; /* rank time: kernel, or hand-over in host view */
    int64_t end_ns;
    int64_t job_start_ns;
    int64_t job_end_ns;
    int64_t ready_ns;           /* rank time when this rank could have started it; RKT_NA unknown */
    int64_t wait_ns;            /* start to release point; RKT_NA with unaligned clocks */
    int64_t active_ns;          /* the rest of its duration */
    int64_t clock_free_wait_ns; /* d_i - min d */
    int64_t late_ns; /* start - end of the comm before it on its stream; RKT_NA for the first */
    bool is_queued;  /* started when the one before it ended: its start says nothing of the rank */
    uint32_t likely_ns; /* likely ± of its clock there; RKT_LIKELY_UNKNOWN: as its rank's */
};

struct rkt_collective {
    uint64_t comm_id;
    uint64_t seq;          /* as recorded; else the number in order */
    uint64_t bytes;        /* of the whole array; 0 unknown */
    const char *func_name; /* "AllReduce"; else the kernel's name */
    const char *comm_name; /* "" unknown */
    uint8_t func;          /* enum rkt_nccl_func */
    uint8_t confidence;    /* enum rkt_match_confidence */
    uint8_t algo;          /* enum rkt_nccl_algo, as NCCL tells it; 0 unknown */
    uint8_t proto;         /* enum rkt_nccl_proto, likewise */
    uint32_t host_count;   /* over how many hosts its ranks are spread; 0 not told */
    bool is_bucket;
    uint32_t bucket_index; /* RKT_INDEX_NONE */
    uint32_t step;         /* index of the step on its first participant; RKT_INDEX_NONE */
    struct rkt_participant *participants; /* by rank */
    size_t participant_count;
    uint32_t expected_count; /* members of the communicator; 0 unknown */
    int64_t job_first_start_ns;
    int64_t transfer_ns;     /* min duration: needs no clock */
    int64_t start_spread_ns; /* job time; RKT_NA with unaligned clocks */
    int64_t end_spread_ns;
    int64_t clocked_transfer_ns;  /* max(0, first end - last start) */
    uint32_t last_rank;           /* position of the last to arrive; RKT_INDEX_NONE */
    bool last_is_distinguishable; /* its lead over the second last is beyond the bound */
    bool is_clocked;      /* waits count by the clock, else by durations alone (clock_gap.h) */
    int64_t clock_gap_ns; /* what two of its ranks' clocks may be apart at most; RKT_NA unknown */
    double busbw_bytes_per_s; /* NAN unknown */
};

/* The straggler's GPU beside those of the others in the same steps. */
struct rkt_gpu_cause {
    bool is_found;
    uint32_t device_id;
    enum rkt_throttle_reason reason; /* 0: its clocks are lower, and NVML gives no reason */
    double share;                    /* of its readings that name the reason */
    double others_share;             /* median of the other ranks'; likewise below */
    double clock_mhz;                /* mean SM clock; NAN unknown */
    double others_clock_mhz;
};

/* Why a straggler's kernels take longer than those of the others. */
enum rkt_compute_kind {
    RKT_COMPUTE_UNKNOWN = 0, /* no kernels, or they do not take longer */
    RKT_COMPUTE_SLOWER,      /* the same kernels take longer */
    RKT_COMPUTE_MORE,        /* it runs more of them, or others */
    RKT_COMPUTE_SHAPES,      /* it runs them with other launch shapes */
};

/* Per step; the three times add up to what its kernels take above the others'. */
struct rkt_compute_cause {
    enum rkt_compute_kind kind; /* of the largest of the three */
    int64_t slower_ns;
    int64_t more_ns;
    int64_t shapes_ns;
    double slowdown; /* how long the same kernels take, by those of the others: median; NAN none */
    double kernel_count;
    double others_kernel_count; /* lower median */
};

#define RKT_STRAGGLER_STEPS_MIN 3 /* with fewer steps, chance looks like a straggler */

struct rkt_straggler {
    bool is_found;
    bool is_persistent;    /* too often for chance; else, in as many steps as are said */
    uint32_t rank;         /* position in ranks; of a group (whatif) the foremost */
    uint32_t step_count;   /* steps in which it holds the others up most, by over 1 % of the step */
    uint32_t steps_in_all; /* steady steps looked at */
    int64_t gain_ns;   /* mean over these of what a step would be shorter; RKT_NA not replayed */
    double loss_share; /* of the steps' time, likewise; 0 without a straggler, NAN unknown */
    int64_t excess_ns; /* median over steps: own work above the median of the other ranks */
    enum rkt_cause cause;
    int64_t cause_ns;                 /* how much of excess_ns the cause explains, median */
    const char *cause_detail;         /* kernel or range name; "" none */
    struct rkt_compute_cause compute; /* where the cause is that */
    struct rkt_gpu_cause gpu;         /* why it computes longer */
};

/* The rank that came last to most collectives, whether or not it is a straggler. */
struct rkt_last_arriver {
    uint32_t rank;             /* position in ranks; means nothing where last_count is 0 */
    uint32_t last_count;       /* collectives to which it came last */
    uint32_t collective_count; /* of these: steady, not queued, and told apart by the clocks */
    int64_t last_by_ns;        /* median lead over the second last; RKT_NA where last_count is 0 */
    uint32_t blurred_count;    /* further ones in which nobody's lead is beyond the clocks */
    int64_t clock_gap_ns;      /* the largest of those in collective_count; RKT_NA unknown */
};

/* What the clocks of the ranks can tell (clock_gap.h). */
struct rkt_clock_summary {
    int64_t gap_ns;       /* what those of two ranks may be apart at most; RKT_NA unknown */
    size_t clocked_count; /* collectives whose waits count by the clock */
    int64_t wait_gap_ns;  /* by how much that may be wrong in a step: mean of the sums of gaps */
};

/* What collectives have narrowed of clocks in memory, for this result alone (narrow_reader.h). */
struct rkt_narrowing {
    size_t rank_count;    /* whose alignment is narrowed */
    int64_t before_ns;    /* the widest bound of what is narrowed; 0 where nothing is */
    int64_t after_ns;     /* likewise, afterwards */
    bool is_contradicted; /* collectives and measurements exclude each other: nothing is narrowed */
};

/* Collectives of which a rank ended before another began, by more than a bound of their clocks
 * (clock_check.h). */
struct rkt_clock_breach {
    size_t count;
    uint32_t rank; /* position of the suspect; RKT_INDEX_NONE: no rank is in more than the others */
    size_t rank_count; /* of these collectives, in which it is suspect */
};

/* What collectives say of clocks. */
struct rkt_clock_check {
    size_t checked_count;           /* collectives that can tell, on clocks that are known */
    struct rkt_clock_breach proven; /* beyond the guaranteed bounds */
    size_t judged_count;            /* of those checked: all clocks have a likely bound */
    struct rkt_clock_breach likely; /* beyond the likely ones */
    /* by how much the likely suspect's clock is ahead, the others being right; above high: it was
     * not the same all along */
    int64_t off_low_ns;
    int64_t off_high_ns;
    int64_t floor_ns; /* an error below it shows in none; RKT_NA: none was judged, or one shows */
};

/* Medians over steady steps and ranks: the head of the report. */
struct rkt_summary {
    int64_t step_ns; /* median over steps of the longest rank's window; RKT_NA: none, or 0 */
    double comm_share;
    double exposed_share;
    double overlap;
    double backward_overlap;
    double prefetch; /* HtoD under backward, of all HtoD */
    double compute_share;
    double gpu_util;
    int64_t parts_rank_ns;      /* sum of windows over steady steps of ranks not set apart */
    struct rkt_partition parts; /* summed over the same (or run windows) */
    struct rkt_host_partition host;
    bool is_host_view;
};

struct rkt_analysis_note {
    int level;        /* 0 info, 1 warning, 2 error: something is proven wrong */
    const char *text; /* one line: what, where, what it means for the numbers */
};

struct rkt_result {
    const struct rkt_run_info *run;
    const struct rkt_store_health *health;
    const struct rkt_selection *selection; /* NULL: all of the run is looked at */
    size_t rank_count_in_all;              /* that the timeline holds, selected or not */
    struct rkt_trace_keeper *keeper;       /* NULL: all traces are whole */
    struct rkt_rank_result *ranks;         /* by rank number */
    size_t rank_count;
    uint32_t expected_rank_count;       /* 0 unknown */
    struct rkt_collective *collectives; /* by job_first_start_ns */
    size_t collective_count;
    size_t unmatched_count;         /* comm kernels that matched nothing */
    struct rkt_bucket_row *buckets; /* by index, over steady steps */
    size_t bucket_count;
    struct rkt_whatif whatif;
    const struct rkt_efficiency
        *efficiency; /* analysis/efficiency.h; NULL where it was not looked at */
    struct rkt_straggler straggler;
    struct rkt_last_arriver last_arriver;
    struct rkt_clock_summary clock;
    struct rkt_clock_check clock_check;
    struct rkt_narrowing narrowing;
    const uint32_t *clocks; /* of each rank: the first that reads the same; NULL: each its own */
    struct rkt_summary summary;
    const struct rkt_tables *tables;     /* of all ranks that are not set apart; NULL none */
    const struct rkt_batches *batches;   /* of steady steps, for intervals; NULL none */
    const struct rkt_findings *findings; /* NULL: not looked for */
    struct rkt_analysis_note *notes;
    size_t note_count;
    uint64_t event_count;
    uint64_t loss_count;
};

/* Whether any rank was recorded in part only. */
bool rkt_result_has_windows(const struct rkt_result *result);

int64_t rkt_partition_sum(const struct rkt_partition *parts);
int64_t rkt_host_partition_sum(const struct rkt_host_partition *parts);
void rkt_partition_add(struct rkt_partition *to, const struct rkt_partition *parts);
void rkt_host_partition_add(struct rkt_host_partition *to, const struct rkt_host_partition *parts);

const char *rkt_note_level_name(int level);                 /* "warning" */
const char *rkt_idle_cause_name(enum rkt_idle_cause cause); /* "sync" */
const char *rkt_copy_part_name(enum rkt_copy_part part);    /* "HtoD" */
const char *rkt_cause_name(enum rkt_cause cause);           /* "compute" */
const char *rkt_match_confidence_name(enum rkt_match_confidence confidence);
const char *rkt_step_source_name(enum rkt_step_source source);
const char *rkt_phase_source_name(enum rkt_phase_source source);

#endif
