/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/digits.h"
#include "common/units.h"

#define REFUSED UINT64_MAX
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void durations_need_their_unit_and_the_whole_text(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"250ms", 250000000},
        {"1.5s", 1500000000},
        {"30s", 30000000000},
        {"0", 0},
        {"2min", 120000000000},
        {"1h", 3600000000000},
        {"7ns", 7},
        {"0.5us", 500},
        {"5", REFUSED},
        {"", REFUSED},
        {"s", REFUSED},
        {"-1s", REFUSED},
        {"1 s", REFUSED},
        {"1sec", REFUSED},
        {"1e3s", REFUSED},
        {"1s ", REFUSED},
        {"99999999999h", REFUSED},
        {"18446744073709551616ns", REFUSED},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t ns = REFUSED;
        bool is_ok = rkt_parse_duration_ns(cases[i].text, &ns);

        if (is_ok != (cases[i].ns != REFUSED) || ns != cases[i].ns)
            fail_msg("'%s' gave %d, %llu", cases[i].text, is_ok, (unsigned long long)ns);
    }
}

static void sizes_know_both_kinds_of_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"64MiB", 64u << 20}, {"1kB", 1000}, {"1.5KiB", 1536}, {"12B", 12},
        {"1GB", 1000000000},  {"0", 0},      {"64", REFUSED},  {"64mib", REFUSED},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t bytes = REFUSED;

        (void)rkt_parse_bytes(cases[i].text, &bytes);
        if (bytes != cases[i].bytes)
            fail_msg("'%s' gave %llu", cases[i].text, (unsigned long long)bytes);
    }
}

static void microseconds_become_nanoseconds_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t ns; /* INT64_MIN: refused */
    } cases[] = {
        {"1694128201545123.456", 1694128201545123456},
        {"1672924881307000", 1672924881307000000},
        {"0.001", 1},
        {"-3.5", -3500},
        {"1e3", 1000000},
        {"1.5E-1", 150},
        {"0.0009", 0},
        {"1.23456789", 1234},
        {"5.", 5000},
        {".5", 500},
        {"9223372036854775.807", INT64_MAX},
        {"9223372036854775.808", INT64_MIN},
        {"123456789.1234567890123456789012", 123456789123},
        {"NaN", INT64_MIN},
        {"", INT64_MIN},
        {"-", INT64_MIN},
        {"1e", INT64_MIN},
        {"1x", INT64_MIN},
        {"1e999", INT64_MIN},
        {"Infinity", INT64_MIN},
        {"0e999", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = INT64_MIN;

        (void)rkt_parse_us_to_ns(cases[i].text, strlen(cases[i].text), &ns);
        if (ns != cases[i].ns)
            fail_msg("'%s' gave %lld", cases[i].text, (long long)ns);
    }
}

static void whole_numbers_are_strict(void **state)
{
    uint64_t u = 5;
    int64_t i = 5;

    (void)state;
    assert_true(rkt_parse_u64("18446744073709551615", &u));
    assert_true(u == UINT64_MAX);
    assert_false(rkt_parse_u64("18446744073709551616", &u));
    assert_false(rkt_parse_u64("+1", &u));
    assert_false(rkt_parse_u64("1 ", &u));
    assert_true(rkt_parse_i64("-9223372036854775808", &i));
    assert_true(i == INT64_MIN);
    assert_false(rkt_parse_i64("9223372036854775808", &i));
    assert_false(rkt_parse_i64("--1", &i));
}

static void printed_numbers_have_four_digits_and_a_unit(void **state)
{
    char buf[32];

    (void)state;
    assert_string_equal(rkt_format_duration(999, buf, sizeof(buf)), "999 ns");
    assert_string_equal(rkt_format_duration(1234567, buf, sizeof(buf)), "1.235 ms");
    assert_string_equal(rkt_format_duration(-20500000, buf, sizeof(buf)), "-20.50 ms");
    assert_string_equal(rkt_format_duration(9999999, buf, sizeof(buf)), "10.00 ms");
    assert_string_equal(rkt_format_duration(61000000000, buf, sizeof(buf)), "61.00 s");
    assert_string_equal(rkt_format_bytes(1536, buf, sizeof(buf)), "1.500 KiB");
    assert_string_equal(rkt_format_bytes(25u << 20, buf, sizeof(buf)), "25.00 MiB");
}

static void a_name_holds_nothing_that_a_terminal_obeys(void **state)
{
    char name[] = "a\nb\x1b[2J\x7f\xc2\x9b\xc3\xa9";
    char buf[8];

    (void)state;
    assert_string_equal(rkt_format_name(name, buf, sizeof(buf)), "a?b?[2J");
    assert_string_equal(rkt_format_name(name, name, sizeof(name)), "a?b?[2J???\xc3\xa9");
    assert_string_equal(rkt_format_name("", buf, sizeof(buf)), "");
}

static void eight_digits_are_taken_at_once_and_nothing_else(void **state)
{
    char text[] = "90817263";
    uint64_t value = 1;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        char digit = text[i];

        for (int c = 0; c < 256; c++) {
            bool is_digit = c >= '0' && c <= '9';

            text[i] = (char)c;
            value = 1;
            assert_int_equal(rkt_eight_digits(text, &value), is_digit);
            assert_int_equal(value, is_digit ? strtoull(text, NULL, 10) : 1);
        }
        text[i] = digit;
    }
}

static void few_digits_are_a_number_whatever_stands_behind_them(void **state)
{
    char text[RKT_EIGHT_DIGITS + 1];

    (void)state;
    for (size_t count = 1; count <= RKT_EIGHT_DIGITS; count++) {
        char digits[RKT_EIGHT_DIGITS + 1] = "98761234";

        digits[count] = '\0';
        for (int behind = 0; behind < 256; behind++) {
            memset(text, behind, sizeof(text));
            memcpy(text, digits, count);
            assert_int_equal(rkt_few_digits(text, count), strtoull(digits, NULL, 10));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_need_their_unit_and_the_whole_text),
        cmocka_unit_test(sizes_know_both_kinds_of_unit),
        cmocka_unit_test(microseconds_become_nanoseconds_exactly),
        cmocka_unit_test(whole_numbers_are_strict),
        cmocka_unit_test(eight_digits_are_taken_at_once_and_nothing_else),
        cmocka_unit_test(few_digits_are_a_number_whatever_stands_behind_them),
        cmocka_unit_test(printed_numbers_have_four_digits_and_a_unit),
        cmocka_unit_test(a_name_holds_nothing_that_a_terminal_obeys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
