/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/mpi_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_GAP_NS UINT64_C(2000000000)
#define LAST_GAP_NS UINT64_C(128000000000)
#define GAP_FACTOR 4u

/* Open MPI; MPICH and what is built from it. */
static const char *const LIBRARIES[] = {"libmpi.so", "libmpich.so", "libmpi_cray.so"};

void rkt_mpi_watch_init(struct rkt_mpi_watch *watch, uint64_t now_ns)
{
    watch->gap_ns = FIRST_GAP_NS;
    watch->next_ns = now_ns + FIRST_GAP_NS;
}

bool rkt_is_mpi_library(const char *path)
{
    const char *slash = strrchr(path, '/');

    for (size_t i = 0; slash && i < sizeof(LIBRARIES) / sizeof(LIBRARIES[0]); i++) {
        if (strncmp(slash + 1, LIBRARIES[i], strlen(LIBRARIES[i])) == 0)
            return true;
    }
    return false;
}

static bool has_mpi_library(pid_t pid)
{
    char path[64];
    char *line = NULL;
    size_t line_bytes = 0;
    bool is_found = false;
    FILE *maps;

    (void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
    maps = fopen(path, "re");
    if (!maps)
        return false;
    while (!is_found && getline(&line, &line_bytes, maps) >= 0)
        is_found = rkt_is_mpi_library(line);
    free(line);
    (void)fclose(maps);
    return is_found;
}

bool rkt_mpi_watch_look(struct rkt_mpi_watch *watch, pid_t pid, uint64_t now_ns)
{
    bool is_found = has_mpi_library(pid);

    watch->gap_ns *= GAP_FACTOR;
    watch->next_ns =
        is_found || watch->gap_ns > LAST_GAP_NS ? RKT_MPI_WATCH_NEVER : now_ns + watch->gap_ns;
    return is_found;
}
