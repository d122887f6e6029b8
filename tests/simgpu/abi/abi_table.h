/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_ABI_TABLE_H
#define RKT_TESTS_ABI_TABLE_H

/*
 * abi_table - what a set of headers says about the names of one list (abi_list.awk), so that
 * two sets can be compared line by line.
 */

#include <stddef.h>
#include <stdint.h>

enum rkt_abi_what {
    RKT_ABI_WHAT_VALUE,  /* value of a constant */
    RKT_ABI_WHAT_SIZE,   /* bytes of a type */
    RKT_ABI_WHAT_OFFSET, /* where a field starts */
    RKT_ABI_WHAT_WIDTH,  /* bytes of a field */
    RKT_ABI_WHAT_RENAME, /* name under which a call is exported */
};

struct rkt_abi_line {
    const char *name;
    const char *renamed; /* WHAT_RENAME only */
    uint64_t value;
    enum rkt_abi_what what;
};

struct rkt_abi_table {
    const struct rkt_abi_line *lines;
    size_t line_count;
};

#endif
