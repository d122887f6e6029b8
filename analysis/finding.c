/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/finding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding_parts.h"
#include "analysis/segment.h"

#define FINDINGS_MAX 64u /* more than there are ids */
#define TEXT_BYTES 512u

const char *rkt_severity_name(enum rkt_severity severity)
{
    switch (severity) {
    case RKT_SEVERITY_INFO:
        return "info";
    case RKT_SEVERITY_WARNING:
        return "warning";
    case RKT_SEVERITY_SERIOUS:
    case RKT_SEVERITY_COUNT:
        break;
    }
    return "serious";
}

/* ---- one finding ---- */

struct rkt_finding *rkt_add_finding(struct rkt_finder *finder, const char *id,
                                    enum rkt_severity severity, const struct rkt_loss *loss,
                                    const char *advice, const char *fmt, ...)
{
    struct rkt_finding *finding = &finder->findings->items[finder->findings->count];
    char text[TEXT_BYTES];
    va_list args;

    if (finder->findings->count == FINDINGS_MAX)
        return NULL;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    *finding = (struct rkt_finding){
        .id = id,
        .severity = severity,
        .loss_ns = loss ? loss->loss_ns : RKT_NA,
        .save_ns = loss ? loss->save_ns : RKT_NA,
        .save_share = loss ? loss->save_share : (double)NAN,
        .what = rkt_arena_strndup(finder->arena, text, strlen(text)),
        .advice = advice,
    };
    if (!finding->what)
        return NULL;
    finder->findings->count++;
    return finding;
}

void rkt_add_place(struct rkt_finding *finding, const struct rkt_finding_place *place)
{
    size_t at = finding->place_count;

    while (at > 0 && place->length_ns > finding->places[at - 1].length_ns)
        at--;
    if (at == RKT_PLACES_SHOWN)
        return;
    if (finding->place_count < RKT_PLACES_SHOWN)
        finding->place_count++;
    for (size_t i = finding->place_count - 1; i > at; i--)
        finding->places[i] = finding->places[i - 1];
    finding->places[at] = *place;
}

void rkt_add_places(const struct rkt_finder *finder, struct rkt_finding *finding, unsigned kind)
{
    for (uint32_t r = 0; r < finder->result->rank_count; r++) {
        const struct rkt_rank_result *rank = &finder->result->ranks[r];
        size_t mixed;
        uint32_t steady = rkt_steady_segments(rank, &mixed);

        for (size_t i = 0; rank->places && !rank->is_set_apart && i < rank->places->count; i++) {
            const struct rkt_place *place = &rank->places->items[i];
            struct rkt_finding_place shown = {
                .rank = r,
                .start_ns = place->start_ns,
                .offset_ns = place->start_ns - rank->run.start_ns,
                .length_ns = place->end_ns - place->start_ns,
                .what = place->what,
                .line = place->line,
            };

            if (place->kind == kind && (steady >> place->segment & 1) != 0)
                rkt_add_place(finding, &shown);
        }
    }
}

/* ---- all of them ---- */

static int compare_findings(const void *a, const void *b)
{
    const struct rkt_finding *x = a;
    const struct rkt_finding *y = b;

    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->save_ns != y->save_ns)
        return x->save_ns > y->save_ns ? -1 : 1;
    return strcmp(x->id, y->id);
}

static enum rkt_status run_rules(struct rkt_finder *finder)
{
    static enum rkt_status (*const RULES[])(struct rkt_finder *) = {
        rkt_find_copies, rkt_find_host_causes, rkt_find_communication, rkt_find_capture_limits};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]) && status == RKT_OK; i++)
        status = RULES[i](finder);
    return status;
}

static enum rkt_status find(struct rkt_finder *finder)
{
    struct rkt_findings *findings = finder->findings;
    enum rkt_status status;

    findings->items = RKT_ARENA_ARRAY(finder->arena, struct rkt_finding, FINDINGS_MAX + 1);
    if (!findings->items)
        return RKT_ERR_NOMEM;
    for (size_t r = 0; r < finder->result->rank_count; r++) {
        struct rkt_steady steady = rkt_steady_of(&finder->result->ranks[r]);

        if (!finder->result->ranks[r].is_set_apart)
            rkt_steady_add(&finder->sum, &steady);
    }
    rkt_fill_causes(finder);
    status = run_rules(finder);
    qsort(findings->items, findings->count, sizeof(*findings->items), compare_findings);
    for (size_t i = 0; i < findings->count; i++)
        findings->count_by_severity[findings->items[i].severity]++;
    return status;
}

enum rkt_status rkt_find_findings(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_error *err)
{
    struct rkt_finder finder = {.result = result, .arena = arena};
    enum rkt_status status = rkt_step_table_init(&finder.steps, result, err);

    if (status != RKT_OK)
        return status;
    (void)rkt_step_table_mark_warmup(&finder.steps);
    finder.findings = RKT_ARENA_ARRAY(arena, struct rkt_findings, 1);
    finder.room = calloc(result->rank_count + 1, sizeof(*finder.room));
    status = finder.findings && finder.room ? find(&finder) : RKT_ERR_NOMEM;
    free(finder.room);
    rkt_step_table_release(&finder.steps);
    if (status != RKT_OK)
        return rkt_fail(err, status, "no memory for findings");
    result->findings = finder.findings;
    return RKT_OK;
}
