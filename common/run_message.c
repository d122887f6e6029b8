/* SPDX-License-Identifier: Apache-2.0 */
#include "common/run_message.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/store_index.h"

#define RUN_MAGIC 0x524b5452u
#define RUN_HEAD_BYTES 24u /* magic, major, type, flags, value, time namespace */
#define STEP_BYTES 8u      /* behind the texts, where there is one */
#define LEADER_BYTES 4u    /* behind those, where there is one */
#define RUN_ID_BYTES 8u
#define CLOCK_PARENT_BYTES 4u
#define CLOCK_HEAD_BYTES 28u
#define STAMPS_BYTES 32u

_Static_assert(RKT_SOURCE_COUNT_MAX <= RKT_STORE_SOURCE_COUNT_MAX, "the store takes all numbers");
_Static_assert(RUN_HEAD_BYTES + 3 + 40 + 128 + 128 + STEP_BYTES + LEADER_BYTES + RUN_ID_BYTES <=
                   RKT_RUN_MESSAGE_BYTES_MAX,
               "texts and numbers fit");
_Static_assert(CLOCK_HEAD_BYTES + RKT_CLOCK_KEPT_MAX * STAMPS_BYTES <= RKT_CLOCK_MESSAGE_BYTES_MAX,
               "kept exchanges fit");

static uint8_t *put_text(uint8_t *at, const char *text, size_t field_bytes)
{
    size_t len = strnlen(text, field_bytes - 1);

    *at++ = (uint8_t)len;
    memcpy(at, text, len);
    return at + len;
}

/* NULL when the text passes the end or its field. */
static const uint8_t *get_text(const uint8_t *at, const uint8_t *end, char *text,
                               size_t field_bytes)
{
    size_t len;

    if (!at || at == end)
        return NULL;
    len = *at++;
    if (len >= field_bytes || (size_t)(end - at) < len)
        return NULL;
    memcpy(text, at, len);
    text[len] = '\0';
    return at + len;
}

/* What is behind the texts, each where the flags say that it is there. */
static uint8_t *put_numbers(uint8_t *at, const struct rkt_run_message *message)
{
    if (message->flags & RKT_RUN_FLAG_HAS_STEP) {
        rkt_put_u64(at, message->step);
        at += STEP_BYTES;
    }
    if (message->flags & RKT_RUN_FLAG_HAS_LEADER) {
        rkt_put_u32(at, message->leader);
        at += LEADER_BYTES;
    }
    if (message->flags & RKT_RUN_FLAG_HAS_RUN_ID) {
        rkt_put_u64(at, message->run_id);
        at += RUN_ID_BYTES;
    }
    if (message->flags & RKT_RUN_FLAG_HAS_CLOCK_PARENT) {
        rkt_put_u32(at, message->clock_parent);
        at += CLOCK_PARENT_BYTES;
    }
    return at;
}

/* False: the message is cut. */
static bool get_numbers(const uint8_t *at, const uint8_t *end, struct rkt_run_message *message)
{
    size_t step_bytes = message->flags & RKT_RUN_FLAG_HAS_STEP ? STEP_BYTES : 0;
    size_t leader_bytes = message->flags & RKT_RUN_FLAG_HAS_LEADER ? LEADER_BYTES : 0;
    size_t run_id_bytes = message->flags & RKT_RUN_FLAG_HAS_RUN_ID ? RUN_ID_BYTES : 0;
    size_t parent_bytes = message->flags & RKT_RUN_FLAG_HAS_CLOCK_PARENT ? CLOCK_PARENT_BYTES : 0;

    if ((size_t)(end - at) < step_bytes + leader_bytes + run_id_bytes + parent_bytes)
        return false;
    if (step_bytes > 0)
        message->step = rkt_get_u64(at);
    if (leader_bytes > 0)
        message->leader = rkt_get_u32(at + step_bytes);
    if (run_id_bytes > 0)
        message->run_id = rkt_get_u64(at + step_bytes + leader_bytes);
    if (parent_bytes > 0)
        message->clock_parent = rkt_get_u32(at + step_bytes + leader_bytes + run_id_bytes);
    return true;
}

size_t rkt_run_message_encode(const struct rkt_run_message *message, uint8_t *buf)
{
    uint8_t *at = buf + RUN_HEAD_BYTES;

    rkt_put_u32(buf, RUN_MAGIC);
    rkt_put_u16(buf + 4, RKT_RUN_MAJOR);
    rkt_put_u16(buf + 6, message->type);
    rkt_put_u32(buf + 8, message->flags);
    rkt_put_u32(buf + 12, (uint32_t)message->value);
    rkt_put_u64(buf + 16, message->time_namespace);
    at = put_text(at, message->boot_id, sizeof(message->boot_id));
    at = put_text(at, message->host, sizeof(message->host));
    at = put_text(at, message->text, sizeof(message->text));
    return (size_t)(put_numbers(at, message) - buf);
}

enum rkt_status rkt_run_message_decode(const uint8_t *buf, size_t len_bytes,
                                       struct rkt_run_message *message_out, struct rkt_error *err)
{
    const uint8_t *at = buf + RUN_HEAD_BYTES;
    const uint8_t *end = buf + len_bytes;
    struct rkt_run_message message = {0};

    if (len_bytes < RUN_HEAD_BYTES || rkt_get_u32(buf) != RUN_MAGIC)
        return rkt_fail(err, RKT_ERR_FORMAT, "%zu bytes are no run message", len_bytes);
    if (rkt_get_u16(buf + 4) != RKT_RUN_MAJOR)
        return rkt_fail(err, RKT_ERR_VERSION,
                        "run protocol %u there, %u here: use one version of ranktrace on all nodes",
                        rkt_get_u16(buf + 4), RKT_RUN_MAJOR);
    message.type = rkt_get_u16(buf + 6);
    message.flags = rkt_get_u32(buf + 8);
    message.value = (int32_t)rkt_get_u32(buf + 12);
    message.time_namespace = rkt_get_u64(buf + 16);
    at = get_text(at, end, message.boot_id, sizeof(message.boot_id));
    at = get_text(at, end, message.host, sizeof(message.host));
    at = get_text(at, end, message.text, sizeof(message.text));
    if (!at || !get_numbers(at, end, &message))
        return rkt_fail(err, RKT_ERR_FORMAT, "run message of %zu bytes is cut", len_bytes);
    *message_out = message;
    return RKT_OK;
}

void rkt_ack_encode(uint32_t frame_count, uint8_t buf[RKT_ACK_BYTES])
{
    rkt_put_u32(buf, frame_count);
}

enum rkt_status rkt_ack_decode(const uint8_t *buf, size_t len_bytes, uint32_t *frame_count_out,
                               struct rkt_error *err)
{
    if (len_bytes != RKT_ACK_BYTES)
        return rkt_fail(err, RKT_ERR_FORMAT, "an ACK of %zu bytes", len_bytes);
    *frame_count_out = rkt_get_u32(buf);
    return RKT_OK;
}

static void put_stamps(uint8_t *at, const struct rkt_clock_stamps *stamps)
{
    rkt_put_u64(at, stamps->t1_ns);
    rkt_put_u64(at + 8, stamps->t2_ns);
    rkt_put_u64(at + 16, stamps->t3_ns);
    rkt_put_u64(at + 24, stamps->t4_ns);
}

static void get_stamps(const uint8_t *at, struct rkt_clock_stamps *stamps)
{
    stamps->t1_ns = rkt_get_u64(at);
    stamps->t2_ns = rkt_get_u64(at + 8);
    stamps->t3_ns = rkt_get_u64(at + 16);
    stamps->t4_ns = rkt_get_u64(at + 24);
}

size_t rkt_clock_message_encode(const struct rkt_clock_message *message, uint8_t *buf)
{
    uint16_t kept_count =
        message->kept_count <= RKT_CLOCK_KEPT_MAX ? message->kept_count : RKT_CLOCK_KEPT_MAX;

    rkt_put_u16(buf, message->type);
    rkt_put_u16(buf + 2, kept_count);
    rkt_put_u32(buf + 4, message->burst);
    rkt_put_u32(buf + 8, message->seq);
    rkt_put_u64(buf + 12, message->t2_ns);
    rkt_put_u64(buf + 20, message->t3_ns);
    for (size_t i = 0; i < kept_count; i++)
        put_stamps(buf + CLOCK_HEAD_BYTES + i * STAMPS_BYTES, &message->kept[i]);
    return CLOCK_HEAD_BYTES + (size_t)kept_count * STAMPS_BYTES;
}

enum rkt_status rkt_clock_message_decode(const uint8_t *buf, size_t len_bytes,
                                         struct rkt_clock_message *message_out,
                                         struct rkt_error *err)
{
    struct rkt_clock_message message = {0};

    if (len_bytes < CLOCK_HEAD_BYTES)
        return rkt_fail(err, RKT_ERR_FORMAT, "a clock message of %zu bytes", len_bytes);
    message.type = rkt_get_u16(buf);
    message.kept_count = rkt_get_u16(buf + 2);
    message.burst = rkt_get_u32(buf + 4);
    message.seq = rkt_get_u32(buf + 8);
    message.t2_ns = rkt_get_u64(buf + 12);
    message.t3_ns = rkt_get_u64(buf + 20);
    if (message.kept_count > RKT_CLOCK_KEPT_MAX ||
        len_bytes != CLOCK_HEAD_BYTES + (size_t)message.kept_count * STAMPS_BYTES)
        return rkt_fail(err, RKT_ERR_FORMAT, "a clock message of %zu bytes with %u exchanges",
                        len_bytes, message.kept_count);
    for (size_t i = 0; i < message.kept_count; i++)
        get_stamps(buf + CLOCK_HEAD_BYTES + i * STAMPS_BYTES, &message.kept[i]);
    *message_out = message;
    return RKT_OK;
}
