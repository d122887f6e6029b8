/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_STATE_H
#define RKT_ANALYSIS_IMPORT_KINETO_STATE_H

/*
 * kineto_state - what the parts of the Kineto import share; for kineto*.c alone.
 *
 * Memory: grows with the distinct threads, shapes, large correlation ids and communicators of a
 *         file, and with its communication kernels; not with its events.
 */

#include "analysis/import/kineto.h"
#include "analysis/import/kineto_fields.h"
#include "common/clock.h"
#include "common/event.h"
#include "common/strtab.h"

/* A process group; its members come from args or from distributedInfo, in any order. */
struct rkt_kineto_group {
    uint32_t name_id;
    uint32_t members_id; /* "0,1,2"; 0 unknown */
    uint32_t short_id;   /* the list as written where writers cut it: "[0, 1, ..., 7]" */
    uint32_t size;
    int32_t own_rank; /* rank in the group; -1 unknown */
    bool is_used;     /* by a collective of this file */
};

/* What a communication kernel carries out; or a host operator that launches one. */
struct rkt_kineto_collective {
    struct rkt_event event; /* NCCL, KERNEL_INFO, all but comm_id */
    uint32_t group;         /* index; UINT32_MAX unknown */
};

/* A communication kernel that does not say what it carries out. */
struct rkt_kineto_mute_kernel {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t external_id;
    uint32_t correlation_id;
};

struct rkt_kineto {
    struct rkt_source_writer *writer;
    struct rkt_strtab *names; /* the writer's */
    struct rkt_kineto_facts facts;
    struct rkt_json_parser *parser;  /* for nested members */
    struct rkt_strtab *tracks;       /* pid and tid -> thread id */
    struct rkt_strtab *shapes;       /* launch shape as bytes -> shape id */
    struct rkt_strtab *correlations; /* ids that do not fit in 31 bits -> their low bits */
    struct rkt_strtab *processes;    /* pid -> index of process_names */
    struct rkt_strtab *operators;    /* External id -> index of collectives, + 1 */
    uint64_t bad_stamps[RKT_EVENT_KIND_COUNT];
    uint64_t loose_ends; /* B and E */

    uint32_t *process_names; /* names, by id of processes */
    size_t process_cap;
    uint32_t *thread_names; /* names, by id of tracks; 0 none */
    size_t thread_count;
    size_t thread_cap;
    struct rkt_kineto_group *groups;
    size_t group_count;
    size_t group_cap;
    struct rkt_kineto_collective *collectives; /* of kernels */
    size_t collective_count;
    size_t collective_cap;
    struct rkt_kineto_collective *launchers; /* of operators, by id of operators */
    size_t launcher_cap;
    struct rkt_kineto_mute_kernel *mutes;
    size_t mute_count;
    size_t mute_cap;
    uint8_t *name_classes; /* by name: 0 not asked yet, else 1 + enum rkt_work_class */
    size_t name_class_count;
    size_t name_class_cap;
    char *scratch; /* for unescaped texts */
    size_t scratch_cap;
};

/* kineto.c */

/* The id of a string token's text; 0 for NULL or when memory is out. */
uint32_t rkt_kineto_intern(struct rkt_kineto *kineto, const struct rkt_json_field *field);
/* Its text, closed by a NUL and valid until the next call; "" for NULL. */
const char *rkt_kineto_text(struct rkt_kineto *kineto, const struct rkt_json_field *field);
enum rkt_status rkt_kineto_add(struct rkt_kineto *kineto, const struct rkt_event *event,
                               struct rkt_error *err);

/* kineto_track.c: threads, processes, devices and their names */

/* Of the event's pid and tid, numbers or texts; dense from 1; 0 when memory is out. */
uint32_t rkt_kineto_thread(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields);
/* An event of ph M. */
enum rkt_status rkt_kineto_metadata(struct rkt_kineto *kineto,
                                    const struct rkt_kineto_fields *fields, struct rkt_error *err);
/* The member deviceProperties. */
enum rkt_status rkt_kineto_devices(struct rkt_kineto *kineto, const struct rkt_json_field *member,
                                   struct rkt_error *err);
enum rkt_status rkt_kineto_end_tracks(struct rkt_kineto *kineto, struct rkt_error *err);

/* kineto_slice.c: an event of ph X */
enum rkt_status rkt_kineto_slice(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 struct rkt_error *err);
/* Are the args of a slice of this class and name looked at? */
bool rkt_kineto_slice_needs_args(enum rkt_kineto_class class, const struct rkt_json_field *name);

/* kineto_comm.c: collectives and communicators */

/* `event` is the kernel that was added; its fields may say what it carries out. */
enum rkt_status rkt_kineto_comm_kernel(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_fields *fields,
                                       const struct rkt_event *event, struct rkt_error *err);
/* A host operator with a collective in its args. */
enum rkt_status rkt_kineto_comm_operator(struct rkt_kineto *kineto,
                                         const struct rkt_kineto_fields *fields,
                                         struct rkt_error *err);
/* The member distributedInfo: rank, world size, groups. */
enum rkt_status rkt_kineto_distributed(struct rkt_kineto *kineto,
                                       const struct rkt_json_field *member, struct rkt_error *err);
/* Joins what was left open; adds collectives and communicators; may find the rank. */
enum rkt_status rkt_kineto_end_comms(struct rkt_kineto *kineto, struct rkt_error *err);

#endif
