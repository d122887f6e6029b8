/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_summary - what a store says, one line per source, for scripts to look for:
 *
 *   run ranks=4 trailer=1 damaged=0 gaps=0 sources=8 command="..."
 *   source number=1 role=rank rank=1 kernels=100 comms=1 steps=1 pairs=0 exchanges=0 events=102
 *          nccl=0 gap_ms=0 marks=0 lost=0 named=100 end=exited code=0 cut=0 align=reference knots=0 offset_ns=0
 *          bound_ns=0 node=0 host=a peers=0,2 edges=closed@-,warmup@4,open@5    (all on one line; of the
 *          last knot; peers: sources below 64 that its clock was measured against; edges of capture
 *          windows with the step that begins there)
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/store_reader.h"
#include "common/strtab.h"

#define EDGES_BYTES 1024
#define PEERS_MAX 64u

struct totals {
    uint64_t counts[RKT_EVENT_KIND_COUNT];
    uint64_t event_count;
    uint64_t mark_count;
    uint64_t peers;  /* a bit for each that clocks were exchanged with */
    uint64_t gap_ns; /* capture was off */
    uint64_t step_count;
    uint64_t lost_count;
    uint64_t named_count; /* kernels with the right name for their number */
    struct rkt_strtab *tab;
    char edges[EDGES_BYTES];
    size_t edges_used;
};

static void add_edge(struct totals *totals, const struct rkt_event *event)
{
    static const char *const NAMES[] = {"closed", "open", "warmup"};
    const char *name = event->type <= RKT_WINDOW_WARMUP ? NAMES[event->type] : "unknown";
    char step[24] = "-";
    int written;

    if (event->window.step != UINT64_MAX)
        (void)snprintf(step, sizeof(step), "%llu", (unsigned long long)event->window.step);
    written = snprintf(totals->edges + totals->edges_used, EDGES_BYTES - totals->edges_used,
                       "%s%s@%s", totals->edges_used > 0 ? "," : "", name, step);
    if (written > 0 && (size_t)written < EDGES_BYTES - totals->edges_used)
        totals->edges_used += (size_t)written;
}

static enum rkt_status add(void *ctx, const struct rkt_event *events, size_t count,
                           struct rkt_error *err)
{
    struct totals *totals = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        const struct rkt_event *event = &events[i];
        char want[32];

        totals->counts[event->kind]++;
        totals->event_count++;
        totals->mark_count += event->kind == RKT_EVENT_RANGE && event->type == RKT_RANGE_MARK;
        if (event->kind == RKT_EVENT_LOSS && event->type == RKT_LOSS_CAPTURE_OFF)
            totals->gap_ns += event->end_ns - event->start_ns;
        totals->step_count += event->kind == RKT_EVENT_RANGE && event->type == RKT_RANGE_STEP;
        if (event->kind == RKT_EVENT_LOSS && rkt_loss_is_of_records(event->type))
            totals->lost_count += event->loss.count;
        if (event->kind == RKT_EVENT_CLOCK_EXCHANGE)
            totals->peers |= UINT64_C(1) << (event->clock_exchange.peer_source % PEERS_MAX);
        if (event->kind == RKT_EVENT_WINDOW)
            add_edge(totals, event);
        (void)snprintf(want, sizeof(want), "kernel_%u", event->correlation_id % 10);
        if (event->kind == RKT_EVENT_KERNEL) {
            const char *name = rkt_strtab_get(totals->tab, event->name_id, NULL);
            size_t at = 0;

            while (want[at] != '\0' && want[at] == name[at])
                at++;
            totals->named_count += want[at] == name[at];
        }
    }
    return RKT_OK;
}

static void print_source(struct rkt_store_reader *reader, const struct rkt_store_source *source)
{
    static const char *const ROLES[] = {"rank", "helper", "sidecar"};
    static const char *const REASONS[] = {"unknown", "exited", "signaled", "lost"};
    static const char *const STATES[] = {"unaligned", "reference", "measured",
                                         "wall",      "same_host", "from_collectives"};
    struct rkt_align_knot knot = {0}; /* the last */
    struct totals totals = {.tab = rkt_strtab_create()};

    (void)rkt_store_reader_walk(reader, source->info.source, totals.tab, add, &totals, NULL);
    if (source->align.knot_count > 0)
        knot = source->align.knots[source->align.knot_count - 1];
    (void)printf(
        "source number=%u role=%s rank=%d kernels=%llu comms=%llu steps=%llu pairs=%llu "
        "exchanges=%llu events=%llu nccl=%llu gap_ms=%llu marks=%llu lost=%llu named=%llu end=%s "
        "code=%d cut=%d align=%s "
        "knots=%zu "
        "offset_ns=%lld bound_ns=%lld node=%u host=%s peers=",
        source->info.source, ROLES[source->info.role],
        source->info.rank_known ? (int)source->info.rank : -1,
        (unsigned long long)totals.counts[RKT_EVENT_KERNEL],
        (unsigned long long)totals.counts[RKT_EVENT_COMM], (unsigned long long)totals.step_count,
        (unsigned long long)totals.counts[RKT_EVENT_CLOCK_PAIR],
        (unsigned long long)totals.counts[RKT_EVENT_CLOCK_EXCHANGE],
        (unsigned long long)totals.event_count, (unsigned long long)totals.counts[RKT_EVENT_NCCL],
        (unsigned long long)(totals.gap_ns / 1000000), (unsigned long long)totals.mark_count,
        (unsigned long long)totals.lost_count, (unsigned long long)totals.named_count,
        source->has_end ? REASONS[source->end.reason] : "none",
        source->end.reason == RKT_END_SIGNALED ? source->end.signal_number : source->end.exit_code,
        source->end.cut_short, source->has_align ? STATES[source->align.state] : "none",
        source->align.knot_count, (long long)knot.offset_ns, (long long)knot.bound_ns,
        source->info.node, source->info.host);
    for (unsigned peer = 0; peer < PEERS_MAX; peer++) {
        if (totals.peers >> peer & 1)
            (void)printf("%s%u", totals.peers & ((UINT64_C(1) << peer) - 1) ? "," : "", peer);
    }
    (void)printf(" edges=%s\n", totals.edges);
    rkt_strtab_destroy(totals.tab);
}

int main(int argc, char **argv)
{
    struct rkt_store_reader *reader = NULL;
    const struct rkt_store_health *health;
    struct rkt_error err = {0};

    if (argc != 2 || rkt_store_reader_open(argv[1], &reader, &err) != RKT_OK) {
        (void)fprintf(stderr, "store_summary: %s\n", argc == 2 ? err.text : "one FILE, please");
        return 1;
    }
    health = rkt_store_reader_health(reader);
    (void)printf("run ranks=%u trailer=%d damaged=%llu gaps=%llu sources=%zu command=\"%s\"\n",
                 rkt_store_reader_run(reader)->rank_count, health->has_trailer,
                 (unsigned long long)health->damaged_frames,
                 (unsigned long long)health->seq_gap_count, rkt_store_reader_source_count(reader),
                 rkt_store_reader_run(reader)->command);
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++)
        print_source(reader, rkt_store_reader_source(reader, i));
    rkt_store_reader_close(reader);
    return 0;
}
