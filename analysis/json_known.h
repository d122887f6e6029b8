/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_JSON_KNOWN_H
#define RKT_ANALYSIS_JSON_KNOWN_H

/* json_known - a number of the result in JSON: null where it is not available. Threads: as the
 * writer. */

#include <stdint.h>

#include "analysis/result.h"
#include "common/json_writer.h"

/* `key`: NULL in an array. `value`: RKT_NA becomes null. */
static inline void rkt_json_known(struct rkt_json *json, const char *key, int64_t value)
{
    if (value == RKT_NA)
        rkt_json_null(json, key);
    else
        rkt_json_i64(json, key, value);
}

#endif
