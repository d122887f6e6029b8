/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_GPU_WORK_H
#define RKT_TESTS_GPU_WORK_H

/*
 * work - a device, a stream and two kernels, through the driver interface alone.
 *
 * The kernels are PTX that every device since sm_50 takes. An error ends the program with a line.
 */

#include <cuda.h>
#include <stdint.h>

#define GPU_CHECK(call) gpu_check((call), #call)

struct gpu_work {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUfunction spin;  /* (duration): ends after so many ns of %globaltimer */
    CUfunction stamp; /* (duration, address): and writes %globaltimer there at begin and end */
};

void gpu_check(CUresult result, const char *what);

/* cuInit, and nothing that needs a device; how many there are. Exits with 77 when there is none. */
int gpu_work_init(void);

/* Device 0, its context current on this thread. */
void gpu_work_open(struct gpu_work *work);

void gpu_work_spin(const struct gpu_work *work, uint64_t duration_ns);
void gpu_work_stamp(const struct gpu_work *work, uint64_t duration_ns, CUdeviceptr stamps);

#endif
