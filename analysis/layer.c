/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/layer.h"

void rkt_layers_seek(struct rkt_layer *layers, size_t count, int64_t time_ns)
{
    for (size_t i = 0; i < count; i++)
        layers[i].at = rkt_interval_set_first_after(layers[i].set, time_ns);
}

uint32_t rkt_layers_active(struct rkt_layer *layers, size_t count, int64_t time_ns,
                           int64_t *next_ns)
{
    uint32_t active = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rkt_interval_set *set = layers[i].set;
        int64_t boundary_ns;

        while (layers[i].at < set->count && set->items[layers[i].at].end_ns <= time_ns)
            layers[i].at++;
        if (layers[i].at == set->count)
            continue;
        if (set->items[layers[i].at].start_ns <= time_ns) {
            active |= 1u << i;
            boundary_ns = set->items[layers[i].at].end_ns;
        } else {
            boundary_ns = set->items[layers[i].at].start_ns;
        }
        if (boundary_ns < *next_ns)
            *next_ns = boundary_ns;
    }
    return active;
}
