/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_NCCL_H
#define RKT_CAPTURE_NVTX_NCCL_H

/*
 * nvtx_nccl - NCCL's calls as its NVTX ranges tell them.
 *
 * The fallback where NCCL has no profiler plugin of ours: before 2.23, and where another tool's
 * plugin is loaded. A collective's range becomes a COLL_API event, send and receive a P2P_API, what
 * they are part of a GROUP_API, all with RKT_FLAG_BY_NVTX. Sequence, algorithm and protocol are not
 * told, the data type neither: count is in bytes (RKT_DATATYPE_BYTE_COUNT).
 *
 * Threads: any, each for its own ranges.
 */

#include "agent/capture/capture.h"
#include "agent/capture/nvtx_payload.h"
#include "agent/capture/nvtx_stack.h"

enum rkt_nvtx_operation_kind {
    RKT_NVTX_OPERATION_NONE = 0,
    RKT_NVTX_OPERATION_COLL = 1,
    RKT_NVTX_OPERATION_P2P = 2,
    RKT_NVTX_OPERATION_GROUP_START = 3,
    RKT_NVTX_OPERATION_GROUP_END = 4,
};

/* A range of NCCL's domain is pushed: what call is it? NONE while the plugin tells. */
struct rkt_nvtx_operation rkt_nvtx_nccl_operation(const struct rkt_capture *capture,
                                                  uint32_t name_id,
                                                  const struct rkt_nvtx_fields *fields);

/* It was popped, with these fields: a call's end, or a communicator's making. */
void rkt_nvtx_nccl_popped(struct rkt_capture *capture, struct rkt_thread *thread,
                          const struct rkt_nvtx_range *range, const struct rkt_nvtx_fields *fields,
                          uint64_t end_ns);

#endif
