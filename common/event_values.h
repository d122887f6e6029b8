/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_EVENT_VALUES_H
#define RKT_COMMON_EVENT_VALUES_H

/*
 * event_values - the numbers that fields of an event hold. Stored in files: never renumber.
 */

enum rkt_event_flag {
    RKT_FLAG_ASYNC = 1,          /* memcpy, memset, memory: CUPTI's asynchronous flag */
    RKT_FLAG_GRAPH = 2,          /* captured into, or replayed from, a CUDA graph */
    RKT_FLAG_IMPLICIT_GROUP = 4, /* NCCL group of one call */
    RKT_FLAG_NO_END = 8,         /* the end was not seen; end_ns == start_ns */
    RKT_FLAG_SEND = 16,          /* NCCL network work: sends; else it receives */
    RKT_FLAG_BY_NVTX = 32,       /* NCCL: told by its NVTX ranges, not by its profiler plugin */
};

/* RKT_EVENT_API: type */
enum rkt_api_type {
    RKT_API_RUNTIME = 0,
    RKT_API_DRIVER = 1,
};

/* RKT_EVENT_SYNC: type; CUPTI's own values */
enum rkt_sync_type {
    RKT_SYNC_UNKNOWN = 0,
    RKT_SYNC_EVENT = 1,
    RKT_SYNC_STREAM_WAIT_EVENT = 2,
    RKT_SYNC_STREAM = 3,
    RKT_SYNC_CONTEXT = 4,
};

/* RKT_EVENT_MEMCPY: copy_kind; CUPTI's own values */
enum rkt_copy_kind {
    RKT_COPY_UNKNOWN = 0,
    RKT_COPY_HTOD = 1,
    RKT_COPY_DTOH = 2,
    RKT_COPY_HTOA = 3,
    RKT_COPY_ATOH = 4,
    RKT_COPY_ATOA = 5,
    RKT_COPY_ATOD = 6,
    RKT_COPY_DTOA = 7,
    RKT_COPY_DTOD = 8,
    RKT_COPY_HTOH = 9,
    RKT_COPY_PTOP = 10,
};

/* Ends of a copy; CUPTI's own values */
enum rkt_memory_kind {
    RKT_MEMORY_UNKNOWN = 0,
    RKT_MEMORY_PAGEABLE = 1,
    RKT_MEMORY_PINNED = 2,
    RKT_MEMORY_DEVICE = 3,
    RKT_MEMORY_ARRAY = 4,
    RKT_MEMORY_MANAGED = 5,
    RKT_MEMORY_DEVICE_STATIC = 6,
    RKT_MEMORY_MANAGED_STATIC = 7,
};

/* RKT_EVENT_NCCL: type. Times are host time unless said otherwise. */
enum rkt_nccl_type {
    RKT_NCCL_GROUP = 0,
    RKT_NCCL_COLL = 1, /* end is "enqueued", not "finished" */
    RKT_NCCL_P2P = 2,
    RKT_NCCL_PROXY_OP = 3,
    RKT_NCCL_PROXY_STEP = 4,
    RKT_NCCL_PROXY_CTRL = 5,
    RKT_NCCL_KERNEL_CH = 6,
    RKT_NCCL_NET_PLUGIN = 7,
    RKT_NCCL_GROUP_API = 8,
    RKT_NCCL_COLL_API = 9,
    RKT_NCCL_P2P_API = 10,
    RKT_NCCL_KERNEL_LAUNCH = 11, /* encloses the driver launch on the same thread */
    RKT_NCCL_CE_COLL = 12,       /* a collective by copy engines */
    RKT_NCCL_CE_SYNC = 13,
    RKT_NCCL_CE_BATCH = 14,
    RKT_NCCL_KERNEL_PHASE = 15,
    RKT_NCCL_KERNEL_INFO = 64, /* imported: what a kernel (by correlation_id) carries out */
};

enum rkt_nccl_func {
    RKT_NCCL_FUNC_UNKNOWN = 0,
    RKT_NCCL_FUNC_ALLREDUCE = 1,
    RKT_NCCL_FUNC_ALLGATHER = 2,
    RKT_NCCL_FUNC_REDUCESCATTER = 3,
    RKT_NCCL_FUNC_BROADCAST = 4,
    RKT_NCCL_FUNC_REDUCE = 5,
    RKT_NCCL_FUNC_SEND = 6,
    RKT_NCCL_FUNC_RECV = 7,
    RKT_NCCL_FUNC_SENDRECV = 8,
    RKT_NCCL_FUNC_ALLTOALL = 9,
    RKT_NCCL_FUNC_GATHER = 10,
    RKT_NCCL_FUNC_SCATTER = 11,
    RKT_NCCL_FUNC_BARRIER = 12,
};

/* ncclDataType_t's own values; 255 = unknown */
#define RKT_DATATYPE_UNKNOWN 255u
#define RKT_DATATYPE_BYTE_COUNT 254u /* not told; count is in bytes */

enum rkt_nccl_algo {
    RKT_ALGO_UNKNOWN = 0,
    RKT_ALGO_TREE = 1,
    RKT_ALGO_RING = 2,
    RKT_ALGO_COLLNET_DIRECT = 3,
    RKT_ALGO_COLLNET_CHAIN = 4,
    RKT_ALGO_NVLS = 5,
    RKT_ALGO_NVLS_TREE = 6,
    RKT_ALGO_PAT = 7,
};

enum rkt_nccl_proto {
    RKT_PROTO_UNKNOWN = 0,
    RKT_PROTO_LL = 1,
    RKT_PROTO_LL128 = 2,
    RKT_PROTO_SIMPLE = 3,
};

/* RKT_EVENT_RANGE: type */
enum rkt_range_type {
    RKT_RANGE_USER = 0, /* ranktrace_range_push/pop */
    RKT_RANGE_STEP = 1, /* range.value = step number */
    /* phases: range.value = ns that their thread slept, at least */
    RKT_RANGE_FORWARD = 2,
    RKT_RANGE_BACKWARD = 3,
    RKT_RANGE_OPTIMIZER = 4,
    RKT_RANGE_INPUT = 5,
    RKT_RANGE_COMM_WAIT = 6, /* a host thread waits for a collective */
    RKT_RANGE_NVTX = 7,
    RKT_RANGE_ANNOTATION = 8, /* imported user_annotation */
    RKT_RANGE_CPU_OP = 9,     /* imported cpu_op */
    RKT_RANGE_PYTHON = 10,
    RKT_RANGE_GPU_ANNOTATION = 11, /* on a GPU track: never work */
    RKT_RANGE_MARK = 12,           /* an instant */
    RKT_RANGE_OTHER = 13,          /* any other slice of an imported file */
    RKT_RANGE_SYNC_CALL = 14, /* a call of Python that waits for the GPU; domain_id: "file:line" */
};

/* RKT_EVENT_NAME: type says what object_id is */
enum rkt_named_object {
    RKT_NAMED_PROCESS = 0,
    RKT_NAMED_THREAD = 1, /* object_id: as event.thread_id */
    RKT_NAMED_STREAM = 2, /* object_id: stream_id */
    RKT_NAMED_DEVICE = 3, /* object_id: device_id */
};

/* RKT_EVENT_MEMORY: type */
enum rkt_memory_operation {
    RKT_MEMORY_OPERATION_UNKNOWN = 0,
    RKT_MEMORY_ALLOC = 1,
    RKT_MEMORY_FREE = 2,
};

/* RKT_EVENT_OVERHEAD: type */
enum rkt_overhead_type {
    RKT_OVERHEAD_UNKNOWN = 0,
    RKT_OVERHEAD_COMPILER = 1,        /* the driver translates a kernel */
    RKT_OVERHEAD_BUFFER_FLUSH = 2,    /* CUPTI gives buffers back */
    RKT_OVERHEAD_INSTRUMENTATION = 3, /* CUPTI prepares kernels */
    RKT_OVERHEAD_RESOURCE = 4,        /* CUPTI takes memory */
    RKT_OVERHEAD_MODULE_LOADING = 5,  /* a kernel is loaded by its first launch */
    RKT_OVERHEAD_LAZY_LOADING = 6,
    RKT_OVERHEAD_QUEUE_FULL = 7,     /* a launch waits, as too many are pending */
    RKT_OVERHEAD_BUFFER_REQUEST = 8, /* CUPTI asks for a buffer */
    RKT_OVERHEAD_MANAGED_MEMORY = 9, /* CUPTI prepares to trace managed memory */
};

/*
 * RKT_EVENT_COUNTER: type. A mean over [start, end), or the value at start where end == start.
 * value is in the unit given here.
 */
enum rkt_counter {
    RKT_COUNTER_NAMED = 0,             /* imported; name_id says what */
    RKT_COUNTER_GPU_BUSY = 1,          /* 0.01 %: some kernel runs (what nvidia-smi shows) */
    RKT_COUNTER_MEMORY_BUSY = 2,       /* 0.01 %: device memory is read or written */
    RKT_COUNTER_SM_ACTIVE = 3,         /* 0.01 %: mean over multiprocessors */
    RKT_COUNTER_SM_OCCUPANCY = 4,      /* 0.01 % */
    RKT_COUNTER_TENSOR_ACTIVE = 5,     /* 0.01 % */
    RKT_COUNTER_DRAM_ACTIVE = 6,       /* 0.01 % */
    RKT_COUNTER_PCIE_SENT = 7,         /* bytes/s */
    RKT_COUNTER_PCIE_RECEIVED = 8,     /* bytes/s */
    RKT_COUNTER_NVLINK_SENT = 9,       /* bytes/s */
    RKT_COUNTER_NVLINK_RECEIVED = 10,  /* bytes/s */
    RKT_COUNTER_SM_CLOCK = 11,         /* MHz */
    RKT_COUNTER_MEMORY_CLOCK = 12,     /* MHz */
    RKT_COUNTER_POWER = 13,            /* mW */
    RKT_COUNTER_TEMPERATURE = 14,      /* degrees Celsius */
    RKT_COUNTER_THROTTLE_REASONS = 15, /* NVML's bits */
    RKT_COUNTER_ECC_CORRECTED = 16,    /* errors since the driver was loaded */
    RKT_COUNTER_ECC_UNCORRECTED = 17,  /* likewise */
    RKT_COUNTER_MEMORY_USED = 18,      /* bytes */
    RKT_COUNTER_SM_CLOCK_MAX = 19,     /* MHz: what the SM clock could be */
    RKT_COUNTER_POWER_LIMIT = 20,      /* mW */
    RKT_COUNTER_COUNT
};

/* Bits of RKT_COUNTER_THROTTLE_REASONS; NVML's own values. */
enum rkt_throttle_reason {
    RKT_THROTTLE_IDLE = 0x1, /* nothing to do: not a limit */
    RKT_THROTTLE_CLOCK_SETTING = 0x2,
    RKT_THROTTLE_POWER_CAP = 0x4,
    RKT_THROTTLE_HW_SLOWDOWN = 0x8, /* also beside the two of hardware below */
    RKT_THROTTLE_SYNC_BOOST = 0x10,
    RKT_THROTTLE_SW_THERMAL = 0x20,
    RKT_THROTTLE_HW_THERMAL = 0x40,
    RKT_THROTTLE_POWER_BRAKE = 0x80,
};

/*
 * RKT_EVENT_WINDOW: type. Before the first edge capture was open where that edge closes it, else
 * closed.
 */
enum rkt_window_edge {
    RKT_WINDOW_CLOSED = 0, /* from start_ns on GPU and NCCL work is not recorded, on purpose */
    RKT_WINDOW_OPENED = 1, /* from start_ns on it is */
    RKT_WINDOW_WARMUP = 2, /* it is, but only so that what follows is whole: it does not count */
};

/* RKT_EVENT_LOSS: type says why */
enum rkt_loss_reason {
    RKT_LOSS_RING_FULL = 0,
    RKT_LOSS_NAMES_FULL = 1,    /* the string heap: events kept, names lost */
    RKT_LOSS_CUPTI_DROPPED = 2, /* as CUPTI counts them */
    RKT_LOSS_BAD_STAMP = 3,     /* zero, reversed or absurd times */
    RKT_LOSS_SEND_QUEUE = 4,    /* rank 0 too slow */
    RKT_LOSS_NO_RING = 5,       /* more threads than rings */
    RKT_LOSS_DAMAGED_INPUT = 6, /* imported file */
    RKT_LOSS_CAPTURE_OFF = 7,   /* capture was off or replaced in [start, end) */
    RKT_LOSS_TOO_MANY_OPEN = 8, /* ranges nested, or buckets and the like open, past the limit */
};

#define RKT_LOSS_REASONS_MAX 16u /* room for those of later versions */

#endif
