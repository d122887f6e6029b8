/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/exchange.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRIES 1200
#define TRY_PAUSE_NS 50000000

static int listen_at(const struct addrinfo *address, int peer_count)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, peer_count + 1) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool serve_one(int listener, const ncclUniqueId *id)
{
    int fd = accept(listener, NULL, NULL);
    bool is_served = fd >= 0 && send(fd, id, sizeof(*id), MSG_NOSIGNAL) == (ssize_t)sizeof(*id);

    if (fd >= 0)
        close(fd);
    return is_served;
}

static bool serve(const struct addrinfo *address, int peer_count, const ncclUniqueId *id)
{
    int listener = listen_at(address, peer_count);
    bool is_served = listener >= 0;

    for (int peer = 0; is_served && peer < peer_count; peer++)
        is_served = serve_one(listener, id);
    if (!is_served)
        fprintf(stderr, "simgpu_train: rank 0 cannot serve the unique id: %s\n", strerror(errno));
    if (listener >= 0)
        close(listener);
    return is_served;
}

static bool fetch_from(const struct addrinfo *address, ncclUniqueId *id)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_fetched;

    if (fd < 0)
        return false;
    is_fetched = connect(fd, address->ai_addr, address->ai_addrlen) == 0 &&
                 recv(fd, id, sizeof(*id), MSG_WAITALL) == (ssize_t)sizeof(*id);
    close(fd);
    return is_fetched;
}

static bool fetch(const struct addrinfo *address, ncclUniqueId *id)
{
    const struct timespec pause = {.tv_nsec = TRY_PAUSE_NS};

    for (int i = 0; i < TRIES; i++) {
        if (fetch_from(address, id))
            return true;
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "simgpu_train: nobody serves the unique id: %s\n", strerror(errno));
    return false;
}

static struct addrinfo *resolve(const struct train_options *options)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *address;
    char port[8];

    snprintf(port, sizeof(port), "%u", options->master_port);
    if (getaddrinfo(options->master_addr, port, &hints, &address) == 0)
        return address;
    fprintf(stderr, "simgpu_train: MASTER_ADDR: no host %s\n", options->master_addr);
    return NULL;
}

bool train_exchange_id(const struct train_options *options, ncclUniqueId *id_out)
{
    struct addrinfo *address = resolve(options);
    bool is_done;

    if (!address)
        return false;
    if (options->rank == 0)
        is_done = ncclGetUniqueId(id_out) == ncclSuccess &&
                  serve(address, options->world_size - 1, id_out);
    else
        is_done = fetch(address, id_out);
    freeaddrinfo(address);
    return is_done;
}
