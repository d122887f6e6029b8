/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_REAL_NCCL_H
#define RKT_TESTS_UNIT_REAL_NCCL_H

/*
 * real_nccl - the inner calls of the real libnccl.so.2 that reach a profiler plugin.
 *
 * Its public calls need a GPU before they get there; these do not, and release builds keep their
 * names in .symtab. They are bound to one release, whose structures are known as far as the offsets
 * below say.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REAL_NCCL_VERSION 22809

/* Zeroed memory stands for each structure; these are the parts that the calls look at. */
#define REAL_COMM_BYTES ((size_t)64 << 20)
#define REAL_COMM_RANK 0x1044d0
#define REAL_COMM_CONTEXT 0x106a08
#define REAL_COMM_SEQ 0x106a10 /* uint64_t per function */

#define REAL_PLAN_BYTES 4096
#define REAL_PLAN_COMM 0x10
#define REAL_PLAN_COLL_TASK 0x98

#define REAL_TASK_BYTES 4096
#define REAL_TASK_FUNC 0x08
#define REAL_TASK_COUNT 0x20
#define REAL_TASK_DATATYPE 0x2c
#define REAL_TASK_ALGO 0x62
#define REAL_TASK_PROTO 0x63
#define REAL_TASK_MASK 0xc8
#define REAL_TASK_HANDLE 0xe0

#define REAL_PROXY_BYTES 0x9000
#define REAL_PROXY_SUB_BYTES 0x200
#define REAL_PROXY_CHANNEL 0x48
#define REAL_PROXY_STEP_COUNT 0x4c
#define REAL_PROXY_PEER 0x60
#define REAL_PROXY_MASK 0xf8
#define REAL_PROXY_PID 0x100
#define REAL_PROXY_CONTEXT 0x108
#define REAL_PROXY_TASK_HANDLE 0x110
#define REAL_PROXY_STEPS 0x128 /* {handle, sub}, 16 bytes each */
#define REAL_PROXY_BYTES_MOVED 0x1a8
#define REAL_PROXY_SLICE_STEPS 0x8020 /* of all subs */
#define REAL_PROXY_CHUNK_BYTES 0x8028

#define REAL_FUNC_ALL_REDUCE 4
#define REAL_DATATYPE_BFLOAT16 9

/* The head of ncclInfo: what was asked of NCCL. */
struct real_nccl_info {
    int func;
    const char *name;
    const void *send;
    void *recv;
    size_t count;
    int datatype;
    int op;
    int root;
    void *comm;
    void *stream;
    char rest[1024];
};

struct real_nccl {
    int (*init)(void *comm);
    int (*finalize)(void *comm);
    int (*start_group_api)(struct real_nccl_info *info, bool is_captured);
    int (*stop_group_api)(void);
    int (*group_state)(int state);
    int (*start_coll_api)(struct real_nccl_info *info, bool is_captured);
    int (*stop_coll_api)(void);
    int (*start_launch)(void *plan, void *stream);
    int (*stop_launch)(void *plan);
    int (*start_group)(void *plan);
    int (*stop_group)(void *plan);
    int (*start_tasks)(void *plan);
    int (*stop_tasks)(void *plan);
    int (*start_channel)(void *proxy, int sub, uint64_t timer_ns);
    int (*stop_channel)(void *proxy, int sub, uint64_t timer_ns);
    int (*start_proxy_op)(int sub, void *proxy);
    int (*stop_proxy_op)(int sub, void *proxy);
    int (*start_send_step)(int sub, void *proxy, int step);
    int (*step_state)(int sub, void *proxy, int step, int state);
    int (*stop_step)(int sub, void *proxy, int step);
    int (*start_control)(void *context, void **handle);
    int (*control_state)(void *handle, int appended, int state);
    int (*stop_control)(void *handle);
    int (*net_callback)(void **handle, int what, void *step, int64_t plugin_id, void *data);
};

/* NULL, or why these calls cannot be made. */
const char *real_nccl_find(struct real_nccl *nccl_out);

static inline void real_put(void *base, size_t at, const void *value, size_t bytes)
{
    memcpy((char *)base + at, value, bytes);
}
#define REAL_PUT(base, at, type, value) real_put((base), (at), &(type){value}, sizeof(type))

static inline void *real_get_pointer(const void *base, size_t at)
{
    void *pointer;

    memcpy(&pointer, (const char *)base + at, sizeof(pointer));
    return pointer;
}

#endif
