/* SPDX-License-Identifier: Apache-2.0 */
/* What an export of Nsight Systems says of the session, the process and its devices. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/import/nsys_state.h"
#include "common/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every row of a table. */
static enum rkt_status walk(struct rkt_nsys *nsys, const char *name, const char *const *columns,
                            size_t column_count,
                            enum rkt_status (*take)(struct rkt_nsys *nsys,
                                                    const struct rkt_nsys_table *row,
                                                    struct rkt_error *err),
                            struct rkt_error *err)
{
    struct rkt_nsys_table *row = NULL;
    enum rkt_status status =
        rkt_nsys_table_open(nsys->file, name, columns, column_count, &row, err);

    if (!row)
        return status;
    while ((status = rkt_nsys_next(row, err)) == RKT_OK) {
        status = take(nsys, row, err);
        if (status != RKT_OK)
            break;
    }
    rkt_nsys_table_close(row);
    return status == RKT_END ? RKT_OK : status;
}

static enum rkt_status add_name(struct rkt_nsys *nsys, enum rkt_named_object object,
                                uint64_t object_id, uint32_t name_id, struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_NAME,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = (uint8_t)object,
                              .name_id = name_id,
                              .name = {.object_id = object_id}};

    return name_id == 0 ? RKT_OK : rkt_source_writer_add(nsys->writer, &event, err);
}

static uint32_t intern(struct rkt_nsys *nsys, const char *text)
{
    return rkt_strtab_intern(nsys->names, text, strlen(text));
}

static enum rkt_status take_session(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                    struct rkt_error *err)
{
    (void)err;
    nsys->facts->has_base = !rkt_nsys_is_null(row, 0);
    nsys->facts->base_ns = rkt_nsys_number(row, 0, 0);
    return RKT_OK;
}

static enum rkt_status take_version(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                    struct rkt_error *err)
{
    (void)err;
    if (strcmp(rkt_nsys_text(row, 0), "EXPORT_PRODUCT_VERSION") == 0)
        (void)snprintf(nsys->facts->version, sizeof(nsys->facts->version), "Nsight Systems %s",
                       rkt_nsys_text(row, 1));
    return RKT_OK;
}

static enum rkt_status take_environment(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                        struct rkt_error *err)
{
    (void)err;
    if (strcmp(rkt_nsys_text(row, 0), "Hostname") == 0)
        (void)snprintf(nsys->facts->host, sizeof(nsys->facts->host), "%s", rkt_nsys_text(row, 1));
    return RKT_OK;
}

static enum rkt_status take_process(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                    struct rkt_error *err)
{
    if (rkt_nsys_number(row, 0, -1) >> RKT_NSYS_ID_BITS != nsys->process)
        return RKT_OK;
    (void)snprintf(nsys->facts->program, sizeof(nsys->facts->program), "%s", rkt_nsys_text(row, 1));
    return add_name(nsys, RKT_NAMED_PROCESS, nsys->facts->pid, intern(nsys, rkt_nsys_text(row, 1)),
                    err);
}

static enum rkt_status take_thread(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                   struct rkt_error *err)
{
    int64_t thread = rkt_nsys_number(row, 0, -1);

    if (thread >> RKT_NSYS_ID_BITS != nsys->process)
        return RKT_OK;
    return add_name(nsys, RKT_NAMED_THREAD, (uint64_t)thread & 0xffffff,
                    rkt_nsys_name(nsys, rkt_nsys_number(row, 1, -1)), err);
}

/* "74e128b2-90b6-b409-07c8-33bee5ff6f88" as two numbers that read like it. */
static bool read_uuid(const char *text, uint64_t *high_out, uint64_t *low_out)
{
    uint64_t halves[2] = {0, 0};
    unsigned digits = 0;

    for (; *text; text++) {
        static const char HEX[] = "0123456789abcdef";
        const char *digit = strchr(HEX, *text | 0x20);

        if (*text == '-')
            continue;
        if (!digit || digits == 32)
            return false;
        halves[digits / 16] = halves[digits / 16] << 4 | (uint64_t)(digit - HEX);
        digits++;
    }
    *high_out = halves[0];
    *low_out = halves[1];
    return digits == 32;
}

static enum rkt_status take_device(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                   struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_DEVICE, .clock_id = RKT_CLOCK_TRACE};
    int64_t device = rkt_nsys_number(row, 0, rkt_nsys_number(row, 1, -1));
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    enum rkt_status status;

    if (device < 0 || device > UINT32_MAX)
        return RKT_OK;
    status = add_name(nsys, RKT_NAMED_DEVICE, (uint64_t)device, intern(nsys, rkt_nsys_text(row, 2)),
                      err);
    if (status != RKT_OK ||
        !read_uuid(rkt_nsys_text(row, 3), &event.device.uuid_high, &event.device.uuid_low))
        return status;
    /* NOLINTNEXTLINE(cert-err34-c): what does not fit reads as 0 */
    (void)sscanf(rkt_nsys_text(row, 4), "%x:%x:%x", &domain, &bus, &slot);
    event.device.device_id = (uint32_t)device;
    event.device.pci_domain = domain;
    event.device.pci_bus = (uint16_t)bus;
    event.device.pci_device = (uint16_t)slot;
    event.name_id = intern(nsys, rkt_nsys_text(row, 2));
    return rkt_source_writer_add(nsys->writer, &event, err);
}

enum rkt_status rkt_nsys_read_info(struct rkt_nsys *nsys, struct rkt_error *err)
{
    static const char *const SESSION[] = {"utcEpochNs"};
    static const char *const META[] = {"name", "value"};
    static const char *const PROCESS[] = {"globalPid", "name"};
    static const char *const THREAD[] = {"globalTid", "nameId"};
    static const char *const DEVICE[] = {"cuDevice", "id", "name", "uuid", "busLocation"};
    const struct {
        const char *name;
        const char *const *columns;
        size_t column_count;
        enum rkt_status (*take)(struct rkt_nsys *nsys, const struct rkt_nsys_table *row,
                                struct rkt_error *err);
    } tables[] = {
        {"TARGET_INFO_SESSION_START_TIME", SESSION, COUNT(SESSION), take_session},
        {"META_DATA_EXPORT", META, COUNT(META), take_version},
        {"EXPORT_META_DATA", META, COUNT(META), take_version}, /* before 2023 */
        {"TARGET_INFO_SYSTEM_ENV", META, COUNT(META), take_environment},
        {"PROCESSES", PROCESS, COUNT(PROCESS), take_process},
        {"ThreadNames", THREAD, COUNT(THREAD), take_thread},
        {"TARGET_INFO_GPU", DEVICE, COUNT(DEVICE), take_device},
    };
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < COUNT(tables) && status == RKT_OK; i++)
        status = walk(nsys, tables[i].name, tables[i].columns, tables[i].column_count,
                      tables[i].take, err);
    return status;
}
