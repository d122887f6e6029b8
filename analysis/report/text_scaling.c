/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/efficiency.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"

#define FINE "80%%" /* of the POP project's factors */

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
    }
    if (isfinite(efficiency->flops_per_s))
        rkt_text_line(out, "  model FLOPs %.1f TFLOP/s per GPU: MFU %s",
                      efficiency->flops_per_s / 1e12, rkt_cell_percent(efficiency->mfu).text);
    (void)fputc('\n', out);
}
