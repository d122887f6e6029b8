/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_log.h"

#include <stdlib.h>

#include "common/array.h"

void rkt_sim_log_release(struct rkt_sim_log *log)
{
    free(log->works);
    free(log->hosts);
    free(log->operators);
    free(log->memory);
    *log = (struct rkt_sim_log){0};
}

void rkt_sim_log_reset(struct rkt_sim_log *log)
{
    log->work_count = log->host_count = 0;
    log->operator_count = log->memory_count = 0;
}

void rkt_sim_log_add_work(struct rkt_sim_log *log, struct rkt_sim_log_work work)
{
    if (rkt_array_reserve((void **)&log->works, &log->work_cap, log->work_count + 1,
                          sizeof(*log->works)))
        log->works[log->work_count++] = work;
    else
        log->has_failed = true;
}

void rkt_sim_log_add_host(struct rkt_sim_log *log, enum rkt_sim_name name, struct rkt_sim_span span)
{
    if (rkt_array_reserve((void **)&log->hosts, &log->host_cap, log->host_count + 1,
                          sizeof(*log->hosts)))
        log->hosts[log->host_count++] = (struct rkt_sim_log_host){name, span};
    else
        log->has_failed = true;
}

void rkt_sim_log_add_operator(struct rkt_sim_log *log, struct rkt_sim_log_operator op)
{
    if (rkt_array_reserve((void **)&log->operators, &log->operator_cap, log->operator_count + 1,
                          sizeof(*log->operators)))
        log->operators[log->operator_count++] = op;
    else
        log->has_failed = true;
}

void rkt_sim_log_add_memory(struct rkt_sim_log *log, struct rkt_sim_log_memory memory)
{
    if (rkt_array_reserve((void **)&log->memory, &log->memory_cap, log->memory_count + 1,
                          sizeof(*log->memory)))
        log->memory[log->memory_count++] = memory;
    else
        log->has_failed = true;
}
