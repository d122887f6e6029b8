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

#define INPUT_BYTES (256u << 10)
#define GZIP_WINDOW_BITS (15 + 16) /* gzip heads only */
#define GZIP_MAGIC_0 0x1f
#define GZIP_MAGIC_1 0x8b

struct rkt_text_source {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t memory_left;
    uint8_t *input;
    size_t input_at;
    size_t input_end;
    uint64_t taken_bytes; /* of the file, up to input_end */
    bool input_ended;
    bool is_gzip;
    bool in_member;
    bool has_ended;
    z_stream zlib;
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

/* More input behind what is left; the rest is moved to the front. */
static enum rkt_status fill_input(struct rkt_text_source *source, struct rkt_error *err)
{
    size_t left = source->input_end - source->input_at;
    size_t room = INPUT_BYTES - left;
    size_t got;

    memmove(source->input, source->input + source->input_at, left);
    source->input_at = 0;
    source->input_end = left;
    if (source->fd < 0) {
        got = source->memory_left < room ? source->memory_left : room;
        if (got > 0)
            memcpy(source->input + left, source->memory, got);
        source->memory += got;
        source->memory_left -= got;
    } else {
        ssize_t n;

        do
            n = read(source->fd, source->input + left, room);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot read after byte %llu", source->path,
                                  (unsigned long long)source->taken_bytes);
        got = (size_t)n;
    }
    source->input_end += got;
    source->taken_bytes += got;
    source->input_ended = got == 0;
    return RKT_OK;
}

/* At least two bytes of input, or the end of it. */
static enum rkt_status peek_two(struct rkt_text_source *source, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK && source->input_end - source->input_at < 2 && !source->input_ended)
        status = fill_input(source, err);
    return status;
}

static bool at_gzip_magic(const struct rkt_text_source *source)
{
    const uint8_t *at = source->input + source->input_at;

    return source->input_end - source->input_at >= 2 && at[0] == GZIP_MAGIC_0 &&
           at[1] == GZIP_MAGIC_1;
}

static enum rkt_status detect(struct rkt_text_source *source, struct rkt_error *err)
{
    enum rkt_status status = peek_two(source, err);

    if (status != RKT_OK)
        return status;
    source->is_gzip = at_gzip_magic(source);
    if (!source->is_gzip)
        return RKT_OK;
    if (inflateInit2(&source->zlib, GZIP_WINDOW_BITS) != Z_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "%s: no memory to decompress", source->path);
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
    if (source->is_gzip)
        inflateEnd(&source->zlib);
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
        enum rkt_status status = peek_two(source, err);

        if (status != RKT_OK)
            return status;
        if (source->input_at == source->input_end) {
            source->has_ended = true;
            return RKT_OK;
        }
        if (at_gzip_magic(source))
            break;
        if (source->input[source->input_at] != 0) {
            end_damaged(source, "bytes behind the compressed data are not gzip");
            return RKT_OK;
        }
        source->input_at++;
    }
    inflateReset(&source->zlib);
    source->in_member = true;
    return RKT_OK;
}

/* One call of inflate into buf; *len_out may be 0. */
static enum rkt_status inflate_some(struct rkt_text_source *source, char *buf, size_t cap,
                                    size_t *len_out, struct rkt_error *err)
{
    z_stream *zlib = &source->zlib;
    size_t room = cap < UINT_MAX ? cap : UINT_MAX;
    int result;

    if (source->input_at == source->input_end && !source->input_ended) {
        enum rkt_status status = fill_input(source, err);

        if (status != RKT_OK)
            return status;
    }
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

static enum rkt_status read_gzip(struct rkt_text_source *source, char *buf, size_t cap,
                                 size_t *len_out, struct rkt_error *err)
{
    *len_out = 0;
    while (*len_out == 0 && !source->has_ended) {
        enum rkt_status status = source->in_member ? inflate_some(source, buf, cap, len_out, err)
                                                   : next_member(source, err);

        if (status != RKT_OK)
            return status;
    }
    return *len_out > 0 ? RKT_OK : RKT_END;
}

static enum rkt_status read_plain(struct rkt_text_source *source, char *buf, size_t cap,
                                  size_t *len_out, struct rkt_error *err)
{
    size_t n;

    if (source->input_at == source->input_end && !source->input_ended) {
        enum rkt_status status = fill_input(source, err);

        if (status != RKT_OK)
            return status;
    }
    n = source->input_end - source->input_at;
    if (n == 0) {
        source->has_ended = true;
        return RKT_END;
    }
    n = n < cap ? n : cap;
    memcpy(buf, source->input + source->input_at, n);
    source->input_at += n;
    *len_out = n;
    return RKT_OK;
}

enum rkt_status rkt_text_source_read(struct rkt_text_source *source, char *buf, size_t cap,
                                     size_t *len_out, struct rkt_error *err)
{
    if (source->has_ended)
        return RKT_END;
    if (source->is_gzip)
        return read_gzip(source, buf, cap, len_out, err);
    return read_plain(source, buf, cap, len_out, err);
}

const struct rkt_text_damage *rkt_text_source_damage(const struct rkt_text_source *source)
{
    return &source->damage;
}

uint64_t rkt_text_source_file_bytes(const struct rkt_text_source *source)
{
    return source->taken_bytes;
}
