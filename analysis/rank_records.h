/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_RECORDS_H
#define RKT_ANALYSIS_RANK_RECORDS_H

/*
 * rank_records - what a rank's trace is made of; plain data (rank_trace.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/event.h"

#define RKT_TIME_UNKNOWN INT64_MIN
#define RKT_INDEX_NONE UINT32_MAX

enum rkt_work_class {
    RKT_WORK_COMPUTE = 0, /* every kernel that is not comm */
    RKT_WORK_COMM = 1,
    RKT_WORK_COPY = 2, /* memcpy and memset */
};

enum rkt_phase {
    RKT_PHASE_NONE = 0, /* outside every step, or not known */
    RKT_PHASE_FORWARD = 1,
    RKT_PHASE_BACKWARD = 2,
    RKT_PHASE_OPTIMIZER = 3,
};

#define RKT_COPY_MEMSET 32u /* beside enum rkt_copy_kind in rkt_work.copy_kind */

/* One piece of GPU work with the host call that launched it. */
struct rkt_work {
    int64_t start_ns;
    int64_t end_ns;
    int64_t launch_start_ns; /* RKT_TIME_UNKNOWN without a launch record */
    int64_t launch_end_ns;
    uint64_t bytes; /* copies */
    uint32_t name_id;
    uint32_t shape_id;
    uint32_t device_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    uint32_t launch_thread_id;
    uint32_t op;         /* first of its NCCL operations in ops; RKT_INDEX_NONE */
    uint32_t op_count;   /* operations in ops[op ...] (a group launches as one kernel) */
    uint32_t step;       /* index in steps; RKT_INDEX_NONE outside; filled by step */
    uint32_t collective; /* index in the analysis' collectives; filled by match */
    uint8_t work_class;  /* enum rkt_work_class */
    uint8_t copy_kind;   /* enum rkt_copy_kind or RKT_COPY_MEMSET */
    uint8_t src_kind;
    uint8_t dst_kind;
    uint8_t is_async;
    uint8_t phase;     /* enum rkt_phase of the launch; filled by phase */
    uint8_t is_bucket; /* a gradient bucket's collective; filled by phase */
    uint8_t from_graph;
    uint8_t is_all_to_all;  /* a SendRecv that the program's range calls an all_to_all */
    uint8_t is_whole_graph; /* a graph's launch as one piece: what is inside is not known */
};

enum rkt_call_class {
    RKT_CALL_OTHER = 0,
    RKT_CALL_LAUNCH = 1,   /* kernel, graph, memcpy, memset launches */
    RKT_CALL_BLOCKING = 2, /* synchronises the host */
    RKT_CALL_ALLOC = 3,
};

struct rkt_call {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t thread_id;
    uint32_t name_id;
    uint32_t correlation_id;
    uint8_t call_class; /* enum rkt_call_class */
};

struct rkt_range {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t value; /* as in struct rkt_event_range */
    uint32_t thread_id;
    uint32_t name_id;
    uint32_t domain_id; /* a name: NVTX domain; of a call that waits, its site; of an operator, its
                           inputs */
    uint8_t type;       /* enum rkt_range_type */
};

struct rkt_op {
    int64_t start_ns; /* host times */
    int64_t end_ns;
    uint32_t thread_id;
    uint32_t correlation_id; /* of its kernel; 0 unknown */
    uint32_t work;           /* index in works; RKT_INDEX_NONE */
    uint8_t type;            /* enum rkt_nccl_type */
    uint8_t is_graph;
    uint8_t is_by_nvtx; /* of NCCL's NVTX ranges: no sequence, no bracket around the launch */
    struct rkt_event_nccl nccl;
};

/* Of a kernel of a collective: analysis/arrival.h. */
struct rkt_comm_arrival {
    int64_t job_start_ns; /* rank time where the rank is not aligned */
    int64_t job_end_ns;
    int64_t ready_ns; /* INT64_MIN without a launch record */
    int64_t late_ns;  /* INT64_MIN for the first comm of its stream */
    bool is_queued;
    uint32_t likely_ns; /* likely ± of the rank's clock then; RKT_LIKELY_UNKNOWN */
};

/* A likely ± in 32 bits: none, or too large for them. */
#define RKT_LIKELY_UNKNOWN UINT32_MAX

struct rkt_bucket {
    int64_t start_ns;
    int64_t end_ns;
    int64_t job_start_ns; /* filled by arrival; rank time where the rank is not aligned */
    int64_t job_end_ns;
    uint64_t bytes;
    uint64_t step;
    uint32_t index;
    uint32_t thread_id;
    uint32_t collective; /* index in the analysis' collectives; filled by match */
};

struct rkt_comm {
    uint64_t comm_id;
    int32_t rank;
    uint32_t rank_count;
    uint32_t name_id;
    uint32_t members_id;
};

/* A name given to a thread, stream, device or the process. */
struct rkt_named {
    uint64_t object_id;
    uint32_t name_id;
    int32_t sort_index;
    uint8_t type; /* enum rkt_named_object */
};

#endif
