/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/bucket_table.h"
#include "analysis/json_known.h"
#include "analysis/report/json_parts.h"

void rkt_json_put_buckets(struct rkt_json *json, const struct rkt_result *result)
{
    rkt_json_begin_array(json, "buckets");
    for (size_t i = 0; i < result->bucket_count; i++) {
        const struct rkt_bucket_row *row = &result->buckets[i];

        rkt_json_begin_object(json, NULL);
        rkt_json_u64(json, "index", row->index);
        rkt_json_text(json, "func", row->func_name);
        if (row->bytes == 0)
            rkt_json_null(json, "bytes");
        else
            rkt_json_u64(json, "bytes", row->bytes);
        rkt_json_u64(json, "count", row->collective_count);
        rkt_json_known(json, "launch_offset_ns", row->launch_offset_ns);
        rkt_json_known(json, "ready_offset_ns", row->ready_ns);
        rkt_json_known(json, "start_offset_ns", row->start_ns);
        rkt_json_double(json, "queued_share", row->queued_share);
        rkt_json_known(json, "wait_ns", row->wait_ns);
        rkt_json_known(json, "transfer_ns", row->transfer_ns);
        rkt_json_known(json, "exposed_ns", row->exposed_ns);
        rkt_json_double(json, "busbw_bytes_per_s", row->busbw_bytes_per_s);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}
