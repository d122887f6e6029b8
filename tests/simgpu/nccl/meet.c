/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/meet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "simgpu-"
#define NAME_BYTES 80
#define JOIN_POLL_NS 1000000
/* A rank is at most one kernel ahead of the slowest: while that one still reads the starts of a
 * kernel's operations, those of the next may be written. */
enum {
    SLOTS = 2 * SIM_MEET_FUSED_MAX
};

struct cell {
    _Atomic uint64_t number; /* index + 1 of the operation that `start_ns` belongs to */
    _Atomic uint64_t start_ns;
};

struct split_cell {
    _Atomic uint64_t number; /* index + 1 of the split that the rest belongs to */
    _Atomic int color;
    _Atomic int key;
};

/* Begins as zeros, which is a valid state: nobody has to set it up. */
struct segment {
    _Atomic uint32_t rank_count;
    _Atomic uint32_t joined_count;
    _Atomic uint32_t is_taken[SIM_MEET_RANKS_MAX];
    /* A rank is at most one split ahead: those of the last one may still be read. */
    struct split_cell splits[2][SIM_MEET_RANKS_MAX];
    struct cell collectives[SLOTS][SIM_MEET_RANKS_MAX];
    struct cell sends[SLOTS][SIM_MEET_RANKS_MAX][SIM_MEET_RANKS_MAX];
    struct cell receives[SLOTS][SIM_MEET_RANKS_MAX][SIM_MEET_RANKS_MAX];
};

struct sim_meet {
    _Atomic uint32_t ref_count;
    _Atomic bool is_aborted;
    struct segment *segment;
    int rank;
    int rank_count;
};

/* The id begins with the maker's pid, so that leftovers of dead makers can be told. */
static void make_name(const uint8_t id[SIM_MEET_ID_BYTES], char name[NAME_BYTES])
{
    uint32_t pid;
    int at;

    memcpy(&pid, id, sizeof(pid));
    at = snprintf(name, NAME_BYTES, "/" PREFIX "%u-", pid);
    for (size_t i = sizeof(pid); i < SIM_MEET_ID_BYTES && at < NAME_BYTES - 2; i++)
        at += snprintf(name + at, (size_t)(NAME_BYTES - at), "%02x", id[i]);
}

static void remove_if_stale(const char *file)
{
    char name[1 + NAME_MAX + 1];
    char *end;
    long pid;

    if (strncmp(file, PREFIX, sizeof(PREFIX) - 1) != 0)
        return;
    pid = strtol(file + sizeof(PREFIX) - 1, &end, 10);
    if (*end != '-' || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return;
    snprintf(name, sizeof(name), "/%s", file);
    shm_unlink(name);
}

static void remove_stale(void)
{
    DIR *folder = opendir("/dev/shm");
    const struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder))) /* NOLINT(concurrency-mt-unsafe): a folder of our own */
        remove_if_stale(entry->d_name);
    closedir(folder);
}

bool sim_meet_make_id(uint8_t id_out[SIM_MEET_ID_BYTES])
{
    uint32_t pid = (uint32_t)getpid();

    remove_stale();
    if (getrandom(id_out, SIM_MEET_ID_BYTES, 0) != SIM_MEET_ID_BYTES)
        return false;
    memcpy(id_out, &pid, sizeof(pid));
    return true;
}

/* All may set the size, since all set the same. NULL: errno says why. */
static struct segment *map_segment(const char *name)
{
    struct segment *segment = NULL;
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, sizeof(struct segment)) == 0)
        segment = mmap(NULL, sizeof(*segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return segment == MAP_FAILED ? NULL : segment;
}

static bool take_place(struct segment *segment, int rank, int rank_count)
{
    uint32_t expected = 0;

    if (!atomic_compare_exchange_strong(&segment->rank_count, &expected, (uint32_t)rank_count) &&
        expected != (uint32_t)rank_count)
        return false;
    return atomic_exchange(&segment->is_taken[rank], 1) == 0;
}

static void wait_for_all(struct segment *segment, uint32_t rank_count)
{
    const struct timespec pause = {.tv_nsec = JOIN_POLL_NS};

    while (atomic_load(&segment->joined_count) < rank_count)
        nanosleep(&pause, NULL);
}

enum sim_meet_result sim_meet_join(const uint8_t id[SIM_MEET_ID_BYTES], int rank, int rank_count,
                                   struct sim_meet **meet_out)
{
    struct sim_meet *meet = calloc(1, sizeof(*meet));
    char name[NAME_BYTES];

    if (!meet)
        return SIM_MEET_ERR_SYSTEM;
    make_name(id, name);
    meet->segment = map_segment(name);
    if (!meet->segment) {
        free(meet);
        return SIM_MEET_ERR_SYSTEM;
    }
    meet->ref_count = 1;
    meet->rank = rank;
    meet->rank_count = rank_count;
    if (!take_place(meet->segment, rank, rank_count)) {
        sim_meet_unref(meet);
        return SIM_MEET_ERR_MISMATCH;
    }
    if (atomic_fetch_add(&meet->segment->joined_count, 1) + 1 == (uint32_t)rank_count)
        shm_unlink(name); /* everybody has it open */
    wait_for_all(meet->segment, (uint32_t)rank_count);
    *meet_out = meet;
    return SIM_MEET_OK;
}

void sim_meet_ref(struct sim_meet *meet)
{
    atomic_fetch_add(&meet->ref_count, 1);
}

void sim_meet_unref(struct sim_meet *meet)
{
    if (atomic_fetch_sub(&meet->ref_count, 1) != 1)
        return;
    munmap(meet->segment, sizeof(*meet->segment));
    free(meet);
}

static void post(struct cell *cell, uint64_t index, uint64_t start_ns)
{
    atomic_store_explicit(&cell->start_ns, start_ns, memory_order_relaxed);
    /* pairs with the acquire in read_post: the start of this very operation */
    atomic_store_explicit(&cell->number, index + 1, memory_order_release);
}

static bool read_post(const struct cell *cell, uint64_t index, uint64_t *start_ns)
{
    if (atomic_load_explicit(&cell->number, memory_order_acquire) != index + 1)
        return false;
    *start_ns = atomic_load_explicit(&cell->start_ns, memory_order_relaxed);
    return true;
}

void sim_meet_start(struct sim_meet *meet, uint64_t index, uint64_t start_ns)
{
    post(&meet->segment->collectives[index % SLOTS][meet->rank], index, start_ns);
}

bool sim_meet_have_all_started(struct sim_meet *meet, uint64_t index, uint64_t *last_ns)
{
    const struct cell *cells = meet->segment->collectives[index % SLOTS];
    uint64_t start_ns;
    uint64_t latest_ns = 0;

    for (int rank = 0; rank < meet->rank_count; rank++) {
        if (!read_post(&cells[rank], index, &start_ns))
            return false;
        if (start_ns > latest_ns)
            latest_ns = start_ns;
    }
    *last_ns = latest_ns;
    return true;
}

void sim_meet_start_message(struct sim_meet *meet, int from, int to, uint64_t index,
                            uint64_t start_ns)
{
    struct segment *segment = meet->segment;
    struct cell *cell = meet->rank == from ? &segment->sends[index % SLOTS][from][to]
                                           : &segment->receives[index % SLOTS][from][to];

    post(cell, index, start_ns);
}

bool sim_meet_has_peer_started(struct sim_meet *meet, int from, int to, uint64_t index,
                               uint64_t *peer_ns)
{
    const struct segment *segment = meet->segment;
    const struct cell *cell = meet->rank == from ? &segment->receives[index % SLOTS][from][to]
                                                 : &segment->sends[index % SLOTS][from][to];

    if (from == to) { /* both ends are in the kernel that asks */
        *peer_ns = 0;
        return true;
    }
    return read_post(cell, index, peer_ns);
}

void sim_meet_split(struct sim_meet *meet, uint64_t index, struct sim_meet_split own,
                    struct sim_meet_split splits_out[SIM_MEET_RANKS_MAX])
{
    const struct timespec pause = {.tv_nsec = JOIN_POLL_NS};
    struct split_cell *cells = meet->segment->splits[index % 2];

    atomic_store(&cells[meet->rank].color, own.color);
    atomic_store(&cells[meet->rank].key, own.key);
    atomic_store(&cells[meet->rank].number, index + 1);
    for (int rank = 0; rank < meet->rank_count; rank++) {
        while (atomic_load(&cells[rank].number) != index + 1)
            nanosleep(&pause, NULL);
        splits_out[rank] =
            (struct sim_meet_split){atomic_load(&cells[rank].color), atomic_load(&cells[rank].key)};
    }
}

void sim_meet_abort(struct sim_meet *meet)
{
    atomic_store(&meet->is_aborted, true);
}

bool sim_meet_is_aborted(const struct sim_meet *meet)
{
    return atomic_load(&meet->is_aborted);
}
