/* SPDX-License-Identifier: Apache-2.0 */

/* How a client finds the records in its buffer, and the ways in which a library could lead it
 * astray. */

#include <cupti.h>
#include <stddef.h>
#include <string.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/settings.h"

static size_t bytes_of(CUpti_ActivityKind kind)
{
    return sim_record_bytes(sim_settings_version(), (uint32_t)kind);
}

/* *record is NULL for the first one, else the one before. */
static CUptiResult next(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    size_t at = 0;
    size_t bytes;
    CUpti_ActivityKind kind;

    if (*record) {
        at = (size_t)((uint8_t *)*record - buffer);
        bytes = at < valid_bytes ? bytes_of((*record)->kind) : 0;
        if (bytes == 0)
            return CUPTI_ERROR_INVALID_KIND;
        at += bytes;
    }
    if (at >= valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    memcpy(&kind, buffer + at, sizeof(kind));
    bytes = bytes_of(kind);
    if (bytes == 0 || bytes > valid_bytes - at)
        return kind == CUPTI_ACTIVITY_KIND_INVALID ? CUPTI_ERROR_MAX_LIMIT_REACHED
                                                   : CUPTI_ERROR_INVALID_KIND;
    *record = (CUpti_Activity *)(void *)(buffer + at);
    return CUPTI_SUCCESS;
}

/* A byte further on than the record before; its kind is not read. */
static CUptiResult next_misaligned(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    size_t at = *record ? (size_t)((uint8_t *)*record - buffer) + 1 : 1;

    if (at >= valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)(buffer + at);
    return CUPTI_SUCCESS;
}

static CUptiResult next_astray(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    CUptiResult result;

    if (sim_settings_has(SIM_MODE_MISALIGNED))
        return next_misaligned(buffer, valid_bytes, record);
    if (sim_settings_has(SIM_MODE_NO_RECORD)) {
        *record = NULL;
        return CUPTI_SUCCESS;
    }
    if (sim_settings_has(SIM_MODE_ENDLESS))
        *record = NULL;
    result = next(buffer, valid_bytes, record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED && sim_settings_has(SIM_MODE_BEYOND)) {
        *record = (CUpti_Activity *)(void *)(buffer + valid_bytes);
        return CUPTI_SUCCESS;
    }
    return result;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    if (!buffer || !record)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    return sim_say(next_astray(buffer, valid_bytes, record));
}
