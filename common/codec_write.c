/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec_write.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"

#define FIRST_CAP_BYTES 256u

void rkt_codec_buf_init(struct rkt_codec_buf *buf)
{
    memset(buf, 0, sizeof(*buf));
}

void rkt_codec_buf_reset(struct rkt_codec_buf *buf)
{
    buf->len_bytes = 0;
    buf->has_failed = false;
}

void rkt_codec_buf_release(struct rkt_codec_buf *buf)
{
    free(buf->bytes);
    rkt_codec_buf_init(buf);
}

static bool grow(struct rkt_codec_buf *buf, size_t need)
{
    size_t cap = buf->cap_bytes ? buf->cap_bytes : FIRST_CAP_BYTES;
    uint8_t *grown;

    while (cap < need) {
        if (!rkt_mul_size(cap, 2, &cap))
            return false;
    }
    grown = realloc(buf->bytes, cap);
    if (!grown)
        return false;
    buf->bytes = grown;
    buf->cap_bytes = cap;
    return true;
}

/* The next `len_bytes` bytes, written or not; NULL after a failure. */
static uint8_t *extend(struct rkt_codec_buf *buf, size_t len_bytes)
{
    size_t need;

    if (buf->has_failed)
        return NULL;
    if (!rkt_add_size(buf->len_bytes, len_bytes, &need) ||
        (need > buf->cap_bytes && !grow(buf, need))) {
        buf->has_failed = true;
        return NULL;
    }
    buf->len_bytes = need;
    return buf->bytes + need - len_bytes;
}

static int write_bytes(void *data, const char *bytes, size_t len_bytes)
{
    uint8_t *at = extend(data, len_bytes);

    if (!at)
        return -1;
    memcpy(at, bytes, len_bytes);
    return 0;
}

static msgpack_packer packer_of(struct rkt_codec_buf *buf)
{
    return (msgpack_packer){.data = buf, .callback = write_bytes};
}

void rkt_write_map(struct rkt_codec_buf *buf, size_t pair_count)
{
    msgpack_packer packer = packer_of(buf);

    msgpack_pack_map(&packer, pair_count);
}

void rkt_write_array(struct rkt_codec_buf *buf, size_t count)
{
    msgpack_packer packer = packer_of(buf);

    msgpack_pack_array(&packer, count);
}

void rkt_write_uint(struct rkt_codec_buf *buf, uint64_t value)
{
    msgpack_packer packer = packer_of(buf);

    msgpack_pack_uint64(&packer, value);
}

void rkt_write_int(struct rkt_codec_buf *buf, int64_t value)
{
    msgpack_packer packer = packer_of(buf);

    msgpack_pack_int64(&packer, value);
}

void rkt_write_bool(struct rkt_codec_buf *buf, bool value)
{
    msgpack_packer packer = packer_of(buf);

    if (value)
        msgpack_pack_true(&packer);
    else
        msgpack_pack_false(&packer);
}

void rkt_write_bin(struct rkt_codec_buf *buf, const void *bytes, size_t len_bytes)
{
    uint8_t *at = rkt_write_bin_room(buf, len_bytes);

    if (at && len_bytes)
        memcpy(at, bytes, len_bytes);
}

uint8_t *rkt_write_bin_room(struct rkt_codec_buf *buf, size_t len_bytes)
{
    msgpack_packer packer = packer_of(buf);

    msgpack_pack_bin(&packer, len_bytes);
    return extend(buf, len_bytes);
}

void rkt_write_buf(struct rkt_codec_buf *buf, const struct rkt_codec_buf *other)
{
    uint8_t *at;

    if (other->has_failed)
        buf->has_failed = true;
    at = extend(buf, other->len_bytes);
    if (at && other->len_bytes)
        memcpy(at, other->bytes, other->len_bytes);
}
