/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STATE_H
#define SIMGPU_CUPTI_STATE_H

/*
 * state - what the client has switched on, and what the emulated library is like.
 *
 * Environment:
 *   SIMGPU_CUPTI_VERSION     what cuptiGetVersion says, and so how long records are (130001)
 *   SIMGPU_CUPTI_MODE        no-gpu: as with no usable driver, 999 from all that needs one;
 *                            busy: another tool is there, 39 from cuptiSubscribe;
 *                            null-aborts: as before 12.9, abort() when `requested` gives NULL
 *   SIMGPU_CUPTI_ZERO_EVERY  the n-th, 2n-th ... record of device work has times 0, as with a
 *                            full device pool
 * Threads: all calls from any thread.
 */

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_KIND_MAX 64
#define SIM_CBID_MAX 1024

/* Reads the environment and joins the driver, both once. False: there is no usable driver. */
bool sim_state_connect(void);

uint32_t sim_state_version(void);
bool sim_state_is_busy(void);
uint32_t sim_state_zero_every(void);

bool sim_state_has_kind(uint32_t kind);
void sim_state_set_kind(uint32_t kind, bool is_on);

/* Calls one by one, of domain DRIVER_API or RUNTIME_API. The kinds DRIVER and RUNTIME switch all of
 * them, so that single ones can be taken out after it, or put in without it. */
void sim_state_set_call(CUpti_CallbackDomain domain, uint32_t cbid, bool is_on);
bool sim_state_records_call(CUpti_CallbackDomain domain, uint32_t cbid);

/* Correlation ids exist while any call is recorded. 0: none are. */
uint32_t sim_state_next_correlation_id(void);

void sim_state_set_thread_id_type(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType sim_state_thread_id_type(void);
uint32_t sim_state_thread_id(void); /* the caller's, as records have it */

#endif
