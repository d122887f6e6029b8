/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "analysis/critical_path.h"
#include "analysis/efficiency.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"
#include "analysis/steady.h"

#define FINE "80%%" /* of the POP project's factors */
#define PATH_SHARE_MIN 0.01
#define PATH_TEXT_BYTES 256

static void print_factors(const struct rkt_result *result, FILE *out)
{
    const struct rkt_efficiency *efficiency = result->efficiency;

    if (isnan(efficiency->serial))
        rkt_text_line(out,
                      "  = load balance %s x communication %s / spread of the windows %s; "
                      "serialization and transfer n/a: %s",
                      rkt_cell_percent(efficiency->balance).text,
                      rkt_cell_percent(efficiency->comm).text,
                      rkt_cell_percent(efficiency->spread).text, result->whatif.why_not);
    else
        rkt_text_line(
            out,
            "  = load balance %s x serialization %s x transfer %s / spread of the windows "
            "%s",
            rkt_cell_percent(efficiency->balance).text, rkt_cell_percent(efficiency->serial).text,
            rkt_cell_percent(efficiency->transfer).text, rkt_cell_percent(efficiency->spread).text);
}

static void print_replay(const struct rkt_whatif *whatif, FILE *out)
{
    if (whatif->why_not[0] == '\0')
        rkt_text_line(out,
                      "  With equal ranks and usual transfers steps would be %s shorter (slowdown "
                      "%.2f); the replay behind this misses the steps by %s",
                      rkt_cell_percent(whatif->waste).text, whatif->slowdown,
                      rkt_cell_percent(whatif->miss).text);
    else if (isfinite(whatif->miss))
        rkt_text_line(out, "  (the replay misses the steps by %s)",
                      rkt_cell_percent(whatif->miss).text);
}

/* "compute 85.1%, " for the largest of `values_ns` that is left; it is 0 then. */
static bool add_largest(char *text, size_t text_bytes, const char *const *names, int64_t *values_ns,
                        size_t count, int64_t total_ns)
{
    size_t used = strlen(text);
    size_t largest = 0;

    for (size_t i = 1; i < count; i++)
        largest = values_ns[i] > values_ns[largest] ? i : largest;
    if (rkt_share(values_ns[largest], total_ns) < PATH_SHARE_MIN)
        return false;
    (void)snprintf(text + used, text_bytes - used, "%s%s %s", used > 0 ? ", " : "", names[largest],
                   rkt_cell_percent(rkt_share(values_ns[largest], total_ns)).text);
    values_ns[largest] = 0;
    return true;
}

static void print_path(const struct rkt_result *result, FILE *out)
{
    const struct rkt_critical_path *path = result->whatif.path;
    const char *names[RKT_CAUSE_OTHER + 1] = {"transfers"};
    int64_t values_ns[RKT_CAUSE_OTHER + 1];
    uint32_t foremost = 0;
    char text[PATH_TEXT_BYTES] = "";

    if (!path || path->total_ns <= 0)
        return;
    for (int cause = 1; cause <= RKT_CAUSE_OTHER; cause++)
        names[cause] = rkt_cause_name((enum rkt_cause)cause);
    memcpy(values_ns, path->own_ns, sizeof(values_ns));
    values_ns[0] = path->transfer_ns;
    while (add_largest(text, sizeof(text), names, values_ns, RKT_CAUSE_OTHER + 1, path->total_ns))
        continue;
    for (uint32_t r = 1; r < result->rank_count; r++)
        foremost = path->rank_ns[r] > path->rank_ns[foremost] ? r : foremost;
    rkt_text_line(out, "  critical path through all ranks: %s; %s of it is own work of rank %u",
                  text, rkt_cell_percent(rkt_share(path->rank_ns[foremost], path->total_ns)).text,
                  result->ranks[foremost].rank);
}

void rkt_text_scaling(const struct rkt_result *result, FILE *out)
{
    const struct rkt_efficiency *efficiency = result->efficiency;

    if (!efficiency || isnan(efficiency->parallel))
        return;
    rkt_text_line(out, "SCALING");
    rkt_text_line(out,
                  "  parallel efficiency %s: what of the ranks' time computes (" FINE
                  " is fine, for each factor, too)",
                  rkt_cell_percent(efficiency->parallel).text);
    if (efficiency->rank_count > 1) {
        print_factors(result, out);
        print_replay(&result->whatif, out);
        print_path(result, out);
    }
    if (isfinite(efficiency->flops_per_s))
        rkt_text_line(out, "  model FLOPs %.1f TFLOP/s per GPU: MFU %s",
                      efficiency->flops_per_s / 1e12, rkt_cell_percent(efficiency->mfu).text);
    (void)fputc('\n', out);
}
