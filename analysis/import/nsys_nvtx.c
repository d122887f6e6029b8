/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and marks of NVTX, with their domains; what NCCL says through it as well. */
#include <string.h>

#include "analysis/import/nsys_state.h"
#include "common/array.h"
#include "common/clock.h"

enum column {
    START,
    END,
    TYPE,
    TEXT,
    TEXT_ID,
    DOMAIN,
    GLOBAL_TID,
    PAYLOAD_U64,
    PAYLOAD_I64,
    PAYLOAD_U32,
    PAYLOAD_I32,
    COLUMN_COUNT
};

static const char *const COLUMNS[COLUMN_COUNT] = {
    [START] = "start",
    [END] = "end",
    [TYPE] = "eventType",
    [TEXT] = "text",
    [TEXT_ID] = "textId",
    [DOMAIN] = "domainId",
    [GLOBAL_TID] = "globalTid",
    [PAYLOAD_U64] = "uint64Value",
    [PAYLOAD_I64] = "int64Value",
    [PAYLOAD_U32] = "uint32Value",
    [PAYLOAD_I32] = "int32Value",
};

/* eventType, as Nsight Systems numbers them */
enum nvtx_type {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTX_DOMAIN_CREATE = 75,
};

static uint32_t name_of(struct rkt_nsys *nsys, const struct rkt_nsys_table *row)
{
    const char *text = rkt_nsys_text(row, TEXT);

    if (text[0])
        return rkt_strtab_intern(nsys->names, text, strlen(text));
    return rkt_nsys_is_null(row, TEXT_ID) ? 0
                                          : rkt_nsys_name(nsys, rkt_nsys_number(row, TEXT_ID, -1));
}

/* The name of a domain of this process; a new one gets `name_id` if that is given. */
static uint32_t domain_of(struct rkt_nsys *nsys, const struct rkt_nsys_table *row, uint32_t name_id)
{
    int64_t number = rkt_nsys_number(row, DOMAIN, 0);
    uint32_t known = rkt_strtab_count(nsys->domains);
    uint32_t id = rkt_strtab_intern(nsys->domains, (const char *)&number, sizeof(number));

    if (id == 0 || !rkt_array_reserve((void **)&nsys->domain_names, &nsys->domain_cap,
                                      (size_t)id + 1, sizeof(*nsys->domain_names)))
        return 0;
    if (id >= known)
        nsys->domain_names[id] = 0;
    if (name_id != 0)
        nsys->domain_names[id] = name_id;
    return nsys->domain_names[id];
}

static uint64_t payload_of(const struct rkt_nsys_table *row)
{
    for (size_t column = PAYLOAD_U64; column <= PAYLOAD_I32; column++) {
        if (!rkt_nsys_is_null(row, column))
            return (uint64_t)rkt_nsys_number(row, column, 0);
    }
    return 0;
}

static enum rkt_fate fate_of(const struct rkt_nsys_table *row, bool is_mark)
{
    int64_t start_ns = rkt_nsys_number(row, START, 0);

    if (start_ns <= 0)
        return RKT_FATE_NO_TIME;
    if (is_mark)
        return RKT_FATE_STORED;
    if (rkt_nsys_is_null(row, END))
        return RKT_FATE_NO_END;
    return rkt_nsys_number(row, END, 0) < start_ns ? RKT_FATE_REVERSED : RKT_FATE_STORED;
}

static enum rkt_status take_range(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                  bool is_mark, struct rkt_error *err)
{
    enum rkt_fate fate = fate_of(row, is_mark);
    struct rkt_event event = {.kind = RKT_EVENT_RANGE,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = is_mark ? RKT_RANGE_MARK : RKT_RANGE_NVTX};

    if (fate != RKT_FATE_STORED) {
        nsys->facts->fates[fate]++;
        return RKT_OK;
    }
    event.start_ns = (uint64_t)rkt_nsys_number(row, START, 0);
    event.end_ns = is_mark ? event.start_ns : (uint64_t)rkt_nsys_number(row, END, 0);
    event.name_id = name_of(nsys, row);
    event.thread_id = (uint32_t)(rkt_nsys_number(row, GLOBAL_TID, 0) & 0xffffff);
    event.range.domain_id = domain_of(nsys, row, 0);
    event.range.value = payload_of(row);
    return rkt_nsys_add(nsys, &event, err);
}

static enum rkt_status take_row(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                struct rkt_error *err)
{
    nsys->facts->read_count++;
    switch (rkt_nsys_number(row, TYPE, 0)) {
    case NVTX_MARK:
        return take_range(nsys, row, true, err);
    case NVTX_PUSH_POP:
    case NVTX_START_END:
        return take_range(nsys, row, false, err);
    case NVTX_DOMAIN_CREATE:
        (void)domain_of(nsys, row, name_of(nsys, row));
        nsys->facts->fates[RKT_FATE_METADATA]++;
        return RKT_OK;
    default: /* categories, resources, schemas of payloads */
        nsys->facts->fates[RKT_FATE_METADATA]++;
        return RKT_OK;
    }
}

enum rkt_status rkt_nsys_read_nvtx(struct rkt_nsys *nsys, struct rkt_error *err)
{
    struct rkt_nsys_table *row = NULL;
    enum rkt_status status =
        rkt_nsys_table_open(nsys->file, "NVTX_EVENTS", COLUMNS, COLUMN_COUNT, &row, err);

    if (!row)
        return status;
    while ((status = rkt_nsys_next(row, err)) == RKT_OK) {
        if (rkt_nsys_number(row, GLOBAL_TID, -1) >> RKT_NSYS_ID_BITS == nsys->process)
            status = take_row(nsys, row, err);
        if (status != RKT_OK)
            break;
    }
    rkt_nsys_table_close(row);
    return status == RKT_END ? RKT_OK : status;
}
