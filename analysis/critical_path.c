/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critical_path.h"

#include "common/array.h"

struct adder {
    struct rkt_critical_path *sums;
    const struct rkt_replay_graph_of_steps *graph;
    int64_t from_ns;
    bool keeps_pieces;
    bool is_out_of_memory;
};

/* Of an item that is only in part on the path each cause has its share. */
static enum rkt_cause add_own(struct adder *adder, const struct rkt_replay_piece *piece)
{
    const struct rkt_lane_item *item = adder->graph->sources[piece->item];
    int64_t all_ns = rkt_lane_own_ns(item);
    int64_t length_ns = piece->end_ns - piece->start_ns;
    int64_t seen_ns = 0, given_ns = 0, most_ns = 0;
    enum rkt_cause most = RKT_CAUSE_OTHER;

    for (int cause = 1; cause <= RKT_CAUSE_OTHER && all_ns > 0; cause++) {
        int64_t to_ns;

        seen_ns += rkt_lane_own_by_ns(item, cause);
        to_ns = (int64_t)((__int128)length_ns * seen_ns / all_ns);
        adder->sums->own_ns[cause] += to_ns - given_ns;
        if (to_ns - given_ns > most_ns) {
            most_ns = to_ns - given_ns;
            most = (enum rkt_cause)cause;
        }
        given_ns = to_ns;
    }
    adder->sums->rank_ns[adder->graph->ranks[piece->rank]] += length_ns;
    return most;
}

/* Pieces come last first. */
static void keep_piece(struct adder *adder, const struct rkt_path_piece *piece)
{
    struct rkt_critical_path *sums = adder->sums;
    struct rkt_path_piece *after =
        sums->piece_count > 0 ? &sums->pieces[sums->piece_count - 1] : NULL;

    if (after && after->rank == piece->rank && after->collective == piece->collective &&
        after->cause == piece->cause) {
        after->start_ns = piece->start_ns;
        return;
    }
    if (!rkt_array_reserve((void **)&sums->pieces, &sums->piece_cap, sums->piece_count + 1,
                           sizeof(*sums->pieces)))
        adder->is_out_of_memory = true;
    else
        sums->pieces[sums->piece_count++] = *piece;
}

static void take_piece(void *ctx, const struct rkt_replay_piece *piece)
{
    struct adder *adder = ctx;
    struct rkt_path_piece kept = {
        .start_ns = piece->start_ns - adder->from_ns,
        .end_ns = piece->end_ns - adder->from_ns,
        .rank = adder->graph->ranks[piece->rank],
        .collective = RKT_INDEX_NONE,
    };

    adder->sums->total_ns += piece->end_ns - piece->start_ns;
    if (piece->item != RKT_REPLAY_NONE) {
        kept.cause = add_own(adder, piece);
    } else {
        kept.collective = adder->graph->collective_of[piece->event];
        adder->sums->transfer_ns += piece->end_ns - piece->start_ns;
    }
    if (adder->keeps_pieces)
        keep_piece(adder, &kept);
}

static void reverse(struct rkt_critical_path *sums)
{
    for (size_t i = 0; i < sums->piece_count / 2; i++) {
        struct rkt_path_piece *other = &sums->pieces[sums->piece_count - 1 - i];
        struct rkt_path_piece piece = sums->pieces[i];

        sums->pieces[i] = *other;
        *other = piece;
    }
}

enum rkt_status rkt_critical_path_add(struct rkt_critical_path *sums,
                                      const struct rkt_replay_graph_of_steps *graph,
                                      const struct rkt_replay *replay,
                                      const struct rkt_replay_path *path, bool keeps_pieces)
{
    struct adder adder = {
        .sums = sums, .graph = graph, .from_ns = path->from_ns, .keeps_pieces = keeps_pieces};

    rkt_replay_walk(replay, path, take_piece, &adder);
    if (keeps_pieces)
        reverse(sums);
    return adder.is_out_of_memory ? RKT_ERR_NOMEM : RKT_OK;
}
