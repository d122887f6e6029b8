/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as each of the descriptors: what was read must be written the same way twice. */
#include <stdlib.h>
#include <string.h>

#include "common/descriptor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* decode, encode, decode, encode: the two encodings must be alike. */
#define CHECK(kind)                                                                   \
    static void check_##kind(const uint8_t *data, size_t size)                        \
    {                                                                                 \
        struct rkt_##kind##_info info;                                                \
        uint8_t raw[2][RKT_DESCRIPTOR_BYTES_MAX];                                     \
        size_t len[2];                                                                \
                                                                                      \
        if (rkt_##kind##_info_decode(data, size, &info, NULL) != RKT_OK)              \
            return;                                                                   \
        if (rkt_##kind##_info_encode(&info, raw[0], sizeof(raw[0]), &len[0], NULL) || \
            rkt_##kind##_info_decode(raw[0], len[0], &info, NULL) ||                  \
            rkt_##kind##_info_encode(&info, raw[1], sizeof(raw[1]), &len[1], NULL) || \
            len[0] != len[1] || memcmp(raw[0], raw[1], len[0]) != 0)                  \
            abort();                                                                  \
    }

CHECK(run)
CHECK(source)
CHECK(end)
CHECK(shard)

/* A name that leads out of the folder is read, and never written. */
static void check_any_shard(const uint8_t *data, size_t size)
{
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_shard_info info;
    size_t len;

    if (rkt_shard_info_decode(data, size, &info, NULL) != RKT_OK)
        return;
    if (rkt_shard_file_is_plain(info.file))
        check_shard(data, size);
    else if (rkt_shard_info_encode(&info, raw, sizeof(raw), &len, NULL) != RKT_ERR_INVALID)
        abort();
}

static void check_align(const uint8_t *data, size_t size)
{
    struct rkt_arena arena;
    struct rkt_align_info info;
    struct rkt_align_info again;
    size_t room = size * 9 + 64; /* a knot's number may have been one byte */
    uint8_t *raw = malloc(room);
    size_t len;

    rkt_arena_init(&arena, (size_t)64 << 20);
    if (raw && rkt_align_info_decode(data, size, &arena, &info, NULL) == RKT_OK) {
        if (rkt_align_info_encode(&info, raw, room, &len, NULL) != RKT_OK ||
            rkt_align_info_decode(raw, len, &arena, &again, NULL) != RKT_OK ||
            again.knot_count != info.knot_count || again.state != info.state ||
            (info.knot_count &&
             memcmp(again.knots, info.knots, info.knot_count * sizeof(*info.knots)) != 0))
            abort();
    }
    rkt_arena_release(&arena);
    free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_run(data, size);
    check_source(data, size);
    check_end(data, size);
    check_any_shard(data, size);
    check_align(data, size);
    return 0;
}
