/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message of the run protocol, by any of its three decoders. */
#include <stdlib.h>
#include <string.h>

#include "common/run_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_run(const uint8_t *data, size_t size)
{
    struct rkt_run_message message, again;
    uint8_t raw[RKT_RUN_MESSAGE_BYTES_MAX];

    if (rkt_run_message_decode(data, size, &message, NULL) != RKT_OK)
        return;
    if (rkt_run_message_decode(raw, rkt_run_message_encode(&message, raw), &again, NULL) !=
            RKT_OK ||
        again.type != message.type || again.flags != message.flags ||
        again.value != message.value || again.time_namespace != message.time_namespace ||
        again.step != message.step || again.leader != message.leader ||
        again.run_id != message.run_id || strcmp(again.boot_id, message.boot_id) != 0 ||
        strcmp(again.host, message.host) != 0 || strcmp(again.text, message.text) != 0)
        abort();
}

static void check_clock(const uint8_t *data, size_t size)
{
    struct rkt_clock_message message, again;
    uint8_t raw[RKT_CLOCK_MESSAGE_BYTES_MAX];

    if (rkt_clock_message_decode(data, size, &message, NULL) != RKT_OK)
        return;
    if (rkt_clock_message_decode(raw, rkt_clock_message_encode(&message, raw), &again, NULL) !=
            RKT_OK ||
        again.type != message.type || again.burst != message.burst || again.seq != message.seq ||
        again.t2_ns != message.t2_ns || again.t3_ns != message.t3_ns ||
        again.kept_count != message.kept_count ||
        memcmp(again.kept, message.kept, sizeof(again.kept)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t count;

    check_run(data, size);
    check_clock(data, size);
    (void)rkt_ack_decode(data, size, &count, NULL);
    return 0;
}
