/* SPDX-License-Identifier: Apache-2.0 */
#include "import_place.h"

#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int rkt_make_place(void **state)
{
    struct rkt_place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/rkt-import-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->output, sizeof(place->output), "%s/out.rkt", place->folder);
    *state = place;
    return 0;
}

int rkt_remove_place(void **state)
{
    struct rkt_place *place = *state;

    for (size_t i = 0; i < place->count; i++)
        (void)unlink(place->list[i]);
    (void)unlink(place->output);
    /* fails, and so does the test, when anything else was left behind */
    assert_int_equal(rmdir(place->folder), 0);
    free(place);
    return 0;
}

void rkt_add_bytes(struct rkt_place *place, const char *name, const void *bytes, size_t len)
{
    char path[sizeof(place->paths[0])];
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    memcpy(place->paths[place->count], path, sizeof(path));
    out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
    place->list[place->count] = place->paths[place->count];
    place->count++;
}

void rkt_add_file(struct rkt_place *place, const char *name, const char *text)
{
    rkt_add_bytes(place, name, text, strlen(text));
}

enum rkt_status rkt_import_place(const struct rkt_place *place, struct rkt_import_report *report,
                                 struct rkt_error *err)
{
    struct rkt_import_options options = {
        .paths = place->list, .path_count = place->count, .output = place->output};

    return rkt_import(&options, report, err);
}
