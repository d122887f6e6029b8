/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/report.h"

#include "analysis/report/writers.h"

const struct rkt_report_format RKT_REPORT_FORMATS[] = {
    {"text", rkt_report_write_text},
    {"json", rkt_report_write_json},
};
const size_t RKT_REPORT_FORMAT_COUNT = sizeof(RKT_REPORT_FORMATS) / sizeof(RKT_REPORT_FORMATS[0]);
