/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as calls of NCCL on the plugin: descriptors with any numbers in them, parents and
 * handles that are late, foreign or none. The input is a list of calls:
 *
 *     u8 what (modulo WHAT_COUNT)   u8 which table, handle or state   then, for a start, the
 *     descriptor's bytes as the version lays them out, of which pointers to text become words and the
 *     parent one of the handles
 *
 * No call may fail or read behind a descriptor, and what goes out must be an event that can be.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/capture/nccl_api/profiler.h"
#include "agent/capture/nccl_event.h"
#include "common/clock.h"
#include "tests/unit/stub_capture.h"

#define HANDLE_COUNT 16
#define EVENTS_MAX 4096u
#define COMM_ID 77

enum {
    START_V3,
    START_V4,
    START_V5,
    STOP,
    RECORD,
    RECORD_NOTHING,
    WINDOW,
    WHAT_COUNT
};

extern const struct rkt_nccl_profiler_v3 ncclProfiler_v3;
extern const struct rkt_nccl_profiler_v4 ncclProfiler_v4;
extern const struct rkt_nccl_profiler_v5 ncclProfiler_v7;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

static struct {
    void *comm_v3;
    void *comm_v4;
    void *comm_v5;
    void *handles[HANDLE_COUNT];
    uint32_t next;
} host;

static void check(int is_true)
{
    if (!is_true)
        abort();
}

/* Zeros where the input has ended. */
static void take(struct input *input, void *out, size_t bytes)
{
    size_t given = input->left < bytes ? input->left : bytes;

    memset(out, 0, bytes);
    if (given > 0)
        memcpy(out, input->at, given);
    input->at += given;
    input->left -= given;
}

/* On the heap and no longer than its version says, so that a read behind it is found. */
static void *copy_of(const void *descr, size_t bytes)
{
    void *copy = malloc(bytes);

    check(copy != NULL);
    return memcpy(copy, descr, bytes);
}

static const char *word_of(const char *pointer)
{
    static const char *const WORDS[] = {NULL,   "",     "AllReduce", "ncclFloat32",
                                        "RING", "LL",   "Send",      "a word that is none",
                                        "NVLS", "Recv", "\xff\xfe",  "LL128"};

    return WORDS[(uintptr_t)pointer % (sizeof(WORDS) / sizeof(WORDS[0]))];
}

static void *handle_of(const void *pointer)
{
    return host.handles[(uintptr_t)pointer % HANDLE_COUNT];
}

static void keep(void *handle)
{
    host.handles[host.next++ % (HANDLE_COUNT - 2)] = handle;
}

static void put_words(struct rkt_nccl_descr *descr, uint64_t type)
{
    if (type == RKT_NCCL_EVENT_COLL || type == RKT_NCCL_EVENT_CE_COLL) {
        descr->coll.func = word_of(descr->coll.func);
        descr->coll.datatype = word_of(descr->coll.datatype);
    }
    if (type == RKT_NCCL_EVENT_COLL) {
        descr->coll.algo = word_of(descr->coll.algo);
        descr->coll.proto = word_of(descr->coll.proto);
    } else if (type == RKT_NCCL_EVENT_P2P) {
        descr->p2p.func = word_of(descr->p2p.func);
        descr->p2p.datatype = word_of(descr->p2p.datatype);
    } else if (type == RKT_NCCL_EVENT_COLL_API || type == RKT_NCCL_EVENT_P2P_API) {
        descr->coll_api.func = word_of(descr->coll_api.func);
        descr->coll_api.datatype = word_of(descr->coll_api.datatype);
    }
}

/* One bit, as NCCL gives; the rest of the range, too. */
static uint64_t type_of(uint8_t which)
{
    return which < 64 ? 1ull << which : which;
}

static void start(struct input *input, uint8_t what, uint8_t which)
{
    size_t bytes = what == START_V4 ? RKT_NCCL_DESCR_BYTES_V4 : RKT_NCCL_DESCR_BYTES_V5;
    struct rkt_nccl_descr descr;
    void *handle = NULL;
    void *copy;

    take(input, &descr, sizeof(descr));
    if (what == START_V4) /* seven bytes behind it are as they came */
        *(uint8_t *)&descr = (uint8_t)type_of(which);
    else
        descr.type = type_of(which);
    descr.parent = handle_of(descr.parent);
    put_words(&descr, what == START_V4 ? rkt_nccl_descr_type_v4(&descr) : descr.type);
    copy = copy_of(&descr, bytes);
    if (what == START_V4)
        check(ncclProfiler_v4.start(host.comm_v4, &handle, copy) == 0);
    else
        check(ncclProfiler_v7.start(host.comm_v5, &handle, copy) == 0);
    keep(handle);
    free(copy);
}

static void start_v3(struct input *input, uint8_t which)
{
    struct rkt_nccl_descr_v3 descr;
    void *handle = NULL;

    take(input, &descr, sizeof(descr));
    descr.type = (uint8_t)type_of(which);
    descr.parent = handle_of(descr.parent);
    if (descr.type == RKT_NCCL_EVENT_P2P) {
        descr.p2p.func = word_of(descr.p2p.func);
        descr.p2p.datatype = word_of(descr.p2p.datatype);
    } else {
        descr.coll.func = word_of(descr.coll.func);
        descr.coll.datatype = word_of(descr.coll.datatype);
        descr.coll.algo = word_of(descr.coll.algo);
        descr.coll.proto = word_of(descr.coll.proto);
    }
    check(ncclProfiler_v3.start(host.comm_v3, &handle, &descr) == 0);
    keep(handle);
}

/* Of the event that began last. */
static void record(struct input *input, uint8_t which)
{
    void *last = host.handles[(host.next + HANDLE_COUNT - 3) % (HANDLE_COUNT - 2)];
    union rkt_nccl_state_args args;

    take(input, &args, sizeof(args));
    check(ncclProfiler_v7.record(last, which, &args) == 0);
}

static void one_call(struct input *input)
{
    uint8_t what = input->at[0] % WHAT_COUNT;
    uint8_t which = input->at[1];
    void *handle = host.handles[which % HANDLE_COUNT];

    input->at += 2;
    input->left -= 2;
    if (what == START_V3)
        start_v3(input, which);
    else if (what == START_V4 || what == START_V5)
        start(input, what, which);
    else if (what == STOP)
        check(ncclProfiler_v7.stop(handle) == 0);
    else if (what == RECORD)
        record(input, which);
    else if (what == RECORD_NOTHING)
        check(ncclProfiler_v4.record(handle, which, NULL) == 0);
    else
        rkt_nccl_source_set_open(stub_capture()->nccl, which % 4 != 0);
}

static void check_event(const struct rkt_event *event)
{
    check(event->kind == RKT_EVENT_NCCL || event->kind == RKT_EVENT_COMM ||
          event->kind == RKT_EVENT_LOSS || event->kind == RKT_EVENT_NAME);
    check(event->start_ns <= event->end_ns);
    if (event->kind == RKT_EVENT_COMM)
        check(event->comm.rank_count == 0 || event->comm.rank_count == 2);
    if (event->kind != RKT_EVENT_NCCL)
        return;
    check(event->type <= RKT_NCCL_CE_BATCH);
    check(event->nccl.func <= RKT_NCCL_FUNC_BARRIER);
    check(event->nccl.proto <= RKT_PROTO_SIMPLE);
    check((event->clock_id == RKT_CLOCK_GLOBALTIMER) == (event->type == RKT_NCCL_KERNEL_CH));
    check(event->end_ns <= RKT_TIME_MAX_NS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rkt_event events[EVENTS_MAX];
    static int foreign;
    struct input input = {data, size};
    size_t count;
    int mask;

    check(stub_capture_start(
        &(struct rkt_capture_config){.mask = RKT_CAPTURE_ALL, .nccl_level = RKT_NCCL_LEVEL_PROXY}));
    memset(&host, 0, sizeof(host));
    host.handles[HANDLE_COUNT - 1] = &foreign;
    host.handles[HANDLE_COUNT - 2] = (char *)&foreign + 1;
    check(ncclProfiler_v3.init(&host.comm_v3, &mask) == 0);
    check(ncclProfiler_v4.init(&host.comm_v4, &mask, NULL, COMM_ID, 1, 2, 1, NULL) == 0);
    check(ncclProfiler_v7.init(&host.comm_v5, COMM_ID, &mask, "a name", -1, -2, 1, NULL) == 0);
    while (input.left >= 2)
        one_call(&input);
    check(ncclProfiler_v7.finalize(host.comm_v5) == 0);
    count = stub_capture_drain(events, EVENTS_MAX);
    for (size_t i = 0; i < count; i++)
        check_event(&events[i]);
    stub_capture_stop();
    return 0;
}
