/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_MESSAGE_QUEUE_H
#define RKT_COMMON_MESSAGE_QUEUE_H

/*
 * message_queue - messages that wait inside one process, in order per tag.
 *
 * Place:   under the transports: what a process sends to itself, and the loop's wires.
 * Threads: one at a time. Memory: a copy of each message until it is popped.
 */

#include <stddef.h>

#include "common/status.h"
#include "common/transport.h"

struct rkt_message;

struct rkt_message_queue {
    struct rkt_message *first[RKT_TAG_COUNT];
    struct rkt_message *last[RKT_TAG_COUNT];
    size_t held_bytes; /* of memory: also empty messages have some */
};

void rkt_message_queue_init(struct rkt_message_queue *queue);
void rkt_message_queue_release(struct rkt_message_queue *queue);

enum rkt_status rkt_message_queue_push(struct rkt_message_queue *queue, int from, enum rkt_tag tag,
                                       const void *data, size_t len_bytes, struct rkt_error *err);

/* As rkt_transport_receive. */
enum rkt_status rkt_message_queue_pop(struct rkt_message_queue *queue, enum rkt_tag tag, void *buf,
                                      size_t buf_bytes, struct rkt_arrival *arrival_out,
                                      struct rkt_error *err);

#endif
