/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/efficiency.h"

#include "analysis/report/json_parts.h"

void rkt_json_put_efficiency(struct rkt_json *json, const struct rkt_efficiency *efficiency)
{
    if (!efficiency) {
        rkt_json_null(json, "efficiency");
        return;
    }
    rkt_json_begin_object(json, "efficiency");
    rkt_json_bool(json, "has_steps", efficiency->has_steps);
    rkt_json_u64(json, "step_count", efficiency->step_count);
    rkt_json_u64(json, "rank_count", efficiency->rank_count);
    rkt_json_i64(json, "windows_ns", efficiency->windows_ns);
    rkt_json_i64(json, "useful_ns", efficiency->useful_ns);
    if (efficiency->host.window_ns > 0)
        rkt_json_put_host_parts(json, "host_parts_ns", &efficiency->host);
    else
        rkt_json_put_parts(json, "parts_ns", &efficiency->parts);
    rkt_json_i64(json, "steps_ns", efficiency->steps_ns);
    rkt_json_double(json, "parallel", efficiency->parallel);
    rkt_json_double(json, "balance", efficiency->balance);
    rkt_json_double(json, "comm", efficiency->comm);
    rkt_json_double(json, "serial", efficiency->serial);
    rkt_json_double(json, "transfer", efficiency->transfer);
    rkt_json_double(json, "spread", efficiency->spread);
    rkt_json_double(json, "flops_per_s", efficiency->flops_per_s);
    rkt_json_double(json, "mfu", efficiency->mfu);
    rkt_json_end(json);
}
