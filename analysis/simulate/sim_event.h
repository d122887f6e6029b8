/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_EVENT_H
#define RKT_ANALYSIS_SIMULATE_SIM_EVENT_H

/*
 * sim_event - the records that capture would have made of what a simulated rank does.
 *
 * Stamps are job time; clock_id is the clock in which the record is to be stored.
 *
 * Place:   sim_rank -> [sim_event] -> sim_store, which sets the clocks.
 * Threads: any; no state.
 */

#include "analysis/simulate/sim_plan.h"
#include "common/event.h"

#define RKT_SIM_MAIN_THREAD 100u
#define RKT_SIM_AUTOGRAD_THREAD 101u
#define RKT_SIM_STREAM 7u
#define RKT_SIM_COMM_STREAM 20u /* of its first lane; the others follow */

struct rkt_sim_span {
    int64_t start_ns;
    int64_t end_ns;
};

/* Names that events refer to; ids from 1 in this order. */
enum rkt_sim_name {
    RKT_SIM_NAME_NONE,
    RKT_SIM_NAME_FORWARD_KERNEL,
    RKT_SIM_NAME_BACKWARD_KERNEL,
    RKT_SIM_NAME_OPTIMIZER_KERNEL,
    RKT_SIM_NAME_EXTRA_KERNEL,
    RKT_SIM_NAME_EXPERT_KERNEL,
    RKT_SIM_NAME_COMM_KERNEL,
    RKT_SIM_NAME_LINK_KERNEL,
    RKT_SIM_NAME_LAUNCH,
    RKT_SIM_NAME_COMM_LAUNCH,
    RKT_SIM_NAME_COPY,
    RKT_SIM_NAME_SYNC,
    RKT_SIM_NAME_ALLOC,
    RKT_SIM_NAME_AUTOGRAD,
    RKT_SIM_NAME_MAIN,
    RKT_SIM_NAME_FORWARD_OP, /* operators, and what goes into them */
    RKT_SIM_NAME_BACKWARD_OP,
    RKT_SIM_NAME_OPTIMIZER_OP,
    RKT_SIM_NAME_EXPERT_OP,
    RKT_SIM_NAME_LAUNCH_OP,
    RKT_SIM_NAME_COPY_OP,
    RKT_SIM_NAME_RESERVED, /* memory, as the import of a profile names it */
    RKT_SIM_NAME_ALLOCATED,
    RKT_SIM_NAME_INPUTS,
    RKT_SIM_NAME_INPUTS_LAST = RKT_SIM_NAME_INPUTS + RKT_SIM_SHAPE_VARIANTS - 1,
    RKT_SIM_NAME_COMM, /* and so on: of communicators, by kind */
    RKT_SIM_NAME_COUNT = RKT_SIM_NAME_COMM + RKT_SIM_COMM_KIND_COUNT
};
const char *rkt_sim_name(unsigned name);

/* Of a kernel of no collective. */
static inline bool rkt_sim_is_compute(enum rkt_sim_name name)
{
    return name >= RKT_SIM_NAME_FORWARD_KERNEL && name <= RKT_SIM_NAME_EXPERT_KERNEL;
}

/* Forward runs in the main thread, backward in autograd's. */
uint32_t rkt_sim_thread(enum rkt_sim_phase phase);

struct rkt_event rkt_sim_range_event(enum rkt_range_type type, struct rkt_sim_span span,
                                     uint64_t value);

/* `inputs`: RKT_SIM_NAME_NONE where they are not recorded. */
struct rkt_event rkt_sim_operator_event(enum rkt_sim_name name, enum rkt_sim_name inputs,
                                        uint32_t thread_id, struct rkt_sim_span span);

/* Launch shapes of kernels: ids from 1 to the count, that of kernel `index` of a name as faults
 * vary it; 0 where they are not recorded. */
uint32_t rkt_sim_shape_count(const struct rkt_scenario *scenario);
uint32_t rkt_sim_shape_id(const struct rkt_scenario *scenario, enum rkt_sim_name name,
                          uint32_t index, uint32_t variant);
struct rkt_event rkt_sim_shape_event(const struct rkt_scenario *scenario, uint32_t shape_id,
                                     int64_t at_ns);

/* The correlation id of the following is the caller's. */
struct rkt_event rkt_sim_call_event(enum rkt_sim_name name, uint32_t thread_id,
                                    struct rkt_sim_span span);
struct rkt_event rkt_sim_kernel_event(enum rkt_sim_name name, uint32_t rank, uint32_t stream_id,
                                      struct rkt_sim_span span);
struct rkt_event rkt_sim_copy_event(uint32_t rank, uint64_t bytes, bool is_pinned,
                                    struct rkt_sim_span span);
struct rkt_event rkt_sim_sync_event(uint32_t rank, struct rkt_sim_span span);

/* ---- NCCL ---- */

/* A rank's part in a meeting, which is one kernel that carries out these many operations. */
struct rkt_sim_call {
    const struct rkt_sim_layout *layout;
    const struct rkt_sim_part *part;
    uint32_t step;
    uint32_t thread_id;
};
uint32_t rkt_sim_op_count(const struct rkt_sim_part *part);

/* Of operation `op` of the call: what was called, or is carried out. */
struct rkt_event rkt_sim_op_event(const struct rkt_sim_call *call, uint32_t op, bool is_api,
                                  struct rkt_sim_span span);
/* Around all its operations, and around its launch. */
struct rkt_event rkt_sim_group_event(const struct rkt_sim_call *call, enum rkt_nccl_type type,
                                     struct rkt_sim_span span);
struct rkt_event rkt_sim_comm_event(const struct rkt_sim_part *part,
                                    const struct rkt_scenario *scenario, int64_t at_ns);

/* ---- others ---- */

struct rkt_event rkt_sim_thread_name_event(uint32_t thread_id, enum rkt_sim_name name,
                                           int64_t at_ns);
/* A reading of the rank's GPU. */
struct rkt_event rkt_sim_counter_event(enum rkt_counter counter, uint32_t rank, uint64_t value,
                                       int64_t at_ns);
/* What a framework's allocator says of it: `name` RESERVED or ALLOCATED. */
struct rkt_event rkt_sim_memory_event(enum rkt_sim_name name, uint32_t rank, uint64_t bytes,
                                      int64_t at_ns);

#endif
