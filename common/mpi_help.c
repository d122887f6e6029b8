/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mpi_help.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/log.h"

/* As opal/util/show_help.h declares its variable `opal_show_help`. */
typedef int (*show_help_fn)(const char *file, const char *topic, bool wants_header, ...);

static int log_help(const char *file, const char *topic, bool wants_header, ...)
{
    (void)wants_header;
    rkt_log(RKT_LOG_INFO, "mpi", "Open MPI warns", "topic=\"%s\" of=%s", topic, file);
    return 0;
}

/* As event2/event.h declares event_set_log_callback. */
typedef void (*log_event_fn)(int severity, const char *text);
typedef void (*set_log_event_fn)(log_event_fn log_event);

static void log_event(int severity, const char *text)
{
    (void)severity;
    rkt_log(RKT_LOG_INFO, "mpi", "libevent warns", "text=\"%s\"", text);
}

/* In Open MPI 5 the symbol is a function, and none of this is needed. */
static bool is_variable(void *address)
{
    Dl_info info;
    void *entry = NULL;
    const ElfW(Sym) * symbol;

    if (dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || !entry)
        return false;
    symbol = entry;
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size == sizeof(show_help_fn);
}

void rkt_mpi_help_take(void)
{
    show_help_fn *show_help = dlsym(RTLD_DEFAULT, "opal_show_help");
    set_log_event_fn set_log_event;

    *(void **)&set_log_event = dlsym(RTLD_DEFAULT, "event_set_log_callback");
    if (show_help && is_variable(show_help))
        __atomic_store_n(show_help, log_help, __ATOMIC_RELAXED);
    if (set_log_event)
        set_log_event(log_event);
}
