/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_JSON_PARTS_H
#define RKT_ANALYSIS_REPORT_JSON_PARTS_H

/* json_parts - parts of the JSON report that have a file of their own. Private to the report. */

#include "analysis/key_table.h"
#include "analysis/result.h"
#include "common/json_writer.h"

/* "gpus" of a rank; "gpu" of one of its steps; "gpu" of the straggler. */
void rkt_json_put_gpus(struct rkt_json *json, const struct rkt_rank_result *rank);
void rkt_json_put_step_gpu(struct rkt_json *json, const struct rkt_rank_result *rank,
                           const struct rkt_step_result *step);
/* "compute": null where the cause is not that. */
void rkt_json_put_compute_cause(struct rkt_json *json, const struct rkt_compute_cause *cause);
void rkt_json_put_gpu_cause(struct rkt_json *json, const struct rkt_gpu_cause *cause);

/* "tables": the key tables of all ranks; {} where they were not made. */
void rkt_json_put_tables(struct rkt_json *json, const struct rkt_result *result);

/* Exclusive parts of a stretch of time, and in host view. */
void rkt_json_put_parts(struct rkt_json *json, const char *key, const struct rkt_partition *parts);
void rkt_json_put_host_parts(struct rkt_json *json, const char *key,
                             const struct rkt_host_partition *parts);

/* "host_count", "algo", "proto" of a collective. */
void rkt_json_put_link(struct rkt_json *json, const struct rkt_collective *collective);
/* "busbw": by size, communicator, hosts, algorithm and protocol. RKT_ERR_NOMEM only. */
enum rkt_status rkt_json_put_links(struct rkt_json *json, const struct rkt_result *result,
                                   struct rkt_error *err);

/* "buckets": of a step, by index. */
void rkt_json_put_buckets(struct rkt_json *json, const struct rkt_result *result);

/* "efficiency"; null where it was not looked at. */
void rkt_json_put_efficiency(struct rkt_json *json, const struct rkt_efficiency *efficiency);

/* "replay": the steps' replay, and whom each hung on. */
void rkt_json_put_whatif(struct rkt_json *json, const struct rkt_result *result);

/* "group": of which the straggler is one; null where it is alone. */
void rkt_json_put_group(struct rkt_json *json, const struct rkt_result *result);

/* "causes", "finding_counts" and "findings"; empty where they were not looked for. */
void rkt_json_put_findings(struct rkt_json *json, const struct rkt_result *result);

#endif
