/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_scan.h"

#include <string.h>

#include "common/digits.h"

static const char REPLACEMENT[3] = {'\xef', '\xbf', '\xbd'}; /* U+FFFD */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t rkt_json_skip_blank(const char *text, size_t len, size_t from)
{
    while (from < len && is_blank(text[from]))
        from++;
    return from;
}

size_t rkt_json_skip_padding(const char *text, size_t len, size_t from)
{
    while (from < len && (is_blank(text[from]) || text[from] == '\0'))
        from++;
    return from;
}

/* The key, with its quotes, and a colon at text[from]? */
static bool is_key_at(const char *text, size_t len, size_t from, const char *key)
{
    size_t bytes = strlen(key);
    size_t colon;

    if (len - from < bytes || memcmp(text + from, key, bytes) != 0)
        return false;
    colon = rkt_json_skip_blank(text, len, from + bytes);
    return colon < len && text[colon] == ':';
}

/* Where an event begins: '{', a key that events have, and a colon. */
static bool is_event_start(const char *text, size_t len, size_t at)
{
    /* the last three come first where a writer sorts the keys */
    static const char *const KEYS[] = {"\"ph\"", "\"name\"", "\"cat\"",  "\"pid\"", "\"tid\"",
                                       "\"ts\"", "\"id\"",   "\"args\"", "\"bp\"",  "\"dur\""};
    size_t key = rkt_json_skip_blank(text, len, at + 1);

    if (text[at] != '{' || key >= len || text[key] != '"')
        return false;
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        if (is_key_at(text, len, key, KEYS[i]))
            return true;
    }
    return false;
}

/* Behind the member "key": value at text[from], and the comma behind it; `len` if it has none. */
static size_t pass_member(const char *text, size_t len, size_t from)
{
    size_t at;

    if (rkt_json_scan_strictly(text, len, from, &at) != RKT_SCAN_FOUND)
        return len;
    at = rkt_json_skip_blank(text, len, at);
    if (at == len || text[at] != ':')
        return len;
    at = rkt_json_skip_blank(text, len, at + 1);
    if (rkt_json_scan_strictly(text, len, at, &at) != RKT_SCAN_FOUND)
        return len;
    at = rkt_json_skip_blank(text, len, at);
    return at < len && text[at] == ',' ? rkt_json_skip_blank(text, len, at + 1) : len;
}

/* An event begins here, and says its "ph" soon. */
static bool is_sure_event(const char *text, size_t len, size_t from)
{
    size_t limit = len - from < RKT_JSON_SURE_EVENT_BYTES ? len : from + RKT_JSON_SURE_EVENT_BYTES;
    size_t at;

    if (!is_event_start(text, len, from))
        return false;
    at = rkt_json_skip_blank(text, limit, from + 1);
    while (at < limit && text[at] == '"') {
        if (is_key_at(text, limit, at, "\"ph\""))
            return true;
        at = pass_member(text, limit, at);
    }
    return false;
}

/*
 * The closing quote of the string that opens at text[from]. A raw '{"key":' inside is no part of
 * any string, as its quotes would be escaped: a quote is missing before it.
 */
static enum rkt_scan_result scan_string(const char *text, size_t len, size_t from, bool is_wary,
                                        size_t *end_out)
{
    for (size_t at = from + 1; at < len; at++) {
        if (text[at] == '\\') {
            at++;
        } else if (text[at] == '"') {
            *end_out = at + 1;
            return RKT_SCAN_FOUND;
        } else if (is_wary && text[at] == '{' && is_event_start(text, len, at)) {
            *end_out = at;
            return RKT_SCAN_BROKEN;
        }
    }
    return RKT_SCAN_MORE;
}

/* An object inside an object that begins as only events do: a brace is missing before it. */
static bool is_lost_start(const char *text, size_t len, size_t from, size_t at)
{
    return text[from] == '{' && text[at] == '{' && is_sure_event(text, len, at);
}

static int depth_change(char c)
{
    return (c == '{' || c == '[') - (c == '}' || c == ']');
}

static enum rkt_scan_result scan_nested(const char *text, size_t len, size_t from, bool is_wary,
                                        size_t *end_out)
{
    size_t at = from + 1;
    int64_t depth = 1;

    while (at < len) {
        if (text[at] == '"') {
            enum rkt_scan_result result = scan_string(text, len, at, is_wary, end_out);

            if (result != RKT_SCAN_FOUND)
                return result;
            at = *end_out;
            continue;
        }
        if (is_wary && is_lost_start(text, len, from, at)) {
            *end_out = at;
            return RKT_SCAN_BROKEN;
        }
        depth += depth_change(text[at++]);
        if (depth == 0) {
            *end_out = at;
            return RKT_SCAN_FOUND;
        }
    }
    return RKT_SCAN_MORE;
}

static enum rkt_scan_result scan_value(const char *text, size_t len, size_t from, bool is_wary,
                                       size_t *end_out)
{
    size_t at = from;

    if (from >= len)
        return RKT_SCAN_MORE;
    if (text[from] == '"')
        return scan_string(text, len, from, is_wary, end_out);
    if (text[from] == '{' || text[from] == '[')
        return scan_nested(text, len, from, is_wary, end_out);
    while (at < len && !is_blank(text[at]) && !strchr(",]}", text[at]))
        at++;
    if (at == len)
        return RKT_SCAN_MORE;
    *end_out = at;
    return RKT_SCAN_FOUND;
}

enum rkt_scan_result rkt_json_scan_value(const char *text, size_t len, size_t from, size_t *end_out)
{
    return scan_value(text, len, from, true, end_out);
}

enum rkt_scan_result rkt_json_scan_strictly(const char *text, size_t len, size_t from,
                                            size_t *end_out)
{
    return scan_value(text, len, from, false, end_out);
}

size_t rkt_json_find_event(const char *text, size_t len, size_t from)
{
    while (from < len) {
        const char *brace = memchr(text + from, '{', len - from);

        if (!brace)
            return len;
        from = (size_t)(brace - text);
        if (is_event_start(text, len, from))
            return from;
        from++;
    }
    return len;
}

size_t rkt_json_find_sure_event(const char *text, size_t len, size_t from)
{
    do {
        from = rkt_json_find_event(text, len, from);
        if (from == len || is_sure_event(text, len, from))
            return from;
        from++;
    } while (from < len);
    return len;
}

/* One , "key": value at `from`; false where something else is. */
static bool skip_member(const char *text, size_t len, size_t from, size_t *end_out,
                        bool *is_known_out)
{
    /* args of events have no such keys */
    static const char *const OUTER_KEYS[] = {"\"traceName\"", "\"baseTimeNanoseconds\"",
                                             "\"displayTimeUnit\""};
    size_t key = rkt_json_skip_blank(text, len, from + 1);
    size_t at;

    if (key >= len || text[key] != '"' || scan_string(text, len, key, true, &at) != RKT_SCAN_FOUND)
        return false;
    for (size_t i = 0; i < sizeof(OUTER_KEYS) / sizeof(OUTER_KEYS[0]); i++)
        *is_known_out |=
            at - key == strlen(OUTER_KEYS[i]) && memcmp(text + key, OUTER_KEYS[i], at - key) == 0;
    at = rkt_json_skip_blank(text, len, at);
    if (at >= len || text[at] != ':')
        return false;
    at = rkt_json_skip_blank(text, len, at + 1);
    return rkt_json_scan_value(text, len, at, end_out) == RKT_SCAN_FOUND && *end_out > at;
}

static bool is_list_end(const char *text, size_t len, size_t at)
{
    bool is_known = false;

    at = rkt_json_skip_blank(text, len, at + 1);
    while (at < len && text[at] == ',') {
        if (!skip_member(text, len, at, &at, &is_known))
            return false;
        at = rkt_json_skip_blank(text, len, at);
    }
    return is_known && at < len && text[at] == '}' && rkt_json_skip_blank(text, len, at + 1) == len;
}

size_t rkt_json_find_list_end(const char *text, size_t len, size_t from)
{
    while (from < len) {
        const char *bracket = memchr(text + from, ']', len - from);

        if (!bracket)
            return len;
        from = (size_t)(bracket - text);
        if (is_list_end(text, len, from))
            return from;
        from++;
    }
    return len;
}

static size_t back_over_blank(const char *text, size_t from, size_t at)
{
    while (at > from && is_blank(text[at - 1]))
        at--;
    return at;
}

size_t rkt_json_find_cut(const char *text, size_t len, size_t from)
{
    size_t end = len;

    while (end > from) {
        const char *brace = memrchr(text + from, '{', end - from);
        size_t at;

        if (!brace)
            return from;
        end = (size_t)(brace - text);
        at = back_over_blank(text, from, end);
        if (at == from || text[at - 1] != ',')
            continue;
        at = back_over_blank(text, from, at - 1);
        if (at > from && text[at - 1] == '}')
            return at;
    }
    return from;
}

/* Bytes of the UTF-8 character at text[0]; 0 if it is none. */
static size_t utf8_bytes(const unsigned char *text, size_t len)
{
    static const uint32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code;
    size_t bytes;

    if (text[0] < 0x80)
        return 1;
    bytes = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || bytes > len)
        return 0;
    code = text[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (code < SMALLEST[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return bytes;
}

static size_t put_control(unsigned char c, char *out)
{
    static const char HEX[] = "0123456789abcdef";
    const char escape[6] = {'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]};

    memcpy(out, escape, sizeof(escape));
    return sizeof(escape);
}

/* One character of the text into out; *taken_out bytes of it are used up. */
static size_t put_clean(const char *text, size_t len, bool in_string, char *out, size_t *taken_out)
{
    unsigned char c = (unsigned char)text[0];
    size_t bytes = utf8_bytes((const unsigned char *)text, len);

    *taken_out = bytes > 0 ? bytes : 1;
    if (bytes == 0) {
        memcpy(out, REPLACEMENT, sizeof(REPLACEMENT));
        return sizeof(REPLACEMENT);
    }
    if (c < 0x20 && in_string)
        return put_control(c, out);
    if (c < 0x20) {
        out[0] = ' ';
        return 1;
    }
    memcpy(out, text, bytes);
    return bytes;
}

size_t rkt_json_sanitise(const char *text, size_t len, char *out)
{
    bool in_string = false;
    size_t used = 0;
    size_t at = 0;

    while (at < len) {
        size_t taken;

        if (in_string && text[at] == '\\' && at + 1 < len && (unsigned char)text[at + 1] >= 0x20 &&
            (unsigned char)text[at + 1] < 0x80) {
            out[used++] = text[at++];
            out[used++] = text[at++];
            continue;
        }
        in_string ^= text[at] == '"';
        used += put_clean(text + at, len - at, in_string, out + used, &taken);
        at += taken;
    }
    return used;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The number of \uXXXX at token; false if it is none. */
static bool read_unicode_escape(const char *token, size_t len, uint32_t *code_out)
{
    uint32_t code = 0;

    if (len < 6 || token[0] != '\\' || token[1] != 'u')
        return false;
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_digit(token[i]);

        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    *code_out = code;
    return true;
}

static size_t put_utf8(uint32_t code, char *out)
{
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char LEAD[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = bytes; i > 1; i--) {
        out[i - 1] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(LEAD[bytes] | code);
    return bytes;
}

/* \uXXXX, with its second half where it is half of a pair. Returns the bytes used up, 0 if none. */
static size_t unescape_unicode(const char *token, size_t len, char *out, size_t *put_out)
{
    uint32_t code;
    uint32_t low;
    size_t taken = 6;

    if (!read_unicode_escape(token, len, &code))
        return 0;
    if (code >= 0xd800 && code <= 0xdbff && read_unicode_escape(token + 6, len - 6, &low) &&
        low >= 0xdc00 && low <= 0xdfff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        taken = 12;
    } else if (code >= 0xd800 && code <= 0xdfff) {
        code = 0xfffd;
    }
    *put_out = put_utf8(code, out);
    return taken;
}

size_t rkt_json_unescape(const char *token, size_t len, char *out)
{
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    size_t used = 0;
    size_t at = 0;

    while (at < len) {
        const char *known = NULL;
        size_t put = 0;
        size_t taken;

        if (token[at] != '\\' || at + 1 == len) {
            out[used++] = token[at++];
            continue;
        }
        taken = unescape_unicode(token + at, len - at, out + used, &put);
        if (taken == 0 && token[at + 1] != '\0')
            known = strchr(FROM, token[at + 1]);
        if (known) {
            out[used] = TO[known - FROM];
            put = 1;
            taken = 2;
        } else if (taken == 0) {
            out[used] = token[at];
            put = 1;
            taken = 1;
        }
        used += put;
        at += taken;
    }
    return used;
}

bool rkt_json_to_u64(const char *token, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    uint64_t eight;
    size_t i = 0;

    for (; i < (size_t)2 * RKT_EIGHT_DIGITS && len - i >= RKT_EIGHT_DIGITS; i += RKT_EIGHT_DIGITS) {
        if (!rkt_eight_digits(token + i, &eight))
            return false;
        value = value * RKT_EIGHT_DIGITS_RANGE + eight;
    }
    for (; i < len; i++) {
        if (token[i] < '0' || token[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(token[i] - '0'), &value))
            return false;
    }
    if (len > 0)
        *out = value;
    return len > 0;
}

bool rkt_json_to_i64(const char *token, size_t len, int64_t *out)
{
    bool is_negative = len > 0 && token[0] == '-';
    uint64_t magnitude;

    if (!rkt_json_to_u64(token + is_negative, len - is_negative, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}
