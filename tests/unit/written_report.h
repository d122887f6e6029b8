/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_WRITTEN_REPORT_H
#define RKT_TESTS_UNIT_WRITTEN_REPORT_H

#include "fake_run.h"

/* The bytes of the run's report in a format of RKT_REPORT_FORMATS; the caller frees them. */
char *written_report(const struct fake_run *run, const char *format);

#endif
