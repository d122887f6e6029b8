/* SPDX-License-Identifier: Apache-2.0 */
#include "stub_capture.h"

#include <string.h>
#include <unistd.h>

#include "agent/capture/nccl_source.h"

static const struct rkt_region_config REGION = {
    .ring_count = 8, .ring_capacity = 4096, .heap_bytes = 1u << 20};

static struct {
    struct rkt_capture capture;
    _Atomic bool is_on;
    int fd;
} stub = {.fd = -1};

bool stub_capture_start(const struct rkt_capture_config *config)
{
    struct rkt_capture *capture = &stub.capture;

    memset(capture, 0, sizeof(*capture));
    capture->config = *config;
    if (rkt_region_create(&REGION, &capture->region, &stub.fd, NULL) != RKT_OK)
        return false;
    capture->intern = rkt_intern_create(capture->region);
    if (capture->intern)
        capture->threads = rkt_threads_create(capture->region, capture->intern);
    capture->nccl = rkt_nccl_source_create(config);
    stub.is_on = capture->threads && capture->nccl;
    return stub.is_on;
}

void stub_capture_stop(void)
{
    struct rkt_capture *capture = &stub.capture;

    stub.is_on = false;
    rkt_nccl_source_destroy(capture->nccl);
    rkt_threads_destroy(capture->threads);
    rkt_intern_destroy(capture->intern);
    rkt_region_destroy(capture->region);
    close(stub.fd);
}

void stub_capture_turn(bool is_on)
{
    stub.is_on = is_on;
}

struct rkt_capture *stub_capture(void)
{
    return &stub.capture;
}

size_t stub_capture_drain(struct rkt_event *events_out, size_t max)
{
    struct rkt_region *region = stub.capture.region;
    size_t count = 0;

    for (size_t i = 0; i < rkt_region_ring_count(region); i++) {
        bool was_broken = false;

        count += rkt_ring_pop(rkt_region_ring(region, i), REGION.ring_capacity, events_out + count,
                              max - count, &was_broken);
    }
    return count;
}

/* ---- what capture.c gives a source ---- */

struct rkt_capture *rkt_capture_get(enum rkt_capture_bit source)
{
    return stub.is_on && (stub.capture.config.mask & source) ? &stub.capture : NULL;
}

struct rkt_capture *rkt_capture_wait(enum rkt_capture_bit source)
{
    return rkt_capture_get(source);
}

struct rkt_capture *rkt_capture_started(void)
{
    return &stub.capture;
}

bool rkt_capture_is_on(void)
{
    return stub.is_on;
}
