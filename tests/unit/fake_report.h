/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_FAKE_REPORT_H
#define RKT_TESTS_UNIT_FAKE_REPORT_H

/*
 * fake_report - the JSON report of a made-up run, with what compare_run reads.
 *
 * Memory: the text is the caller's; free it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_STEPS_MAX 16
#define FAKE_RANKS_MAX 16

struct fake_kernel {
    const char *name;
    int64_t count;
    int64_t total_ns;
    size_t batch_count; /* of one step each */
    int64_t batch_ns[FAKE_STEPS_MAX];
};

struct fake_collective {
    const char *func;
    int64_t bytes;
    int64_t transfer_ns;
};

struct fake_report {
    const char *producer;    /* NULL: "capture" */
    const char *step_source; /* NULL: "marks" */
    uint32_t rank_count;
    size_t step_count;
    size_t warmup_count;               /* of the first steps */
    size_t last_rank_lacks;            /* so many of the last steps */
    int64_t step_ns[FAKE_STEPS_MAX];   /* of all ranks */
    int64_t useful_ns[FAKE_RANKS_MAX]; /* of each step */
    int64_t comm_ns;                   /* of each step and rank, half of it under compute */
    int64_t gain_ns;                   /* of each step */
    size_t host_ranks;                 /* ranks behind the others that recorded no GPU work */
    double serial;
    int64_t wait_gap_ns; /* by how much clocks may be wrong in the waits of a step */
    bool is_cut;
    size_t batch_count;                    /* as of kernels; 0: the report tells of none */
    struct fake_kernel kernels[4];         /* up to the first without a name */
    struct fake_kernel operators[2];       /* likewise: on the device; of the host 10 ns in all */
    struct fake_collective collectives[4]; /* likewise: each once a step */
};

char *fake_report_json(const struct fake_report *report);

#endif
