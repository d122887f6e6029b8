/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_FINDING_H
#define RKT_ANALYSIS_FINDING_H

/*
 * finding - what costs time, how that shows, what to do, and at most how much that saves
 * (metrics.md, "Findings").
 *
 * Place:   summary, tables, places of all ranks -> [finding] -> report.
 * Rule:    a finding has an id, which stays the same in later versions, and one file that decides
 *          on it. A run that nothing is wrong with has none above info.
 * Memory:  the arena's; texts too.
 * Threads: one at a time.
 */

#include "analysis/place.h"
#include "analysis/result.h"

enum rkt_severity {
    RKT_SEVERITY_INFO,
    RKT_SEVERITY_WARNING,
    RKT_SEVERITY_SERIOUS,
    RKT_SEVERITY_COUNT
};

/* A loss of so much of a step is no more than info; from the next on it is serious. */
#define RKT_SHARE_REPORTED 0.005
#define RKT_SHARE_WARNING 0.03
#define RKT_SHARE_SERIOUS 0.1

struct rkt_finding_place {
    uint32_t rank;     /* position in ranks */
    int64_t start_ns;  /* rank time */
    int64_t offset_ns; /* from the begin of the rank's run */
    int64_t length_ns;
    const char *what; /* "" not known */
    const char *line; /* "train.py:123"; "" not known */
};

struct rkt_finding {
    const char *id; /* "exposed_copies" */
    enum rkt_severity severity;
    int64_t
        loss_ns; /* per step, mean over ranks and steady steps; RKT_NA: not of a kind with time */
    int64_t save_ns;   /* per step: no fix of it saves more; likewise */
    double save_share; /* of a step; NAN */
    const char *what;  /* one sentence, with its numbers */
    const char *advice;
    struct rkt_finding_place places[RKT_PLACES_SHOWN]; /* the longest first */
    size_t place_count;
};

/* One of the four classic causes; their times may be of several findings. */
enum rkt_classic {
    RKT_CLASSIC_COPIES,
    RKT_CLASSIC_LAUNCH_GAPS,
    RKT_CLASSIC_HIDDEN_SYNC,
    RKT_CLASSIC_SERIAL, /* streams and communication that run alone */
    RKT_CLASSIC_COUNT
};

struct rkt_classic_cause {
    const char *name;    /* "copies" */
    const char *pattern; /* how it looks on a timeline */
    int64_t loss_ns;     /* per step, mean over ranks; RKT_NA in host view */
    double share;        /* of the ranks' time; NAN */
    int64_t save_ns;     /* per step, at most */
    double count;        /* per step and rank: copies, launches, waiting calls, collectives; NAN */
};

struct rkt_findings {
    struct rkt_finding *items; /* by severity, then by what they save */
    size_t count;
    size_t count_by_severity[RKT_SEVERITY_COUNT];
    struct rkt_classic_cause causes[RKT_CLASSIC_COUNT];
};

/* result->findings; after everything else. */
enum rkt_status rkt_find_findings(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_error *err);

const char *rkt_severity_name(enum rkt_severity severity); /* "warning" */

#endif
