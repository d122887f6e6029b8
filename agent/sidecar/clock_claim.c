/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_claim.h"

#include <stdlib.h>
#include <sys/timex.h>

#include "agent/sidecar/clock_pairs.h"
#include "agent/sidecar/clock_state.h"

#define S UINT64_C(1000000000)
/* What the kernel adds each second, by its own count, which runs up to 500 ppm faster or slower
 * than ours. */
#define GROWS_NS_PER_S 500000u
#define PERMILLE 1000u
#define SLOWER_PERMILLE 999u

/* The largest error now, beside what the kernel alone would have made of it since the look that is
 * watched. */
static bool is_steered(struct rkt_clock_claimant *claimant, uint64_t now_ns,
                       const struct rkt_event_clock_state *state)
{
    uint64_t seconds = (now_ns - claimant->watch_ns) / PERMILLE * SLOWER_PERMILLE / S;
    uint64_t alone_ns = claimant->watch_max_error_ns + seconds * GROWS_NS_PER_S;
    bool has_watch = claimant->watch_ns > 0;

    if (has_watch && state->max_error_ns >= alone_ns)
        return claimant->steered_ns > 0 &&
               now_ns - claimant->steered_ns <= RKT_CLOCK_CLAIM_STALE_NS;
    claimant->watch_ns = now_ns;
    claimant->watch_max_error_ns = state->max_error_ns;
    claimant->steered_ns = has_watch ? now_ns : 0;
    return has_watch;
}

static bool is_good(struct rkt_clock_claimant *claimant, uint64_t now_ns)
{
    struct rkt_event state;

    if (!rkt_clock_state_take(&state))
        return false;
    return is_steered(claimant, now_ns, &state.clock_state) &&
           !(state.clock_state.status & STA_UNSYNC) &&
           llabs(state.clock_state.offset_ns) <= (long long)claimant->bound_ns;
}

bool rkt_clock_claimant_step(struct rkt_clock_claimant *claimant, uint64_t now_ns,
                             struct rkt_event *claim_out)
{
    struct rkt_event pair;

    if (claimant->bound_ns == 0 || now_ns < claimant->due_ns)
        return false;
    claimant->due_ns = now_ns + RKT_CLOCK_CLAIM_EVERY_NS;
    if (!is_good(claimant, now_ns))
        return false;
    pair = rkt_clock_pair_take();
    *claim_out = (struct rkt_event){.kind = RKT_EVENT_CLOCK_TRUE,
                                    .clock_id = pair.clock_id,
                                    .start_ns = pair.start_ns,
                                    .end_ns = pair.end_ns};
    claim_out->clock_true.earliest_ns = pair.clock_pair.realtime_ns - claimant->bound_ns;
    claim_out->clock_true.latest_ns = pair.clock_pair.realtime_ns + claimant->bound_ns;
    return true;
}
