/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_TEXT_MAP_H
#define RKT_ANALYSIS_IMPORT_TEXT_MAP_H

/*
 * text_map - a file's bytes where the kernel has them, not a copy of them.
 *
 * Place:   text_source -> [text_map] -> json_window.
 * Memory:  of the file's own pages; what is done with is given back (`forget`). A page that is
 *          written to becomes a copy, the file is never touched.
 * Faults:  where a file got shorter or cannot be read, the kernel sends a signal, not an error. It
 *          is caught: the place then reads as zeros, and `is_broken` says so.
 * Threads: any number of maps, each used by one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rkt_text_map {
    char *text; /* NULL: none; a page before and one behind are there too, and zeros at first */
    size_t len_bytes;
    size_t forgotten_bytes; /* of the front, in whole pages */
    char *memory;           /* with what is around the text */
    size_t memory_bytes;
    size_t slot; /* of those that the signal handler looks through */
};

/* The whole file of `fd`, which may be closed then. False: it is to be read, as it is no file with
 * bytes in it, or there is no room for one more map. */
bool rkt_text_map_open(int fd, struct rkt_text_map *map_out);
void rkt_text_map_close(struct rkt_text_map *map); /* also of none */

/* text[0, len) is not needed any more: it is as in the file when it is read again. */
void rkt_text_map_forget(struct rkt_text_map *map, size_t len);

/* Was some of it read that the file does not have? */
bool rkt_text_map_is_broken(const struct rkt_text_map *map);

#endif
