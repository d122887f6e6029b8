/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_PROFILER_H
#define RKT_CAPTURE_NCCL_PROFILER_H

/*
 * profiler - the tables by which NCCL calls a profiler plugin, written from the published
 * layout. NCCL ships no header for them; each plugin brings its own.
 *
 * A plugin exports one table per version that it can serve, under the names
 * ncclProfiler_v3 ... ncclProfiler_v7; NCCL takes the newest that it knows:
 *
 *     NCCL         2.26  2.27  2.28  2.29, 2.30  2.31
 *     newest table v3    v4    v5    v6          v7
 *
 * From v4 on one descriptor serves all (profiler_event.h); v3 is laid out differently.
 *
 * Results are ncclResult_t; 0 is success. A plugin always returns 0.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/capture/nccl_api/profiler_event.h"

/* v3: communicator in each descriptor, since init is told nothing of it. */
struct rkt_nccl_descr_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm_hash;
            uint64_t seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channel_max;
            uint8_t warp_count;
            const char *algo;
            const char *proto;
        } coll;
        struct {
            const char *name;
            uint64_t comm_hash;
            const char *func;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
        } p2p;
    };
};

_Static_assert(offsetof(struct rkt_nccl_descr_v3, coll.seq) == 40, "published layout");
_Static_assert(sizeof(struct rkt_nccl_descr_v3) == 120, "published layout");

/* Arguments of recordEventState: 8 bytes whose meaning the state gives. v3: other ones, unused. */
union rkt_nccl_state_args {
    size_t transferred_bytes;
    int appended_ops;
    void *net_data;
    uint64_t timer_ns;
};

typedef void (*rkt_nccl_log_fn)(int level, unsigned long flags, const char *file, int line,
                                const char *fmt, ...);

struct rkt_nccl_profiler_v3 {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, struct rkt_nccl_descr_v3 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

struct rkt_nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_id, int node_count,
                int rank_count, int rank, rkt_nccl_log_fn log);
    int (*start)(void *context, void **handle, struct rkt_nccl_descr *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union rkt_nccl_state_args *args);
    int (*finalize)(void *context);
};

/* v5, v6 and v7. */
struct rkt_nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm_id, int *mask, const char *comm_name, int node_count,
                int rank_count, int rank, rkt_nccl_log_fn log);
    int (*start)(void *context, void **handle, struct rkt_nccl_descr *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union rkt_nccl_state_args *args);
    int (*finalize)(void *context);
};

#endif
