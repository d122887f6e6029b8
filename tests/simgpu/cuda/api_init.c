/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: initialisation, versions, error texts, look-up of calls. */

#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/inject.h"
#include "tests/simgpu/cuda/report.h"

#define DEVICES_DEFAULT 8
#define H2D_GBPS_DEFAULT 25

static struct {
    pthread_mutex_t lock; /* guards the two states */
    pthread_cond_t has_ended;
    enum {
        DOWN,
        STARTING,
        UP
    } state;
    pthread_t starter;
    /* set in start, then read only */
    int device_count;
    double h2d_bytes_per_ns;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_ended = PTHREAD_COND_INITIALIZER};

/* A whole number within limits from the environment, else `fallback`. */
static long env_number(const char *name, long min, long max, long fallback)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it later */
    char *end;
    long value;

    if (!text || !*text)
        return fallback;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || *end || value < min || value > max) {
        fprintf(stderr, "simgpu: %s=%s is not a number from %ld to %ld; %ld is used\n", name, text,
                min, max, fallback);
        return fallback;
    }
    return value;
}

static void start(void)
{
    sim_clock_init();
    driver.device_count =
        (int)env_number("SIMGPU_DEVICE_COUNT", 0, SIM_DEVICES_MAX, DEVICES_DEFAULT);
    driver.h2d_bytes_per_ns = (double)env_number("SIMGPU_H2D_GBPS", 1, 1000, H2D_GBPS_DEFAULT);
}

bool sim_driver_is_up(void)
{
    bool is_up;

    pthread_mutex_lock(&driver.lock);
    is_up = driver.state == UP ||
            (driver.state == STARTING && pthread_equal(driver.starter, pthread_self()));
    pthread_mutex_unlock(&driver.lock);
    return is_up;
}

int sim_driver_device_count(void)
{
    return driver.device_count;
}

double sim_driver_h2d_bytes_per_ns(void)
{
    return driver.h2d_bytes_per_ns;
}

/* The injected library may call the driver, cuInit too: that one returns at once. */
CUresult cuInit(unsigned int flags)
{
    bool is_first;

    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.lock);
    while (driver.state == STARTING && !pthread_equal(driver.starter, pthread_self()))
        pthread_cond_wait(&driver.has_ended, &driver.lock);
    is_first = driver.state == DOWN;
    if (is_first) {
        start();
        driver.state = STARTING;
        driver.starter = pthread_self();
    }
    pthread_mutex_unlock(&driver.lock);
    if (is_first) {
        sim_inject();
        pthread_mutex_lock(&driver.lock);
        driver.state = UP;
        pthread_cond_broadcast(&driver.has_ended);
        pthread_mutex_unlock(&driver.lock);
    }
    return driver.device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult result;
    const char *name;
    const char *text;
} ERRORS[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "module is not PTX text"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "no context is current"},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM", "a system call failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "address is not allocated"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "not supported by the stand-in"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "capture failed because of an earlier error"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "two captures would become one"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not begun in this stream"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "a stream of the capture was not waited for"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "a captured stream would depend on what is not captured"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "event was recorded in a capture"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "another thread began the capture"},
    {CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graphs differ in more than parameters"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult cuGetErrorString(CUresult error, const char **text)
{
    for (size_t i = 0; text && i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
        if (ERRORS[i].result == error) {
            *text = ERRORS[i].text;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    for (size_t i = 0; name && i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
        if (ERRORS[i].result == error) {
            *name = ERRORS[i].name;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Newest form first. The requested version is not looked at: there is one form of each call. */
CUresult cuGetProcAddress(const char *symbol, void **address, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    static const char *const SUFFIXES[] = {"_v4", "_v2", "WithFlags", ""};
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *self;
    char name[128];

    (void)cuda_version;
    (void)flags;
    if (!symbol || !address)
        return CUDA_ERROR_INVALID_VALUE;
    *address = NULL;
    self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); /* it may be loaded RTLD_LOCAL */
    for (size_t i = 0; self && !*address && i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        if (snprintf(name, sizeof(name), "%s%s", symbol, SUFFIXES[i]) < (int)sizeof(name))
            *address = dlsym(self, name);
    }
    if (self)
        dlclose(self);
    if (*address)
        found = CU_GET_PROC_ADDRESS_SUCCESS;
    if (status)
        *status = found;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The private tables that the real CUPTI and the real runtime ask for are not there. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    (void)id;
    if (!table)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
