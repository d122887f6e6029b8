/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compiled once per set of headers. The build says which headers come first on the path, and
 * RKT_ABI_HEADER <...>, RKT_ABI_LIST "..." and RKT_ABI_SYMBOL, the table to define.
 */

#include RKT_ABI_HEADER

#include "tests/simgpu/abi/abi_table.h"

/* The newest layout of each record must still begin with the one that is declared here. */
#ifdef RKT_ABI_NEWEST
#define CUpti_ActivityKernel4 CUpti_ActivityKernel10
#define CUpti_ActivityKernel5 CUpti_ActivityKernel10
#define CUpti_ActivityMemcpy CUpti_ActivityMemcpy6
#define CUpti_ActivityMemcpy5 CUpti_ActivityMemcpy6
#define CUpti_ActivityMemcpyPtoP CUpti_ActivityMemcpyPtoP4
#define CUpti_ActivityMemory2 CUpti_ActivityMemory4
#define CUpti_ActivityMemset CUpti_ActivityMemset4
#define CUpti_ActivitySynchronization CUpti_ActivitySynchronization2
#define CUpti_ActivityOverhead CUpti_ActivityOverhead3
#define CUpti_ActivityGraphTrace CUpti_ActivityGraphTrace2
#endif

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

#define RKT_ABI_VALUE(name) {#name, NULL, (uint64_t)(name), RKT_ABI_WHAT_VALUE},
#define RKT_ABI_SIZE(type) {#type, NULL, sizeof(type), RKT_ABI_WHAT_SIZE},
#define RKT_ABI_FIELD(type, field)                                        \
    {#type "." #field, NULL, offsetof(type, field), RKT_ABI_WHAT_OFFSET}, \
        {#type "." #field, NULL, sizeof(((type *)0)->field), RKT_ABI_WHAT_WIDTH},
#define RKT_ABI_RENAME(name) {#name, TEXT(name), 0, RKT_ABI_WHAT_RENAME},

static const struct rkt_abi_line LINES[] = {
#include RKT_ABI_LIST
};

extern const struct rkt_abi_table RKT_ABI_SYMBOL;
const struct rkt_abi_table RKT_ABI_SYMBOL = {LINES, sizeof(LINES) / sizeof(LINES[0])};
