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
    __typeof__(&cuDeviceGetUuid) device_uuid;           /* NULL: an old driver */
    __typeof__(&cuDeviceGetAttribute) device_attribute; /* likewise */
};

/* Records came from it, so the driver is mapped. */
static bool find_driver(struct driver *driver_out)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (!handle)
        return false;
    *(void **)&driver_out->device_get = dlsym(handle, "cuDeviceGet");
    *(void **)&driver_out->device_name = dlsym(handle, "cuDeviceGetName");
    *(void **)&driver_out->device_attribute = dlsym(handle, "cuDeviceGetAttribute");
    /* The second form knows the parts of a GPU that is shared out (MIG). */
    *(void **)&driver_out->device_uuid = dlsym(handle, "cuDeviceGetUuid_v2");
    if (!driver_out->device_uuid)
        *(void **)&driver_out->device_uuid = dlsym(handle, "cuDeviceGetUuid");
    return driver_out->device_get && driver_out->device_name;
}

static void send_name(const struct driver *driver, uint32_t device_id, CUdevice device,
                      struct rkt_threads *threads, struct rkt_intern *intern)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_NAME,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = RKT_NAMED_DEVICE,
        .name.object_id = device_id,
    };
    char name[NAME_BYTES] = "";

    if (driver->device_name(name, sizeof(name), device) != CUDA_SUCCESS)
        return;
    event.name_id = rkt_intern_name(intern, name, strnlen(name, sizeof(name)));
    event.start_ns = event.end_ns = rkt_now_raw_ns();
    if (event.name_id != 0)
        (void)rkt_threads_push(threads, &event);
}

/* The bytes as a number that reads like the UUID. */
static uint64_t number_of(const char *bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < sizeof(number); i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

/* 0 where the driver does not say. */
static uint32_t attribute(const struct driver *driver, CUdevice device,
                          CUdevice_attribute attribute)
{
    int value = 0;

    if (!driver->device_attribute ||
        driver->device_attribute(&value, attribute, device) != CUDA_SUCCESS || value < 0)
        return 0;
    return (uint32_t)value;
}

static void send_identity(const struct driver *driver, uint32_t device_id, CUdevice device,
                          struct rkt_threads *threads)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_DEVICE,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .device.device_id = device_id,
        .device.pci_domain = attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
        .device.pci_bus = (uint16_t)attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
        .device.pci_device = (uint16_t)attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID),
    };
    CUuuid uuid;

    if (driver->device_uuid && driver->device_uuid(&uuid, device) == CUDA_SUCCESS) {
        event.device.uuid_high = number_of(uuid.bytes);
        event.device.uuid_low = number_of(uuid.bytes + sizeof(uint64_t));
    }
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
        CUdevice device;

        if (!(fresh >> id & 1) || driver.device_get(&device, (int)id) != CUDA_SUCCESS)
            continue;
        send_name(&driver, id, device, threads, intern);
        send_identity(&driver, id, device, threads);
    }
}
