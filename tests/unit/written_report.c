/* SPDX-License-Identifier: Apache-2.0 */
#include "written_report.h"

#include <stdio.h>
#include <string.h>

#include "analysis/report/report.h"
#include "rkt_test.h"

char *written_report(const struct fake_run *run, const char *format)
{
    char *text = NULL;
    size_t len_bytes = 0;
    FILE *out = open_memstream(&text, &len_bytes);

    assert_non_null(out);
    for (size_t i = 0; i < RKT_REPORT_FORMAT_COUNT; i++) {
        struct rkt_error err;

        if (strcmp(RKT_REPORT_FORMATS[i].name, format) == 0)
            assert_rkt_ok(RKT_REPORT_FORMATS[i].write(&run->result, NULL, out, &err), err);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}
