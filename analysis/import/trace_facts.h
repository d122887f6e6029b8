/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_TRACE_FACTS_H
#define RKT_ANALYSIS_IMPORT_TRACE_FACTS_H

/*
 * trace_facts - what a trace file says of itself and its rank, and what became of its events.
 *
 * Place: the readers of each format fill it; import decides by it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/import/json_reader.h"

/* What became of an event. Every event that was read has exactly one fate. */
enum rkt_fate {
    /* kept */
    RKT_FATE_STORED,   /* one event of the store or, for samples, several */
    RKT_FATE_JOINED,   /* an end that completed its begin */
    RKT_FATE_METADATA, /* names, labels, orders of tracks */
    /* left out by design */
    RKT_FATE_PYTHON, /* frames of Python stacks, unless they are asked for */
    RKT_FATE_FLOW,   /* arrows: launches are joined by their correlation */
    RKT_FATE_OTHER,  /* objects, clock marks, derived rows and the like */
    /* rejected */
    RKT_FATE_NO_TIME,  /* ts or dur missing, no number, not above zero */
    RKT_FATE_REVERSED, /* the end before the start */
    RKT_FATE_NO_BEGIN, /* an end whose begin is not there */
    RKT_FATE_NO_END,   /* a begin whose end is not there */
    RKT_FATE_NO_PHASE, /* an object that is no event: it has no ph */
    RKT_FATE_NO_VALUE, /* a counter without a number */
    RKT_FATE_DAMAGED,  /* could not be parsed */
    RKT_FATE_COUNT
};

static inline bool rkt_fate_is_rejected(enum rkt_fate fate)
{
    return fate >= RKT_FATE_NO_TIME && fate < RKT_FATE_COUNT;
}

static inline bool rkt_fate_is_left_out(enum rkt_fate fate)
{
    return fate >= RKT_FATE_PYTHON && fate <= RKT_FATE_OTHER;
}

/* "without a usable ts and dur": goes behind a number of events. */
const char *rkt_fate_text(enum rkt_fate fate);

struct rkt_trace_facts {
    struct rkt_json_stats json; /* JSON only */
    uint64_t read_count;        /* events in the file: the sum of their fates */
    uint64_t fates[RKT_FATE_COUNT];
    bool is_trace; /* has members or events that only a trace has */
    bool has_rank;
    uint32_t rank;
    const char *rank_source; /* "distributedInfo" or "collective args" */
    uint32_t world_size;     /* 0 unknown */
    bool has_base;
    int64_t base_ns;
    uint64_t first_ns;   /* of the events written; UINT64_MAX: none */
    uint64_t last_ns;    /* latest end */
    uint32_t first_mark; /* of a peek: of the first event's phase, cat, name, pid and tid */
    uint64_t gpu_count;  /* GPU work among the stored */
    uint64_t pid;        /* of the training process; 0 unknown */
    bool is_unpadded;    /* fractions of times lack their zeros: 1.5 is 1 us 5 ns */
    bool is_whole_us;    /* no time has a fraction: starts and durations were cut apart */
    char program[128];
    char host[128];
    char version[64]; /* what the file says of its writer: "schema 1, CUPTI 18"; "" nothing */
};

#endif
