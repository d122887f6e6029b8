/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "analysis/rank_trace.h"

/* Any case. A kernel of the job's own may well begin with "hip": only what libraries of
 * collectives use is listed (metrics.md, classes of work). */
static const char *const COMM_PREFIXES[] = {"nccl", "rccl", "msccl", "oneccl"};
static const char *const COMM_PARTS[] = {
    "ncclKernel",          "ncclDevKernel", "ncclSymk",
    "cross_device_reduce", "nvshmem",       "multimem_all_reduce",
};

#define LENGTH_OF(array) (sizeof(array) / sizeof((array)[0]))

enum rkt_work_class rkt_work_class_of_kernel(const char *name)
{
    for (size_t i = 0; i < LENGTH_OF(COMM_PREFIXES); i++) {
        if (strncasecmp(name, COMM_PREFIXES[i], strlen(COMM_PREFIXES[i])) == 0)
            return RKT_WORK_COMM;
    }
    for (size_t i = 0; i < LENGTH_OF(COMM_PARTS); i++) {
        if (strcasestr(name, COMM_PARTS[i]))
            return RKT_WORK_COMM;
    }
    return RKT_WORK_COMPUTE;
}
