/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_RUN_MESSAGE_H
#define RKT_COMMON_RUN_MESSAGE_H

/*
 * run_message - what the sidecars of a run and rank 0 say to each other beside frames.
 *
 *     sidecar                                rank 0 (aggregator)
 *     HELLO (who, which clock)       ->
 *                                    <-      WELCOME (where rank 0 is, who leads) or REFUSED (why)
 *     HEARTBEAT each second (step)   ->  <-  HEARTBEAT each second
 *     frames                         ->  <-  ACK (written)
 *     JOB_FAILED                     ->  <-  ABORT to all
 *     TOGGLE (what it is, step)      ->  <-  WINDOW to all (what it shall be, from which step)
 *                                    <-      STORE_FAILED: no frame is written any more
 *     FLUSHED: nothing more comes    ->
 *                                    <-      LEAVE: store and report are closed
 *
 * Where WELCOME names a leader, frames go to that sidecar, and are acknowledged by it (bundle.h).
 *
 *     sidecar                                leader of its group
 *     HEARTBEAT each second          ->  <-  HEARTBEAT, or STORE_FAILED, as an answer
 *     frames                         ->  <-  ACK (written)
 *
 * Where WELCOME says that the run is sharded, a leader has a file of its own, a shard:
 *
 *     leader                                 rank 0 (aggregator)
 *     SHARD_READY each second        ->      it is there, and empty
 *                                    <-      SHARD_TAKEN (named in the timeline: write) or
 *                                            SHARD_REFUSED (not seen here: be a relay)
 *                                    <-      SHARD_CLOSE: all are flushed
 *     SHARD_CLOSED (0: it is whole)  ->
 *
 * A clock burst with rank 0 or a clock parent, one child at a time; while it lasts both sides poll
 * without sleeping:
 *
 *     REQUEST  ->  <-  READY;  PING (t1) -> (t2, t3)  <- PONG (t4), many times;  DONE  ->
 *
 * DONE has the stamps that rank 0 aligns by. After a burst with another it goes to rank 0 too. So
 * do, at any time, CLAIMs of true time: t1 and t4 around the reading, t3 the earliest and t2 the
 * latest that it was.
 *
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_RUN_MAJOR 1u

/*
 * Source numbers are dealt out among the sidecars like cards: index x rank_count + rank. So they
 * are unique without asking anyone, dense where every rank has about as many processes, and the
 * store keeps them as they are. Index 0 is the sidecar itself, 1 its first process.
 */
#define RKT_SOURCE_COUNT_MAX 65536u /* of a store */

static inline uint32_t rkt_source_number(uint32_t rank_count, uint32_t rank, uint32_t index)
{
    return index * rank_count + rank;
}

/* How many sources one sidecar can have. */
static inline uint32_t rkt_source_limit(uint32_t rank_count)
{
    return RKT_SOURCE_COUNT_MAX / rank_count;
}

enum rkt_run_type {
    RKT_RUN_HELLO = 1,
    RKT_RUN_WELCOME = 2,
    RKT_RUN_REFUSED = 3,
    RKT_RUN_HEARTBEAT = 4,
    RKT_RUN_JOB_FAILED = 5,
    RKT_RUN_ABORT = 6,
    RKT_RUN_FLUSHED = 7,
    RKT_RUN_LEAVE = 8,
    RKT_RUN_TOGGLE = 9,  /* the user wants the capture window opened or closed on all ranks */
    RKT_RUN_WINDOW = 10, /* the order that rank 0 makes of it */
    RKT_RUN_STORE_FAILED = 11,
    RKT_RUN_SHARD_READY = 12,
    RKT_RUN_SHARD_TAKEN = 13,
    RKT_RUN_SHARD_REFUSED = 14,
    RKT_RUN_SHARD_CLOSE = 15,
    RKT_RUN_SHARD_CLOSED = 16,
};

enum rkt_run_flag {
    RKT_RUN_FLAG_CLOCK_LEADER = 1, /* WELCOME: measure your clock all along, not only at the ends */
    RKT_RUN_FLAG_CLEAN = 2,        /* LEAVE, REFUSED: all leave; a common finalize is safe */
    RKT_RUN_FLAG_PER_NODE = 4,     /* HELLO: one sidecar for all ranks of its node */
    RKT_RUN_FLAG_RANK_KNOWN = 8,   /* HELLO: value is the rank that its job is */
    RKT_RUN_FLAG_HAS_STEP = 16,    /* the message has a step */
    RKT_RUN_FLAG_IS_OPEN = 32,     /* TOGGLE: capture is open; WINDOW: it shall be */
    RKT_RUN_FLAG_HAS_LEADER = 64,  /* WELCOME: the message has a leader */
    RKT_RUN_FLAG_SHARDED = 128,    /* WELCOME: leaders write files */
    RKT_RUN_FLAG_HAS_RUN_ID = 256, /* WELCOME: the message has a run_id */
    RKT_RUN_FLAG_CLOCK_PARENT = 512, /* WELCOME: others may measure their clocks against yours */
    RKT_RUN_FLAG_HAS_CLOCK_PARENT = 1024, /* WELCOME: the message has a clock_parent */
};

struct rkt_run_message {
    uint16_t type;  /* enum rkt_run_type */
    uint32_t flags; /* enum rkt_run_flag */
    /*
     * HELLO: the job's rank. JOB_FAILED: exit code as a shell shows it. ABORT: the failed rank.
     * LEAVE: exit code of the first failed job, 0 when none failed. WELCOME: a free port.
     * SHARD_CLOSED: 0 when the file has its trailer.
     */
    int32_t value;
    uint64_t time_namespace; /* HELLO: inode of /proc/self/ns/time; 0 unknown */
    /*
     * Where the flags say that there is one. To rank 0: the step that the job is in, counted from
     * its start. WINDOW: the one with which the order takes effect; none: at once.
     */
    uint64_t step;
    uint32_t leader;       /* where the flags say so: the rank that frames go to */
    uint64_t run_id;       /* where the flags say so: of all files of this run */
    uint32_t clock_parent; /* where the flags say so: the rank to measure one's clock against */
    char boot_id[40];      /* HELLO: two sidecars with equal ids and namespaces share a clock */
    char host[128];        /* HELLO, WELCOME: the sender's host */
    char text[128];        /* REFUSED: why */
};

#define RKT_RUN_MESSAGE_BYTES_MAX 512u

/* Returns the length; `buf` has RKT_RUN_MESSAGE_BYTES_MAX bytes. */
size_t rkt_run_message_encode(const struct rkt_run_message *message, uint8_t *buf);
/* RKT_ERR_VERSION: the sender is of another version of ranktrace, said with both numbers. */
enum rkt_status rkt_run_message_decode(const uint8_t *buf, size_t len_bytes,
                                       struct rkt_run_message *message_out, struct rkt_error *err);

#define RKT_ACK_BYTES 4u
void rkt_ack_encode(uint32_t frame_count, uint8_t buf[RKT_ACK_BYTES]);
enum rkt_status rkt_ack_decode(const uint8_t *buf, size_t len_bytes, uint32_t *frame_count_out,
                               struct rkt_error *err);

enum rkt_burst_type {
    RKT_BURST_REQUEST = 1,
    RKT_BURST_READY = 2,
    RKT_BURST_PING = 3,
    RKT_BURST_PONG = 4,
    RKT_BURST_DONE = 5,
    RKT_BURST_CLAIM = 6, /* no burst: what a sidecar claims of true time, as one that is kept */
};

/* The two exchanges that give a burst its lower and its upper limit. */
#define RKT_CLOCK_KEPT_MAX 2u

struct rkt_clock_stamps {
    uint64_t t1_ns;
    uint64_t t2_ns;
    uint64_t t3_ns;
    uint64_t t4_ns;
};

struct rkt_clock_message {
    uint16_t type; /* enum rkt_burst_type */
    uint16_t kept_count;
    uint32_t burst;
    uint32_t seq;   /* PING, PONG: of the exchange in its burst; DONE: the source it was with */
    uint64_t t2_ns; /* PONG */
    uint64_t t3_ns; /* PONG */
    struct rkt_clock_stamps kept[RKT_CLOCK_KEPT_MAX]; /* DONE */
};

#define RKT_CLOCK_MESSAGE_BYTES_MAX 96u

size_t rkt_clock_message_encode(const struct rkt_clock_message *message, uint8_t *buf);
enum rkt_status rkt_clock_message_decode(const uint8_t *buf, size_t len_bytes,
                                         struct rkt_clock_message *message_out,
                                         struct rkt_error *err);

#endif
