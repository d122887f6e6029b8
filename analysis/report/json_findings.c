/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/finding.h"
#include "analysis/json_known.h"
#include "analysis/report/json_parts.h"

static void put_place(struct rkt_json *json, const struct rkt_result *result,
                      const struct rkt_finding_place *place)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "rank", result->ranks[place->rank].rank);
    rkt_json_i64(json, "start_ns", place->start_ns);
    rkt_json_i64(json, "offset_ns", place->offset_ns);
    rkt_json_i64(json, "length_ns", place->length_ns);
    rkt_json_text(json, "what", place->what);
    rkt_json_text(json, "line", place->line);
    rkt_json_end(json);
}

static void put_finding(struct rkt_json *json, const struct rkt_result *result,
                        const struct rkt_finding *finding)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "id", finding->id);
    rkt_json_text(json, "severity", rkt_severity_name(finding->severity));
    rkt_json_known(json, "loss_ns", finding->loss_ns);
    rkt_json_known(json, "save_ns", finding->save_ns);
    rkt_json_double(json, "save_share", finding->save_share);
    rkt_json_text(json, "what", finding->what);
    rkt_json_text(json, "advice", finding->advice);
    rkt_json_begin_array(json, "places");
    for (size_t i = 0; i < finding->place_count; i++)
        put_place(json, result, &finding->places[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_cause(struct rkt_json *json, const struct rkt_classic_cause *cause)
{
    rkt_json_begin_object(json, cause->name);
    rkt_json_known(json, "loss_ns", cause->loss_ns);
    rkt_json_double(json, "share", cause->share);
    rkt_json_known(json, "save_ns", cause->save_ns);
    rkt_json_double(json, "count_per_step", cause->count);
    rkt_json_text(json, "pattern", cause->pattern);
    rkt_json_end(json);
}

void rkt_json_put_findings(struct rkt_json *json, const struct rkt_result *result)
{
    const struct rkt_findings *findings = result->findings;

    rkt_json_begin_object(json, "causes");
    for (size_t i = 0; findings && i < RKT_CLASSIC_COUNT; i++)
        put_cause(json, &findings->causes[i]);
    rkt_json_end(json);
    rkt_json_begin_object(json, "finding_counts");
    for (int i = 0; findings && i < RKT_SEVERITY_COUNT; i++)
        rkt_json_u64(json, rkt_severity_name((enum rkt_severity)i), findings->count_by_severity[i]);
    rkt_json_end(json);
    rkt_json_begin_array(json, "findings");
    for (size_t i = 0; findings && i < findings->count; i++)
        put_finding(json, result, &findings->items[i]);
    rkt_json_end(json);
}
