/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/text_map.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 256u
#define FORGET_BYTES ((size_t)4 << 20) /* at once: a call into the kernel is not for nothing */

/* What the signal handler knows of a map: addresses [begin, end). */
static struct {
    _Atomic bool is_taken;
    _Atomic uintptr_t begin; /* 0: none */
    _Atomic uintptr_t end;
    _Atomic bool is_broken;
} slots[SLOTS];

static struct sigaction others_action;
static size_t page_bytes;

/* ---- faults ---- */

/* Zeros where the file has nothing; then the instruction is run again. */
static bool mend(uintptr_t address)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (address < atomic_load(&slots[i].begin) || address >= atomic_load(&slots[i].end))
            continue;
        atomic_store(&slots[i].is_broken, true);
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address is all that a signal brings */
        return mmap((void *)(address & ~(uintptr_t)(page_bytes - 1)), page_bytes,
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) != MAP_FAILED;
    }
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (mend((uintptr_t)info->si_addr))
        return;
    if (others_action.sa_flags & SA_SIGINFO)
        others_action.sa_sigaction(number, info, context);
    else if (others_action.sa_handler != SIG_DFL && others_action.sa_handler != SIG_IGN)
        others_action.sa_handler(number);
    else
        (void)sigaction(number, &others_action, NULL); /* run again, the instruction ends us */
}

/* Again where somebody else took the signal since. */
static void install(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct sigaction now;

    (void)pthread_mutex_lock(&mutex);
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_fault) {
        others_action = now;
        (void)sigaction(SIGBUS, &ours, NULL);
    }
    (void)pthread_mutex_unlock(&mutex);
}

static void find_page_bytes(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
}

static bool take_slot(size_t *slot_out)
{
    for (size_t i = 0; i < SLOTS; i++) {
        bool is_taken = false;

        if (atomic_compare_exchange_strong(&slots[i].is_taken, &is_taken, true)) {
            atomic_store(&slots[i].is_broken, false);
            *slot_out = i;
            return true;
        }
    }
    return false;
}

static void free_slot(size_t slot)
{
    atomic_store(&slots[slot].begin, 0);
    atomic_store(&slots[slot].end, 0);
    atomic_store(&slots[slot].is_taken, false);
}

/* ---- maps ---- */

static bool bytes_of_file(int fd, size_t *bytes_out)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0 ||
        (uintmax_t)info.st_size > SIZE_MAX / 2)
        return false;
    *bytes_out = (size_t)info.st_size;
    return true;
}

/* A page, the file's, a page: the outer ones are no file's. */
static bool map_file(int fd, struct rkt_text_map *map)
{
    size_t file_bytes = (map->len_bytes + page_bytes - 1) / page_bytes * page_bytes;

    map->memory_bytes = file_bytes + 2 * page_bytes;
    map->memory = mmap(NULL, map->memory_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map->memory == MAP_FAILED)
        return false;
    map->text = map->memory + page_bytes;
    if (mmap(map->text, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             fd, 0) != MAP_FAILED)
        return true;
    (void)munmap(map->memory, map->memory_bytes);
    return false;
}

bool rkt_text_map_open(int fd, struct rkt_text_map *map_out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rkt_text_map map = {0};

    memset(map_out, 0, sizeof(*map_out));
    if (!bytes_of_file(fd, &map.len_bytes) || !take_slot(&map.slot))
        return false;
    (void)pthread_once(&once, find_page_bytes);
    install();
    if (!map_file(fd, &map)) {
        free_slot(map.slot);
        return false;
    }
    atomic_store(&slots[map.slot].end, (uintptr_t)map.memory + map.memory_bytes);
    atomic_store(&slots[map.slot].begin, (uintptr_t)map.memory);
    *map_out = map;
    return true;
}

void rkt_text_map_close(struct rkt_text_map *map)
{
    if (!map->text)
        return;
    free_slot(map->slot);
    (void)munmap(map->memory, map->memory_bytes);
    memset(map, 0, sizeof(*map));
}

void rkt_text_map_forget(struct rkt_text_map *map, size_t len)
{
    size_t bytes = len / page_bytes * page_bytes - map->forgotten_bytes;

    if (len < map->forgotten_bytes + FORGET_BYTES)
        return;
    (void)madvise(map->text + map->forgotten_bytes, bytes, MADV_DONTNEED);
    map->forgotten_bytes += bytes;
}

bool rkt_text_map_is_broken(const struct rkt_text_map *map)
{
    return map->text && atomic_load(&slots[map->slot].is_broken);
}
