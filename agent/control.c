/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/control.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* A message is cut after the NUL of its text. */
#define HEAD_BYTES offsetof(struct rkt_control_message, text)

enum rkt_status rkt_control_send(int fd, enum rkt_control_type type, int32_t value,
                                 const char *text, struct rkt_error *err)
{
    struct rkt_control_message message = {.type = (uint32_t)type, .value = value};
    size_t len_bytes = text ? strlen(text) : 0;

    if (len_bytes >= sizeof(message.text))
        return rkt_fail(err, RKT_ERR_RANGE, "control message %u: text of %zu bytes, at most %zu",
                        message.type, len_bytes, sizeof(message.text) - 1);
    if (len_bytes > 0)
        memcpy(message.text, text, len_bytes);
    if (send(fd, &message, HEAD_BYTES + len_bytes + 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot send control message %u", message.type);
    return RKT_OK;
}

enum rkt_status rkt_control_receive(int fd, struct rkt_control_message *message_out,
                                    struct rkt_error *err)
{
    struct rkt_control_message message;
    ssize_t got;

    do
        got = recv(fd, &message, sizeof(message), MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return RKT_AGAIN;
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return RKT_END;
    if (got < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot receive a control message");
    if ((size_t)got <= HEAD_BYTES || ((const char *)&message)[got - 1] != '\0')
        return rkt_fail(err, RKT_ERR_FORMAT, "control message of %zd bytes has no end", got);
    memcpy(message_out, &message, (size_t)got);
    return RKT_OK;
}
