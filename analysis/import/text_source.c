/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/text_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define INPUT_BYTES (256u << 10)
#define GZIP_WINDOW_BITS (15 + 16) /* gzip heads only */
#define MAGIC_BYTES 4u
#define LOOK_BYTES (4u << 10) /* taken to look for it */
#define SUM_BYTES (16u << 10) /* on the stack */

static const uint8_t GZIP_MAGIC[] = {0x1f, 0x8b};
static const uint8_t ZSTD_MAGIC_TEXT[] = {0x28, 0xb5, 0x2f, 0xfd};
static const uint8_t ZSTD_MAGIC_SKIP[] = {0x2a, 0x4d, 0x18}; /* behind 0x50 to 0x5f */

enum packing {
    PACKING_NONE,
    PACKING_GZIP,
    PACKING_ZSTD,
};

struct rkt_text_source {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t memory_left;
    uint8_t *input;
    size_t input_at;
    size_t input_end;
    uint64_t taken_bytes; /* of the file, up to input_end */
    bool input_ended;
    bool in_member;
    bool has_ended;
    enum packing packing;
    z_stream zlib;
    ZSTD_DStream *zstd;
    _Atomic uint64_t *done_bytes; /* NULL: nobody counts */
    struct rkt_text_damage damage;
    char path[512];
};

static struct rkt_text_source *make(int fd, const void *memory, size_t memory_bytes)
{
    struct rkt_text_source *source = calloc(1, sizeof(*source));

    if (!source)
        return NULL;
    source->input = malloc(INPUT_BYTES);
    if (!source->input) {
        free(source);
        return NULL;
    }
    source->fd = fd;
    source->memory = memory;
    source->memory_left = memory_bytes;
    return source;
}

/* Up to `room` bytes of the file to `to`; 0 at its end. */
static enum rkt_status take(struct rkt_text_source *source, void *to, size_t room, size_t *got_out,
                            struct rkt_error *err)
{
    size_t got;

    if (source->fd < 0) {
        got = source->memory_left < room ? source->memory_left : room;
        if (got > 0)
            memcpy(to, source->memory, got);
        source->memory += got;
        source->memory_left -= got;
    } else {
        ssize_t n;

        do
            n = read(source->fd, to, room);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot read after byte %llu", source->path,
                                  (unsigned long long)source->taken_bytes);
        got = (size_t)n;
    }
    source->taken_bytes += got;
    if (source->done_bytes)
        atomic_fetch_add_explicit(source->done_bytes, got, memory_order_relaxed);
    source->input_ended = got == 0;
    *got_out = got;
    return RKT_OK;
}

/* Up to `cap` bytes of input, with what is left, which is less and moved to the front. */
static enum rkt_status fill_input(struct rkt_text_source *source, size_t cap, struct rkt_error *err)
{
    size_t left = source->input_end - source->input_at;
    enum rkt_status status;
    size_t got = 0;

    memmove(source->input, source->input + source->input_at, left);
    source->input_at = 0;
    source->input_end = left;
    status = take(source, source->input + left, cap - left, &got, err);
    source->input_end += got;
    return status;
}

/* At least the bytes of a magic number, or the end of the input. */
static enum rkt_status peek_magic(struct rkt_text_source *source, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK && source->input_end - source->input_at < MAGIC_BYTES &&
           !source->input_ended)
        status = fill_input(source, LOOK_BYTES, err);
    return status;
}

static enum packing packing_here(const struct rkt_text_source *source)
{
    const uint8_t *at = source->input + source->input_at;
    size_t bytes = source->input_end - source->input_at;

    if (bytes >= sizeof(GZIP_MAGIC) && memcmp(at, GZIP_MAGIC, sizeof(GZIP_MAGIC)) == 0)
        return PACKING_GZIP;
    if (bytes < MAGIC_BYTES)
        return PACKING_NONE;
    if (memcmp(at, ZSTD_MAGIC_TEXT, sizeof(ZSTD_MAGIC_TEXT)) == 0 ||
        ((at[0] & 0xf0) == 0x50 && memcmp(at + 1, ZSTD_MAGIC_SKIP, sizeof(ZSTD_MAGIC_SKIP)) == 0))
        return PACKING_ZSTD;
    return PACKING_NONE;
}

static enum rkt_status detect(struct rkt_text_source *source, struct rkt_error *err)
{
    enum rkt_status status = peek_magic(source, err);

    if (status != RKT_OK)
        return status;
    switch (packing_here(source)) {
    case PACKING_NONE:
        return RKT_OK;
    case PACKING_GZIP:
        if (inflateInit2(&source->zlib, GZIP_WINDOW_BITS) != Z_OK)
            return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to decompress", source->path);
        source->packing = PACKING_GZIP;
        break;
    case PACKING_ZSTD:
        source->zstd = ZSTD_createDStream();
        if (!source->zstd)
            return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to decompress", source->path);
        source->packing = PACKING_ZSTD;
        break;
    }
    source->in_member = true;
    return RKT_OK;
}

static int open_file(const char *path, struct rkt_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot open", path);
        return -1;
    }
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        rkt_fail(err, RKT_ERR_IO, "%s: is a folder, not a trace file", path);
        close(fd);
        return -1;
    }
    return fd;
}

enum rkt_status rkt_text_source_open(const char *path, struct rkt_text_source **source_out,
                                     struct rkt_error *err)
{
    struct rkt_text_source *source;
    enum rkt_status status;
    int fd = open_file(path, err);

    if (fd < 0)
        return RKT_ERR_IO;
    source = make(fd, NULL, 0);
    if (!source) {
        close(fd);
        return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to read it", path);
    }
    snprintf(source->path, sizeof(source->path), "%s", path);
    status = detect(source, err);
    if (status != RKT_OK) {
        rkt_text_source_close(source);
        return status;
    }
    *source_out = source;
    return RKT_OK;
}

struct rkt_text_source *rkt_text_source_from_memory(const void *bytes, size_t len_bytes)
{
    struct rkt_text_source *source = make(-1, bytes, len_bytes);

    if (source && detect(source, NULL) != RKT_OK) {
        rkt_text_source_close(source);
        return NULL;
    }
    return source;
}

void rkt_text_source_close(struct rkt_text_source *source)
{
    if (!source)
        return;
    if (source->packing == PACKING_GZIP)
        inflateEnd(&source->zlib);
    ZSTD_freeDStream(source->zstd);
    if (source->fd >= 0)
        close(source->fd);
    free(source->input);
    free(source);
}

static uint64_t file_offset(const struct rkt_text_source *source)
{
    return source->taken_bytes - (source->input_end - source->input_at);
}

static void end_damaged(struct rkt_text_source *source, const char *what)
{
    source->has_ended = true;
    source->damage.is_damaged = true;
    source->damage.file_offset = file_offset(source);
    snprintf(source->damage.what, sizeof(source->damage.what), "%s", what);
}

/* Behind a member: another one, zero padding up to the end, or bytes that do not belong. */
static enum rkt_status next_member(struct rkt_text_source *source, struct rkt_error *err)
{
    for (;;) {
        enum rkt_status status = peek_magic(source, err);

        if (status != RKT_OK)
            return status;
        if (source->input_at == source->input_end) {
            source->has_ended = true;
            return RKT_OK;
        }
        if (packing_here(source) == source->packing)
            break;
        if (source->input[source->input_at] != 0) {
            end_damaged(source, "bytes behind the compressed data do not belong to it");
            return RKT_OK;
        }
        source->input_at++;
    }
    if (source->packing == PACKING_GZIP)
        inflateReset(&source->zlib);
    else
        ZSTD_DCtx_reset(source->zstd, ZSTD_reset_session_only);
    source->in_member = true;
    return RKT_OK;
}

/* Both: one call into buf, of which *len_out bytes, perhaps none, are then used. */
static enum rkt_status inflate_some(struct rkt_text_source *source, char *buf, size_t cap,
                                    size_t *len_out, struct rkt_error *err)
{
    z_stream *zlib = &source->zlib;
    size_t room = cap < UINT_MAX ? cap : UINT_MAX;
    int result;

    zlib->next_in = source->input + source->input_at;
    zlib->avail_in = (uInt)(source->input_end - source->input_at);
    zlib->next_out = (Bytef *)buf;
    zlib->avail_out = (uInt)room;
    result = inflate(zlib, Z_NO_FLUSH);
    source->input_at = source->input_end - zlib->avail_in;
    *len_out = room - zlib->avail_out;
    if (result == Z_STREAM_END)
        source->in_member = false;
    else if (result == Z_MEM_ERROR)
        return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to decompress", source->path);
    else if (result == Z_BUF_ERROR && source->input_ended)
        end_damaged(source, "ends inside the compressed data (copy or export it again)");
    else if (result != Z_OK && result != Z_BUF_ERROR)
        end_damaged(source, zlib->msg ? zlib->msg : "compressed data are broken");
    return RKT_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): zstd writes through it */
static enum rkt_status unzstd_some(struct rkt_text_source *source, char *buf, size_t cap,
                                   size_t *len_out, struct rkt_error *err)
{
    ZSTD_inBuffer in = {source->input, source->input_end, source->input_at};
    ZSTD_outBuffer out = {buf, cap, 0};
    size_t hint = ZSTD_decompressStream(source->zstd, &out, &in);
    bool took_some = in.pos > source->input_at;

    source->input_at = in.pos;
    *len_out = out.pos;
    if (ZSTD_isError(hint)) {
        if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation)
            return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to decompress", source->path);
        end_damaged(source, ZSTD_getErrorName(hint));
    } else if (hint == 0) {
        source->in_member = false;
    } else if (source->input_ended && !took_some && out.pos == 0) {
        end_damaged(source, "ends inside the compressed data (copy or export it again)");
    }
    return RKT_OK;
}

static enum rkt_status unpack_some(struct rkt_text_source *source, char *buf, size_t cap,
                                   size_t *len_out, struct rkt_error *err)
{
    if (source->input_at == source->input_end && !source->input_ended) {
        enum rkt_status status = fill_input(source, INPUT_BYTES, err);

        if (status != RKT_OK)
            return status;
    }
    return source->packing == PACKING_GZIP ? inflate_some(source, buf, cap, len_out, err)
                                           : unzstd_some(source, buf, cap, len_out, err);
}

static enum rkt_status read_packed(struct rkt_text_source *source, char *buf, size_t cap,
                                   size_t *len_out, struct rkt_error *err)
{
    *len_out = 0;
    while (*len_out == 0 && !source->has_ended) {
        enum rkt_status status = source->in_member ? unpack_some(source, buf, cap, len_out, err)
                                                   : next_member(source, err);

        if (status != RKT_OK)
            return status;
    }
    return *len_out > 0 ? RKT_OK : RKT_END;
}

/* What the look at the magic number left, then straight from the file. */
static enum rkt_status read_plain(struct rkt_text_source *source, char *buf, size_t cap,
                                  size_t *len_out, struct rkt_error *err)
{
    size_t n = source->input_end - source->input_at;
    enum rkt_status status = RKT_OK;

    if (n > 0) {
        n = n < cap ? n : cap;
        memcpy(buf, source->input + source->input_at, n);
        source->input_at += n;
    } else if (!source->input_ended) {
        status = take(source, buf, cap, &n, err);
    }
    if (status != RKT_OK)
        return status;
    source->has_ended = n == 0;
    *len_out = n;
    return n > 0 ? RKT_OK : RKT_END;
}

enum rkt_status rkt_text_source_read(struct rkt_text_source *source, char *buf, size_t cap,
                                     size_t *len_out, struct rkt_error *err)
{
    if (source->has_ended)
        return RKT_END;
    if (source->packing != PACKING_NONE)
        return read_packed(source, buf, cap, len_out, err);
    return read_plain(source, buf, cap, len_out, err);
}

enum rkt_status rkt_text_source_sum(struct rkt_text_source *source, uint64_t *bytes_out,
                                    uint32_t *checksum_out, struct rkt_error *err)
{
    char text[SUM_BYTES];
    uLong sum = crc32(0, Z_NULL, 0);
    enum rkt_status status = RKT_OK;

    *bytes_out = 0;
    while (status == RKT_OK) {
        size_t got = 0;

        status = rkt_text_source_read(source, text, sizeof(text), &got, err);
        if (status != RKT_OK)
            break;
        sum = crc32(sum, (const Bytef *)text, (uInt)got);
        *bytes_out += got;
    }
    *checksum_out = (uint32_t)sum;
    return status == RKT_END ? RKT_OK : status;
}

const struct rkt_text_damage *rkt_text_source_damage(const struct rkt_text_source *source)
{
    return &source->damage;
}

bool rkt_text_source_is_packed(const struct rkt_text_source *source)
{
    return source->packing != PACKING_NONE;
}

uint64_t rkt_text_source_file_bytes(const struct rkt_text_source *source)
{
    return source->taken_bytes;
}

void rkt_text_source_count_into(struct rkt_text_source *source, _Atomic uint64_t *done_bytes)
{
    source->done_bytes = done_bytes;
    atomic_fetch_add_explicit(done_bytes, source->taken_bytes, memory_order_relaxed);
}
