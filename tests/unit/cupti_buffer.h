/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_CUPTI_BUFFER_H
#define RKT_TESTS_UNIT_CUPTI_BUFFER_H

/*
 * cupti_buffer - activity buffers made by hand, as long as each CUPTI writes its records, and a
 * walk over them like that library's own.
 */

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_BUFFER_BYTES ((size_t)256 << 10)

struct cupti_buffer {
    uint32_t version; /* of tests/simgpu/cupti/layout.h */
    size_t used_bytes;
    _Alignas(8) uint8_t bytes[CUPTI_BUFFER_BYTES];
};

void cupti_buffer_init(struct cupti_buffer *buffer, uint32_t version);

/*
 * The next record, with its kind set and the first `known_bytes` zero. What that version has
 * behind them is no sensible value of anything. NULL: full.
 */
void *cupti_buffer_add(struct cupti_buffer *buffer, CUpti_ActivityKind kind, size_t known_bytes);

/* As cuptiActivityGetNextRecord, for buffers of the version that was initialised last. */
CUptiResult cupti_buffer_next(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record);

#endif
