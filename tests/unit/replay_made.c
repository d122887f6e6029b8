/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_made.h"

#include "rkt_test.h"

void made_add_items(struct made *made, size_t rank, const struct timed_item *items, size_t count)
{
    assert_true(made->lane_counts[rank] + count <= LANE_MAX);
    for (size_t i = 0; i < count; i++)
        made->lanes[rank][made->lane_counts[rank]++] = items[i];
}

size_t made_add_event(struct made *made, const struct rkt_replay_part *parts, size_t count,
                      int64_t transfer_ns)
{
    size_t event = made->graph.event_count++;

    assert_true(event < EVENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct rkt_replay_part *part = &made->parts[made->first_part[event] + i];

        *part = parts[i];
        part->event = (uint32_t)event;
    }
    made->first_part[event + 1] = made->first_part[event] + count;
    made->transfer_ns[event] = transfer_ns;
    return event;
}

void made_add_all(struct made *made, const uint32_t *before, int64_t transfer_ns)
{
    struct rkt_replay_part parts[RANKS_MAX];

    for (uint32_t r = 0; r < made->graph.rank_count; r++)
        parts[r] = (struct rkt_replay_part){.rank = r,
                                            .before = before ? before[r] : RKT_REPLAY_NONE,
                                            .gives = true,
                                            .takes = true};
    (void)made_add_event(made, parts, made->graph.rank_count, transfer_ns);
}

void made_lay_out(struct made *made)
{
    size_t count = 0;

    for (size_t r = 0; r < made->graph.rank_count; r++) {
        made->first_item[r] = count;
        for (size_t i = 0; i < made->lane_counts[r]; i++, count++) {
            made->items[count] = made->lanes[r][i].item;
            made->own_ns[count] = made->lanes[r][i].own_ns;
        }
    }
    made->first_item[made->graph.rank_count] = count;
    made->graph.items = made->items;
    made->graph.first_item = made->first_item;
    made->graph.parts = made->parts;
    made->graph.first_part = made->first_part;
    made->inputs = (struct rkt_replay_inputs){
        .own_ns = made->own_ns, .transfer_ns = made->transfer_ns, .start_ns = made->start_ns};
}

struct rkt_replay *made_create(const struct made *made)
{
    struct rkt_replay *replay = NULL;
    struct rkt_error err;

    assert_rkt_ok(rkt_replay_create(&made->graph, &replay, &err), err);
    return replay;
}

void made_run(const struct made *made, int64_t *ends_out)
{
    struct rkt_replay *replay = made_create(made);

    rkt_replay_run(replay, &made->inputs, ends_out);
    rkt_replay_destroy(replay);
}
