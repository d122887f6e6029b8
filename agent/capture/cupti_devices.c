/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_devices.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"

#define NAME_BYTES 128

struct driver {
    __typeof__(&cuDeviceGet) device_get;
    __typeof__(&cuDeviceGetName) device_name;
};

/* Records came from it, so the driver is mapped. */
static bool find_driver(struct driver *driver_out)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (!handle)
        return false;
    *(void **)&driver_out->device_get = dlsym(handle, "cuDeviceGet");
    *(void **)&driver_out->device_name = dlsym(handle, "cuDeviceGetName");
    return driver_out->device_get && driver_out->device_name;
}

static void send_one(const struct driver *driver, uint32_t device_id, struct rkt_threads *threads,
                     struct rkt_intern *intern)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_NAME,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = RKT_NAMED_DEVICE,
        .name.object_id = device_id,
    };
    char name[NAME_BYTES] = "";
    CUdevice device;

    if (driver->device_get(&device, (int)device_id) != CUDA_SUCCESS ||
        driver->device_name(name, sizeof(name), device) != CUDA_SUCCESS)
        return;
    event.name_id = rkt_intern_name(intern, name, strnlen(name, sizeof(name)));
    event.start_ns = event.end_ns = rkt_now_raw_ns();
    if (event.name_id != 0)
        (void)rkt_threads_push(threads, &event);
}

void rkt_cupti_devices_send(struct rkt_cupti_devices *devices, struct rkt_threads *threads,
                            struct rkt_intern *intern)
{
    uint64_t fresh = atomic_load_explicit(&devices->seen, memory_order_relaxed) & ~devices->sent;
    struct driver driver;

    if (fresh == 0)
        return;
    devices->sent |= fresh;
    if (!find_driver(&driver))
        return;
    for (uint32_t id = 0; id < RKT_CUPTI_DEVICES_MAX; id++) {
        if (fresh >> id & 1)
            send_one(&driver, id, threads, intern);
    }
}
