/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STEP_NAME_H
#define RKT_COMMON_STEP_NAME_H

/*
 * step_name - which step a range with a step's name is.
 *
 * Place:   the capture library numbers steps by it as they begin, for the capture windows; the
 *          analysis afterwards, in traces without marks. Both must come to the same number.
 * Threads: any; a hot path.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * `rest` is what follows the name that all steps share: "12", " 12", "#12", "_12", ": 12", "=12",
 * "/12" and "[12]" are step 12, whatever comes behind. `otherwise` where no number follows, or one
 * above 18 digits.
 */
uint64_t rkt_step_name_number(const char *rest, size_t len_bytes, uint64_t otherwise);

#endif
