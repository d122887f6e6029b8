/* SPDX-License-Identifier: Apache-2.0 */
/* The four classic causes why GPUs do not compute. */
#include <math.h>

#include "analysis/finding_parts.h"

static void fill_cause(struct rkt_finder *finder, enum rkt_classic classic, const char *name,
                       const char *pattern, rkt_part_fn fn, double count)
{
    struct rkt_loss loss = classic == RKT_CLASSIC_SERIAL ? rkt_comm_loss_of(finder, fn)
                                                         : rkt_loss_of(finder, fn, NULL);
    bool is_known = finder->sum.parts.window_ns > 0;

    finder->findings->causes[classic] = (struct rkt_classic_cause){
        .name = name,
        .pattern = pattern,
        .loss_ns = is_known ? loss.loss_ns : RKT_NA,
        .share = is_known ? loss.share : (double)NAN,
        .save_ns = is_known ? loss.save_ns : RKT_NA,
        .count = is_known && finder->result->tables ? count : (double)NAN,
    };
}

static double collectives_per_step(const struct rkt_finder *finder)
{
    return rkt_per_step(finder, RKT_TABLE_KERNELS, "comm", RKT_COLUMN_COUNT);
}

void rkt_fill_causes(struct rkt_finder *finder)
{
    fill_cause(finder, RKT_CLASSIC_COPIES, "copies", "a memcpy alone, no kernel beside it",
               rkt_part_copies, rkt_per_step(finder, RKT_TABLE_COPIES, NULL, RKT_COLUMN_COUNT));
    fill_cause(finder, RKT_CLASSIC_LAUNCH_GAPS, "launch_gaps", "gaps between kernels, the CPU busy",
               rkt_part_launch_gaps,
               rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_LAUNCH_COUNT));
    fill_cause(finder, RKT_CLASSIC_HIDDEN_SYNC, "hidden_sync",
               "the CPU in a call, then the GPU empty", rkt_part_syncs,
               rkt_per_step(finder, RKT_TABLE_CALLS, "blocking", RKT_COLUMN_COUNT));
    fill_cause(finder, RKT_CLASSIC_SERIAL, "serial_communication",
               "NCCL alone, the other streams empty", rkt_part_transfers,
               collectives_per_step(finder));
}
