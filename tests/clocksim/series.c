/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/series.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

void sim_series_add(struct sim_series *series, double value)
{
    if (!rkt_array_reserve((void **)&series->values, &series->cap, series->count + 1,
                           sizeof(*series->values)))
        abort();
    series->values[series->count++] = (float)value;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

double sim_series_quantile(struct sim_series *series, double share)
{
    size_t rank = (size_t)ceil(share * (double)series->count);

    if (series->count == 0)
        return 0;
    qsort(series->values, series->count, sizeof(*series->values), compare_floats);
    return (double)series->values[rank > 0 ? rank - 1 : 0];
}

void sim_series_release(struct sim_series *series)
{
    free(series->values);
    *series = (struct sim_series){0};
}
