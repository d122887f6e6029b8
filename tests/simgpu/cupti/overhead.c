/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/overhead.h"

#include <cupti.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"

union record {
    CUpti_ActivityOverhead overhead;
    struct {
        CUpti_ActivityOverhead overhead;
        uint32_t correlation_id; /* since CUDA 12.2 */
    } newer;
    uint64_t words[SIM_RECORD_BYTES_MAX / sizeof(uint64_t)];
};

void sim_overhead_write(const struct simgpu_overhead *overhead)
{
    size_t bytes = sim_record_bytes(sim_settings_version(), CUPTI_ACTIVITY_KIND_OVERHEAD);
    union record record = {
        .overhead = {
            .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
            .overheadKind = (CUpti_ActivityOverheadKind)overhead->kind,
            .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
            .objectId.pt = {.processId = (uint32_t)getpid(), .threadId = sim_state_thread_id()},
            .start = sim_stamp_of(overhead->start_ns),
            .end = sim_stamp_of(overhead->end_ns),
        }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_OVERHEAD))
        return;
    if (bytes > sizeof(record.overhead))
        record.newer.correlation_id = overhead->correlation_id;
    sim_store_write(&record, bytes);
}

void sim_overhead_ended(uint32_t kind, uint64_t start_ns)
{
    sim_overhead_write(&(struct simgpu_overhead){
        .kind = kind, .start_ns = start_ns, .end_ns = sim_stamp_now_ns()});
}
