/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_OWN_ADDRESS_H
#define RKT_LAUNCH_OWN_ADDRESS_H

/*
 * own_address - how to reach a host whose name means nothing to others, as that of a pod does.
 *
 * Threads: any.
 */

#include <stdbool.h>

#define RKT_ADDRESS_BYTES 64 /* of an address as text */

/*
 * This host's address on the network card with the default route. Asks the kernel alone, so that it
 * never waits for a name server, and sends nothing. False: there is no such route.
 */
bool rkt_own_address_find(char text[RKT_ADDRESS_BYTES]);

/* Whether this host finds an address for `host`; may take as long as its name servers. */
bool rkt_host_is_known(const char *host);

#endif
