/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/bucket_table.h"
#include "analysis/report/json_parts.h"

static void put_ns(struct rkt_json *json, const char *key, int64_t value_ns)
{
    if (value_ns == RKT_NA)
        rkt_json_null(json, key);
    else
        rkt_json_i64(json, key, value_ns);
}

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
        put_ns(json, "launch_offset_ns", row->launch_offset_ns);
        put_ns(json, "ready_offset_ns", row->ready_ns);
        put_ns(json, "start_offset_ns", row->start_ns);
        rkt_json_double(json, "queued_share", row->queued_share);
        put_ns(json, "wait_ns", row->wait_ns);
        put_ns(json, "transfer_ns", row->transfer_ns);
        put_ns(json, "exposed_ns", row->exposed_ns);
        rkt_json_double(json, "busbw_bytes_per_s", row->busbw_bytes_per_s);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}
