/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it takes rank 0 to write small frames of many ranks that are there: each a message of its
 * own (a star), and in bundles of the leaders of groups (a tree).
 *
 *   bench_fan_in [FOLDER]      where the file goes; default TMPDIR, or /tmp
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/receiver.h"
#include "common/bundle.h"
#include "common/run_message.h"
#include "common/transport_loop.h"
#include "tests/bench/bench.h"

#define RANKS 257 /* rank 0 sends nothing */
#define GROUP_RANKS 16
#define FRAMES_PER_RANK 32u
#define FRAME_BYTES 4096u
#define FRAME_COUNT ((RANKS - 1) * FRAMES_PER_RANK)

static char path[4096];
static int leaders[RANKS];

struct run {
    struct rkt_loop_hub *hub;
    struct rkt_receiver *receiver;
};

/* A bundle that is filled, of one leader. */
struct bundle {
    uint8_t bytes[RKT_BUNDLE_FULL_BYTES + (size_t)2 * FRAME_BYTES];
    size_t len_bytes;
    struct rkt_bundle_head head;
};

static void make_frame(uint32_t rank, uint32_t seq, uint8_t frame[FRAME_BYTES])
{
    uint8_t *payload = frame + RKT_FRAME_HEAD_BYTES;
    uint32_t payload_bytes = FRAME_BYTES - RKT_FRAME_HEAD_BYTES;
    struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH,
                                  .source = rkt_source_number(RANKS, rank, 1),
                                  .seq = seq,
                                  .raw_bytes = payload_bytes,
                                  .packed_bytes = payload_bytes};

    for (uint32_t i = 0; i < payload_bytes; i++)
        payload[i] = (uint8_t)(i * 31 + rank);
    head.payload_crc = rkt_frame_payload_crc(payload, payload_bytes);
    rkt_frame_head_encode(&head, frame);
}

static void send(struct run *run, uint32_t from, enum rkt_tag tag, const uint8_t *bytes, size_t len)
{
    if (rkt_transport_send(rkt_loop_hub_transport(run->hub, (int)from), 0, tag, bytes, len, NULL) !=
        RKT_OK)
        abort();
}

static void send_star(struct run *run)
{
    uint8_t frame[FRAME_BYTES];

    for (uint32_t seq = 0; seq < FRAMES_PER_RANK; seq++) {
        for (uint32_t rank = 1; rank < RANKS; rank++) {
            make_frame(rank, seq, frame);
            send(run, rank, RKT_TAG_FRAME, frame, sizeof(frame));
        }
    }
}

static void send_bundle(struct run *run, uint32_t leader, struct bundle *bundle)
{
    rkt_bundle_head_encode(&bundle->head, bundle->bytes);
    send(run, leader, RKT_TAG_BUNDLE, bundle->bytes, bundle->len_bytes);
    bundle->head.first += bundle->head.frame_count;
    bundle->head.frame_count = 0;
    bundle->len_bytes = RKT_BUNDLE_HEAD_BYTES;
}

static void send_group(struct run *run, uint32_t leader, struct bundle *bundle)
{
    *bundle = (struct bundle){.len_bytes = RKT_BUNDLE_HEAD_BYTES};
    for (uint32_t i = 0; i < FRAMES_PER_RANK * GROUP_RANKS; i++) {
        uint32_t rank = leader + i % GROUP_RANKS;
        uint8_t *at = bundle->bytes + bundle->len_bytes;

        rkt_bundle_entry_encode(rank, FRAME_BYTES, at);
        make_frame(rank, i / GROUP_RANKS, at + RKT_BUNDLE_ENTRY_BYTES);
        bundle->len_bytes += RKT_BUNDLE_ENTRY_BYTES + FRAME_BYTES;
        bundle->head.frame_count++;
        if (bundle->len_bytes >= RKT_BUNDLE_FULL_BYTES)
            send_bundle(run, leader, bundle);
    }
    if (bundle->head.frame_count > 0)
        send_bundle(run, leader, bundle);
}

static void drop_run(struct run *run)
{
    rkt_receiver_destroy(run->receiver);
    rkt_loop_hub_destroy(run->hub);
    *run = (struct run){0};
}

/* All messages are at rank 0, and none is received. */
static void make_run(struct run *run, bool is_tree, struct bundle *bundle)
{
    struct rkt_run_info info = {.producer = RKT_PRODUCER_CAPTURE};
    struct rkt_receiver_config config = {
        .store_path = path, .run = &info, .leaders = is_tree ? leaders : NULL};
    struct rkt_arrival arrival;

    drop_run(run);
    (void)unlink(path);
    if (rkt_loop_hub_create(RANKS, 1, &run->hub, NULL) != RKT_OK)
        abort();
    config.transport = rkt_loop_hub_transport(run->hub, 0);
    if (rkt_receiver_create(&config, &run->receiver, NULL) != RKT_OK)
        abort();
    if (!is_tree)
        send_star(run);
    for (uint32_t leader = 1; is_tree && leader < RANKS; leader += GROUP_RANKS)
        send_group(run, leader, bundle);
    if (rkt_transport_receive(config.transport, RKT_TAG_CLOCK_UP, NULL, 0, &arrival, NULL) !=
        RKT_AGAIN)
        abort();
}

static void ignore_rank(void *ctx, int rank)
{
    (void)ctx;
    (void)rank;
}

static void receive(struct run *run)
{
    while (rkt_receiver_step(run->receiver, ignore_rank, NULL)) {
    }
}

static void check(struct run *run)
{
    if (rkt_receiver_close(run->receiver, NULL) != RKT_OK ||
        rkt_receiver_bytes(run->receiver) < (uint64_t)FRAME_COUNT * FRAME_BYTES)
        abort();
}

int main(int argc, char **argv)
{
    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *folder = argc > 1 ? argv[1] : temporary ? temporary : "/tmp";
    struct run run = {0};
    uint64_t star_ns, tree_ns;
    struct bundle *bundle;

    if (snprintf(path, sizeof(path), "%s/bench_fan_in.rkt", folder) >= (int)sizeof(path))
        return 1;
    bundle = malloc(sizeof(*bundle));
    if (!bundle)
        return 1;
    for (int rank = 1; rank < RANKS; rank++)
        leaders[rank] = rank - (rank - 1) % GROUP_RANKS;
    BENCH_BEST(&star_ns, make_run(&run, false, bundle), receive(&run));
    check(&run);
    BENCH_BEST(&tree_ns, make_run(&run, true, bundle), receive(&run));
    check(&run);
    drop_run(&run);
    (void)printf("bench=fan_in ranks=%d frame_bytes=%u star_frames_per_s=%.0f "
                 "tree_frames_per_s=%.0f tree_to_star=%.2f\n",
                 RANKS - 1, FRAME_BYTES, (double)FRAME_COUNT * 1e9 / (double)star_ns,
                 (double)FRAME_COUNT * 1e9 / (double)tree_ns, (double)star_ns / (double)tree_ns);
    (void)unlink(path);
    free(bundle);
    return 0;
}
