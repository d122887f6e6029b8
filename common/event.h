/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_EVENT_H
#define RKT_COMMON_EVENT_H

/*
 * event - one captured record, 64 bytes.
 *
 * Place:  capture fills it and pushes it into a ring; the sidecar encodes columns of
 *         it (codec); importers make the same; analysis reads it back. It is never
 *         written to a file or a wire as memory: the columns of event_fields.h are.
 * Time:   start_ns and end_ns are local time of clock_id. An instant has end == start.
 * Names:  every *_id that is a name is an id in the source's string table, 0 = unknown.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/event_values.h"

/* Stored in files: never renumber. */
enum rkt_event_kind {
    RKT_EVENT_NONE = 0,
    RKT_EVENT_KERNEL = 1,
    RKT_EVENT_MEMCPY = 2,
    RKT_EVENT_MEMSET = 3,
    RKT_EVENT_SYNC = 4, /* CUPTI synchronisation record */
    RKT_EVENT_API = 5,  /* runtime or driver call on a host thread */
    RKT_EVENT_NCCL = 6,
    RKT_EVENT_RANGE = 7, /* marks, annotations, host operators */
    RKT_EVENT_BUCKET = 8,
    RKT_EVENT_NAME = 9,
    RKT_EVENT_COMM = 10,
    RKT_EVENT_SHAPE = 11, /* a kernel's launch shape, referred to by its id */
    RKT_EVENT_CLOCK_PAIR = 12,
    RKT_EVENT_CLOCK_EXCHANGE = 13,
    RKT_EVENT_LOSS = 14,
    RKT_EVENT_MEMORY = 15,      /* memory of a device, or pinned, is taken or given back */
    RKT_EVENT_GRAPH = 16,       /* a launch of a CUDA graph that is traced as one piece */
    RKT_EVENT_OVERHEAD = 17,    /* what CUPTI itself cost, as it says */
    RKT_EVENT_COUNTER = 18,     /* a sample: utilisation, clocks, power ... */
    RKT_EVENT_WINDOW = 19,      /* an edge of a capture window */
    RKT_EVENT_DEVICE = 20,      /* which GPU a device_id of the process is */
    RKT_EVENT_CLOCK_STATE = 21, /* what steers REALTIME says of itself */
    RKT_EVENT_CLOCK_TRUE = 22,  /* within which limits it is true time, by the site's word */
    RKT_EVENT_KIND_COUNT
};

struct rkt_event_kernel {
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t shape_id; /* a RKT_EVENT_SHAPE's shape_id; 0 unknown */
    uint64_t graph_node_id;
    uint32_t graph_id;
};

struct rkt_event_memcpy {
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t peer_device_id; /* PtoP: the destination; else = device_id */
    uint64_t bytes;
    uint8_t copy_kind; /* enum rkt_copy_kind */
    uint8_t src_kind;  /* enum rkt_memory_kind */
    uint8_t dst_kind;
    uint8_t reserved;
    uint32_t graph_id;
};

struct rkt_event_memset {
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t value;
    uint64_t bytes;
    uint32_t graph_id;
};

struct rkt_event_sync {
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;     /* UINT32_MAX: none */
    uint32_t cuda_event_id; /* UINT32_MAX: none */
};

struct rkt_event_api {
    uint32_t cbid;
    int32_t return_value;
};

struct rkt_event_nccl {
    uint64_t comm_id; /* communicator hash, equal on all ranks; with rank_count the key */
    uint64_t seq;     /* per communicator and func; UINT64_MAX unknown */
    uint64_t count;   /* elements as passed to the call; UINT64_MAX unknown */
    int32_t peer;     /* root or peer rank; -1 none */
    uint8_t func;     /* enum rkt_nccl_func */
    uint8_t datatype; /* ncclDataType_t */
    uint8_t algo;     /* enum rkt_nccl_algo */
    uint8_t proto;    /* enum rkt_nccl_proto */
};

struct rkt_event_range {
    uint64_t value;     /* step number, mark payload; of phases: ns asleep, 0 not known */
    uint32_t domain_id; /* NVTX domain or category, a name */
    uint32_t stream_id; /* GPU annotations */
    uint32_t inputs_id; /* an operator's inputs, a name: "[[32, 64], []] ["float", "Scalar"]" */
};

/* One gradient bucket's collective: start = handed to the process group, end = done. */
struct rkt_event_bucket {
    uint64_t bytes;
    uint64_t step;
    uint32_t index; /* in order of hand-over within the step */
    uint32_t param_count;
};

struct rkt_event_name {
    uint64_t object_id;
    int32_t sort_index; /* imported; 0 */
};

struct rkt_event_comm {
    uint64_t comm_id;
    int32_t rank; /* own rank in it; -1 unknown */
    uint32_t rank_count;
    uint32_t node_count; /* 0 unknown */
    uint32_t members_id; /* a name: global ranks, "0,1,2"; 0 unknown */
};

struct rkt_event_shape {
    uint32_t shape_id; /* dense from 1, per source; event.name_id is the kernel's name */
    uint32_t grid_x;
    uint16_t grid_y;
    uint16_t grid_z;
    uint16_t block_x;
    uint16_t block_y;
    uint16_t block_z;
    uint16_t registers;
    uint32_t static_shared_bytes;
    uint32_t dynamic_shared_bytes;
};

/* The other clocks at some moment from start_ns to end_ns, likely in the middle. */
struct rkt_event_clock_pair {
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    uint64_t tsc_ticks; /* at about that moment; 0: not read */
    /*
     * Readings since an earlier pair that were left out: how long ago that was, from start to
     * start; 0: none was, or it is not known. And how far the clocks were off the line between the
     * two, as these show.
     */
    uint32_t line_us;
    uint32_t line_ns;
};

/*
 * One ping-pong with the reference: start_ns = t1 and end_ns = t4 of this source's
 * node, t2 and t3 of the peer, all MONOTONIC_RAW.
 */
struct rkt_event_clock_exchange {
    uint64_t t2_ns;
    uint64_t t3_ns;
    uint32_t peer_source;
    uint32_t burst; /* exchanges of one burst share a number */
};

struct rkt_event_loss {
    uint64_t count;
    uint64_t bytes;
    uint32_t lost_kind; /* enum rkt_event_kind; 0: any */
};

/* At start_ns; how long the caller took is in its API event. */
struct rkt_event_memory {
    uint64_t address;
    uint64_t bytes;
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;  /* UINT32_MAX: none */
    uint8_t memory_kind; /* enum rkt_memory_kind */
};

struct rkt_event_graph {
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t graph_id;
};

struct rkt_event_overhead {
    uint32_t device_id;  /* UINT32_MAX: of a host thread */
    uint32_t context_id; /* likewise */
    uint32_t stream_id;  /* likewise */
};

struct rkt_event_counter {
    uint64_t value;
    uint32_t device_id; /* as the process counts its devices */
};

struct rkt_event_window {
    uint64_t step; /* the step that begins here; UINT64_MAX: between steps, or none is marked */
};

struct rkt_event_device {
    uint64_t uuid_high; /* the first 8 bytes of the UUID, as a number that reads like it */
    uint64_t uuid_low;
    uint32_t device_id;
    uint32_t pci_domain;
    uint16_t pci_bus;
    uint16_t pci_device;
};

/* As adjtimex(2) gives it, at start_ns. */
struct rkt_event_clock_state {
    int64_t offset_ns;     /* what NTP or PTP is about to correct */
    uint64_t max_error_ns; /* of REALTIME to true time, as it claims */
    uint64_t est_error_ns;
    int32_t frequency_ppb; /* what the kernel adds to the quartz's rate */
    uint32_t status;       /* STA_* bits; 64 STA_UNSYNC: nobody steers */
};

/* True time at some moment from start_ns to end_ns of MONOTONIC_RAW, as ns since 1970. */
struct rkt_event_clock_true {
    uint64_t earliest_ns;
    uint64_t latest_ns;
};

struct rkt_event {
    uint8_t kind;     /* enum rkt_event_kind */
    uint8_t clock_id; /* enum rkt_clock_id */
    uint8_t type;     /* meaning by kind */
    uint8_t flags;    /* enum rkt_event_flag */
    uint32_t name_id;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t thread_id; /* host thread (gettid, or a number that an importer gives); 0 unknown */
    uint32_t correlation_id; /* joins a launch with its GPU work within a source; 0 none */
    union {
        struct rkt_event_kernel kernel;
        struct rkt_event_memcpy memcpy;
        struct rkt_event_memset memset;
        struct rkt_event_sync sync;
        struct rkt_event_api api;
        struct rkt_event_nccl nccl;
        struct rkt_event_range range;
        struct rkt_event_bucket bucket;
        struct rkt_event_name name;
        struct rkt_event_comm comm;
        struct rkt_event_shape shape;
        struct rkt_event_clock_pair clock_pair;
        struct rkt_event_clock_exchange clock_exchange;
        struct rkt_event_loss loss;
        struct rkt_event_memory memory;
        struct rkt_event_graph graph;
        struct rkt_event_overhead overhead;
        struct rkt_event_counter counter;
        struct rkt_event_window window;
        struct rkt_event_device device;
        struct rkt_event_clock_state clock_state;
        struct rkt_event_clock_true clock_true;
    };
};

static_assert(sizeof(struct rkt_event) == 64, "the ring's record is one cache line");

/* Whether records are missing for this reason; else they are there, and lack something. */
static inline bool rkt_loss_is_of_records(unsigned reason)
{
    return reason != RKT_LOSS_NAMES_FULL;
}

/* "kernel"; "unknown" for a number that is no kind. Likewise the others. */
const char *rkt_event_kind_name(enum rkt_event_kind kind);
const char *rkt_copy_kind_name(enum rkt_copy_kind kind);       /* "HtoD" */
const char *rkt_nccl_func_name(enum rkt_nccl_func func);       /* "AllReduce" */
const char *rkt_nccl_algo_name(enum rkt_nccl_algo algo);       /* "Ring" */
const char *rkt_nccl_proto_name(enum rkt_nccl_proto proto);    /* "LL128" */
const char *rkt_loss_reason_name(enum rkt_loss_reason reason); /* "ring_full" */
const char *rkt_counter_name(enum rkt_counter counter);        /* "sm_active" */
const char *rkt_counter_unit(enum rkt_counter counter);        /* "0.01%", "bytes/s", "MHz" */

/* "GPU-01234567-89ab-cdef-0123-456789abcdef", as NVML writes it; 40 characters. */
#define RKT_GPU_UUID_BYTES 41
void rkt_format_gpu_uuid(const struct rkt_event_device *device, char text[RKT_GPU_UUID_BYTES]);
const char *rkt_throttle_reason_name(enum rkt_throttle_reason reason); /* "power cap"; one bit */

/* Any usual spelling: "AllReduce", "allreduce", "_allgather_base", "all_to_allv" ... */
enum rkt_nccl_func rkt_nccl_func_parse(const char *text);
/* "ncclFloat32", "Float", "BFloat16", "torch.float32" ...; RKT_DATATYPE_UNKNOWN if not known. */
uint8_t rkt_datatype_parse(const char *text);
uint32_t rkt_datatype_bytes(uint8_t datatype); /* 0 for unknown */

#endif
