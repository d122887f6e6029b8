/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_LAYOUT_H
#define SIMGPU_CUPTI_LAYOUT_H

/*
 * layout - how long the records of the emulated CUPTI are. A library writes each record in
 * the newest form that it knows; the bytes behind the form that is filled in are zero here.
 *
 * The lengths up to 13.0 are those of NVIDIA's headers, those of 13.1 and 13.3 are assumed: there
 * it is only known that fields were added to the record of kernels.
 */

#include <stddef.h>
#include <stdint.h>

#define SIM_RECORD_BYTES_MAX 256

/* What cuptiGetVersion says. */
enum sim_cupti_version {
    SIM_CUPTI_11_8 = 18,
    SIM_CUPTI_12_0 = 19,
    SIM_CUPTI_12_2 = 20,
    SIM_CUPTI_12_3 = 21,
    SIM_CUPTI_12_4 = 22,
    SIM_CUPTI_12_5 = 23,
    SIM_CUPTI_12_6 = 24,
    SIM_CUPTI_12_8 = 26,
    SIM_CUPTI_12_9 = 27,
    SIM_CUPTI_13_0 = 130000,
    SIM_CUPTI_13_1 = 130100,
    SIM_CUPTI_13_3 = 130300,
};

/* Bytes of a record of `kind` (CUpti_ActivityKind); 0: this library never writes that kind. */
size_t sim_record_bytes(uint32_t version, uint32_t kind);

#endif
