/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of one host that share some work: rank 0 and its children, each with a stream socket to
 * it. On a socket a message is its tag (4 bytes), its length (8) and its bytes; what does not fit
 * in yet waits in the sender. Children do not talk with each other.
 */
#include "common/transport.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/bytes.h"
#include "common/message_queue.h"

#define HEAD_BYTES 12u
#define READ_BYTES ((size_t)64 << 10)
/* Frames wait in the program past that. */
#define OUT_BYTES_MAX ((size_t)16 << 20)
/* Nothing is read past that, so that senders wait. */
#define IN_BYTES_MAX ((size_t)64 << 20)
/* Of one peer in one call, who may send as fast as we read. */
#define ROUND_BYTES_MAX ((size_t)1 << 20)

struct buffer {
    uint8_t *bytes;
    size_t start; /* what was written is before it */
    size_t end;
    size_t cap;
};

/* The other end of a socket: a child, or rank 0. */
struct peer {
    int rank;
    int fd;
    pid_t pid; /* of a child; 0: rank 0 */
    bool is_gone;
    struct buffer out;
    struct buffer in;
};

struct fork_transport {
    struct rkt_transport base; /* first: a transport is cast to its kind */
    int rank;
    int size;
    struct peer *peers;
    size_t peer_count;
    struct rkt_message_queue queue; /* what has come, and what is sent to oneself */
};

static int fork_rank(struct rkt_transport *t)
{
    return ((struct fork_transport *)t)->rank;
}

static int fork_size(struct rkt_transport *t)
{
    return ((struct fork_transport *)t)->size;
}

static uint64_t fork_node(struct rkt_transport *t, int rank)
{
    (void)t;
    (void)rank;
    return 0;
}

/* ---- send ---- */

static struct peer *find_peer(struct fork_transport *t, int rank)
{
    for (size_t i = 0; i < t->peer_count; i++) {
        if (t->peers[i].rank == rank)
            return &t->peers[i];
    }
    return NULL;
}

/* Room for more at the end. What was written goes first, once it is half: each byte moves once or
 * twice. */
static bool make_room(struct buffer *buffer, size_t more_bytes)
{
    if (buffer->start > buffer->end / 2) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->end - buffer->start);
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    return more_bytes <= SIZE_MAX - buffer->end &&
           rkt_array_reserve((void **)&buffer->bytes, &buffer->cap, buffer->end + more_bytes, 1);
}

static void write_out(struct peer *peer)
{
    struct buffer *out = &peer->out;

    while (!peer->is_gone && out->start < out->end) {
        ssize_t written =
            send(peer->fd, out->bytes + out->start, out->end - out->start, MSG_NOSIGNAL);

        if (written < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (written < 0)
            peer->is_gone = true;
        else
            out->start += (size_t)written;
    }
}

static enum rkt_status fork_send(struct rkt_transport *transport, int to, enum rkt_tag tag,
                                 const void *data, size_t len_bytes, struct rkt_error *err)
{
    struct fork_transport *t = (struct fork_transport *)transport;
    struct peer *peer = find_peer(t, to);
    struct buffer *out;

    if (to == t->rank)
        return rkt_message_queue_push(&t->queue, to, tag, data, len_bytes, err);
    if (!peer)
        return rkt_fail(err, RKT_ERR_INVALID, "process %d cannot send to process %d of %d", t->rank,
                        to, t->size);
    out = &peer->out;
    if (rkt_tag_is_of_frames(tag) && out->end - out->start > OUT_BYTES_MAX)
        return RKT_AGAIN;
    if (len_bytes > SIZE_MAX - HEAD_BYTES || !make_room(out, HEAD_BYTES + len_bytes))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message of %zu bytes", len_bytes);
    rkt_put_u32(out->bytes + out->end, (uint32_t)tag);
    rkt_put_u64(out->bytes + out->end + 4, len_bytes);
    if (len_bytes > 0)
        memcpy(out->bytes + out->end + HEAD_BYTES, data, len_bytes);
    out->end += HEAD_BYTES + len_bytes;
    write_out(peer);
    return RKT_OK;
}

static bool fork_progress(struct rkt_transport *transport)
{
    struct fork_transport *t = (struct fork_transport *)transport;
    bool is_pending = false;

    for (size_t i = 0; i < t->peer_count; i++) {
        write_out(&t->peers[i]);
        is_pending |= !t->peers[i].is_gone && t->peers[i].out.start < t->peers[i].out.end;
    }
    return is_pending;
}

/* ---- receive ---- */

/* Whole messages of the buffer to the queue. */
static enum rkt_status cut_messages(struct fork_transport *t, struct peer *peer,
                                    struct rkt_error *err)
{
    struct buffer *in = &peer->in;

    while (in->end - in->start >= HEAD_BYTES) {
        const uint8_t *at = in->bytes + in->start;
        uint32_t tag = rkt_get_u32(at);
        uint64_t len_bytes = rkt_get_u64(at + 4);
        enum rkt_status status;

        if (tag == 0 || tag >= RKT_TAG_COUNT)
            return rkt_fail(err, RKT_ERR_INTERNAL, "process %d: a message of tag %u", peer->rank,
                            tag);
        if (in->end - in->start - HEAD_BYTES < len_bytes)
            return RKT_OK;
        status = rkt_message_queue_push(&t->queue, peer->rank, (enum rkt_tag)tag, at + HEAD_BYTES,
                                        (size_t)len_bytes, err);
        if (status != RKT_OK)
            return status;
        in->start += HEAD_BYTES + (size_t)len_bytes;
    }
    return RKT_OK;
}

/* What has come, as far as there is room for it. */
static enum rkt_status read_in(struct fork_transport *t, struct peer *peer, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t round_bytes = 0;

    while (!peer->is_gone && t->queue.held_bytes < IN_BYTES_MAX && round_bytes < ROUND_BYTES_MAX &&
           status == RKT_OK) {
        ssize_t got;

        if (!make_room(&peer->in, READ_BYTES))
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message");
        got = recv(peer->fd, peer->in.bytes + peer->in.end, READ_BYTES, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (got <= 0) {
            peer->is_gone = true;
            break;
        }
        peer->in.end += (size_t)got;
        round_bytes += (size_t)got;
        status = cut_messages(t, peer, err);
    }
    return status;
}

static enum rkt_status fail_gone(struct peer *peer, int size, struct rkt_error *err)
{
    int wait_status = 0;

    if (peer->rank == 0)
        return rkt_fail(err, RKT_ERR_IO, "process 0 of %d is gone", size);
    if (peer->pid > 0 && waitpid(peer->pid, &wait_status, 0) == peer->pid)
        peer->pid = 0;
    if (WIFSIGNALED(wait_status))
        return rkt_fail(err, RKT_ERR_IO, "process %d of %d was ended by signal %d (%s)", peer->rank,
                        size, WTERMSIG(wait_status), sigdescr_np(WTERMSIG(wait_status)));
    return rkt_fail(err, RKT_ERR_IO, "process %d of %d ended with code %d", peer->rank, size,
                    WEXITSTATUS(wait_status));
}

static enum rkt_status fork_receive(struct rkt_transport *transport, enum rkt_tag tag, void *buf,
                                    size_t buf_bytes, struct rkt_arrival *arrival_out,
                                    struct rkt_error *err)
{
    struct fork_transport *t = (struct fork_transport *)transport;
    enum rkt_status status;

    (void)fork_progress(transport);
    status = rkt_message_queue_pop(&t->queue, tag, buf, buf_bytes, arrival_out, err);
    if (status != RKT_AGAIN)
        return status;
    for (size_t i = 0; i < t->peer_count; i++) {
        status = read_in(t, &t->peers[i], err);
        if (status != RKT_OK)
            return status;
    }
    status = rkt_message_queue_pop(&t->queue, tag, buf, buf_bytes, arrival_out, err);
    for (size_t i = 0; i < t->peer_count && status == RKT_AGAIN; i++) {
        if (t->peers[i].is_gone)
            return fail_gone(&t->peers[i], t->size, err);
    }
    return status;
}

/* ---- life cycle ---- */

static void release_peers(struct fork_transport *t)
{
    for (size_t i = 0; i < t->peer_count; i++) {
        if (t->peers[i].fd >= 0)
            (void)close(t->peers[i].fd);
        free(t->peers[i].out.bytes);
        free(t->peers[i].in.bytes);
    }
    t->peer_count = 0;
}

/* `is_clean`: they end by themselves. */
static void end_children(struct fork_transport *t, bool is_clean)
{
    for (size_t i = 0; i < t->peer_count; i++) {
        if (t->peers[i].pid > 0 && !is_clean)
            (void)kill(t->peers[i].pid, SIGKILL);
    }
    for (size_t i = 0; i < t->peer_count; i++) {
        while (t->peers[i].pid > 0 && waitpid(t->peers[i].pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        t->peers[i].pid = 0;
    }
}

static void fork_destroy(struct rkt_transport *transport, bool is_clean)
{
    struct fork_transport *t = (struct fork_transport *)transport;

    if (is_clean)
        (void)fork_progress(transport);
    if (t->rank == 0)
        end_children(t, is_clean);
    release_peers(t);
    rkt_message_queue_release(&t->queue);
    free(t->peers);
    free(t);
}

static const struct rkt_transport_ops FORK_OPS = {
    .rank = fork_rank,
    .size = fork_size,
    .node = fork_node,
    .send = fork_send,
    .receive = fork_receive,
    .progress = fork_progress,
    .destroy = fork_destroy,
};

/* In the child: the parent's ends are not for it, and it must not outlive the parent. */
static void become_child(struct fork_transport *t, int rank, int fd, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    release_peers(t);
    t->rank = rank;
    t->peers[0] = (struct peer){.rank = 0, .fd = fd};
    t->peer_count = 1;
}

/* In the parent: one child more. RKT_END: this is the child. */
static enum rkt_status add_child(struct fork_transport *t, struct rkt_error *err)
{
    int rank = (int)t->peer_count + 1;
    pid_t parent = getpid();
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make a socket for process %d", rank);
    pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        become_child(t, rank, fds[1], parent);
        return RKT_END;
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot start process %d", rank);
    }
    t->peers[t->peer_count++] = (struct peer){.rank = rank, .fd = fds[0], .pid = pid};
    return RKT_OK;
}

enum rkt_status rkt_transport_fork_create(int size, struct rkt_transport **out,
                                          struct rkt_error *err)
{
    struct fork_transport *t = calloc(1, sizeof(*t));
    enum rkt_status status = RKT_OK;

    if (t)
        t->peers = calloc((size_t)(size > 1 ? size : 1), sizeof(*t->peers));
    if (!t || !t->peers) {
        free(t);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %d processes", size);
    }
    t->base.ops = &FORK_OPS;
    t->size = size;
    rkt_message_queue_init(&t->queue);
    for (int i = 1; i < size && status == RKT_OK; i++)
        status = add_child(t, err);
    if (status != RKT_OK && status != RKT_END) {
        fork_destroy(&t->base, false);
        return status;
    }
    *out = &t->base;
    return RKT_OK;
}
