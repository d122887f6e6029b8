/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/hold.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/units.h"

#define NS_PER_MS 1000000u
/* poll takes an int of milliseconds; longer holds take several calls. */
#define POLL_MS_MAX 60000u

/* Where the next word begins; NULL when this one is empty, or too long for `word`. */
static const char *cut_word(const char *text, char *word, size_t word_bytes)
{
    size_t len = strcspn(text, " ");

    if (len == 0 || len >= word_bytes)
        return NULL;
    memcpy(word, text, len);
    word[len] = '\0';
    return text[len] ? text + len + 1 : text + len;
}

static bool is_port(const char *text)
{
    uint64_t port;

    return rkt_parse_u64(text, &port) && port > 0 && port <= UINT16_MAX;
}

static bool is_address(const char *text)
{
    struct in6_addr binary;

    return inet_pton(AF_INET, text, &binary) == 1 || inet_pton(AF_INET6, text, &binary) == 1;
}

static bool read_master(struct rkt_hold_master *master, const char *text)
{
    text = cut_word(text, master->host, sizeof(master->host));
    if (text)
        text = cut_word(text, master->port, sizeof(master->port));
    if (!text || !is_port(master->port))
        return false;
    if (*text == '\0')
        return true;
    text = cut_word(text, master->address, sizeof(master->address));
    return text && *text == '\0' && is_address(master->address);
}

void rkt_hold_order_set_master(struct rkt_hold_order *order, const char *text)
{
    struct rkt_hold_master master = {0};

    order->master = read_master(&master, text) ? master : (struct rkt_hold_master){0};
}

enum rkt_status rkt_hold_create(int *supervisor_fd_out, int *job_fd_out, struct rkt_error *err)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make the socket pair that holds the job");
    *supervisor_fd_out = fds[0];
    *job_fd_out = fds[1];
    return RKT_OK;
}

static enum rkt_status read_whole(int fd, void *message, size_t message_bytes,
                                  struct rkt_error *err)
{
    ssize_t got;

    do
        got = recv(fd, message, message_bytes, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)message_bytes)
        return RKT_OK;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return RKT_AGAIN;
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return RKT_END;
    return rkt_fail_errno(err, RKT_ERR_IO, "cannot read from the socket that holds the job");
}

enum rkt_status rkt_hold_release(int fd, const struct rkt_hold_order *order, struct rkt_error *err)
{
    if (send(fd, order, sizeof(*order), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot tell the job to start");
    return RKT_OK;
}

enum rkt_status rkt_hold_read(int fd, struct rkt_hold_report *report_out, struct rkt_error *err)
{
    return read_whole(fd, report_out, sizeof(*report_out), err);
}

enum rkt_status rkt_hold_wait(int fd, uint64_t hold_ns, struct rkt_hold_order *order_out,
                              struct rkt_error *err)
{
    uint64_t start_ns = rkt_clock_read_ns(CLOCK_MONOTONIC);

    for (;;) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        uint64_t waited_ns = rkt_clock_read_ns(CLOCK_MONOTONIC) - start_ns;
        enum rkt_status status = read_whole(fd, order_out, sizeof(*order_out), err);
        uint64_t left_ms;

        if (status != RKT_AGAIN || waited_ns >= hold_ns)
            return status;
        left_ms = (hold_ns - waited_ns) / NS_PER_MS + 1;
        (void)poll(&item, 1, (int)(left_ms < POLL_MS_MAX ? left_ms : POLL_MS_MAX));
    }
}

void rkt_hold_say(int fd, enum rkt_hold_word word, int sys_errno)
{
    struct rkt_hold_report report = {.word = (uint32_t)word, .sys_errno = sys_errno};

    /* A supervisor that is gone has nobody to tell. */
    (void)send(fd, &report, sizeof(report), MSG_DONTWAIT | MSG_NOSIGNAL);
}
