/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/attributes.h"

#include <cupti.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/state.h"

#define ATTRIBUTE_COUNT (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER + 1)

static const struct {
    size_t bytes; /* 0: there is no such attribute here */
    size_t value;
    uint32_t since;
} DEFAULTS[ATTRIBUTE_COUNT] = {
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = {sizeof(size_t), 3200000, 0},
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = {sizeof(size_t), 250, 0},
    [CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = {sizeof(uint8_t), 0, 0},
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = {sizeof(size_t), 3, 0},
    [CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED] = {sizeof(uint8_t), 0, 0},
    [CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = {sizeof(uint8_t), 0, SIM_CUPTI_12_3},
};

static struct {
    _Atomic bool is_set;
    _Atomic size_t value;
} attributes[ATTRIBUTE_COUNT];

static size_t value_of(CUpti_ActivityAttribute attribute)
{
    if (atomic_load(&attributes[attribute].is_set))
        return atomic_load(&attributes[attribute].value);
    if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
        return sim_settings_version() >= SIM_CUPTI_13_0;
    return DEFAULTS[attribute].value;
}

bool sim_attributes_are_buffers_per_thread(void)
{
    return value_of(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) != 0;
}

bool sim_attributes_are_buffers_zeroed(void)
{
    return value_of(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) != 0;
}

static CUptiResult check(CUpti_ActivityAttribute attribute, const size_t *value_bytes,
                         const void *value)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return result;
    if ((size_t)attribute >= ATTRIBUTE_COUNT || DEFAULTS[attribute].bytes == 0 ||
        sim_settings_version() < DEFAULTS[attribute].since || !value_bytes || !value)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*value_bytes < DEFAULTS[attribute].bytes)
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes,
                                      void *value)
{
    CUptiResult result = check(attribute, value_bytes, value);
    size_t kept;

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    kept = value_of(attribute);
    *value_bytes = DEFAULTS[attribute].bytes;
    memcpy(value, &kept, *value_bytes); /* little-endian: the low bytes come first */
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes,
                                      void *value)
{
    CUptiResult result = check(attribute, value_bytes, value);
    size_t wanted = 0;

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    memcpy(&wanted, value, DEFAULTS[attribute].bytes);
    atomic_store(&attributes[attribute].value, wanted);
    atomic_store(&attributes[attribute].is_set, true);
    return sim_say(CUPTI_SUCCESS);
}
