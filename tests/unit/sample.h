/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_SAMPLE_H
#define RKT_TESTS_UNIT_SAMPLE_H

/* sample - events and a store whose every number is known; frozen bytes depend on them. */

#include <stddef.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/event.h"
#include "common/store_writer.h"
#include "common/strtab.h"

#define SAMPLE_ROWS 4u
#define SAMPLE_SOURCES 2u
#define SAMPLE_NAMES 3u

/* Row `row` of a kind: small numbers by column, all ones in row 2; unused bytes are zero. */
void sample_event(enum rkt_event_kind kind, size_t row, struct rkt_event *event_out);

struct rkt_run_info sample_run(void);
struct rkt_source_info sample_source(uint32_t source);
struct rkt_end_info sample_end(void);
struct rkt_align_info sample_align(uint32_t source);
/* What it says of how it was made; `is_said`: from version 1.3 on. */
void sample_expect_align_making(const struct rkt_align_info *align, bool is_said);
struct rkt_shard_info sample_shard(void);
const char *sample_name(size_t i);

/* Fail unless they say the same; padding does not count. */
void sample_expect_run(const struct rkt_run_info *got);
void sample_expect_source(const struct rkt_source_info *got);

/* All names, SAMPLE_ROWS events of every kind and END of one source; and its ALIGN. */
void sample_source_fill(struct rkt_store_writer *store, uint32_t source);
void sample_align_fill(struct rkt_store_writer *store, uint32_t source);

/* SAMPLE_SOURCES sources with all names, SAMPLE_ROWS events of every kind, END and ALIGN. */
void sample_store_fill(struct rkt_store_writer *writer);
void sample_store_write(const char *path, enum rkt_store_mode mode);

/* A path in a folder of its own below TMPDIR; the folder goes with sample_folder_remove. */
void sample_folder_make(char *folder, size_t folder_bytes);
void sample_folder_remove(const char *folder);

uint64_t sample_file_bytes(const char *path);
/* The whole file, or NULL; free(). And a file of these bytes. */
uint8_t *sample_file_read(const char *path, size_t *len_out);
void sample_file_write(const char *path, const uint8_t *bytes, size_t len_bytes);

#endif
