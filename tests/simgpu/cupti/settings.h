/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_SETTINGS_H
#define SIMGPU_CUPTI_SETTINGS_H

/*
 * settings - which CUPTI is emulated, and what it does wrong; from the environment, read once.
 *
 * Environment (README.md says more):
 *   SIMGPU_CUPTI_VERSION        what cuptiGetVersion says, and so how long records are
 *   SIMGPU_CUPTI_MODE           words with commas between, see enum sim_mode
 *   SIMGPU_CUPTI_ZERO_EVERY     the n-th, 2n-th ... record of device work has times 0
 *   SIMGPU_CUPTI_GARBAGE_EVERY  the same with an end before the start, then with 1 << 63, in turn
 *   SIMGPU_CUPTI_POOL           after n pieces of work in graphs all device work has times 0, until
 *                               the kinds of device work have all been off
 * Threads: all calls from any thread.
 */

#include <stdbool.h>
#include <stdint.h>

enum sim_mode {
    /* what it answers */
    SIM_MODE_NO_GPU,      /* no-gpu: no usable driver, 999 from all that needs one */
    SIM_MODE_NOT_INIT,    /* not-initialized: the same with 15 */
    SIM_MODE_BROKEN,      /* errors: 999 from every call */
    SIM_MODE_BUSY,        /* busy: another tool is there, 39 from cuptiSubscribe */
    SIM_MODE_FIRST_CALLS, /* first-context: single calls only if one was on at the first context */
    /* how it treats buffers */
    SIM_MODE_NULL_ABORTS, /* null-aborts: abort() when `requested` gives NULL, as before 12.9 */
    SIM_MODE_LATE,        /* late: a full buffer waits for two more */
    SIM_MODE_UNORDERED,   /* unordered: the newest buffer first */
    SIM_MODE_EMPTY,       /* empty: each flush also asks for a buffer and gives it back unused */
    SIM_MODE_STUCK,       /* stuck: a flush does not return */
    /* what is wrong in them */
    SIM_MODE_STALE_NAMES, /* stale-names: a name is spoilt when its module is unloaded */
    /* how it walks them */
    SIM_MODE_ENDLESS,    /* endless: the same record again and again */
    SIM_MODE_MISALIGNED, /* misaligned: each record a byte further on */
    SIM_MODE_BEYOND,     /* beyond: the last record lies behind the valid bytes */
    SIM_MODE_NO_RECORD,  /* no-record: success and NULL */
    SIM_MODE_TOO_VALID,  /* too-valid: more valid bytes than the buffer has */
    SIM_MODE_COUNT,
};

uint32_t sim_settings_version(void);
bool sim_settings_has(enum sim_mode mode);

/* 0: never. */
uint32_t sim_settings_zero_every(void);
uint32_t sim_settings_garbage_every(void);
uint32_t sim_settings_pool(void);

#endif
