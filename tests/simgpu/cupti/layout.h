/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_LAYOUT_H
#define SIMGPU_CUPTI_LAYOUT_H

/*
 * layout - how long the records of the emulated CUPTI are. A library writes each record in
 * the newest form that it knows; the bytes behind the oldest form are zero here.
 */

#include <stddef.h>
#include <stdint.h>

#define SIM_RECORD_BYTES_MAX 256

enum sim_cupti_version {
    SIM_CUPTI_11_8 = 17,
    SIM_CUPTI_12_0 = 18,
    SIM_CUPTI_12_8 = 26,
    SIM_CUPTI_13_0 = 130000,
};

/* Bytes of a record of `kind` (CUpti_ActivityKind); 0: this library never writes that kind. */
size_t sim_record_bytes(uint32_t version, uint32_t kind);

#endif
