/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_CURVE_H
#define RKT_COMMON_CLOCK_CURVE_H

/*
 * clock_curve - one clock against another over time: the offset, and bounds that hold.
 *
 * Place:   clock_burst -> [clock_curve] -> clock_path.
 *
 *  1. A smoother (clock_smooth) through the bursts' middles gives the offset c and its rate.
 *  2. The tube: all curves through every burst's interval whose rate is never further than rho
 *     from that of c. rho is given, or max(300 ppb, 4 x the largest change of c's rate between
 *     neighbouring gaps), and 4 sigma of the rate on top, which counts where bursts are few; for
 *     the guaranteed bound also the furthest from c's rate that the intervals of every two bursts
 *     allow, as long as these leave more than 300 ppb: few bursts may all be poor, and sigma does
 *     not know it. With a_k = upper_k - c_k swept forward and backward (a_k <= a_j + rho |t_k -
 *     t_j|):
 *
 *         upper(t) = c(t) + min(a_k + rho (t - t_k), a_k+1 + rho (t_k+1 - t))
 *
 *     The lower edge likewise. This is the guaranteed bound: inside a burst without assumption,
 *     between bursts as far as the rate keeps to rho.
 *  3. Bursts that no quartz can have made together were told apart before (clock_screen): one
 *     that is alone in its contradiction is left out, and where the clock was stopped or set
 *     (suspend, migration), what is before and after are two segments. Between them the bound
 *     spans both. Where within a segment no curve passes, rho is disproved: it is doubled, and
 *     that is flagged; past RKT_CLOCK_RHO_MAX_PPB the segment is split where the rate is furthest
 *     from its mean.
 *  4. The likely bound is the same tube in intervals that are narrower by (1 - kappa) w_min/2 on
 *     both sides: of the fastest way there and back, one took at most kappa w_min longer than the
 *     other.
 *
 * Threads: any; no state. Memory: the arena's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_burst.h"
#include "common/status.h"

/* No quartz changes its rate by more within a gap. */
#define RKT_CLOCK_RHO_MAX_PPB 10000u

struct rkt_clock_params {
    uint32_t rho_ppb; /* 0: from the data */
    uint32_t kappa_permille;
};

#define RKT_CLOCK_PARAMS_USUAL              \
    {                                       \
        .rho_ppb = 0, .kappa_permille = 300 \
    }

/* Stored in files: never renumber. */
enum rkt_clock_flag {
    RKT_CLOCK_RHO_GIVEN = 1,      /* by the user */
    RKT_CLOCK_RHO_WIDENED = 2,    /* the bursts disproved the first rho */
    RKT_CLOCK_STEPPED = 4,        /* more than one segment */
    RKT_CLOCK_BAD_BURSTS = 8,     /* some were left out: empty, or alone in a contradiction */
    RKT_CLOCK_ASYMMETRIC = 16,    /* the bursts disproved kappa */
    RKT_CLOCK_SILENT = 32,        /* over a minute between two bursts, or without any of a hop */
    RKT_CLOCK_CONTRADICTORY = 64, /* too much was left out, or too many segments: no curve */
    RKT_CLOCK_CLAIM_USED = 128,   /* bounds are narrower by what hosts claim of true time */
    RKT_CLOCK_CLAIM_WRONG = 256,  /* such claims contradict the exchanges: left out */
    RKT_CLOCK_NARROWED = 512,     /* where it is wide, by collectives (clock_narrow.h) */
};

/* What became of what a host claimed of true time: "none" (it claimed nothing, or what is of no
 * use), "used" or "left out". */
const char *rkt_clock_claim_word(uint32_t flags);

/* Where the other clock minus this one is at a moment of this one. */
struct rkt_clock_point {
    int64_t offset_ns; /* within all limits */
    int64_t lower_ns;  /* guaranteed */
    int64_t upper_ns;
    int64_t likely_lower_ns;
    int64_t likely_upper_ns;
};

/* How fast the bounds open. */
struct rkt_clock_growth {
    double guaranteed_ppb;
    double likely_ppb;
};

/* One burst's place on the curve. */
struct rkt_clock_vertex {
    int64_t local_ns;
    struct rkt_clock_point at;
    struct rkt_clock_growth growth; /* towards the next vertex, and the next's towards it */
};

struct rkt_clock_segment {
    const struct rkt_clock_vertex *vertices;
    size_t count;
    double first_rate_ppb; /* for what is before and after all bursts */
    double last_rate_ppb;
    struct rkt_clock_growth first_growth;
    struct rkt_clock_growth last_growth;
};

struct rkt_clock_curve {
    const struct rkt_clock_segment *segments; /* by time */
    size_t segment_count;                     /* 0: nothing is known */
    uint32_t flags;                           /* enum rkt_clock_flag */
    uint32_t rho_ppb;                         /* the largest in use */
    uint32_t kappa_permille;                  /* likewise */
    uint32_t noise_index;                     /* which of the noises, of the longest segment */
    int64_t best_width_ns;                    /* of the narrowest burst */
    size_t bad_count;                         /* bursts left out */
};

/* RKT_ERR_NOMEM only; whatever the bursts are, there is a curve, or a flag that says why not. */
enum rkt_status rkt_clock_curve_solve(const struct rkt_clock_bursts *bursts,
                                      const struct rkt_clock_params *params,
                                      struct rkt_arena *arena, struct rkt_clock_curve *curve_out,
                                      struct rkt_error *err);

/* False: the curve has no segment. Before the first and after the last burst the bounds grow. */
bool rkt_clock_curve_at(const struct rkt_clock_curve *curve, int64_t local_ns,
                        struct rkt_clock_point *point_out);

#endif
