/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_API_NAMES_H
#define RKT_CAPTURE_CUPTI_API_NAMES_H

/*
 * cupti_api_names - which runtime and driver calls are recorded, and what they are called.
 *
 * Wanted are the calls that launch, copy, wait, allocate or load code: what the analysis
 * asks for. Queries, event records and the like are most of a job's calls and say nothing.
 * They are told apart by name, as the running library gives it, so that calls of a newer
 * CUDA need no new numbers here.
 *
 * Names are those of CUDA's documentation: "cudaMemcpyAsync", without "_v3020", "_v2",
 * "_ptsz" or "_ptds".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture/cupti_library.h"
#include "agent/capture/intern.h"

#define RKT_CUPTI_CBID_MAX 2048u /* CUDA 13.0 has 806 driver and 522 runtime calls */

struct rkt_cupti_api_names;

/* Ask the library for all names; NULL when memory is out. */
struct rkt_cupti_api_names *rkt_cupti_api_names_create(const struct rkt_cupti_library *library,
                                                       struct rkt_intern *intern);
void rkt_cupti_api_names_destroy(struct rkt_cupti_api_names *names);

/* Whether a call is wanted; its name in *name_id_out (0: the library does not say). */
bool rkt_cupti_api_names_find(const struct rkt_cupti_api_names *names, CUpti_CallbackDomain domain,
                              uint32_t cbid, uint32_t *name_id_out);

/* Switch off the calls that are not wanted, where the library can; call it after enabling. */
void rkt_cupti_api_names_apply(const struct rkt_cupti_api_names *names,
                               const struct rkt_cupti_library *library);

/* For tests: how the length of "cuMemAlloc_v2" is cut, and whether it is wanted. */
size_t rkt_cupti_api_name_length(const char *name);
bool rkt_cupti_api_is_wanted(const char *name, size_t len_bytes);

#endif
