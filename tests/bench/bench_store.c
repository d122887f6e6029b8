/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it takes rank 0 to write frames: through the store alone, and through the whole receiver
 * with 8 and with 32 senders, beside a plain loop of crc and write over the same bytes in the same
 * run.
 *
 *   bench_store [FOLDER]      where the file goes; default TMPDIR, or /tmp
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/receiver.h"
#include "common/frame.h"
#include "common/run_message.h"
#include "common/store_writer.h"
#include "common/transport_loop.h"
#include "tests/bench/bench.h"

#define FRAME_BYTES 65536u
#define FRAME_COUNT 1600u /* 100 MiB */
#define SENDERS_MAX 32u

static uint8_t *frames; /* FRAME_COUNT, the sources in turn */
static char path[4096];

/* Frames as 32 sidecars would send them, so for 8 as well: source and seq are what is checked. */
static void make_frames(uint32_t sender_count)
{
    uint32_t seqs[SENDERS_MAX] = {0};

    for (uint32_t i = 0; i < FRAME_COUNT; i++) {
        uint8_t *frame = frames + (size_t)i * FRAME_BYTES;
        uint8_t *payload = frame + RKT_FRAME_HEAD_BYTES;
        uint32_t payload_bytes = FRAME_BYTES - RKT_FRAME_HEAD_BYTES;
        uint32_t sender = i % sender_count;
        struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH,
                                      .source = rkt_source_number(sender_count, sender, 1),
                                      .seq = seqs[sender]++,
                                      .raw_bytes = payload_bytes,
                                      .packed_bytes = payload_bytes};

        for (uint32_t k = 0; k < payload_bytes; k++)
            payload[k] = (uint8_t)(k * 31 + i);
        head.payload_crc = rkt_frame_payload_crc(payload, payload_bytes);
        rkt_frame_head_encode(&head, frame);
    }
}

static void write_plain(void)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < FRAME_COUNT; i++) {
        const uint8_t *frame = frames + (size_t)i * FRAME_BYTES;

        sum += rkt_frame_payload_crc(frame, FRAME_BYTES);
        if (write(fd, frame, FRAME_BYTES) != (ssize_t)FRAME_BYTES)
            abort();
    }
    if (sum == 0 || close(fd) != 0)
        abort();
}

static void write_store(void)
{
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE};
    struct rkt_store_writer *writer;

    (void)unlink(path);
    if (rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, NULL) != RKT_OK)
        abort();
    for (uint32_t i = 0; i < FRAME_COUNT; i++) {
        if (rkt_store_writer_append(writer, frames + (size_t)i * FRAME_BYTES, FRAME_BYTES, NULL) !=
            RKT_OK)
            abort();
    }
    if (rkt_store_writer_close(writer, NULL) != RKT_OK)
        abort();
    rkt_store_writer_destroy(writer);
}

static void ignore_rank(void *ctx, int rank)
{
    (void)ctx;
    (void)rank;
}

/* Each sender has as many frames under way as credits allow. */
static void receive(uint32_t sender_count)
{
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE};
    struct rkt_receiver_config config = {.store_path = path, .run = &run};
    struct rkt_receiver *receiver;
    struct rkt_loop_hub *hub;
    uint32_t next = 0;

    (void)unlink(path);
    if (rkt_loop_hub_create((int)sender_count, 1, &hub, NULL) != RKT_OK)
        abort();
    config.transport = rkt_loop_hub_transport(hub, 0);
    if (rkt_receiver_create(&config, &receiver, NULL) != RKT_OK)
        abort();
    while (next < FRAME_COUNT) {
        for (uint32_t i = 0; i < 8 * sender_count && next < FRAME_COUNT; i++, next++) {
            struct rkt_transport *sender = rkt_loop_hub_transport(hub, (int)(next % sender_count));

            if (rkt_transport_send(sender, 0, RKT_TAG_FRAME, frames + (size_t)next * FRAME_BYTES,
                                   FRAME_BYTES, NULL) != RKT_OK)
                abort();
        }
        rkt_loop_hub_tick(hub);
        while (rkt_receiver_step(receiver, ignore_rank, NULL)) {
        }
    }
    if (rkt_receiver_close(receiver, NULL) != RKT_OK ||
        rkt_receiver_bytes(receiver) < (uint64_t)FRAME_COUNT * FRAME_BYTES)
        abort();
    rkt_receiver_destroy(receiver);
    rkt_loop_hub_destroy(hub);
}

static double per_second(uint64_t took_ns)
{
    return (double)FRAME_COUNT * 1e9 / (double)took_ns;
}

int main(int argc, char **argv)
{
    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *folder = argc > 1 ? argv[1] : temporary ? temporary : "/tmp";
    uint64_t plain_ns, store_ns, receive_ns;

    frames = malloc((size_t)FRAME_COUNT * FRAME_BYTES);
    if (!frames || snprintf(path, sizeof(path), "%s/bench_store.rkt", folder) >= (int)sizeof(path))
        return 1;
    make_frames(SENDERS_MAX);
    BENCH_BEST(&plain_ns, (void)0, write_plain());
    BENCH_BEST(&store_ns, (void)0, write_store());
    (void)printf("bench=store frame_bytes=%u frames=%u plain_frames_per_s=%.0f "
                 "store_frames_per_s=%.0f store_to_plain=%.2f\n",
                 FRAME_BYTES, FRAME_COUNT, per_second(plain_ns), per_second(store_ns),
                 (double)plain_ns / (double)store_ns);
    for (uint32_t senders = 8; senders <= SENDERS_MAX; senders *= 4) {
        make_frames(senders);
        BENCH_BEST(&receive_ns, (void)0, receive(senders));
        (void)printf("bench=receive senders=%u frame_bytes=%u frames_per_s=%.0f "
                     "receive_to_plain=%.2f\n",
                     senders, FRAME_BYTES, per_second(receive_ns),
                     (double)plain_ns / (double)receive_ns);
    }
    (void)unlink(path);
    free(frames);
    return 0;
}
