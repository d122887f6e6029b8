/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_CAPTURE_JOB_H
#define RKT_TESTS_UNIT_CAPTURE_JOB_H

/*
 * capture_job - a job in a process of its own, and its sidecar in the test.
 *
 * capture starts once per process, so each test has its own: job_run forks before anything
 * of it was used, runs the function there, and collects everything until the process ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hello.h"
#include "common/event.h"

#define JOB_EVENTS_MAX 400000u
#define JOB_NAMES_MAX (1u << 17) /* ids in a heap of 1 MiB */

struct job {
    /* set before job_run */
    struct rkt_region_config config;
    struct rkt_capture_config capture;
    bool has_no_sidecar;  /* RANKTRACE_SOCKET leads nowhere */
    bool has_no_variable; /* RANKTRACE_SOCKET is not set */
    bool does_hang_up;    /* the sidecar leaves at once after the welcome */
    bool does_not_drain;  /* until the process has ended */
    /* kill the process as soon as this is true of what has come; NULL: let it end */
    bool (*should_kill)(const struct job *job);
    /* what the sidecar does with the region, again and again; NULL: nothing but to empty it */
    void (*tend)(const struct job *job, struct rkt_region *region);

    /* what came of it */
    int wait_status;
    bool was_connected;
    bool was_closed;
    uint64_t last_step; /* as the sidecar sees it; UINT64_MAX: none */
    struct rkt_hello hello;
    struct rkt_region_losses losses;
    struct rkt_event *events;
    size_t event_count;
    char **names; /* by id; NULL where there is none */
    char stderr_text[4096];
};

/* All of the defaults: 8 rings of 4096 events, everything captured. */
void job_init(struct job *job);
void job_free(struct job *job);
void job_run(struct job *job, void (*function)(void));

/* A test whose state is a new job of the defaults. */
#define JOB_TEST(test) cmocka_unit_test_setup_teardown(test, job_set_up, job_tear_down)
int job_set_up(void **state);
int job_tear_down(void **state);

/* It ended by itself, said nothing, closed capture, and lost no event. */
void assert_job_good(const struct job *job);

/* Events of this kind and type (-1: any); *first_out may be NULL. */
size_t job_count(const struct job *job, enum rkt_event_kind kind, int type,
                 const struct rkt_event **first_out);
const char *job_name(const struct job *job, uint32_t id);
/* The first event with this kind and name; NULL when there is none. */
const struct rkt_event *job_find(const struct job *job, enum rkt_event_kind kind, const char *name);

#endif
