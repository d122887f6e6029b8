/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/own_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of RFC 5737 and RFC 3849, for documents: nobody has them, and the way there is the default
 * route. */
#define FAR_IPV4 "192.0.2.1"
#define FAR_IPV6 "2001:db8::1"
#define ANY_PORT 9

/* A datagram socket that is "connected" knows its own end; nothing has been sent. */
static bool find_own_end(const struct sockaddr *far, socklen_t far_bytes,
                         struct sockaddr_storage *own_out)
{
    socklen_t own_bytes = sizeof(*own_out);
    int fd = socket(far->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_found = fd >= 0 && connect(fd, far, far_bytes) == 0 &&
                    getsockname(fd, (struct sockaddr *)own_out, &own_bytes) == 0;

    if (fd >= 0)
        (void)close(fd);
    return is_found;
}

bool rkt_own_address_find(char text[RKT_ADDRESS_BYTES])
{
    struct sockaddr_in far4 = {.sin_family = AF_INET, .sin_port = htons(ANY_PORT)};
    struct sockaddr_in6 far6 = {.sin6_family = AF_INET6, .sin6_port = htons(ANY_PORT)};
    struct sockaddr_storage own;

    (void)inet_pton(AF_INET, FAR_IPV4, &far4.sin_addr);
    (void)inet_pton(AF_INET6, FAR_IPV6, &far6.sin6_addr);
    if (find_own_end((const struct sockaddr *)&far4, sizeof(far4), &own))
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)&own)->sin_addr, text,
                         RKT_ADDRESS_BYTES);
    if (find_own_end((const struct sockaddr *)&far6, sizeof(far6), &own))
        return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&own)->sin6_addr, text,
                         RKT_ADDRESS_BYTES);
    return false;
}

bool rkt_host_is_known(const char *host)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;

    if (getaddrinfo(host, NULL, &hints, &addresses) != 0)
        return false;
    freeaddrinfo(addresses);
    return true;
}
