/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "analysis/import/json_scan.h"

static void texts_are_unescaped_to_bytes(void **state)
{
    static const char *const PAIRS[][2] = {
        {"plain", "plain"},
        {"a\\nb\\t\\\"\\\\\\/", "a\nb\t\"\\/"},
        {"\\u00e9\\u20ac", "\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\ud83d!", "\xef\xbf\xbd!"},
        {"\\x \\u12", "\\x \\u12"},
        {"end\\", "end\\"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        char out[64] = {0};
        size_t len = rkt_json_unescape(PAIRS[i][0], strlen(PAIRS[i][0]), out);

        if (len != strlen(PAIRS[i][1]) || memcmp(out, PAIRS[i][1], len) != 0)
            fail_msg("%s became %s", PAIRS[i][0], out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_unescaped_to_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
