/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_IMPORT_PLACE_H
#define RKT_TESTS_UNIT_IMPORT_PLACE_H

/*
 * import_place - a folder with trace files for a test, and the store that they become. The test
 * fails when anything but these is left in it.
 */

#include <stddef.h>

#include "analysis/import/import.h"

#define RKT_PLACE_FILES_MAX 16

struct rkt_place {
    char folder[64];
    char output[128];
    char paths[RKT_PLACE_FILES_MAX][128];
    const char *list[RKT_PLACE_FILES_MAX]; /* the files, in order */
    size_t count;
};

/* cmocka's setup and teardown. */
int rkt_make_place(void **state);
int rkt_remove_place(void **state);

void rkt_add_bytes(struct rkt_place *place, const char *name, const void *bytes, size_t len);
void rkt_add_file(struct rkt_place *place, const char *name, const char *text);

/* The files of the list into the output. */
enum rkt_status rkt_import_place(const struct rkt_place *place, struct rkt_import_report *report,
                                 struct rkt_error *err);

#endif
