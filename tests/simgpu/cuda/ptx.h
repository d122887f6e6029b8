/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_PTX_H
#define SIMGPU_CUDA_PTX_H

/*
 * ptx - the little that the stand-in reads of a PTX text: which kernels it has, and whether the
 * first parameter of each is a 64-bit number. That number is how many nanoseconds the kernel
 * takes, here by the model, on a real device by a loop that the text spells out.
 */

#include <stdbool.h>
#include <stddef.h>

struct sim_ptx_entry {
    const char *name; /* inside the text, not terminated */
    size_t name_len;
    bool has_duration; /* the first parameter is .u64 */
};

bool sim_ptx_is_text(const char *image);

/* The next kernel at or after *cursor, which moves past it. False: no more. */
bool sim_ptx_next(const char **cursor, struct sim_ptx_entry *entry_out);

#endif
