/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_STATE_H
#define RKT_ANALYSIS_IMPORT_KINETO_STATE_H

/*
 * kineto_state - what the reader of Kineto traces keeps; for kineto*.c alone.
 *
 * Memory: grows with the distinct threads, shapes, large correlation ids and communicators of a
 *         file, with its communication kernels, and with the slices that are open at one time; not
 *         with its events.
 */

#include "analysis/import/json_forms.h"
#include "analysis/import/kineto.h"
#include "common/clock.h"
#include "common/event.h"
#include "common/strtab.h"

/* A process group; its members come from args or from distributedInfo, in any order. */
struct rkt_kineto_group {
    uint32_t name_id;
    uint32_t text_id;    /* its description: "mesh_tp"; 0 none */
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

/* What the name of a copy says. */
struct rkt_kineto_copy {
    bool is_known;     /* it has been looked at */
    uint8_t copy_kind; /* as in struct rkt_event_memcpy */
    uint8_t src_kind;
    uint8_t dst_kind;
};

#define RKT_KINETO_OPEN_NONE UINT32_MAX

/* A slice whose end has not come yet. */
struct rkt_kineto_open {
    struct rkt_event event; /* all but its end */
    uint32_t next;          /* the one around it on its track, or the next free place */
    uint8_t class;
};

/* How a file writes its times. */
struct rkt_kineto_times {
    uint32_t count;
    uint32_t with_fraction;
    uint32_t short_count; /* fractions below three digits */
    uint32_t long_count;  /* above */
    uint32_t wide_count;  /* of two digits and more */
    uint32_t zero_count;  /* of those, with a leading zero */
};

struct rkt_kineto {
    struct rkt_kineto_options options;
    struct rkt_source_writer *writer;
    struct rkt_strtab *names;        /* the writer's */
    struct rkt_json_parser *parser;  /* for nested members */
    struct rkt_strtab *tracks;       /* pid and tid -> thread id */
    struct rkt_strtab *shapes;       /* launch shape as bytes -> shape id */
    struct rkt_strtab *correlations; /* ids that are not plain -> their number above those */
    struct rkt_strtab *processes;    /* pid -> index of process_names */

    /* of the file that is being read */
    struct rkt_trace_facts facts;
    struct rkt_kineto_times times;
    struct rkt_kineto_fields fields;               /* of an event; empty between them */
    uint8_t kind_classes[RKT_JSON_FORM_NODES_MAX]; /* by kind of cat: 0, or 1 + its class */
    int64_t shift_ns;
    uint32_t window;              /* files read before it */
    uint32_t correlation_base;    /* added to its plain ids */
    uint32_t correlation_max;     /* of all files */
    struct rkt_strtab *operators; /* External id -> index of launchers */
    uint64_t rejected[RKT_EVENT_KIND_COUNT];

    uint32_t last_track;
    uint32_t total_ids[2];   /* names of what the allocator holds */
    uint32_t *process_names; /* names, by id of processes */
    size_t process_count;
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
    uint32_t *open_heads; /* innermost open slice, by id of tracks */
    size_t open_head_count;
    size_t open_head_cap;
    struct rkt_kineto_open *opens;
    size_t open_count; /* places in use or free */
    size_t open_cap;
    size_t open_now;
    uint32_t free_open;
    uint8_t *name_classes; /* by name: 0 not asked yet, else 1 + enum rkt_work_class */
    size_t name_class_count;
    size_t name_class_cap;
    struct rkt_kineto_copy *copies; /* by name */
    size_t copy_count;
    size_t copy_cap;
    char *scratch; /* for unescaped texts */
    size_t scratch_cap;
    uint64_t first_ns; /* of all files */
    uint64_t pid;      /* of the training process; 0 unknown */
    bool has_rank;     /* said by any file */
    uint32_t rank;
};

#endif
