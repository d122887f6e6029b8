/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/report.h"

#include <stdlib.h>

#include "analysis/report/writers.h"

const struct rkt_report_format RKT_REPORT_FORMATS[] = {
    {"text", rkt_report_write_text},
    {"json", rkt_report_write_json},
};
const size_t RKT_REPORT_FORMAT_COUNT = sizeof(RKT_REPORT_FORMATS) / sizeof(RKT_REPORT_FORMATS[0]);

enum rkt_status rkt_report_json_of(const struct rkt_result *result, char **json_out,
                                   struct rkt_error *err)
{
    size_t len_bytes = 0;
    char *json = NULL;
    FILE *out = open_memstream(&json, &len_bytes);
    enum rkt_status status;

    if (!out)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a report");
    status = rkt_report_write_json(result, NULL, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for a report");
    if (status == RKT_OK)
        *json_out = json;
    else
        free(json);
    return status;
}
