/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/say.h"

#include "tests/simgpu/cupti/settings.h"

static _Thread_local CUptiResult last;

CUptiResult sim_say(CUptiResult result)
{
    if (sim_settings_has(SIM_MODE_BROKEN))
        result = CUPTI_ERROR_UNKNOWN;
    last = result;
    return result;
}

CUptiResult sim_said(void)
{
    CUptiResult result = last;

    last = CUPTI_SUCCESS;
    return result;
}
