/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/finding.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"
#include "analysis/steady.h"

#define SHOWN_MAX 2 /* in full; the page stays a page */

void rkt_text_causes(const struct rkt_result *result, FILE *out)
{
    const struct rkt_findings *findings = result->findings;

    if (!findings || findings->causes[0].loss_ns == RKT_NA)
        return;
    rkt_text_line(out,
                  "THE FOUR CLASSIC CAUSES (ms a step, mean over ranks; at most: what a fix of "
                  "all of it saves)");
    (void)fprintf(out, "  %-21s%9s%8s%9s%10s  %s\n", "", "lost", "share", "at most", "a step",
                  "on a timeline");
    for (size_t i = 0; i < RKT_CLASSIC_COUNT; i++) {
        const struct rkt_classic_cause *cause = &findings->causes[i];

        (void)fprintf(out, "  %-21s%9s%8s%9s%10.0f  %s\n", cause->name,
                      rkt_cell_ms(cause->loss_ns).text, rkt_cell_percent(cause->share).text,
                      rkt_cell_ms(cause->save_ns).text, cause->count, cause->pattern);
    }
    (void)fputc('\n', out);
}

/* " Longest: 1.2 ms on rank 3, 50 ms after its begin: cudaMalloc (train.py:31)." */
static void name_place(const struct rkt_result *result, const struct rkt_finding_place *place,
                       char *text, size_t text_bytes)
{
    bool has_line = place->line[0] != '\0';

    (void)snprintf(text, text_bytes, " Longest: %s on rank %u, %s after its begin%s%.60s%s%s%s.",
                   rkt_cell_duration(place->length_ns).text, result->ranks[place->rank].rank,
                   rkt_cell_duration(place->offset_ns).text, place->what[0] != '\0' ? ": " : "",
                   place->what, has_line ? " (" : "", place->line, has_line ? ")" : "");
}

static void print_finding(const struct rkt_result *result, const struct rkt_finding *finding,
                          size_t number, FILE *out)
{
    char saves[96] = "";
    char place[320] = "";

    if (finding->save_ns != RKT_NA)
        (void)snprintf(saves, sizeof(saves), " (saves at most %s%s, %s)",
                       rkt_cell_duration(finding->save_ns).text,
                       result->summary.step_ns == RKT_NA ? "" : " a step",
                       rkt_cell_percent(finding->save_share).text);
    if (finding->place_count > 0 && number == 1)
        name_place(result, &finding->places[0], place, sizeof(place));
    rkt_text_line(out, "  %zu. %s%s: %s.%s", number, finding->id, saves, finding->what, place);
    rkt_text_line(out, "     Do: %s.", finding->advice);
}

/* "Then: communication (6.0%), clock; 2 of level info. The JSON report says more." */
static void print_rest(const struct rkt_findings *findings, size_t first, size_t end, FILE *out)
{
    size_t infos = findings->count - end;
    char names[512] = "";
    char count[48] = "";
    size_t used = 0;

    for (size_t i = first; i < end && used < sizeof(names); i++) {
        const struct rkt_finding *finding = &findings->items[i];
        bool has_share = finding->save_ns != RKT_NA;

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s%s%s",
                                 i > first ? ", " : "Then: ", finding->id, has_share ? " (" : "",
                                 has_share ? rkt_cell_percent(finding->save_share).text : "",
                                 has_share ? ")" : "");
    }
    if (infos > 0)
        (void)snprintf(count, sizeof(count), "%s%zu %s of level info", used > 0 ? "; " : "", infos,
                       infos == 1 ? "finding" : "findings");
    if (used > 0 || infos > 0)
        rkt_text_line(out, "  %s%s%s. The JSON report says more.", names, count,
                      end == 0 ? ", none of which costs much" : "");
}

/* Findings are by severity: those above info come first. */
void rkt_text_findings(const struct rkt_result *result, FILE *out)
{
    const struct rkt_findings *findings = result->findings;
    size_t above, shown;

    if (!findings)
        return;
    above = findings->count - findings->count_by_severity[RKT_SEVERITY_INFO];
    shown = above < SHOWN_MAX ? above : SHOWN_MAX;
    for (size_t i = 0; i < shown; i++)
        print_finding(result, &findings->items[i], i + 1, out);
    print_rest(findings, shown, above, out);
}
