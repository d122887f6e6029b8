/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_COUNT_MAX 1024u
#define RING_CAPACITY_MIN 64u
#define RING_CAPACITY_MAX (1u << 20)
#define HEAP_BYTES_MIN (64u << 10)
#define HEAP_BYTES_MAX (256u << 20)
#define WINDOW_HAS_ORDER 1u
#define WINDOW_IS_OPEN 2u
#define WINDOW_STEP_SHIFT 2
/* Without these the job could cut the file and kill the sidecar by SIGBUS. */
#define REGION_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* At the start of the shared memory. */
struct region_header {
    /* set by the maker, then read only */
    uint32_t magic;
    uint32_t abi;
    uint32_t event_bytes;
    uint32_t header_bytes;
    uint32_t ring_count;
    uint32_t ring_capacity;
    uint32_t heap_bytes;
    uint32_t reserved;

    /* written by the sidecar: WINDOW_HAS_ORDER | WINDOW_IS_OPEN | step << WINDOW_STEP_SHIFT; 0 */
    alignas(64) _Atomic uint64_t window_order;

    /* written by capture */
    alignas(64) _Atomic uint32_t is_closed;
    _Atomic uint64_t no_ring_count;
    _Atomic uint64_t names_full_count;
    _Atomic uint64_t heap_used_bytes; /* taken; what is written is said by each name itself */
    _Atomic uint64_t step_plus_one;   /* 0: no step was marked */

    /* keeps the rings on cache lines of their own */
    alignas(64) unsigned char rings[];
};

/* Each process has its own; what it was made with is kept here, out of the other's reach. */
struct rkt_region {
    struct region_header *header;
    size_t mapped_bytes;
    size_t ring_bytes;
    unsigned char *heap;
    struct rkt_region_config config;
};

static bool config_is_valid(const struct rkt_region_config *config)
{
    return config->ring_count >= 1 && config->ring_count <= RING_COUNT_MAX &&
           config->ring_capacity >= RING_CAPACITY_MIN &&
           config->ring_capacity <= RING_CAPACITY_MAX &&
           (config->ring_capacity & (config->ring_capacity - 1)) == 0 &&
           config->heap_bytes >= HEAP_BYTES_MIN && config->heap_bytes <= HEAP_BYTES_MAX &&
           config->heap_bytes % alignof(struct rkt_ring) == 0;
}

/* Within the limits of config_is_valid the sum is below 2^37. */
size_t rkt_region_bytes(const struct rkt_region_config *config)
{
    return sizeof(struct region_header) +
           config->ring_count * rkt_ring_bytes(config->ring_capacity) + config->heap_bytes;
}

static enum rkt_status map_fd(int fd, const struct rkt_region_config *config,
                              struct rkt_region **region_out, struct rkt_error *err)
{
    struct rkt_region *region = calloc(1, sizeof(*region));
    size_t bytes = rkt_region_bytes(config);
    void *memory;

    if (!region)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a region");
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        free(region);
        return rkt_fail_errno(err, RKT_ERR_NOMEM, "cannot map %zu bytes of a region", bytes);
    }
    region->header = memory;
    region->mapped_bytes = bytes;
    region->ring_bytes = rkt_ring_bytes(config->ring_capacity);
    region->heap = region->header->rings + config->ring_count * region->ring_bytes;
    region->config = *config;
    *region_out = region;
    return RKT_OK;
}

static void init_shared(struct rkt_region *region)
{
    struct region_header *header = region->header;

    header->abi = RKT_REGION_ABI;
    header->event_bytes = sizeof(struct rkt_event);
    header->header_bytes = sizeof(struct region_header);
    header->ring_count = region->config.ring_count;
    header->ring_capacity = region->config.ring_capacity;
    header->heap_bytes = region->config.heap_bytes;
    for (size_t i = 0; i < region->config.ring_count; i++)
        rkt_ring_init(rkt_region_ring(region, i), region->config.ring_capacity);
    header->magic = RKT_REGION_MAGIC;
}

enum rkt_status rkt_region_create(const struct rkt_region_config *config,
                                  struct rkt_region **region_out, int *fd_out,
                                  struct rkt_error *err)
{
    enum rkt_status status;
    int fd;

    if (!config_is_valid(config))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "region of %u rings of %u events and %u bytes of names: rings 1 to %u, "
                        "events a power of two from %u to %u, names %u to %u bytes in steps of 64",
                        config->ring_count, config->ring_capacity, config->heap_bytes,
                        RING_COUNT_MAX, RING_CAPACITY_MIN, RING_CAPACITY_MAX, HEAP_BYTES_MIN,
                        HEAP_BYTES_MAX);
    fd = memfd_create("ranktrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "memfd_create");
    if (ftruncate(fd, (off_t)rkt_region_bytes(config)) != 0 ||
        fcntl(fd, F_ADD_SEALS, REGION_SEALS) != 0) {
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot size a region");
        goto close_fd;
    }
    status = map_fd(fd, config, region_out, err);
    if (status != RKT_OK)
        goto close_fd;
    init_shared(*region_out);
    *fd_out = fd;
    return RKT_OK;

close_fd:
    close(fd);
    return status;
}

/* Read the head alone first: how much to map is known only after its check. */
static enum rkt_status read_config(int fd, struct rkt_region_config *config_out,
                                   struct rkt_error *err)
{
    struct region_header header;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot look at a region");
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        header.magic != RKT_REGION_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "not a region of ranktrace");
    if (header.abi != RKT_REGION_ABI || header.event_bytes != sizeof(struct rkt_event) ||
        header.header_bytes != sizeof(header))
        return rkt_fail(err, RKT_ERR_VERSION,
                        "region has ABI %u with %u-byte events, this build has ABI %u with %zu",
                        header.abi, header.event_bytes, RKT_REGION_ABI, sizeof(struct rkt_event));
    config_out->ring_count = header.ring_count;
    config_out->ring_capacity = header.ring_capacity;
    config_out->heap_bytes = header.heap_bytes;
    if (!config_is_valid(config_out) || (uint64_t)st.st_size != rkt_region_bytes(config_out))
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "region of %lld bytes does not fit %u rings of %u events and %u bytes of "
                        "names",
                        (long long)st.st_size, header.ring_count, header.ring_capacity,
                        header.heap_bytes);
    return RKT_OK;
}

enum rkt_status rkt_region_map(int fd, struct rkt_region **region_out, struct rkt_error *err)
{
    struct rkt_region_config config = {0};
    enum rkt_status status = read_config(fd, &config, err);

    if (status != RKT_OK)
        return status;
    return map_fd(fd, &config, region_out, err);
}

void rkt_region_destroy(struct rkt_region *region)
{
    if (!region)
        return;
    munmap(region->header, region->mapped_bytes);
    free(region);
}

/* ---- capture's side ---- */

static bool claim_ring(struct rkt_ring *ring, uint32_t from, uint32_t thread_id)
{
    /* acquire: the ring is as its last thread, or the sidecar that freed it, left it */
    if (!atomic_compare_exchange_strong_explicit(&ring->state, &from, RKT_RING_CLAIMED,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_store_explicit(&ring->thread_id, thread_id, memory_order_relaxed);
    return true;
}

/* The first free ring, else the one with most room among those whose thread has ended. */
static struct rkt_ring *find_ring(struct rkt_region *region, uint32_t *state_out)
{
    struct rkt_ring *best = NULL;
    uint64_t best_room = 0;

    for (size_t i = 0; i < region->config.ring_count; i++) {
        struct rkt_ring *ring = rkt_region_ring(region, i);
        uint32_t state = atomic_load_explicit(&ring->state, memory_order_relaxed);
        uint64_t room = state == RKT_RING_CLOSED ? rkt_ring_room(ring) : 0;

        if (state == RKT_RING_FREE || (state == RKT_RING_CLOSED && (!best || room > best_room))) {
            best = ring;
            best_room = room;
            *state_out = state;
        }
        if (state == RKT_RING_FREE)
            break;
    }
    return best;
}

/* The next thread goes on behind what the last one pushed: there is one producer at a time. */
struct rkt_ring *rkt_region_claim(struct rkt_region *region, uint32_t thread_id)
{
    uint32_t state = RKT_RING_FREE;
    struct rkt_ring *ring;

    /* Who loses a ring to another thread looks again; it ends, as each time another has won. */
    while ((ring = find_ring(region, &state))) {
        if (claim_ring(ring, state, thread_id))
            return ring;
    }
    return NULL;
}

void rkt_region_release(struct rkt_ring *ring)
{
    /* release: everything that the thread pushed is visible to who sees CLOSED */
    atomic_store_explicit(&ring->state, RKT_RING_CLOSED, memory_order_release);
}

void rkt_region_count_no_ring(struct rkt_region *region)
{
    atomic_fetch_add_explicit(&region->header->no_ring_count, 1, memory_order_relaxed);
}

/*
 * A name in the heap is one word, its text, and zeros up to the next unit. The word is written
 * last: the length plus 1. So a thread that is held up, or killed, between taking its place and
 * writing there keeps no other from the names around it.
 */
static uint64_t name_bytes(uint64_t len_bytes)
{
    return (sizeof(uint32_t) + len_bytes + RKT_NAME_UNIT_BYTES - 1) &
           ~(uint64_t)(RKT_NAME_UNIT_BYTES - 1);
}

static _Atomic uint32_t *name_word(const struct rkt_region *region, uint64_t offset)
{
    return (_Atomic uint32_t *)(void *)(region->heap + offset);
}

uint32_t rkt_region_append_name(struct rkt_region *region, const char *text, size_t len_bytes)
{
    _Atomic uint64_t *used = &region->header->heap_used_bytes;
    uint64_t offset = atomic_load_explicit(used, memory_order_relaxed);

    do {
        if (len_bytes > region->config.heap_bytes || offset > region->config.heap_bytes ||
            name_bytes(len_bytes) > region->config.heap_bytes - offset) {
            rkt_region_count_no_name(region);
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(used, &offset, offset + name_bytes(len_bytes),
                                                    memory_order_relaxed, memory_order_relaxed));
    memcpy(region->heap + offset + sizeof(uint32_t), text, len_bytes);
    /* release: who sees the word sees the text */
    atomic_store_explicit(name_word(region, offset), (uint32_t)len_bytes + 1, memory_order_release);
    return (uint32_t)(offset / RKT_NAME_UNIT_BYTES) + 1;
}

void rkt_region_count_no_name(struct rkt_region *region)
{
    atomic_fetch_add_explicit(&region->header->names_full_count, 1, memory_order_relaxed);
}

bool rkt_region_name(const struct rkt_region *region, uint32_t id, const char **text_out,
                     size_t *len_out)
{
    uint64_t offset = ((uint64_t)id - 1) * RKT_NAME_UNIT_BYTES;
    uint32_t word;

    if (id == 0 || offset >= region->config.heap_bytes)
        return false;
    /* acquire: the text below the word */
    word = atomic_load_explicit(name_word(region, offset), memory_order_acquire);
    if (word == 0 || name_bytes(word - 1) > region->config.heap_bytes - offset)
        return false;
    *text_out = (const char *)region->heap + offset + sizeof(word);
    *len_out = word - 1;
    return true;
}

uint64_t rkt_region_pushed_count(struct rkt_region *region)
{
    uint64_t count = 0;

    for (size_t i = 0; i < region->config.ring_count; i++)
        count += atomic_load_explicit(&rkt_region_ring(region, i)->head, memory_order_relaxed);
    return count;
}

void rkt_region_set_closed(struct rkt_region *region)
{
    /* release: all pushes before are visible to who sees it set */
    atomic_store_explicit(&region->header->is_closed, 1, memory_order_release);
}

void rkt_region_set_step(struct rkt_region *region, uint64_t step)
{
    atomic_store_explicit(&region->header->step_plus_one, step + 1, memory_order_relaxed);
}

bool rkt_region_window_order(const struct rkt_region *region,
                             struct rkt_region_window_order *order_out)
{
    uint64_t word = atomic_load_explicit(&region->header->window_order, memory_order_relaxed);

    order_out->from_step = word >> WINDOW_STEP_SHIFT;
    order_out->is_open = word & WINDOW_IS_OPEN;
    return word & WINDOW_HAS_ORDER;
}

/* ---- sidecar's side ---- */

void rkt_region_order_window(struct rkt_region *region, const struct rkt_region_window_order *order)
{
    uint64_t step = order->from_step < RKT_WINDOW_STEP_MAX ? order->from_step : RKT_WINDOW_STEP_MAX;
    uint64_t word =
        step << WINDOW_STEP_SHIFT | (order->is_open ? WINDOW_IS_OPEN : 0) | WINDOW_HAS_ORDER;

    atomic_store_explicit(&region->header->window_order, word, memory_order_relaxed);
}

bool rkt_region_step(const struct rkt_region *region, uint64_t *step_out)
{
    uint64_t step_plus_one =
        atomic_load_explicit(&region->header->step_plus_one, memory_order_relaxed);

    *step_out = step_plus_one - 1;
    return step_plus_one != 0;
}

size_t rkt_region_ring_count(const struct rkt_region *region)
{
    return region->config.ring_count;
}

uint32_t rkt_region_ring_capacity(const struct rkt_region *region)
{
    return region->config.ring_capacity;
}

uint32_t rkt_region_heap_bytes(const struct rkt_region *region)
{
    return region->config.heap_bytes;
}

struct rkt_ring *rkt_region_ring(struct rkt_region *region, size_t index)
{
    return (struct rkt_ring *)(void *)(region->header->rings + index * region->ring_bytes);
}

bool rkt_region_is_closed(const struct rkt_region *region)
{
    return atomic_load_explicit(&region->header->is_closed, memory_order_acquire) != 0;
}

void rkt_region_losses(const struct rkt_region *region, struct rkt_region_losses *losses_out)
{
    const struct region_header *header = region->header;

    memset(losses_out, 0, sizeof(*losses_out));
    for (size_t i = 0; i < region->config.ring_count; i++) {
        const struct rkt_ring *ring =
            (const struct rkt_ring *)(const void *)(header->rings + i * region->ring_bytes);

        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
            losses_out->ring_full[kind] +=
                atomic_load_explicit(&ring->dropped_count[kind], memory_order_relaxed);
    }
    losses_out->no_ring_count = atomic_load_explicit(&header->no_ring_count, memory_order_relaxed);
    losses_out->names_full_count =
        atomic_load_explicit(&header->names_full_count, memory_order_relaxed);
}

void rkt_region_recycle(struct rkt_region *region, size_t index)
{
    struct rkt_ring *ring = rkt_region_ring(region, index);
    /* acquire: after CLOSED no more pushes come, and all are visible */
    uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);

    if (state != RKT_RING_CLOSED)
        return;
    if (atomic_load_explicit(&ring->head, memory_order_relaxed) !=
        atomic_load_explicit(&ring->tail, memory_order_relaxed))
        return;
    /* release: the next owner starts from this head and tail. It may have come first. */
    (void)atomic_compare_exchange_strong_explicit(&ring->state, &state, RKT_RING_FREE,
                                                  memory_order_release, memory_order_relaxed);
}
