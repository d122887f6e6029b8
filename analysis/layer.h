/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_LAYER_H
#define RKT_ANALYSIS_LAYER_H

/*
 * layer - walks several interval sets side by side, from boundary to boundary.
 *
 *     for (time = start; time < end; time = next) {
 *         next = end;
 *         active = rkt_layers_active(layers, count, time, &next);
 *         ... the state `active` holds in [time, next) ...
 *     }
 *
 * Threads: one at a time. Cost: O(layers) per boundary. Times must not go back without a seek.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/interval.h"

#define RKT_LAYER_COUNT_MAX 32u

struct rkt_layer {
    const struct rkt_interval_set *set; /* normalised */
    size_t at;                          /* first member that ends after the time of the walk */
};

void rkt_layers_seek(struct rkt_layer *layers, size_t count, int64_t time_ns);

/* Bit i: layer i covers time_ns. *next_ns goes down to the next boundary of any layer. */
uint32_t rkt_layers_active(struct rkt_layer *layers, size_t count, int64_t time_ns,
                           int64_t *next_ns);

#endif
