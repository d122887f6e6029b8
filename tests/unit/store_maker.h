/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_STORE_MAKER_H
#define RKT_TESTS_UNIT_STORE_MAKER_H

/*
 * store_maker - a small store made source by source, for tests of what reads one.
 *
 * Whatever cannot be written fails the test.
 */

#include "common/source_writer.h"
#include "common/store_reader.h"
#include "common/store_writer.h"

#define STORE_SOURCES_MAX 8u

struct store_maker {
    char folder[200];
    char path[256];
    struct rkt_store_writer *store;
    struct rkt_source_writer *sources[STORE_SOURCES_MAX];
    size_t source_count;
    struct rkt_store_reader *reader;
};

void store_maker_init(struct store_maker *maker, uint8_t producer);
void store_maker_release(struct store_maker *maker);

/* info.source is filled in; returns its number. */
uint32_t store_add_source(struct store_maker *maker, struct rkt_source_info info);
uint32_t store_name(struct store_maker *maker, uint32_t source, const char *name);
void store_add(struct store_maker *maker, uint32_t source, struct rkt_event event);
/* The source is complete; without, it reads as one that was cut. */
void store_end(struct store_maker *maker, uint32_t source, struct rkt_end_info end);

/* Flushes and closes; the reader is the maker's. */
struct rkt_store_reader *store_open(struct store_maker *maker);

#endif
