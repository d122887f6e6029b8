/* SPDX-License-Identifier: Apache-2.0 */
/* In a build without SQLite: no file is one, and the JSON reader then says what it looks like. */
#include "analysis/import/nsys.h"

bool rkt_nsys_is_sqlite(const char *path)
{
    (void)path;
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as nsys.h declares it */
enum rkt_status rkt_nsys_count_parts(const char *path, size_t *count_out, struct rkt_error *err)
{
    (void)path;
    (void)count_out;
    return rkt_fail(err, RKT_ERR_INTERNAL, "this build has no SQLite");
}

enum rkt_status rkt_nsys_read(const char *path, size_t part, struct rkt_source_writer *writer,
                              struct rkt_trace_facts *facts_out, struct rkt_text_damage *damage_out,
                              struct rkt_error *err)
{
    (void)path;
    (void)part;
    (void)writer;
    (void)facts_out;
    (void)damage_out;
    return rkt_fail(err, RKT_ERR_INTERNAL, "this build has no SQLite");
}
