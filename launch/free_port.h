/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_FREE_PORT_H
#define RKT_LAUNCH_FREE_PORT_H

/*
 * free_port - a TCP port for MASTER_PORT, that nobody takes until the job does.
 *
 * A job binds it only seconds later, when Python has started. The kernel would have given a port of
 * its ephemeral range to somebody else by then, and the other ranks would talk to that somebody. So
 * it is one outside of that range, which is taken on purpose alone.
 *
 * Threads: any.
 */

#include <stdint.h>

/* `seed` makes two runs on one host try different ports. 0: none is free. */
uint16_t rkt_free_port_find(uint64_t seed);

#endif
