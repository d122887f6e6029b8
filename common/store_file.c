/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How much of a file is looked at to say what it is. */
#define LOOK_BYTES 512u

/* Sets fd; *st_out is of what was opened. */
static enum rkt_status open_regular(struct rkt_store_file *file, struct stat *st_out,
                                    struct rkt_error *err)
{
    /* NONBLOCK: a FIFO is refused below, and must not hang here */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, st_out) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", file->path);
    if (!S_ISREG(st_out->st_mode))
        return rkt_fail(err, RKT_ERR_IO, "cannot read %s: not a regular file", file->path);
    return RKT_OK;
}

enum rkt_status rkt_store_file_open(const char *path, struct rkt_store_file *file_out,
                                    struct rkt_error *err)
{
    struct rkt_store_file file = {.fd = -1, .path = strdup(path)};
    enum rkt_status status;
    struct stat st = {0};

    if (!file.path)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
    status = open_regular(&file, &st, err);
    if (status != RKT_OK) {
        rkt_store_file_close(&file);
        return status;
    }
    file.file_bytes = (uint64_t)st.st_size;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    *file_out = file;
    return RKT_OK;
}

enum rkt_status rkt_store_file_resume(struct rkt_store_file *file, struct rkt_error *err)
{
    struct stat st = {0};
    enum rkt_status status = open_regular(file, &st, err);

    if (status == RKT_OK && (st.st_dev != file->device || st.st_ino != file->inode))
        status = rkt_fail(err, RKT_ERR_IO, "%s became another file while it was read", file->path);
    if (status != RKT_OK)
        rkt_store_file_suspend(file);
    return status;
}

void rkt_store_file_suspend(struct rkt_store_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void rkt_store_file_close(struct rkt_store_file *file)
{
    rkt_store_file_suspend(file);
    free(file->path);
    *file = (struct rkt_store_file){.fd = -1};
}

enum rkt_status rkt_store_file_read(const struct rkt_store_file *file, uint64_t offset,
                                    uint8_t *buf, size_t len_bytes, struct rkt_error *err)
{
    uint64_t done = 0;

    while (done < len_bytes) {
        ssize_t got = pread(file->fd, buf + done, len_bytes - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s at byte %" PRIu64, file->path,
                                  offset + done);
        if (got == 0)
            return rkt_fail(err, RKT_ERR_IO, "%s ends at byte %" PRIu64, file->path, offset + done);
        done += (size_t)got;
    }
    return RKT_OK;
}

static bool looks_like_json(const uint8_t *bytes, size_t len_bytes)
{
    size_t at = len_bytes >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < len_bytes && isspace(bytes[at]))
        at++;
    return at < len_bytes && (bytes[at] == '{' || bytes[at] == '[');
}

static const char *look_at(const uint8_t *bytes, size_t len_bytes)
{
    static const struct {
        const char *start;
        size_t len;
        const char *what;
    } KNOWN[] = {
        {"RKTF", 4, "it begins like one, but no frame of it is whole"},
        {"\x1f\x8b", 2, "it is packed with gzip; 'ranktrace merge' reads packed PyTorch traces"},
        {"\x28\xb5\x2f\xfd", 4, "it is packed with zstd"},
        {"SQLite format 3", 15, "it is an SQLite database"},
        {"PK\x03\x04", 4, "it is a zip archive"},
        {"\x7f"
         "ELF",
         4, "it is a program or library"},
    };

    if (len_bytes == 0)
        return "it is empty";
    for (size_t i = 0; i < sizeof(KNOWN) / sizeof(*KNOWN); i++) {
        if (len_bytes >= KNOWN[i].len && memcmp(bytes, KNOWN[i].start, KNOWN[i].len) == 0)
            return KNOWN[i].what;
    }
    if (looks_like_json(bytes, len_bytes))
        return "it looks like JSON; 'ranktrace merge' reads PyTorch traces";
    return "its bytes are of no kind that is known here";
}

enum rkt_status rkt_store_file_refuse(const struct rkt_store_file *file, struct rkt_error *err)
{
    uint8_t bytes[LOOK_BYTES];
    size_t len_bytes = file->file_bytes < sizeof(bytes) ? (size_t)file->file_bytes : sizeof(bytes);
    enum rkt_status status = rkt_store_file_read(file, 0, bytes, len_bytes, err);

    if (status != RKT_OK)
        return status;
    return rkt_fail(err, RKT_ERR_FORMAT, "%s is no ranktrace store: %s", file->path,
                    look_at(bytes, len_bytes));
}
