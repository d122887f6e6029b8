/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the capture library reads of a record is at the same place in every version of it. Compiled
 * with the toolkit's headers, which still have the old layouts; compiling this file is the test.
 */

#include <assert.h>
#include <cupti.h>
#include <stddef.h>

/* `field` of the type with this suffix lies where the oldest type that has it has it. */
#define SAME(oldest, newer, field)                                                 \
    static_assert(offsetof(newer, field) == offsetof(oldest, field) &&             \
                      sizeof(((newer *)0)->field) == sizeof(((oldest *)0)->field), \
                  #newer "." #field);

#define KERNEL(newer)                                       \
    SAME(CUpti_ActivityKernel4, newer, registersPerThread)  \
    SAME(CUpti_ActivityKernel4, newer, start)               \
    SAME(CUpti_ActivityKernel4, newer, end)                 \
    SAME(CUpti_ActivityKernel4, newer, deviceId)            \
    SAME(CUpti_ActivityKernel4, newer, contextId)           \
    SAME(CUpti_ActivityKernel4, newer, streamId)            \
    SAME(CUpti_ActivityKernel4, newer, gridX)               \
    SAME(CUpti_ActivityKernel4, newer, gridY)               \
    SAME(CUpti_ActivityKernel4, newer, gridZ)               \
    SAME(CUpti_ActivityKernel4, newer, blockX)              \
    SAME(CUpti_ActivityKernel4, newer, blockY)              \
    SAME(CUpti_ActivityKernel4, newer, blockZ)              \
    SAME(CUpti_ActivityKernel4, newer, staticSharedMemory)  \
    SAME(CUpti_ActivityKernel4, newer, dynamicSharedMemory) \
    SAME(CUpti_ActivityKernel4, newer, correlationId)       \
    SAME(CUpti_ActivityKernel4, newer, name)
KERNEL(CUpti_ActivityKernel5)
KERNEL(CUpti_ActivityKernel6)
KERNEL(CUpti_ActivityKernel7)
KERNEL(CUpti_ActivityKernel8)
KERNEL(CUpti_ActivityKernel9)
KERNEL(CUpti_ActivityKernel10)

#define KERNEL_GRAPH(newer)                         \
    SAME(CUpti_ActivityKernel5, newer, graphNodeId) \
    SAME(CUpti_ActivityKernel5, newer, graphId)
KERNEL_GRAPH(CUpti_ActivityKernel6)
KERNEL_GRAPH(CUpti_ActivityKernel7)
KERNEL_GRAPH(CUpti_ActivityKernel8)
KERNEL_GRAPH(CUpti_ActivityKernel9)
KERNEL_GRAPH(CUpti_ActivityKernel10)

#define COPY(oldest, newer)        \
    SAME(oldest, newer, copyKind)  \
    SAME(oldest, newer, srcKind)   \
    SAME(oldest, newer, dstKind)   \
    SAME(oldest, newer, flags)     \
    SAME(oldest, newer, bytes)     \
    SAME(oldest, newer, start)     \
    SAME(oldest, newer, end)       \
    SAME(oldest, newer, deviceId)  \
    SAME(oldest, newer, contextId) \
    SAME(oldest, newer, streamId)  \
    SAME(oldest, newer, correlationId)
COPY(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy3)
COPY(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy4)
COPY(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy5)
COPY(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy6)
SAME(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, graphId)

#define PEER_COPY(newer)                  \
    COPY(CUpti_ActivityMemcpyPtoP, newer) \
    SAME(CUpti_ActivityMemcpyPtoP, newer, dstDeviceId)
PEER_COPY(CUpti_ActivityMemcpyPtoP2)
PEER_COPY(CUpti_ActivityMemcpyPtoP3)
PEER_COPY(CUpti_ActivityMemcpyPtoP4)

#define SET(newer)                                   \
    SAME(CUpti_ActivityMemset, newer, value)         \
    SAME(CUpti_ActivityMemset, newer, bytes)         \
    SAME(CUpti_ActivityMemset, newer, start)         \
    SAME(CUpti_ActivityMemset, newer, end)           \
    SAME(CUpti_ActivityMemset, newer, deviceId)      \
    SAME(CUpti_ActivityMemset, newer, contextId)     \
    SAME(CUpti_ActivityMemset, newer, streamId)      \
    SAME(CUpti_ActivityMemset, newer, correlationId) \
    SAME(CUpti_ActivityMemset, newer, flags)
SET(CUpti_ActivityMemset2)
SET(CUpti_ActivityMemset3)
SET(CUpti_ActivityMemset4)

#define MEMORY(newer)                                       \
    SAME(CUpti_ActivityMemory2, newer, memoryOperationType) \
    SAME(CUpti_ActivityMemory2, newer, memoryKind)          \
    SAME(CUpti_ActivityMemory2, newer, correlationId)       \
    SAME(CUpti_ActivityMemory2, newer, address)             \
    SAME(CUpti_ActivityMemory2, newer, bytes)               \
    SAME(CUpti_ActivityMemory2, newer, timestamp)           \
    SAME(CUpti_ActivityMemory2, newer, deviceId)            \
    SAME(CUpti_ActivityMemory2, newer, contextId)           \
    SAME(CUpti_ActivityMemory2, newer, streamId)            \
    SAME(CUpti_ActivityMemory2, newer, isAsync)
MEMORY(CUpti_ActivityMemory3)
MEMORY(CUpti_ActivityMemory4)

#define OVERHEAD(newer)                               \
    SAME(CUpti_ActivityOverhead, newer, overheadKind) \
    SAME(CUpti_ActivityOverhead, newer, objectKind)   \
    SAME(CUpti_ActivityOverhead, newer, objectId)     \
    SAME(CUpti_ActivityOverhead, newer, start)        \
    SAME(CUpti_ActivityOverhead, newer, end)
OVERHEAD(CUpti_ActivityOverhead2)
OVERHEAD(CUpti_ActivityOverhead3)

#define SYNCHRONIZATION(newer)                                \
    SAME(CUpti_ActivitySynchronization, newer, type)          \
    SAME(CUpti_ActivitySynchronization, newer, start)         \
    SAME(CUpti_ActivitySynchronization, newer, end)           \
    SAME(CUpti_ActivitySynchronization, newer, correlationId) \
    SAME(CUpti_ActivitySynchronization, newer, contextId)     \
    SAME(CUpti_ActivitySynchronization, newer, streamId)      \
    SAME(CUpti_ActivitySynchronization, newer, cudaEventId)
SYNCHRONIZATION(CUpti_ActivitySynchronization2)

#define GRAPH(newer)                                     \
    SAME(CUpti_ActivityGraphTrace, newer, correlationId) \
    SAME(CUpti_ActivityGraphTrace, newer, start)         \
    SAME(CUpti_ActivityGraphTrace, newer, end)           \
    SAME(CUpti_ActivityGraphTrace, newer, deviceId)      \
    SAME(CUpti_ActivityGraphTrace, newer, graphId)       \
    SAME(CUpti_ActivityGraphTrace, newer, contextId)     \
    SAME(CUpti_ActivityGraphTrace, newer, streamId)
GRAPH(CUpti_ActivityGraphTrace2)
