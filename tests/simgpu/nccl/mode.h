/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_MODE_H
#define SIMGPU_NCCL_MODE_H

/*
 * mode - what this NCCL gets wrong, or has around it: SIMGPU_NCCL_MODE, words with commas between.
 *
 * Threads: any.
 */

#include <stdbool.h>

enum sim_mode {
    SIM_MODE_NET,        /* "net": each rank is a node of its own, so there is network work */
    SIM_MODE_EARLY_STOP, /* "early-stop": a channel's end is seen before its start, as under load */
    SIM_MODE_ZERO_STOP,  /* "zero-stop": channels end at time 0 */
    SIM_MODE_PXN, /* "pxn": network work is done for another process, whose handles come along */
    SIM_MODE_COUNT,
};

bool sim_mode_is(enum sim_mode mode);

#endif
