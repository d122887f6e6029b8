/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STATE_H
#define SIMGPU_CUPTI_STATE_H

/*
 * state - what the client has switched on.
 *
 * Threads: all calls from any thread.
 */

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_KIND_MAX 64
#define SIM_CBID_MAX 1024

/* Joins the driver, once. Else what a call that needs a driver says without a usable one. */
CUptiResult sim_state_connect(void);

/* CUPTI's number of a stream; false: there is no such stream. After sim_state_connect. */
bool sim_state_stream_id(CUcontext context, CUstream stream, uint32_t *id_out);

bool sim_state_has_kind(uint32_t kind);
void sim_state_set_kind(uint32_t kind, bool is_on);

/* Calls one by one, of domain DRIVER_API or RUNTIME_API. The kinds DRIVER and RUNTIME switch all of
 * them, so that single ones can be taken out after it, or put in without it. */
void sim_state_set_call(CUpti_CallbackDomain domain, uint32_t cbid, bool is_on);
bool sim_state_records_call(CUpti_CallbackDomain domain, uint32_t cbid);

/* Everything off, as at the beginning. */
void sim_state_reset(void);

/* The driver has made a context. */
void sim_state_saw_context(void);

/* Correlation ids exist while any call is recorded or told. 0: none are. */
uint32_t sim_state_next_correlation_id(void);

void sim_state_set_thread_id_type(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType sim_state_thread_id_type(void);
uint32_t sim_state_thread_id(void); /* the caller's, as records have it */

#endif
