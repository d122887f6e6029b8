/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STRINGS_H
#define SIMGPU_CUPTI_STRINGS_H

/*
 * strings - kernel names inside records: one copy each, as clients keep pointers to them.
 *
 * Threads: all calls from any thread.
 */

/* Good as long as the process lives. NULL: no memory. */
const char *sim_string_intern(const char *text);

#endif
