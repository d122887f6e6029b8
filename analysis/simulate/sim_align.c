/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_align.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/clock_burst.h"
#include "common/clock_tree.h"

struct node {
    struct rkt_event *kept;
    size_t count;
    size_t cap;
};

struct rkt_sim_align {
    struct node *nodes;
    uint32_t node_count;
};

struct rkt_sim_align *rkt_sim_align_create(uint32_t node_count)
{
    struct rkt_sim_align *align = calloc(1, sizeof(*align));

    if (!align)
        return NULL;
    align->node_count = node_count;
    align->nodes = calloc((size_t)node_count + 1, sizeof(*align->nodes));
    if (!align->nodes) {
        free(align);
        return NULL;
    }
    return align;
}

void rkt_sim_align_destroy(struct rkt_sim_align *align)
{
    if (!align)
        return;
    for (uint32_t n = 0; n < align->node_count; n++)
        free(align->nodes[n].kept);
    free(align->nodes);
    free(align);
}

enum rkt_status rkt_sim_align_keep(struct rkt_sim_align *align, uint32_t node,
                                   const struct rkt_event *exchanges, size_t count,
                                   struct rkt_error *err)
{
    struct node *of = &align->nodes[node];
    size_t lower = 0, upper = 0;

    if (!rkt_clock_burst_keep(exchanges, count, &lower, &upper))
        return RKT_OK;
    if (!rkt_array_reserve((void **)&of->kept, &of->cap, of->count + 2, sizeof(*of->kept)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %u nodes",
                        align->node_count);
    of->kept[of->count++] = exchanges[lower];
    of->kept[of->count++] = exchanges[upper];
    return RKT_OK;
}

static enum rkt_status create_tree(const struct rkt_sim_align *align,
                                   struct rkt_clock_tree **tree_out, struct rkt_error *err)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    struct rkt_clock_node *nodes = calloc((size_t)align->node_count + 1, sizeof(*nodes));
    enum rkt_status status;

    if (!nodes)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %u nodes",
                        align->node_count);
    for (uint32_t n = 0; n < align->node_count; n++)
        nodes[n] = (struct rkt_clock_node){.source = n,
                                           .clock_group = n,
                                           .exchanges = align->nodes[n].kept,
                                           .exchange_count = align->nodes[n].count};
    status = rkt_clock_tree_create(nodes, align->node_count, 0, &PARAMS, tree_out, err);
    free(nodes);
    return status;
}

static enum rkt_status write_node(const struct rkt_sim_align *align, uint32_t node,
                                  const struct rkt_align_info *made, uint32_t ranks_per_node,
                                  struct rkt_sim_output *output, struct rkt_error *err)
{
    uint32_t first_rank = align->node_count + node * ranks_per_node;
    enum rkt_status status = rkt_sim_output_append_align(output, node, made, err);

    for (uint32_t i = 0; i < ranks_per_node && status == RKT_OK; i++)
        status = rkt_sim_output_append_align(output, first_rank + i, made, err);
    return status;
}

enum rkt_status rkt_sim_align_write(const struct rkt_sim_align *align, uint32_t ranks_per_node,
                                    struct rkt_sim_output *output, struct rkt_error *err)
{
    struct rkt_clock_tree *tree = NULL;
    enum rkt_status status = create_tree(align, &tree, err);

    for (uint32_t n = 0; n < align->node_count && status == RKT_OK; n++) {
        const struct rkt_align_info *made = NULL;

        status = rkt_clock_tree_align(tree, n, &made, err);
        if (status == RKT_OK)
            status = write_node(align, n, made, ranks_per_node, output, err);
    }
    rkt_clock_tree_destroy(tree);
    return status;
}
