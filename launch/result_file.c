/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/result_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing, or a plain file: what may be replaced by another file. A device, a pipe or a link must
 * stay what it is, so it is written into. */
static bool is_replaceable(const char *path)
{
    struct stat info;

    return lstat(path, &info) != 0 || S_ISREG(info.st_mode);
}

static enum rkt_status write_into(rkt_output_fn write, void *ctx, const char *path,
                                  struct rkt_error *err)
{
    enum rkt_status status;
    FILE *out = fopen(path, "we");

    if (!out)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    status = write(ctx, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    return status;
}

static enum rkt_status write_file(rkt_output_fn write, void *ctx, const char *path,
                                  struct rkt_error *err)
{
    enum rkt_status status;
    char *partial = NULL;

    if (!is_replaceable(path))
        return write_into(write, ctx, path, err);
    if (asprintf(&partial, "%s.part", path) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a file name");
    status = write_into(write, ctx, partial, err);
    if (status == RKT_OK && rename(partial, path) != 0)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot rename a file to %s", path);
    if (status != RKT_OK)
        (void)unlink(partial);
    free(partial);
    return status;
}

enum rkt_status rkt_output_write(rkt_output_fn write, void *ctx, const char *output,
                                 struct rkt_error *err)
{
    return output ? write_file(write, ctx, output, err) : write(ctx, stdout, err);
}

/* What write_result gets. */
struct result_writing {
    rkt_result_writer_fn write;
    void *ctx;
    const struct rkt_result *result;
};

static enum rkt_status write_result(void *ctx, FILE *out, struct rkt_error *err)
{
    const struct result_writing *writing = ctx;

    return writing->write(writing->result, writing->ctx, out, err);
}

enum rkt_status rkt_result_file_write(const struct rkt_result *result, rkt_result_writer_fn write,
                                      void *ctx, const char *output, struct rkt_error *err)
{
    struct result_writing writing = {write, ctx, result};

    return rkt_output_write(write_result, &writing, output, err);
}
