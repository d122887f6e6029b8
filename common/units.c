/* SPDX-License-Identifier: Apache-2.0 */
#include "common/units.h"

#include <stdio.h>
#include <string.h>

#include "common/digits.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit DURATIONS[] = {
    {"ns", 1},         {"us", 1000},          {"ms", 1000000},
    {"s", 1000000000}, {"min", 60000000000u}, {"h", 3600000000000u},
};

static const struct unit SIZES[] = {
    {"B", 1},     {"KiB", 1u << 10}, {"MiB", 1u << 20},  {"GiB", 1u << 30},
    {"kB", 1000}, {"MB", 1000000},   {"GB", 1000000000},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* sum = sum * 10 + digit; false when it does not fit. */
static bool push_digit(uint64_t *sum, char digit)
{
    uint64_t next;

    if (__builtin_mul_overflow(*sum, 10u, &next) ||
        __builtin_add_overflow(next, (uint64_t)(digit - '0'), &next))
        return false;
    *sum = next;
    return true;
}

bool rkt_parse_u64(const char *text, uint64_t *out)
{
    uint64_t sum = 0;

    if (!is_digit(*text))
        return false;
    for (; is_digit(*text); text++) {
        if (!push_digit(&sum, *text))
            return false;
    }
    if (*text)
        return false;
    *out = sum;
    return true;
}

bool rkt_parse_i64(const char *text, int64_t *out)
{
    bool is_negative = *text == '-';
    uint64_t magnitude;

    if (!rkt_parse_u64(text + is_negative, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* Onto the sum, as many as there are; false when it does not fit. */
static bool push_digits(uint64_t *sum, const char **at, const char *end)
{
    uint64_t eight;

    while (end - *at >= RKT_EIGHT_DIGITS && *sum < UINT64_MAX / RKT_EIGHT_DIGITS_RANGE &&
           rkt_eight_digits(*at, &eight)) {
        *sum = *sum * RKT_EIGHT_DIGITS_RANGE + eight;
        *at += RKT_EIGHT_DIGITS;
    }
    for (; *at < end && is_digit(**at); (*at)++) {
        if (!push_digit(sum, **at))
            return false;
    }
    return true;
}

/* A decimal: digits * 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
    const char *rest; /* behind the last character taken */
};

/* digits, maybe "." and digits; false without any digit or past 2^64. */
static bool read_decimal(const char *text, const char *end, struct decimal *out)
{
    struct decimal d = {.rest = text};
    bool has_digit;

    if (!push_digits(&d.digits, &d.rest, end))
        return false;
    has_digit = d.rest > text;
    if (d.rest < end && *d.rest == '.') {
        for (d.rest++; d.rest < end && is_digit(*d.rest); d.rest++) {
            has_digit = true;
            if (push_digit(&d.digits, *d.rest))
                d.exponent--;
            else if (d.exponent == 0)
                return false; /* else: a digit too fine to matter */
        }
    }
    *out = d;
    return has_digit;
}

/* digits * 10^exponent * factor, cut towards zero. */
static bool scale(struct decimal d, uint64_t factor, uint64_t *out)
{
    uint64_t product;
    unsigned __int128 wide = d.digits;

    for (; d.exponent > 0 && d.digits > 0; d.exponent--) {
        wide *= 10;
        if (wide > UINT64_MAX)
            return false;
    }
    for (; d.exponent < 0 && factor % 10 == 0; d.exponent++)
        factor /= 10; /* most often all of it: no division of 128 bits is then left */
    wide *= factor;
    for (; d.exponent < 0 && wide > 0; d.exponent++)
        wide /= 10;
    product = (uint64_t)wide;
    if (wide > UINT64_MAX)
        return false;
    *out = product;
    return true;
}

static bool parse_with_unit(const char *text, const struct unit *units, size_t unit_count,
                            uint64_t *out)
{
    struct decimal d;

    if (!read_decimal(text, text + strlen(text), &d))
        return false;
    if (!*d.rest) {
        if (d.digits == 0)
            *out = 0;
        return d.digits == 0;
    }
    for (size_t i = 0; i < unit_count; i++) {
        if (strcmp(d.rest, units[i].name) == 0)
            return scale(d, units[i].factor, out);
    }
    return false;
}

bool rkt_parse_duration_ns(const char *text, uint64_t *out)
{
    return parse_with_unit(text, DURATIONS, COUNT(DURATIONS), out);
}

bool rkt_parse_bytes(const char *text, uint64_t *out)
{
    return parse_with_unit(text, SIZES, COUNT(SIZES), out);
}

/* "e5", "E-3"; exponents past any time are refused. */
static bool read_exponent(const char **at, const char *end, int *out)
{
    bool is_negative = false;
    int value = 0;

    if (*at == end || (**at != 'e' && **at != 'E'))
        return true;
    ++*at;
    if (*at < end && (**at == '+' || **at == '-')) {
        is_negative = **at == '-';
        ++*at;
    }
    if (*at == end || !is_digit(**at))
        return false;
    for (; *at < end && is_digit(**at); ++*at) {
        value = value * 10 + (**at - '0');
        if (value > 1000)
            return false;
    }
    *out += is_negative ? -value : value;
    return true;
}

bool rkt_parse_us_to_ns(const char *text, size_t len_bytes, int64_t *out)
{
    const char *end = text + len_bytes;
    bool is_negative = len_bytes > 0 && *text == '-';
    struct decimal d;
    uint64_t magnitude;

    if (!read_decimal(text + is_negative, end, &d) || !read_exponent(&d.rest, end, &d.exponent) ||
        d.rest != end || !scale(d, 1000, &magnitude) || magnitude > INT64_MAX)
        return false;
    *out = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* Four significant digits of value / factor. */
static void print_scaled(double value, const char *unit, char *buf, size_t buf_bytes)
{
    double size = value < 0 ? -value : value;
    int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;

    (void)snprintf(buf, buf_bytes, "%.*f %s", decimals, value, unit);
}

const char *rkt_format_duration(int64_t ns, char *buf, size_t buf_bytes)
{
    double size = ns < 0 ? -(double)ns : (double)ns;

    if (size < 1e3)
        (void)snprintf(buf, buf_bytes, "%lld ns", (long long)ns);
    else if (size < 1e6)
        print_scaled((double)ns / 1e3, "us", buf, buf_bytes);
    else if (size < 1e9)
        print_scaled((double)ns / 1e6, "ms", buf, buf_bytes);
    else
        print_scaled((double)ns / 1e9, "s", buf, buf_bytes);
    return buf;
}

const char *rkt_format_bytes(uint64_t bytes, char *buf, size_t buf_bytes)
{
    if (bytes < 1u << 10)
        (void)snprintf(buf, buf_bytes, "%llu B", (unsigned long long)bytes);
    else if (bytes < 1u << 20)
        print_scaled((double)bytes / 1024, "KiB", buf, buf_bytes);
    else if (bytes < 1u << 30)
        print_scaled((double)bytes / (1 << 20), "MiB", buf, buf_bytes);
    else
        print_scaled((double)bytes / (1 << 30), "GiB", buf, buf_bytes);
    return buf;
}

/* The second byte of one of U+0080 to U+009F in UTF-8, which some terminals obey, too. */
static bool is_late_control(unsigned char before, unsigned char byte)
{
    return before == 0xc2 && byte >= 0x80 && byte <= 0x9f;
}

const char *rkt_format_name(const char *text, char *buf, size_t buf_bytes)
{
    unsigned char before = 0;
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < buf_bytes; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (is_late_control(before, byte))
            buf[i - 1] = '?';
        buf[i] = text[i];
        if (byte < 0x20 || byte == 0x7f || is_late_control(before, byte))
            buf[i] = '?';
        before = byte;
    }
    buf[i] = '\0';
    return buf;
}
