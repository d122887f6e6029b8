/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_HELLO_H
#define RKT_AGENT_HELLO_H

/*
 * hello - how a training process meets its sidecar: one exchange over a Unix socket.
 *
 *     capture: connect, send hello  ->  sidecar: check uid and ABI, make a region
 *     capture: map, start           <-  sidecar: welcome + memfd (SCM_RIGHTS)
 *
 * The socket then stays open; its hang-up tells each side that the other is gone.
 * SOCK_SEQPACKET in a 0700 folder; the path is in RANKTRACE_SOCKET.
 *
 * Waiting: connect, send and receive each give up after 10 s: a job is never held up by
 *          more. Any mismatch turns capture off with one reason text.
 * Threads: one per socket.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/capture_config.h"
#include "agent/region.h"
#include "common/status.h"

#define RKT_HELLO_MAGIC 0x524b5448u
#define RKT_ENV_SOCKET "RANKTRACE_SOCKET"

struct rkt_hello {
    uint32_t magic;
    uint32_t abi;          /* RKT_REGION_ABI */
    uint32_t record_bytes; /* sizeof(struct rkt_event) */
    int32_t rank;          /* -1: not in the environment */
    int32_t local_rank;
    int32_t world_size;
    uint32_t restart_count; /* TORCHELASTIC_RESTART_COUNT */
    uint32_t reserved;
    uint64_t pid;
    uint64_t start_raw_ns; /* when capture started in this process */
    char host[64];
    char program[128]; /* /proc/self/comm and arguments, cut */
};

struct rkt_welcome {
    uint32_t magic;
    uint32_t abi;
    uint32_t accepted; /* 0: refused, reason says why */
    uint32_t reserved;
    char reason[128];
    struct rkt_capture_config config;
};

/* Rank and the like from the environment: RANKTRACE_RANK, RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK,
 * SLURM_PROCID, and their local and size companions. */
void rkt_hello_fill(struct rkt_hello *hello);

/* Capture: meet the sidecar at `path`. *fd_out stays open; *region_out is the caller's. */
enum rkt_status rkt_hello_connect(const char *path, const struct rkt_hello *hello,
                                  struct rkt_welcome *welcome_out, struct rkt_region **region_out,
                                  int *fd_out, struct rkt_error *err);

/* Sidecar: make the socket (0700 folder is the caller's). */
enum rkt_status rkt_hello_listen(const char *path, int *listen_fd_out, struct rkt_error *err);

/* A process that was accepted. The region and the descriptor are the caller's. */
struct rkt_hello_peer {
    struct rkt_hello hello;
    struct rkt_region *region;
    int fd;
};

/*
 * Sidecar: accept one process. RKT_AGAIN: none waits. RKT_ERR_FORMAT and the like: this
 * one was refused (it was told why); go on. Never blocks longer than 100 ms.
 */
enum rkt_status rkt_hello_accept(int listen_fd, const struct rkt_region_config *config,
                                 const struct rkt_capture_config *capture,
                                 struct rkt_hello_peer *peer_out, struct rkt_error *err);

#endif
