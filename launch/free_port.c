/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/free_port.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRY_COUNT 64
/* Below the default ephemeral range, above what services and Open MPI use. */
#define PORT_MIN 20000u
#define PORT_MAX 32000u

/* False where the file says nothing: the default range is taken. */
static bool read_ephemeral(unsigned long *low_out, unsigned long *high_out)
{
    char text[64];
    char *rest;
    int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    *low_out = strtoul(text, &rest, 10);
    *high_out = strtoul(rest, NULL, 10);
    return *low_out > 0 && *low_out <= *high_out && *high_out <= UINT16_MAX;
}

static bool can_bind(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

    if (fd >= 0)
        close(fd);
    return can;
}

uint16_t rkt_free_port_find(uint64_t seed)
{
    unsigned long low = 32768, high = 60999;
    uint16_t fallback = 0;

    (void)read_ephemeral(&low, &high);
    for (int i = 0; i < TRY_COUNT; i++) {
        uint16_t port;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        port = (uint16_t)(PORT_MIN + (seed >> 33) % (PORT_MAX - PORT_MIN));
        if (!can_bind(port))
            continue;
        if (port < low || port > high)
            return port;
        fallback = port;
    }
    return fallback;
}
