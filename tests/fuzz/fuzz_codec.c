/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a batch and as a string table: decode, encode, decode must agree. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_events(struct rkt_bytes raw)
{
    struct rkt_decoder *decoder = rkt_decoder_create();
    struct rkt_decoder *other = rkt_decoder_create();
    struct rkt_encoder *encoder = rkt_encoder_create();
    struct rkt_batch batch;
    struct rkt_batch again;
    struct rkt_bytes out;

    if (rkt_decode_events(decoder, raw, &batch, NULL) == RKT_OK && batch.count > 0) {
        if (rkt_encode_events(encoder, batch.events, batch.count, &out, NULL) != RKT_OK ||
            rkt_decode_events(other, out, &again, NULL) != RKT_OK || again.count != batch.count ||
            again.unknown_count != 0 ||
            memcmp(again.events, batch.events, batch.count * sizeof(*batch.events)) != 0)
            abort();
    }
    rkt_encoder_destroy(encoder);
    rkt_decoder_destroy(decoder);
    rkt_decoder_destroy(other);
}

static void check_same_names(const struct rkt_strtab *a, const struct rkt_strtab *b)
{
    for (uint32_t id = 0; id < rkt_strtab_count(a); id++) {
        size_t len_a;
        size_t len_b;
        const char *text_a = rkt_strtab_get(a, id, &len_a);
        const char *text_b = rkt_strtab_get(b, id, &len_b);

        if (len_a != len_b || memcmp(text_a, text_b, len_a) != 0)
            abort();
    }
}

static void check_names(struct rkt_bytes raw)
{
    struct rkt_strtab *tab = rkt_strtab_create();
    struct rkt_strtab *again = rkt_strtab_create();
    struct rkt_encoder *encoder = rkt_encoder_create();
    bool is_good = rkt_decode_strings(raw, tab, NULL) == RKT_OK;

    for (uint32_t id = 1; is_good && id < rkt_strtab_count(tab);) {
        struct rkt_bytes out;

        if (rkt_encode_strings(encoder, tab, id, &id, &out, NULL) != RKT_OK ||
            rkt_decode_strings(out, again, NULL) != RKT_OK)
            abort();
    }
    if (is_good)
        check_same_names(tab, again);
    rkt_encoder_destroy(encoder);
    rkt_strtab_destroy(tab);
    rkt_strtab_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_events((struct rkt_bytes){data, size});
    check_names((struct rkt_bytes){data, size});
    return 0;
}
