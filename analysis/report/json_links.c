/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/json_known.h"
#include "analysis/report/groups.h"
#include "analysis/report/json_parts.h"

void rkt_json_put_link(struct rkt_json *json, const struct rkt_collective *collective)
{
    if (collective->host_count > 0)
        rkt_json_u64(json, "host_count", collective->host_count);
    else
        rkt_json_null(json, "host_count");
    if (collective->algo != RKT_ALGO_UNKNOWN)
        rkt_json_text(json, "algo", rkt_nccl_algo_name((enum rkt_nccl_algo)collective->algo));
    else
        rkt_json_null(json, "algo");
    if (collective->proto != RKT_PROTO_UNKNOWN)
        rkt_json_text(json, "proto", rkt_nccl_proto_name((enum rkt_nccl_proto)collective->proto));
    else
        rkt_json_null(json, "proto");
}

static void put_group(struct rkt_json *json, const struct rkt_collective_group *group)
{
    const struct rkt_collective *first = group->first;
    char comm_id[24];

    (void)snprintf(comm_id, sizeof(comm_id), "0x%016" PRIx64, first->comm_id);
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "func", first->func_name);
    rkt_json_u64(json, "bytes", first->bytes);
    if (first->comm_id != 0)
        rkt_json_text(json, "comm_id", comm_id);
    else
        rkt_json_null(json, "comm_id");
    rkt_json_text(json, "comm_name", first->comm_name);
    rkt_json_u64(json, "rank_count", first->participant_count);
    rkt_json_put_link(json, first);
    rkt_json_u64(json, "count", group->count);
    rkt_json_known(json, "transfer_ns", group->transfer_ns);
    rkt_json_double(json, "busbw_bytes_per_s", group->busbw_bytes_per_s);
    rkt_json_end(json);
}

enum rkt_status rkt_json_put_links(struct rkt_json *json, const struct rkt_result *result,
                                   struct rkt_error *err)
{
    struct rkt_collective_group *groups;
    enum rkt_status status;
    size_t count;

    status = rkt_group_collectives(result, RKT_GROUP_LINKS, &groups, &count, err);
    if (status != RKT_OK)
        return status;
    rkt_json_begin_array(json, "busbw");
    for (size_t i = 0; i < count; i++) {
        if (groups[i].first->bytes > 0) /* of unknown size there is no bandwidth */
            put_group(json, &groups[i]);
    }
    rkt_json_end(json);
    free(groups);
    return RKT_OK;
}
