/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of every CUPTI's layout, and of a broken one, through the reader into a ring. */
#include "agent/capture/cupti_reader.h"

#include <unistd.h>

#include "common/clock.h"
#include "cupti_buffer.h"
#include "rkt_test.h"
#include "tests/simgpu/cupti/layout.h"

#define EVENTS_MAX 256u

static const struct rkt_region_config CONFIG = {
    .ring_count = 2, .ring_capacity = EVENTS_MAX, .heap_bytes = 64u << 10};

static struct cupti_buffer buffer; /* too large for a stack */

struct fixture {
    struct rkt_capture capture;
    struct rkt_cupti_library library;
    struct rkt_cupti_api_names *api_names;
    struct rkt_cupti_reader reader;
    struct rkt_event events[EVENTS_MAX];
    size_t event_count;
    int fd;
};

static CUptiResult callback_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid != 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = "cuLaunchKernel";
    return CUPTI_SUCCESS;
}

static int make_reader(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    if (rkt_region_create(&CONFIG, &f.capture.region, &f.fd, NULL) != RKT_OK)
        return -1;
    f.library.next_record = cupti_buffer_next;
    f.library.callback_name = callback_name;
    f.capture.intern = rkt_intern_create(f.capture.region);
    f.capture.threads = rkt_threads_create(f.capture.region, f.capture.intern);
    f.api_names = rkt_cupti_api_names_create(&f.library, f.capture.intern);
    f.reader.capture = &f.capture;
    f.reader.library = &f.library;
    f.reader.api_names = f.api_names;
    *state = &f;
    return f.capture.threads && f.api_names ? 0 : -1;
}

static int free_reader(void **state)
{
    struct fixture *f = *state;

    rkt_cupti_api_names_destroy(f->api_names);
    rkt_threads_destroy(f->capture.threads);
    rkt_intern_destroy(f->capture.intern);
    rkt_region_destroy(f->capture.region);
    close(f->fd);
    return 0;
}

/* Everything that came, without the thread's own name. */
static void read_buffer(struct fixture *f, size_t valid_bytes)
{
    struct rkt_event event;
    bool was_broken;

    rkt_cupti_reader_read(&f->reader, buffer.bytes, valid_bytes);
    f->event_count = 0;
    for (size_t i = 0; i < rkt_region_ring_count(f->capture.region); i++) {
        struct rkt_ring *ring = rkt_region_ring(f->capture.region, i);

        while (rkt_ring_pop(ring, CONFIG.ring_capacity, &event, 1, &was_broken) > 0) {
            if (event.kind != RKT_EVENT_NAME)
                f->events[f->event_count++] = event;
        }
    }
}

/* The n-th event of a kind; NULL when there are not so many. */
static const struct rkt_event *event_of(const struct fixture *f, enum rkt_event_kind kind, size_t n)
{
    for (size_t i = 0; i < f->event_count; i++) {
        if (f->events[i].kind == kind && n-- == 0)
            return &f->events[i];
    }
    return NULL;
}

static const char *name_of(const struct fixture *f, const struct rkt_event *event)
{
    static char copy[256];
    const char *text;
    size_t len_bytes;

    if (!rkt_region_name(f->capture.region, event->name_id, &text, &len_bytes) ||
        len_bytes >= sizeof(copy))
        return "";
    memcpy(copy, text, len_bytes);
    copy[len_bytes] = '\0';
    return copy;
}

/* ---- what is put in ---- */

static CUpti_ActivityKernel5 *add_kernel(const char *name, uint64_t start_ns)
{
    CUpti_ActivityKernel5 *record =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                         offsetof(CUpti_ActivityKernel5, graphId) + sizeof(uint32_t));

    assert_non_null(record);
    record->start = start_ns;
    record->end = start_ns + 100;
    record->name = name;
    record->gridX = 8;
    record->blockX = 128;
    return record;
}

static void add_call(uint64_t start_ns, uint32_t thread_id)
{
    CUpti_ActivityAPI *record =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_DRIVER, sizeof(*record));

    assert_non_null(record);
    record->cbid = 1;
    record->start = start_ns;
    record->end = start_ns + 10;
    record->threadId = thread_id;
    record->correlationId = 21;
}

static void add_copies(void)
{
    CUpti_ActivityMemcpy5 *copy =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(*copy));
    CUpti_ActivityMemcpyPtoP4 *peer =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(*peer));
    CUpti_ActivityMemset4 *set =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_MEMSET, sizeof(*set));

    *copy = (CUpti_ActivityMemcpy5){.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                    .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                    .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                    .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                    .flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC,
                                    .bytes = 4096,
                                    .start = 1000,
                                    .end = 1100,
                                    .deviceId = 2,
                                    .streamId = 13,
                                    .correlationId = 22,
                                    .graphId = 5};
    *peer = (CUpti_ActivityMemcpyPtoP4){.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                        .start = 1000,
                                        .end = 1100,
                                        .deviceId = 2,
                                        .dstDeviceId = 3,
                                        .correlationId = 23,
                                        .graphId = 6};
    *set = (CUpti_ActivityMemset4){.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                   .value = 7,
                                   .bytes = 8192,
                                   .start = 1000,
                                   .end = 1100,
                                   .flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC,
                                   .graphId = 7};
}

static void add_others(void)
{
    CUpti_ActivitySynchronization *sync =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(*sync));
    CUpti_ActivityMemory2 *memory =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(*memory));
    CUpti_ActivityGraphTrace *graph =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(*graph));
    CUpti_ActivityOverhead *overhead =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(*overhead));

    sync->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    sync->start = 2000;
    sync->end = 2100;
    sync->streamId = 14;
    memory->memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    memory->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    memory->correlationId = 24;
    memory->address = 0x7f0000000000;
    memory->bytes = 1u << 30;
    memory->timestamp = 2200;
    memory->deviceId = 2;
    memory->streamId = UINT32_MAX;
    memory->isAsync = 1;
    graph->correlationId = 25;
    graph->start = 2300;
    graph->end = 2900;
    graph->deviceId = 2;
    graph->graphId = 9;
    graph->streamId = 15;
    overhead->overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
    overhead->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    overhead->objectId.pt.threadId = 4242;
    overhead->start = 3000;
    overhead->end = 3100;
}

/* ---- what comes out ---- */

static void assert_work(const struct fixture *f)
{
    const struct rkt_event *kernel = event_of(f, RKT_EVENT_KERNEL, 0);
    const struct rkt_event *shape = event_of(f, RKT_EVENT_SHAPE, 0);
    const struct rkt_event *copy = event_of(f, RKT_EVENT_MEMCPY, 0);
    const struct rkt_event *peer = event_of(f, RKT_EVENT_MEMCPY, 1);
    const struct rkt_event *set = event_of(f, RKT_EVENT_MEMSET, 0);

    assert_true(kernel && shape && copy && peer && set);
    assert_string_equal(name_of(f, kernel), "gemm");
    assert_int_equal(kernel->kernel.shape_id, shape->shape.shape_id);
    assert_int_equal(kernel->kernel.graph_node_id, 77);
    assert_int_equal(kernel->kernel.graph_id, 4);
    assert_int_equal(kernel->flags, RKT_FLAG_GRAPH);
    assert_int_equal(copy->memcpy.src_kind, RKT_MEMORY_PAGEABLE);
    assert_int_equal(copy->memcpy.dst_kind, RKT_MEMORY_DEVICE);
    assert_int_equal(copy->memcpy.bytes, 4096);
    assert_int_equal(copy->memcpy.graph_id, 5);
    assert_int_equal(copy->flags, RKT_FLAG_ASYNC | RKT_FLAG_GRAPH);
    assert_int_equal(peer->memcpy.peer_device_id, 3);
    assert_int_equal(peer->memcpy.graph_id, 6);
    assert_int_equal(peer->flags, RKT_FLAG_GRAPH);
    assert_int_equal(set->memset.bytes, 8192);
    assert_int_equal(set->memset.graph_id, 7);
    assert_int_equal(set->flags, RKT_FLAG_ASYNC | RKT_FLAG_GRAPH);
}

static void assert_others(const struct fixture *f)
{
    const struct rkt_event *call = event_of(f, RKT_EVENT_API, 0);
    const struct rkt_event *sync = event_of(f, RKT_EVENT_SYNC, 0);
    const struct rkt_event *memory = event_of(f, RKT_EVENT_MEMORY, 0);
    const struct rkt_event *graph = event_of(f, RKT_EVENT_GRAPH, 0);
    const struct rkt_event *overhead = event_of(f, RKT_EVENT_OVERHEAD, 0);

    assert_true(call && sync && memory && graph && overhead);
    assert_string_equal(name_of(f, call), "cuLaunchKernel");
    assert_int_equal(call->correlation_id, 21);
    assert_int_equal(sync->type, RKT_SYNC_STREAM);
    assert_int_equal(sync->sync.stream_id, 14);
    assert_int_equal(memory->type, RKT_MEMORY_FREE);
    assert_int_equal(memory->flags, RKT_FLAG_ASYNC);
    assert_int_equal(memory->start_ns, 2200);
    assert_int_equal(memory->end_ns, 2200);
    assert_int_equal(memory->correlation_id, 24);
    assert_int_equal(memory->memory.address, 0x7f0000000000);
    assert_int_equal(memory->memory.bytes, 1u << 30);
    assert_int_equal(memory->memory.device_id, 2);
    assert_int_equal(memory->memory.stream_id, UINT32_MAX);
    assert_int_equal(memory->memory.memory_kind, RKT_MEMORY_DEVICE);
    assert_int_equal(graph->start_ns, 2300);
    assert_int_equal(graph->end_ns, 2900);
    assert_int_equal(graph->correlation_id, 25);
    assert_int_equal(graph->graph.graph_id, 9);
    assert_int_equal(graph->graph.stream_id, 15);
    assert_int_equal(overhead->type, RKT_OVERHEAD_BUFFER_FLUSH);
    assert_int_equal(overhead->thread_id, 4242);
    assert_int_equal(overhead->overhead.device_id, UINT32_MAX);
}

static void records_of_every_version_give_the_same_events(void **state)
{
    static const struct {
        const char *what;
        uint32_t version;
    } cases[] = {
        {"11.8", SIM_CUPTI_11_8}, {"12.0", SIM_CUPTI_12_0}, {"12.2", SIM_CUPTI_12_2},
        {"12.3", SIM_CUPTI_12_3}, {"12.4", SIM_CUPTI_12_4}, {"12.6", SIM_CUPTI_12_6},
        {"12.8", SIM_CUPTI_12_8}, {"13.0", SIM_CUPTI_13_0}, {"13.1", SIM_CUPTI_13_1},
        {"13.3", SIM_CUPTI_13_3},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CUpti_ActivityKernel5 *kernel;
        struct fixture *f;

        print_message("CUPTI of CUDA %s\n", cases[i].what);
        assert_int_equal(make_reader(state), 0); /* each with names and shapes of its own */
        f = *state;
        cupti_buffer_init(&buffer, cases[i].version);
        kernel = add_kernel("gemm", 500);
        kernel->graphNodeId = 77;
        kernel->graphId = 4;
        add_call(400, 0);
        add_copies();
        add_others();
        add_kernel("gemm", 4000); /* behind all: every stride was right */
        read_buffer(f, buffer.used_bytes);
        assert_work(f);
        assert_others(f);
        assert_int_equal(event_of(f, RKT_EVENT_KERNEL, 1)->start_ns, 4000);
        assert_null(event_of(f, RKT_EVENT_LOSS, 0));
        assert_int_equal(f->event_count, 11);
        free_reader(state);
    }
}

/* ---- what it must not believe ---- */

static void record_that_is_cut_off_is_not_read(void **state)
{
    struct fixture *f = *state;
    size_t first_bytes;

    cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
    add_kernel("gemm", 500);
    first_bytes = buffer.used_bytes;
    add_kernel("gemm", 600);
    read_buffer(f, first_bytes + offsetof(CUpti_ActivityKernel4, name));
    assert_non_null(event_of(f, RKT_EVENT_KERNEL, 0));
    assert_null(event_of(f, RKT_EVENT_KERNEL, 1));
}

static size_t step_count;

static CUptiResult stand_still(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    (void)valid_bytes;
    assert_true(++step_count < 1000);
    *record = (CUpti_Activity *)(void *)bytes;
    return CUPTI_SUCCESS;
}

static CUptiResult step_out(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    assert_true(++step_count < 1000);
    *record = (CUpti_Activity *)(void *)(*record ? bytes + valid_bytes : bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult step_before(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    (void)valid_bytes;
    assert_true(++step_count < 1000);
    *record = (CUpti_Activity *)(void *)(*record ? bytes - 8 : bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult step_aside(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    (void)valid_bytes;
    assert_true(++step_count < 1000);
    *record = (CUpti_Activity *)(void *)(*record ? bytes + 41 : bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult step_to_nothing(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    assert_true(++step_count < 1000);
    *record = (CUpti_Activity *)(void *)(valid_bytes == 0 ? bytes : NULL);
    return CUPTI_SUCCESS;
}

static void walk_that_leads_nowhere_ends_and_is_counted(void **state)
{
    static const struct {
        const char *what;
        CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **);
    } cases[] = {{"stands still", stand_still},
                 {"leaves the buffer", step_out},
                 {"goes before it", step_before},
                 {"is not aligned", step_aside},
                 {"has no record", step_to_nothing}};
    struct fixture *f = *state;

    cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
    for (uint64_t i = 0; i < 10; i++)
        add_call(100 + i, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rkt_event *loss;

        step_count = 0;
        f->library.next_record = cases[i].next;
        read_buffer(f, buffer.used_bytes);
        loss = event_of(f, RKT_EVENT_LOSS, 0);
        if (!loss || loss->type != RKT_LOSS_CUPTI_DROPPED || loss->loss.count != 10 ||
            loss->loss.bytes != buffer.used_bytes)
            fail_msg("a walk that %s is not counted", cases[i].what);
    }
}

/* CUPTI before 13.4 gives the place of an unloaded module's name to the next one. */
static void name_that_changes_at_its_place_is_read_anew(void **state)
{
    struct fixture *f = *state;
    static char name[32] = "old_kernel";

    for (int i = 0; i < 2; i++) {
        cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
        add_kernel(name, 500);
        add_kernel(name, 700);
        read_buffer(f, buffer.used_bytes);
        assert_string_equal(name_of(f, event_of(f, RKT_EVENT_KERNEL, 0)), name);
        assert_string_equal(name_of(f, event_of(f, RKT_EVENT_KERNEL, 1)), name);
        memcpy(name, "new_kernel", sizeof("new_kernel"));
    }
}

static void each_launch_shape_has_its_own_id(void **state)
{
    static const char *const names[] = {"gemm", "relu"};
    struct fixture *f = *state;

    cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
    for (int32_t i = 0; i < 48; i++) { /* every shape three times, in turn */
        CUpti_ActivityKernel5 *record = add_kernel(names[i % 2], 500);

        record->registersPerThread = i / 2 % 2 ? 255 : 16;
        record->gridY = i / 4 % 2 ? 2 : 1;
        record->dynamicSharedMemory = i / 8 % 2 ? 4096 : 0;
    }
    read_buffer(f, buffer.used_bytes);
    for (size_t i = 0; i < 48; i++) {
        const struct rkt_event *kernel = event_of(f, RKT_EVENT_KERNEL, i);
        const struct rkt_event *shape = NULL;

        for (size_t n = 0; !shape || shape->shape.shape_id != kernel->kernel.shape_id; n++) {
            shape = event_of(f, RKT_EVENT_SHAPE, n);
            assert_non_null(shape);
        }
        assert_int_equal(shape->name_id, kernel->name_id);
        assert_string_equal(name_of(f, kernel), names[i % 2]);
        assert_int_equal(shape->shape.registers, i / 2 % 2 ? 255 : 16);
        assert_int_equal(shape->shape.grid_y, i / 4 % 2 ? 2 : 1);
        assert_int_equal(shape->shape.dynamic_shared_bytes, i / 8 % 2 ? 4096 : 0);
    }
    assert_null(event_of(f, RKT_EVENT_SHAPE, 16));
}

static void unusable_stamps_of_gpu_work_are_counted_for_the_alarm(void **state)
{
    struct fixture *f = *state;

    cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
    for (unsigned i = 0; i < 10; i++)
        add_kernel("gemm", 500)->end = i < 3 ? 0 : 600;
    add_call(0, 0); /* no GPU work */
    read_buffer(f, buffer.used_bytes);
    assert_int_equal(f->reader.bad_work_count, 3);
    assert_int_equal(f->reader.good_work_count, 7);
    assert_int_equal(event_of(f, RKT_EVENT_LOSS, 0)->loss.count, 3);
    assert_int_equal(event_of(f, RKT_EVENT_LOSS, 0)->loss.lost_kind, RKT_EVENT_KERNEL);
    assert_int_equal(event_of(f, RKT_EVENT_LOSS, 1)->loss.lost_kind, RKT_EVENT_API);
}

#define READING(test) cmocka_unit_test_setup_teardown(test, make_reader, free_reader)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_every_version_give_the_same_events),
        READING(record_that_is_cut_off_is_not_read),
        READING(walk_that_leads_nowhere_ends_and_is_counted),
        READING(name_that_changes_at_its_place_is_read_anew),
        READING(each_launch_shape_has_its_own_id),
        READING(unusable_stamps_of_gpu_work_are_counted_for_the_alarm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
