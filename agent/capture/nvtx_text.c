/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_text.h"

#include <string.h>

#define REPLACEMENT 0xfffdu /* for what is no character */

/* The bytes of one character; at most 4. The locale's functions would depend on the job's. */
static size_t encode(uint32_t character, char out[4])
{
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        character = REPLACEMENT;
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (char)(0xe0 | character >> 12);
        out[1] = (char)(0x80 | (character >> 6 & 0x3f));
        out[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | character >> 18);
    out[1] = (char)(0x80 | (character >> 12 & 0x3f));
    out[2] = (char)(0x80 | (character >> 6 & 0x3f));
    out[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

const void *rkt_nvtx_handle_of(uint32_t id)
{
    return (const void *)(uintptr_t)id; // NOLINT(performance-no-int-to-ptr): never followed
}

uint32_t rkt_nvtx_id_of(const void *handle)
{
    return (uint32_t)(uintptr_t)handle;
}

uint32_t rkt_nvtx_text(struct rkt_intern *intern, const char *text)
{
    return text ? rkt_intern_name(intern, text, strlen(text)) : 0;
}

uint32_t rkt_nvtx_text_wide(struct rkt_intern *intern, const wchar_t *text)
{
    char bytes[RKT_NVTX_WIDE_BYTES_MAX];
    size_t used = 0;

    for (; text && *text && used + 4 <= sizeof(bytes); text++)
        used += encode((uint32_t)*text, &bytes[used]);
    return rkt_intern_name(intern, bytes, used);
}

uint32_t rkt_nvtx_text_of_message(struct rkt_intern *intern, int32_t type,
                                  union rkt_nvtx_message message)
{
    switch (type) {
    case RKT_NVTX_MESSAGE_ASCII:
        return rkt_nvtx_text(intern, message.ascii);
    case RKT_NVTX_MESSAGE_UNICODE:
        return rkt_nvtx_text_wide(intern, message.unicode);
    case RKT_NVTX_MESSAGE_REGISTERED:
        return rkt_nvtx_id_of(message.registered);
    default:
        return 0;
    }
}
