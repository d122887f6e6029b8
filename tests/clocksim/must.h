/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_MUST_H
#define RKT_TESTS_CLOCKSIM_MUST_H

/* must - a test's machinery that fails ends the test. */

#include <stdio.h>
#include <stdlib.h>

#include "common/status.h"

static inline void sim_must(enum rkt_status status, const struct rkt_error *err)
{
    if (status == RKT_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

#endif
