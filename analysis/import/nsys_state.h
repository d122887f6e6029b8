/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_NSYS_STATE_H
#define RKT_ANALYSIS_IMPORT_NSYS_STATE_H

/*
 * nsys_state - what the parts of the reader of Nsight Systems' exports share; for nsys*.c alone.
 *
 * Memory: grows with the distinct names and launch shapes of a file, not with its rows.
 */

#include "analysis/import/nsys.h"
#include "analysis/import/nsys_table.h"
#include "common/event.h"
#include "common/strtab.h"

/* An export numbers processes and threads with the machine in the upper bits. */
#define RKT_NSYS_ID_BITS 24

struct rkt_nsys {
    struct rkt_nsys_file *file;
    struct rkt_source_writer *writer;
    struct rkt_trace_facts *facts;
    int64_t process;            /* globalPid >> 24: its machine and number */
    struct rkt_strtab *names;   /* the writer's */
    struct rkt_strtab *strings; /* id in StringIds -> index of string_names */
    uint32_t *string_names;
    size_t string_cap;
    struct rkt_strtab *domains; /* machine, process and domain of NVTX -> index of domain_names */
    uint32_t *domain_names;
    size_t domain_cap;
    struct rkt_strtab *shapes; /* launch shape as bytes -> shape id */
};

/* The name behind an id in StringIds, without the "_v7000" of API calls; 0 for none. */
uint32_t rkt_nsys_name(struct rkt_nsys *nsys, int64_t string_id);

enum rkt_status rkt_nsys_add(struct rkt_nsys *nsys, const struct rkt_event *event,
                             struct rkt_error *err);

/* nsys_info.c: base time, names of processes, threads and devices, version */
enum rkt_status rkt_nsys_read_info(struct rkt_nsys *nsys, struct rkt_error *err);

/* nsys_nvtx.c: ranges and marks; API calls of other libraries */
enum rkt_status rkt_nsys_read_nvtx(struct rkt_nsys *nsys, struct rkt_error *err);

#endif
