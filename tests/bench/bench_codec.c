/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and time per event through codec and pack, on kernels of a plausible training step. */
#include "common/codec.h"
#include "common/pack.h"
#include "tests/bench/bench.h"

#define EVENT_COUNT RKT_BATCH_EVENTS_USUAL

/* A fixed xorshift: the same bytes on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void make_kernels(struct rkt_event *events)
{
    uint64_t random = 88172645463325252u;
    uint64_t at_ns = 1700000000000000000u;

    for (uint32_t i = 0; i < EVENT_COUNT; i++) {
        uint64_t name = next_random(&random) % 60;

        at_ns += 700 + next_random(&random) % 900;
        events[i] = (struct rkt_event){
            .kind = RKT_EVENT_KERNEL,
            .clock_id = RKT_CLOCK_REALTIME,
            .name_id = (uint32_t)name + 1,
            .start_ns = at_ns,
            .correlation_id = 1000 + i * 3,
            .kernel = {.context_id = 1, .stream_id = 7, .shape_id = (uint32_t)name + 1},
        };
        at_ns += 2000 + name * 1500 + next_random(&random) % 400;
        events[i].end_ns = at_ns;
    }
}

int main(void)
{
    static struct rkt_event events[EVENT_COUNT];
    struct rkt_encoder *encoder = rkt_encoder_create();
    struct rkt_decoder *decoder = rkt_decoder_create();
    struct rkt_packer *packer = rkt_packer_create(3);
    struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH};
    struct rkt_batch batch;
    struct rkt_bytes raw, frame;
    uint64_t encode_ns, pack_ns, decode_ns;

    if (!encoder || !decoder || !packer)
        return 1;
    make_kernels(events);
    BENCH_BEST(&encode_ns, (void)0,
               (void)rkt_encode_events(encoder, events, EVENT_COUNT, &raw, NULL));
    BENCH_BEST(&pack_ns, (void)0, (void)rkt_pack_frame(packer, &head, raw, &frame, NULL));
    BENCH_BEST(&decode_ns, (void)0, (void)rkt_decode_events(decoder, raw, &batch, NULL));
    (void)printf("bench=codec events=%u raw_bytes_per_event=%.2f packed_bytes_per_event=%.2f "
                 "encode_events_per_s=%.3g pack_events_per_s=%.3g decode_events_per_s=%.3g\n",
                 EVENT_COUNT, (double)raw.len_bytes / EVENT_COUNT,
                 (double)frame.len_bytes / EVENT_COUNT, EVENT_COUNT * 1e9 / (double)encode_ns,
                 EVENT_COUNT * 1e9 / (double)pack_ns, EVENT_COUNT * 1e9 / (double)decode_ns);
    rkt_packer_destroy(packer);
    rkt_decoder_destroy(decoder);
    rkt_encoder_destroy(encoder);
    return 0;
}
