/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STRINGS_H
#define SIMGPU_CUPTI_STRINGS_H

/*
 * strings - kernel names inside records: one copy each, as clients keep pointers to them.
 *
 * Threads: all calls from any thread.
 */

/* The copy is never freed. NULL: no memory. */
const char *sim_string_intern(const char *text);

/* Its module is gone: with mode stale-names (settings.h) the copy is overwritten with question
 * marks, and the next that is interned is another one. */
void sim_string_spoil(const char *text);

#endif
