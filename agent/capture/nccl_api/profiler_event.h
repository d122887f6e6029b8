/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_PROFILER_EVENT_H
#define RKT_CAPTURE_NCCL_PROFILER_EVENT_H

/*
 * profiler_event - what NCCL tells a profiler plugin of v4 to v7 about an event.
 *
 * All these versions begin alike. What differs: in v4 `type` is one byte and the seven
 * after it are undefined, and a version's descriptor ends where RKT_NCCL_DESCR_BYTES_V<n>
 * says: nothing behind that may be read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bits of the activation mask, and the type of a descriptor. */
enum rkt_nccl_event {
    RKT_NCCL_EVENT_GROUP = 1 << 0,
    RKT_NCCL_EVENT_COLL = 1 << 1,
    RKT_NCCL_EVENT_P2P = 1 << 2,
    RKT_NCCL_EVENT_PROXY_OP = 1 << 3,
    RKT_NCCL_EVENT_PROXY_STEP = 1 << 4,
    RKT_NCCL_EVENT_PROXY_CTRL = 1 << 5,
    RKT_NCCL_EVENT_KERNEL_CH = 1 << 6,
    RKT_NCCL_EVENT_NET_PLUGIN = 1 << 7,
    RKT_NCCL_EVENT_GROUP_API = 1 << 8, /* from here on: v5 */
    RKT_NCCL_EVENT_COLL_API = 1 << 9,
    RKT_NCCL_EVENT_P2P_API = 1 << 10,
    RKT_NCCL_EVENT_KERNEL_LAUNCH = 1 << 11,
    RKT_NCCL_EVENT_CE_COLL = 1 << 12, /* from here on: v6 */
    RKT_NCCL_EVENT_CE_SYNC = 1 << 13,
    RKT_NCCL_EVENT_CE_BATCH = 1 << 14,
    RKT_NCCL_EVENT_KERNEL_PHASE = 1 << 15, /* v7 */
};

/* States of recordEventState that are used here. */
enum rkt_nccl_state {
    RKT_NCCL_STATE_STEP_FIRST = 8,
    RKT_NCCL_STATE_STEP_SEND_GPU_WAIT = 8, /* for the GPU to have filled the buffer */
    RKT_NCCL_STATE_STEP_SEND_WAIT = 9,     /* for the network to have sent it */
    RKT_NCCL_STATE_STEP_RECV_WAIT = 10,
    RKT_NCCL_STATE_STEP_RECV_FLUSH_WAIT = 11,
    RKT_NCCL_STATE_STEP_RECV_GPU_WAIT = 12, /* for the GPU to have emptied the buffer */
    RKT_NCCL_STATE_STEP_LAST = 12,
    RKT_NCCL_STATE_CTRL_FIRST = 13,
    RKT_NCCL_STATE_CTRL_IDLE = 13,
    RKT_NCCL_STATE_CTRL_ACTIVE = 14,
    RKT_NCCL_STATE_CTRL_SLEEP = 15,
    RKT_NCCL_STATE_CTRL_WAKEUP = 16,
    RKT_NCCL_STATE_CTRL_APPEND = 17,
    RKT_NCCL_STATE_CTRL_APPEND_END = 18,
    RKT_NCCL_STATE_CTRL_LAST = 18,
    RKT_NCCL_STATE_PROXY_OP_IN_PROGRESS = 19,
    RKT_NCCL_STATE_STEP_SEND_PEER_WAIT = 20, /* for the receiver to be ready */
    RKT_NCCL_STATE_KERNEL_CH_STOP = 22,
    RKT_NCCL_STATE_GROUP_START_STOP = 23, /* ncclGroupStart returned */
    RKT_NCCL_STATE_GROUP_END_START = 24,  /* ncclGroupEnd was called */
};

/* One event. The strings belong to NCCL and are static. */
struct rkt_nccl_descr {
    uint64_t type; /* v4: one byte, read with rkt_nccl_descr_type_v4 */
    void *parent;
    int rank;
    union {
        struct {
            uint8_t is_captured; /* not bool: no value of it may hurt */
            int depth;           /* 1: no ncclGroupStart of the caller's */
        } group_api;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            uint8_t is_captured; /* not bool: no value of it may hurt */
            uint64_t user_tag;   /* v7 */
        } coll_api;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            void *stream;
            uint8_t is_captured; /* not bool: no value of it may hurt */
            uint64_t user_tag;   /* v7 */
        } p2p_api;
        struct {
            void *stream;
        } kernel_launch;
        struct {
            uint64_t seq; /* per communicator and func, from 0 */
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channel_count;
            uint8_t warp_count;
            const char *algo;
            const char *proto;
            void *parent_group;         /* v5 */
            const char *kernel_variant; /* v7, as all behind it */
            bool is_symmetric;
            uint64_t user_tag;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channel_count;
            void *parent_group; /* v5 */
            uint64_t user_tag;  /* v7 */
        } p2p;
        struct {
            pid_t pid; /* whose `parent` it is: may be another process */
            uint8_t channel_id;
            int peer;
            int step_count;
            int chunk_bytes;
            int is_send;
        } proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel_id;
            uint64_t timer_ns; /* the device's globaltimer */
        } kernel_ch;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
        struct {
            uint64_t seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            const char *sync_strategy;
            bool is_intra_batch_sync;
            uint32_t batch_size;
            uint32_t batch_count;
            uint32_t ce_seq;
            void *stream;
            uint64_t user_tag; /* v7 */
        } ce_coll;
        struct {
            bool is_complete;
            int rank_count;
        } ce_sync;
        struct {
            int operation_count;
            size_t bytes;
            bool has_intra_sync;
        } ce_batch;
        struct {
            uint8_t channel_id;
            uint8_t phase_id;
            const char *phase_name;
            uint64_t timer_ns;
        } kernel_phase;
    };
};

#define RKT_NCCL_DESCR_BYTES_V4 104
#define RKT_NCCL_DESCR_BYTES_V5 112
#define RKT_NCCL_DESCR_BYTES_V6 112
#define RKT_NCCL_DESCR_BYTES_V7 136

_Static_assert(offsetof(struct rkt_nccl_descr, coll.seq) == 24, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, coll.func) == 32, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, coll.algo) == 88, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, coll.parent_group) == 104, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, coll_api.stream) == 56, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, p2p.peer) == 56, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, kernel_ch.timer_ns) == 32, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, proxy_op.chunk_bytes) == 40, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, ce_coll.stream) == 104, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, ce_batch.bytes) == 32, "published layout");
_Static_assert(offsetof(struct rkt_nccl_descr, kernel_phase.timer_ns) == 40, "published layout");
_Static_assert(sizeof(struct rkt_nccl_descr) == RKT_NCCL_DESCR_BYTES_V7, "published layout");

static inline uint64_t rkt_nccl_descr_type_v4(const struct rkt_nccl_descr *descr)
{
    return *(const uint8_t *)descr;
}

#endif
