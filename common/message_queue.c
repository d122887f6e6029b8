/* SPDX-License-Identifier: Apache-2.0 */
#include "common/message_queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/checked.h"

struct rkt_message {
    struct rkt_message *next;
    size_t len_bytes;
    int from;
    unsigned char bytes[];
};

void rkt_message_queue_init(struct rkt_message_queue *queue)
{
    *queue = (struct rkt_message_queue){0};
}

void rkt_message_queue_release(struct rkt_message_queue *queue)
{
    for (size_t tag = 0; tag < RKT_TAG_COUNT; tag++) {
        struct rkt_message *message = queue->first[tag];

        while (message) {
            struct rkt_message *next = message->next;

            free(message);
            message = next;
        }
    }
    rkt_message_queue_init(queue);
}

enum rkt_status rkt_message_queue_push(struct rkt_message_queue *queue, int from, enum rkt_tag tag,
                                       const void *data, size_t len_bytes, struct rkt_error *err)
{
    struct rkt_message *message = NULL;
    size_t total;

    if (rkt_add_size(sizeof(*message), len_bytes, &total))
        message = malloc(total);
    if (!message)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message of %zu bytes", len_bytes);
    message->next = NULL;
    message->len_bytes = len_bytes;
    message->from = from;
    if (len_bytes > 0)
        memcpy(message->bytes, data, len_bytes);
    if (queue->last[tag])
        queue->last[tag]->next = message;
    else
        queue->first[tag] = message;
    queue->last[tag] = message;
    queue->held_bytes += total;
    return RKT_OK;
}

enum rkt_status rkt_message_queue_pop(struct rkt_message_queue *queue, enum rkt_tag tag, void *buf,
                                      size_t buf_bytes, struct rkt_arrival *arrival_out,
                                      struct rkt_error *err)
{
    struct rkt_message *message = queue->first[tag];
    enum rkt_status status = RKT_OK;

    if (!message)
        return RKT_AGAIN;
    queue->first[tag] = message->next;
    if (!message->next)
        queue->last[tag] = NULL;
    queue->held_bytes -= sizeof(*message) + message->len_bytes;
    arrival_out->from = message->from;
    if (message->len_bytes > buf_bytes) {
        status = rkt_fail(err, RKT_ERR_RANGE, "a message of %zu bytes from rank %d; room for %zu",
                          message->len_bytes, message->from, buf_bytes);
    } else {
        if (message->len_bytes > 0)
            memcpy(buf, message->bytes, message->len_bytes);
        arrival_out->len_bytes = message->len_bytes;
    }
    free(message);
    return status;
}
