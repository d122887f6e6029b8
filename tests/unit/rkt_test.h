/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_RKT_TEST_H
#define RKT_TESTS_UNIT_RKT_TEST_H

/* rkt_test - cmocka, and asserts that show an error's own words. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/status.h"

#define assert_rkt_ok(call, err)                                                      \
    do {                                                                              \
        if ((call) != RKT_OK)                                                         \
            fail_msg("%s: %s: %s", #call, rkt_status_name((err).status), (err).text); \
    } while (0)

#define assert_rkt_status(call, want)                                          \
    do {                                                                       \
        enum rkt_status got_ = (call);                                         \
        if (got_ != (want))                                                    \
            fail_msg("%s is %s, not %s", #call, rkt_status_name(got_), #want); \
    } while (0)

#endif
