/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EXPORT_CHROME_H
#define RKT_ANALYSIS_EXPORT_CHROME_H

/*
 * chrome - the merged timeline as Chrome trace JSON (chrome://tracing, ui.perfetto.dev).
 *
 * One process per rank, named and sorted; one track per stream and host thread, and more where
 * slices would overlap partly, which viewers drop. Times are job time, us with three decimals
 * since the first event. Flows join launches with kernels.
 * `otherData` says of whom and of what clock each rank is, and holds the result's warnings.
 * Threads: any; the result is read only.
 */

#include <stdio.h>

#include "analysis/result.h"
#include "common/status.h"

enum rkt_status rkt_export_chrome(const struct rkt_result *result, FILE *out,
                                  struct rkt_error *err);

#endif
