/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on 4 ranks under mpiexec. cmocka cannot speak for many ranks: each rank exits non-zero. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/transport.h"

#define MESSAGE_COUNT 300u
#define BIG_BYTES ((size_t)3 << 20)
#define FILL_BYTES ((size_t)8 << 20)
#define LIMIT_NS ((uint64_t)60 * 1000000000u)

static void give_up(struct rkt_transport *t, const char *what, unsigned got, unsigned want)
{
    (void)fprintf(stderr, "rank %d: %s: got %u, want %u\n", rkt_transport_rank(t), what, got, want);
    exit(1);
}

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 100000};

    (void)nanosleep(&pause, NULL);
}

/* Waits for one message, at most LIMIT_NS. */
static size_t wait_for(struct rkt_transport *t, enum rkt_tag tag, void *buf, size_t buf_bytes,
                       int *from)
{
    uint64_t limit = rkt_now_raw_ns() + LIMIT_NS;
    struct rkt_error err = {0};
    struct rkt_arrival arrival = {0};

    while (rkt_now_raw_ns() < limit) {
        enum rkt_status status = rkt_transport_receive(t, tag, buf, buf_bytes, &arrival, &err);

        if (status == RKT_OK) {
            *from = arrival.from;
            return arrival.len_bytes;
        }
        if (status != RKT_AGAIN) {
            (void)fprintf(stderr, "%s\n", err.text);
            give_up(t, "receive", (unsigned)tag, 0);
        }
        (void)rkt_transport_progress(t);
        nap();
    }
    give_up(t, "nothing came, tag", (unsigned)tag, (unsigned)tag);
    return 0;
}

static void send_now(struct rkt_transport *t, int to, enum rkt_tag tag, const void *data,
                     size_t len)
{
    struct rkt_error err = {0};
    enum rkt_status status;

    while ((status = rkt_transport_send(t, to, tag, data, len, &err)) == RKT_AGAIN) {
        (void)rkt_transport_progress(t);
        nap();
    }
    if (status != RKT_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        give_up(t, "send", (unsigned)tag, 0);
    }
}

/* Every rank, rank 0 too, sends numbered messages of changing length; rank 0 echoes each. */
static void send_numbered(struct rkt_transport *t)
{
    static uint8_t buf[100000];

    for (uint32_t i = 0; i < MESSAGE_COUNT; i++) {
        rkt_put_u32(buf, i);
        send_now(t, 0, RKT_TAG_FRAME, buf, 4 + (i * 7919u) % 90000u);
    }
}

static void echo_in_order(struct rkt_transport *t)
{
    static uint8_t buf[100000];
    int size = rkt_transport_size(t);
    uint32_t *next = calloc((size_t)size, sizeof(*next));

    for (uint32_t total = 0; total < MESSAGE_COUNT * (uint32_t)size; total++) {
        int from = -1;
        size_t len = wait_for(t, RKT_TAG_FRAME, buf, sizeof(buf), &from);
        uint32_t number = rkt_get_u32(buf);

        if (number != next[from])
            give_up(t, "order", number, next[from]);
        if (len != 4 + (number * 7919u) % 90000u)
            give_up(t, "length", (unsigned)len, number);
        next[from]++;
        send_now(t, from, RKT_TAG_ACK, buf, 4);
    }
    free(next);
}

static void count_echoes(struct rkt_transport *t)
{
    uint8_t buf[4];
    int from = -1;

    for (uint32_t i = 0; i < MESSAGE_COUNT; i++) {
        (void)wait_for(t, RKT_TAG_ACK, buf, sizeof(buf), &from);
        if (from != 0 || rkt_get_u32(buf) != i)
            give_up(t, "echo", rkt_get_u32(buf), i);
    }
}

static void carry_a_big_one(struct rkt_transport *t)
{
    uint8_t *big = malloc(BIG_BYTES);
    int rank = rkt_transport_rank(t);
    int from = -1;

    memset(big, rank + 1, BIG_BYTES);
    send_now(t, 0, RKT_TAG_FRAME, big, BIG_BYTES);
    for (int i = 0; rank == 0 && i < rkt_transport_size(t); i++) {
        if (wait_for(t, RKT_TAG_FRAME, big, BIG_BYTES, &from) != BIG_BYTES)
            give_up(t, "big length", 0, (unsigned)BIG_BYTES);
        if (big[0] != from + 1 || memcmp(big, big + 1, BIG_BYTES - 1) != 0)
            give_up(t, "big content", big[0], (unsigned)from + 1);
    }
    while (rkt_transport_progress(t))
        nap();
    free(big);
}

/* A message longer than the room is thrown away, and named by its sender. */
static void throw_away_too_long(struct rkt_transport *t)
{
    int next = (rkt_transport_rank(t) + 1) % rkt_transport_size(t);
    int before = (rkt_transport_rank(t) + rkt_transport_size(t) - 1) % rkt_transport_size(t);
    enum rkt_status status;
    char buf[8];
    struct rkt_arrival arrival = {.from = -1};
    int from;

    send_now(t, next, RKT_TAG_CONTROL_DOWN, "far too long", 12);
    send_now(t, next, RKT_TAG_CONTROL_DOWN, "short", 5);
    while ((status = rkt_transport_receive(t, RKT_TAG_CONTROL_DOWN, buf, sizeof(buf), &arrival,
                                           NULL)) == RKT_AGAIN)
        nap();
    if (status != RKT_ERR_RANGE || arrival.from != before)
        give_up(t, "too long from", (unsigned)arrival.from, (unsigned)before);
    if (wait_for(t, RKT_TAG_CONTROL_DOWN, buf, sizeof(buf), &from) != 5)
        give_up(t, "after too long", 0, 5);
}

/* Who takes nothing holds up what is for it, and nothing else. */
static void send_past_a_full_peer(struct rkt_transport *t)
{
    uint8_t *big = calloc(1, FILL_BYTES);
    int from = -1, sent = 0;

    if (rkt_transport_rank(t) == 1) {
        while (rkt_transport_send(t, 2, RKT_TAG_BUNDLE, big, FILL_BYTES, NULL) == RKT_OK)
            sent++;
        if (sent < 2 || sent > 100)
            give_up(t, "sent before it was full", (unsigned)sent, 2);
        if (rkt_transport_send(t, 3, RKT_TAG_FRAME, "past", 4, NULL) != RKT_OK)
            give_up(t, "a frame to another", 0, 1);
        send_now(t, 3, RKT_TAG_CONTROL_UP, &sent, sizeof(sent));
    } else if (rkt_transport_rank(t) == 3) {
        if (wait_for(t, RKT_TAG_FRAME, big, FILL_BYTES, &from) != 4)
            give_up(t, "past a full peer", 0, 4);
        (void)wait_for(t, RKT_TAG_CONTROL_UP, &sent, sizeof(sent), &from);
        send_now(t, 2, RKT_TAG_CONTROL_UP, &sent, sizeof(sent)); /* now take them */
    } else if (rkt_transport_rank(t) == 2) {
        (void)wait_for(t, RKT_TAG_CONTROL_UP, &sent, sizeof(sent), &from);
        for (int i = 0; i < sent; i++)
            (void)wait_for(t, RKT_TAG_BUNDLE, big, FILL_BYTES, &from);
    }
    free(big);
}

int main(void)
{
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};

    if (rkt_transport_mpi_create(&t, &err) != RKT_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    send_numbered(t);
    if (rkt_transport_rank(t) == 0)
        echo_in_order(t);
    count_echoes(t);
    carry_a_big_one(t);
    throw_away_too_long(t);
    send_past_a_full_peer(t);
    while (rkt_transport_progress(t))
        nap();
    rkt_transport_destroy(t, true);
    return 0;
}
