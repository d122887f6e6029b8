/* SPDX-License-Identifier: Apache-2.0 */

/* As abi_calls.c: NVML's calls as the toolkit declares them, then as the project does. */

#include <nvml.h>

#include "agent/sidecar/nvml_api/include/nvml_calls.h"
