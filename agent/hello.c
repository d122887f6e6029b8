/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"

#define CAPTURE_WAIT_MS 10000 /* a sidecar is niced: a busy machine lets it wait for seconds */
#define SIDECAR_WAIT_MS 100
#define LISTEN_BACKLOG 128
#define RANK_LIMIT (1 << 24) /* ranks, and ranks of a node, are below this */
#define RESTART_LIMIT (1 << 20)

/* Room for one descriptor beside a message, aligned as the kernel's macros ask. */
union fd_room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the environment ---- */

static const char *const RANK_NAMES[] = {"RANKTRACE_RANK", "RANK",         "OMPI_COMM_WORLD_RANK",
                                         "PMIX_RANK",      "SLURM_PROCID", NULL};
static const char *const LOCAL_RANK_NAMES[] = {"RANKTRACE_LOCAL_RANK", "LOCAL_RANK",
                                               "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", NULL};
static const char *const WORLD_SIZE_NAMES[] = {"RANKTRACE_WORLD_SIZE", "WORLD_SIZE",
                                               "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
static const char *const RESTART_NAMES[] = {"TORCHELASTIC_RESTART_COUNT", NULL};

/* The first of `names` that holds a number from 0 to limit - 1, else `fallback`. */
static int32_t env_number(const char *const *names, int64_t limit, int32_t fallback)
{
    for (size_t i = 0; names[i]; i++) {
        const char *text = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe): read only */
        int64_t value;

        if (text && rkt_parse_i64(text, &value) && value >= 0 && value < limit)
            return (int32_t)value;
    }
    return fallback;
}

/* Up to buf_bytes - 1 bytes of a file of /proc; returns how many. */
static size_t read_proc(const char *path, char *buf, size_t buf_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    buf[0] = '\0';
    if (fd < 0)
        return 0;
    got = read(fd, buf, buf_bytes - 1);
    close(fd);
    if (got <= 0)
        return 0;
    buf[got] = '\0';
    return (size_t)got;
}

/* "python3 train.py --epochs 3": the short name, then the arguments without the program's path. */
static void fill_program(char *program, size_t program_bytes)
{
    size_t used = read_proc("/proc/self/comm", program, program_bytes);
    char line[512];
    size_t line_bytes = read_proc("/proc/self/cmdline", line, sizeof(line));
    size_t first_bytes = strlen(line);

    if (used > 0 && program[used - 1] == '\n')
        program[--used] = '\0';
    /* Each argument ends in a NUL, the last one too unless it was cut. */
    for (size_t i = first_bytes; i + 1 < line_bytes && used + 1 < program_bytes; i++) {
        program[used] = line[i];
        if (line[i] == '\0')
            program[used] = ' ';
        used++;
    }
    program[used] = '\0';
}

void rkt_hello_fill(struct rkt_hello *hello)
{
    memset(hello, 0, sizeof(*hello));
    hello->magic = RKT_HELLO_MAGIC;
    hello->abi = RKT_REGION_ABI;
    hello->record_bytes = sizeof(struct rkt_event);
    hello->rank = env_number(RANK_NAMES, RANK_LIMIT, -1);
    hello->local_rank = env_number(LOCAL_RANK_NAMES, RANK_LIMIT, -1);
    hello->world_size = env_number(WORLD_SIZE_NAMES, RANK_LIMIT, 0);
    hello->restart_count = (uint32_t)env_number(RESTART_NAMES, RESTART_LIMIT, 0);
    hello->pid = (uint64_t)getpid();
    hello->start_raw_ns = rkt_now_raw_ns();
    gethostname(hello->host, sizeof(hello->host) - 1);
    fill_program(hello->program, sizeof(hello->program));
}

/* ---- both ends ---- */

static enum rkt_status fill_address(const char *path, struct sockaddr_un *address_out,
                                    struct rkt_error *err)
{
    size_t len_bytes = strlen(path);

    memset(address_out, 0, sizeof(*address_out));
    address_out->sun_family = AF_UNIX;
    if (len_bytes == 0 || len_bytes >= sizeof(address_out->sun_path))
        return rkt_fail(err, RKT_ERR_INVALID, "socket path of %zu bytes, 1 to %zu work: %s",
                        len_bytes, sizeof(address_out->sun_path) - 1, path);
    memcpy(address_out->sun_path, path, len_bytes);
    return RKT_OK;
}

/* SO_SNDTIMEO also bounds connect. */
static bool set_waits(int fd, int wait_ms)
{
    struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = (wait_ms % 1000) * 1000L};

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0;
}

/* Shared memory is given to, and taken from, processes of the same user alone. */
static bool peer_is_same_user(int fd)
{
    struct ucred peer;
    socklen_t peer_bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0 &&
           peer.uid == geteuid();
}

/* ---- capture ---- */

/* The welcome, and the descriptor beside it (-1: none). */
static enum rkt_status receive_welcome(int fd, struct rkt_welcome *welcome, int *memory_fd_out,
                                       struct rkt_error *err)
{
    union fd_room room;
    struct iovec part = {.iov_base = welcome, .iov_len = sizeof(*welcome)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &room,
        .msg_controllen = sizeof(room),
    };
    const struct cmsghdr *control;
    ssize_t got;

    *memory_fd_out = -1;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "no answer from the sidecar");
    control = CMSG_FIRSTHDR(&message);
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(memory_fd_out, CMSG_DATA(control), sizeof(int));
    if (got == 0)
        return rkt_fail(err, RKT_ERR_IO, "the sidecar hung up");
    if (got != (ssize_t)sizeof(*welcome) || welcome->magic != RKT_HELLO_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "the answer of %zd bytes is no welcome", got);
    welcome->reason[sizeof(welcome->reason) - 1] = '\0';
    welcome->config.step_range[RKT_STEP_RANGE_BYTES - 1] = '\0';
    return RKT_OK;
}

static enum rkt_status check_welcome(const struct rkt_welcome *welcome, int memory_fd,
                                     struct rkt_error *err)
{
    if (!welcome->accepted)
        return rkt_fail(err, RKT_ERR_VERSION, "the sidecar refused: %s", welcome->reason);
    if (welcome->abi != RKT_REGION_ABI)
        return rkt_fail(err, RKT_ERR_VERSION, "the sidecar has ABI %u, this library has ABI %u",
                        welcome->abi, RKT_REGION_ABI);
    if (memory_fd < 0)
        return rkt_fail(err, RKT_ERR_FORMAT, "the sidecar sent no shared memory");
    return RKT_OK;
}

static enum rkt_status exchange(int fd, const struct rkt_hello *hello,
                                struct rkt_welcome *welcome_out, struct rkt_region **region_out,
                                struct rkt_error *err)
{
    struct rkt_welcome welcome = {0};
    enum rkt_status status;
    int memory_fd;

    if (send(fd, hello, sizeof(*hello), MSG_NOSIGNAL) != (ssize_t)sizeof(*hello))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot greet the sidecar");
    status = receive_welcome(fd, &welcome, &memory_fd, err);
    if (status == RKT_OK)
        status = check_welcome(&welcome, memory_fd, err);
    if (status == RKT_OK)
        status = rkt_region_map(memory_fd, region_out, err);
    if (memory_fd >= 0)
        close(memory_fd);
    if (status == RKT_OK)
        *welcome_out = welcome;
    return status;
}

enum rkt_status rkt_hello_connect(const char *path, const struct rkt_hello *hello,
                                  struct rkt_welcome *welcome_out, struct rkt_region **region_out,
                                  int *fd_out, struct rkt_error *err)
{
    struct sockaddr_un address;
    enum rkt_status status = fill_address(path, &address, err);
    int fd;

    if (status != RKT_OK)
        return status;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make a socket");
    if (!set_waits(fd, CAPTURE_WAIT_MS) ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot reach the sidecar at %s", path);
    else if (!peer_is_same_user(fd))
        status = rkt_fail(err, RKT_ERR_INVALID, "%s belongs to another user", path);
    else
        status = exchange(fd, hello, welcome_out, region_out, err);
    if (status != RKT_OK)
        close(fd);
    else
        *fd_out = fd;
    return status;
}

/* ---- sidecar ---- */

enum rkt_status rkt_hello_listen(const char *path, int *listen_fd_out, struct rkt_error *err)
{
    struct sockaddr_un address;
    enum rkt_status status = fill_address(path, &address, err);
    int fd;

    if (status != RKT_OK)
        return status;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make a socket");
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, LISTEN_BACKLOG) != 0) {
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot listen at %s", path);
        close(fd);
        return status;
    }
    *listen_fd_out = fd;
    return RKT_OK;
}

static enum rkt_status check_hello(const struct rkt_hello *hello, ssize_t got,
                                   struct rkt_error *err)
{
    if (got < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "a process connected and said nothing");
    if (got < (ssize_t)sizeof(hello->magic) || hello->magic != RKT_HELLO_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "%zd bytes that are no hello", got);
    /* The words before record_bytes are in every version, in these places. */
    if (got >= (ssize_t)offsetof(struct rkt_hello, record_bytes) && hello->abi != RKT_REGION_ABI)
        return rkt_fail(err, RKT_ERR_VERSION, "library has ABI %u, sidecar has ABI %u", hello->abi,
                        RKT_REGION_ABI);
    if (got != (ssize_t)sizeof(*hello))
        return rkt_fail(err, RKT_ERR_FORMAT, "hello of %zd bytes, not %zu", got, sizeof(*hello));
    if (hello->record_bytes != sizeof(struct rkt_event))
        return rkt_fail(err, RKT_ERR_VERSION, "library has events of %u bytes, sidecar of %zu",
                        hello->record_bytes, sizeof(struct rkt_event));
    return RKT_OK;
}

static enum rkt_status receive_hello(int fd, struct rkt_hello *hello_out, struct rkt_error *err)
{
    struct rkt_hello hello = {0};
    enum rkt_status status;
    ssize_t got;

    if (!peer_is_same_user(fd))
        return rkt_fail(err, RKT_ERR_INVALID, "a process of another user connected");
    do
        got = recv(fd, &hello, sizeof(hello), 0);
    while (got < 0 && errno == EINTR);
    status = check_hello(&hello, got, err);
    if (status != RKT_OK)
        return status;
    hello.host[sizeof(hello.host) - 1] = '\0';
    hello.program[sizeof(hello.program) - 1] = '\0';
    *hello_out = hello;
    return RKT_OK;
}

static enum rkt_status send_welcome(int fd, const struct rkt_welcome *welcome, int memory_fd,
                                    struct rkt_error *err)
{
    union fd_room room = {0};
    struct rkt_welcome copy = *welcome;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof(copy)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (memory_fd >= 0) {
        message.msg_control = &room;
        message.msg_controllen = sizeof(room.bytes);
        room.head.cmsg_level = SOL_SOCKET;
        room.head.cmsg_type = SCM_RIGHTS;
        room.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&room.head), &memory_fd, sizeof(int));
    }
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(copy))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot answer a process");
    return RKT_OK;
}

/* Tell the process why; whether it still listens does not matter. */
static void refuse(int fd, const struct rkt_error *cause)
{
    struct rkt_welcome welcome = {.magic = RKT_HELLO_MAGIC, .abi = RKT_REGION_ABI};
    size_t len_bytes = strnlen(cause->text, sizeof(welcome.reason) - 1);

    memcpy(welcome.reason, cause->text, len_bytes);
    (void)send_welcome(fd, &welcome, -1, NULL);
}

static enum rkt_status give_region(int fd, const struct rkt_region_config *config,
                                   const struct rkt_capture_config *capture,
                                   struct rkt_region **region_out, struct rkt_error *err)
{
    struct rkt_welcome welcome = {
        .magic = RKT_HELLO_MAGIC,
        .abi = RKT_REGION_ABI,
        .accepted = 1,
        .config = *capture,
    };
    struct rkt_region *region;
    int memory_fd;
    enum rkt_status status = rkt_region_create(config, &region, &memory_fd, err);

    if (status != RKT_OK)
        return status;
    status = send_welcome(fd, &welcome, memory_fd, err);
    close(memory_fd);
    if (status != RKT_OK)
        rkt_region_destroy(region);
    else
        *region_out = region;
    return status;
}

enum rkt_status rkt_hello_accept(int listen_fd, const struct rkt_region_config *config,
                                 const struct rkt_capture_config *capture,
                                 struct rkt_hello_peer *peer_out, struct rkt_error *err)
{
    struct rkt_error cause = {0};
    struct rkt_hello_peer peer = {.fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC)};
    enum rkt_status status;

    if (peer.fd < 0 &&
        (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED))
        return RKT_AGAIN;
    if (peer.fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot accept a process");
    if (!set_waits(peer.fd, SIDECAR_WAIT_MS))
        status = rkt_fail_errno(&cause, RKT_ERR_IO, "cannot bound the wait for a process");
    else
        status = receive_hello(peer.fd, &peer.hello, &cause);
    if (status == RKT_OK)
        status = give_region(peer.fd, config, capture, &peer.region, &cause);
    if (status != RKT_OK) {
        refuse(peer.fd, &cause);
        close(peer.fd);
        if (err)
            *err = cause;
        return status;
    }
    *peer_out = peer;
    return RKT_OK;
}
