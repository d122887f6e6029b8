/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/array.h"

struct text {
    const char *bytes; /* NULL: a hole */
    uint32_t len_bytes;
    uint32_t hash;
};

struct rkt_strtab {
    struct rkt_arena arena; /* the texts */
    struct text *texts;     /* by id */
    size_t count;
    size_t cap;
    uint32_t *slots;   /* open addressing: id, 0 = free */
    size_t slot_count; /* a power of two */
    size_t used_slots;
};

static uint64_t word_at(const char *text)
{
    uint64_t word;

    memcpy(&word, text, sizeof(word));
    return word;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Sixteen bytes at a time, each mixed into all bits: kernels have names of hundreds of bytes. */
static uint32_t hash_of(const char *text, size_t len_bytes)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const char *end = text + len_bytes;
    uint64_t hash = len_bytes * odd;
    uint64_t low = 0;
    uint64_t high = 0;

    for (; end - text > 16; text += 16)
        hash = mix(word_at(text) ^ hash, word_at(text + 8) ^ odd);
    if (len_bytes >= 16) { /* the last sixteen, some of them a second time */
        low = word_at(end - 16);
        high = word_at(end - 8);
    } else if (len_bytes >= 8) {
        low = word_at(text);
        high = word_at(end - 8);
    } else {
        for (; text < end; text++)
            low = low << 8 | (uint8_t)*text;
    }
    return (uint32_t)mix(mix(low ^ hash, high ^ odd), odd);
}

static size_t slot_of(const struct rkt_strtab *tab, const char *text, size_t len_bytes,
                      uint32_t hash)
{
    size_t at = hash & (tab->slot_count - 1);

    for (; tab->slots[at]; at = (at + 1) & (tab->slot_count - 1)) {
        const struct text *have = &tab->texts[tab->slots[at]];

        if (have->hash == hash && have->len_bytes == len_bytes &&
            memcmp(have->bytes, text, len_bytes) == 0)
            break;
    }
    return at;
}

static bool grow_slots(struct rkt_strtab *tab)
{
    size_t new_count = tab->slot_count ? tab->slot_count * 2 : 256;
    uint32_t *slots = calloc(new_count, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < tab->slot_count; i++) {
        size_t at;

        if (!tab->slots[i])
            continue;
        at = tab->texts[tab->slots[i]].hash & (new_count - 1);
        while (slots[at])
            at = (at + 1) & (new_count - 1);
        slots[at] = tab->slots[i];
    }
    free(tab->slots);
    tab->slots = slots;
    tab->slot_count = new_count;
    return true;
}

/* Make room so that a text with `id` can be stored without a further failure. */
static bool reserve(struct rkt_strtab *tab, size_t id)
{
    if ((tab->used_slots + 1) * 2 > tab->slot_count && !grow_slots(tab))
        return false;
    if (!rkt_array_reserve((void **)&tab->texts, &tab->cap, id + 1, sizeof(*tab->texts)))
        return false;
    while (tab->count <= id)
        tab->texts[tab->count++] = (struct text){0};
    return true;
}

static bool store(struct rkt_strtab *tab, uint32_t id, const char *text, size_t len_bytes,
                  uint32_t hash)
{
    char *copy = rkt_arena_strndup(&tab->arena, text, len_bytes);

    if (!copy)
        return false;
    tab->texts[id] = (struct text){copy, (uint32_t)len_bytes, hash};
    return true;
}

struct rkt_strtab *rkt_strtab_create(void)
{
    struct rkt_strtab *tab = calloc(1, sizeof(*tab));

    if (!tab)
        return NULL;
    rkt_arena_init(&tab->arena, SIZE_MAX);
    if (!reserve(tab, 0) || !store(tab, 0, "", 0, hash_of("", 0))) {
        rkt_strtab_destroy(tab);
        return NULL;
    }
    return tab;
}

void rkt_strtab_destroy(struct rkt_strtab *tab)
{
    if (!tab)
        return;
    rkt_arena_release(&tab->arena);
    free(tab->texts);
    free(tab->slots);
    free(tab);
}

static size_t cut_len(size_t len_bytes)
{
    return len_bytes < RKT_STRING_BYTES_MAX ? len_bytes : RKT_STRING_BYTES_MAX;
}

uint32_t rkt_strtab_intern(struct rkt_strtab *tab, const char *text, size_t len_bytes)
{
    size_t len = cut_len(len_bytes);
    uint32_t hash = hash_of(text, len);
    uint32_t id = (uint32_t)tab->count;
    size_t slot;

    if (len == 0)
        return 0;
    slot = slot_of(tab, text, len, hash);
    if (tab->slots[slot])
        return tab->slots[slot];
    if (id >= RKT_STRING_COUNT_MAX || !reserve(tab, id))
        return 0;
    if (!store(tab, id, text, len, hash)) {
        tab->count--;
        return 0;
    }
    tab->slots[slot_of(tab, text, len, hash)] = id;
    tab->used_slots++;
    return id;
}

enum rkt_status rkt_strtab_define(struct rkt_strtab *tab, uint32_t id, const char *text,
                                  size_t len_bytes)
{
    size_t len = cut_len(len_bytes);
    uint32_t hash = hash_of(text, len);
    size_t slot;

    if (id >= RKT_STRING_COUNT_MAX)
        return RKT_ERR_FORMAT;
    if (id < tab->count && tab->texts[id].bytes) {
        const struct text *have = &tab->texts[id];

        return have->len_bytes == len && memcmp(have->bytes, text, len) == 0 ? RKT_OK
                                                                             : RKT_ERR_FORMAT;
    }
    if (!reserve(tab, id) || !store(tab, id, text, len, hash))
        return RKT_ERR_NOMEM;
    slot = slot_of(tab, text, len, hash);
    if (!tab->slots[slot]) { /* the same text under two ids: intern gives the first */
        tab->slots[slot] = id;
        tab->used_slots++;
    }
    return RKT_OK;
}

const char *rkt_strtab_get(const struct rkt_strtab *tab, uint32_t id, size_t *len_out)
{
    bool is_known = id < tab->count && tab->texts[id].bytes;

    if (len_out)
        *len_out = is_known ? tab->texts[id].len_bytes : 0;
    return is_known ? tab->texts[id].bytes : "";
}

uint32_t rkt_strtab_count(const struct rkt_strtab *tab)
{
    return (uint32_t)tab->count;
}
