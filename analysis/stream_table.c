/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: their work, its short kernels, and how far the host runs ahead.
 *
 *     host     |L1 |L2 |L3                    launched and not begun: at L1 1, at L2 1, at L3 2
 *     stream     |==1==|==2==|==3==|          queued: 2 - L2, 3 - L3, ... their sum by the window's
 *                                             length is the mean depth (Little)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_tables.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"
#include "analysis/time_find.h"
#include "common/array.h"

#define STREAMS_MAX 1024u /* streams beyond share the last row */
#define NEAR_TRIES 8

/* A stream of a device, and the begins of its work so far. */
struct stream {
    uint32_t device_id;
    uint32_t stream_id;
    size_t first; /* of its begins in `starts` */
    size_t count; /* so far */
    size_t begun; /* of these, how many had begun at the last launch looked at */
    int64_t end_ns;
};

struct stream_table {
    const struct rkt_rank_result *rank;
    struct rkt_arena *arena; /* for names */
    struct rkt_row_list list;
    int64_t window_ns[RKT_SEGMENT_COUNT];
    struct stream *streams;
    size_t stream_count;
    int64_t *starts; /* by stream, then by time */
};

static size_t find_stream(struct stream_table *table, const struct rkt_work *work, size_t *last)
{
    size_t i = *last;

    if (i < table->stream_count && table->streams[i].stream_id == work->stream_id &&
        table->streams[i].device_id == work->device_id)
        return i;
    for (i = 0; i < table->stream_count; i++) {
        if (table->streams[i].stream_id == work->stream_id &&
            table->streams[i].device_id == work->device_id)
            break;
    }
    if (i == table->stream_count && table->stream_count < STREAMS_MAX)
        table->streams[table->stream_count++] = (struct stream){
            .device_id = work->device_id, .stream_id = work->stream_id, .end_ns = INT64_MIN};
    *last = i < STREAMS_MAX ? i : STREAMS_MAX - 1;
    return *last;
}

/* Gives each stream its place in `starts`. */
static void count_streams(struct stream_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    size_t first = 0;
    size_t last = 0;

    for (size_t i = 0; i < trace->work_count; i++)
        table->streams[find_stream(table, &trace->works[i], &last)].count++;
    for (size_t i = 0; i < table->stream_count; i++) {
        table->streams[i].first = first;
        first += table->streams[i].count;
        table->streams[i].count = 0;
    }
}

/* How many had begun by then; mostly near to how many had at the launch before. */
static size_t count_begun(const int64_t *starts, size_t count, size_t near, int64_t time_ns)
{
    for (int i = 0; i < NEAR_TRIES; i++) {
        if (near < count && starts[near] <= time_ns)
            near++;
        else if (near > 0 && starts[near - 1] > time_ns)
            near--;
        else
            return near;
    }
    return rkt_time_find_past(starts, count, sizeof(*starts), time_ns);
}

/* How many of the stream's works, this one with them, had been launched at its launch and not
 * begun. A stream runs its work in the order of launches. */
static int64_t depth_at_launch(const struct stream_table *table, struct stream *stream,
                               int64_t launch_ns)
{
    stream->begun =
        count_begun(&table->starts[stream->first], stream->count, stream->begun, launch_ns);
    return (int64_t)(stream->count - stream->begun);
}

/* With most work. */
static uint32_t main_device(const struct rkt_rank_trace *trace)
{
    uint32_t most = 0;

    for (uint32_t id = 1; id < RKT_DEVICES_MAX; id++)
        most = trace->work_counts[id] > trace->work_counts[most] ? id : most;
    return most;
}

/* Window lengths by segment; outside of steps is what the run has beside them. */
static void measure_segments(struct stream_table *table)
{
    const struct rkt_rank_result *rank = table->rank;
    int64_t rest_ns = rank->run.end_ns - rank->run.start_ns;

    for (size_t i = 0; i < rank->step_count; i++) {
        int64_t length_ns = rank->steps[i].window.end_ns - rank->steps[i].window.start_ns;

        rkt_row_add(&table->window_ns[rkt_segment_of_step((uint32_t)i)], length_ns);
        rest_ns -= length_ns;
    }
    table->window_ns[RKT_SEGMENT_OUTSIDE] = rest_ns > 0 ? rest_ns : 0;
}

/* Each stream has a row in each segment: it has its windows also where it does nothing. */
static enum rkt_status begin_rows(struct stream_table *table, size_t at)
{
    const struct stream *stream = &table->streams[at];
    char name[32];
    char kind[32];

    (void)snprintf(name, sizeof(name), "stream %u", stream->stream_id);
    if (stream->device_id == main_device(table->rank->trace)) /* ranks have one each */
        (void)snprintf(kind, sizeof(kind), "main GPU");
    else
        (void)snprintf(kind, sizeof(kind), "device %u", stream->device_id);
    for (unsigned segment = 0; segment < RKT_SEGMENT_COUNT; segment++) {
        bool is_new;
        struct rkt_row *row = rkt_row_list_get(&table->list, at, segment, &is_new);

        if (!row)
            return RKT_ERR_NOMEM;
        row->name = rkt_arena_strndup(table->arena, name, strlen(name));
        row->kind = rkt_arena_strndup(table->arena, kind, strlen(kind));
        row->values[RKT_STREAM_WINDOW] = table->window_ns[segment];
        if (!row->name || !row->kind)
            return RKT_ERR_NOMEM;
    }
    return RKT_OK;
}

static void add_launch(const struct stream_table *table, struct stream *stream,
                       const struct rkt_work *work, int64_t *values)
{
    int64_t launch_ns = work->launch_end_ns - work->launch_start_ns;
    int64_t depth;

    if (work->launch_start_ns == RKT_TIME_UNKNOWN || work->from_graph)
        return;
    depth = depth_at_launch(table, stream, work->launch_start_ns);
    values[RKT_STREAM_LAUNCH_COUNT]++;
    rkt_row_add(&values[RKT_STREAM_LAUNCH], launch_ns);
    if (work->start_ns > work->launch_start_ns) /* else the clocks disagree: it has not waited */
        rkt_row_add(&values[RKT_STREAM_QUEUED], work->start_ns - work->launch_start_ns);
    if (depth > values[RKT_STREAM_DEPTH_MOST])
        values[RKT_STREAM_DEPTH_MOST] = depth;
    /* what the first that is recorded found is not known */
    if (stream->count > 1 && stream->end_ns <= work->launch_start_ns) {
        values[RKT_STREAM_FOUND_EMPTY]++;
        rkt_row_add(&values[RKT_STREAM_EMPTY_LAUNCH], launch_ns);
    }
    if (work->work_class == RKT_WORK_COPY)
        return;
    values[RKT_STREAM_BLOCKING] += work->launch_end_ns >= work->end_ns;
    if (work->end_ns - work->start_ns <= RKT_SHORT_KERNEL_NS)
        rkt_row_add(&values[RKT_STREAM_SHORT_LAUNCH], launch_ns);
}

static void add_work(const struct stream_table *table, struct stream *stream,
                     const struct rkt_work *work, int64_t *values)
{
    int64_t length_ns = work->end_ns - work->start_ns;

    values[RKT_COLUMN_COUNT]++;
    rkt_row_add(&values[RKT_COLUMN_TOTAL], length_ns);
    if (work->work_class != RKT_WORK_COPY && length_ns <= RKT_SHORT_KERNEL_NS) {
        values[RKT_STREAM_SHORT_COUNT]++;
        values[RKT_STREAM_SHORT] += length_ns;
    }
    add_launch(table, stream, work, values);
}

static enum rkt_status fill_rows(struct stream_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    size_t last = 0;

    for (size_t i = 0; i < table->stream_count; i++) {
        if (begin_rows(table, i) != RKT_OK)
            return RKT_ERR_NOMEM;
    }
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        size_t at = find_stream(table, work, &last);
        struct stream *stream = &table->streams[at];

        table->starts[stream->first + stream->count++] = work->start_ns;
        add_work(table, stream, work,
                 rkt_row_list_find(&table->list, at, rkt_segment_of_step(work->step))->values);
        stream->end_ns = work->end_ns > stream->end_ns ? work->end_ns : stream->end_ns;
    }
    return RKT_OK;
}

enum rkt_status rkt_make_stream_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                      struct rkt_table *table_out)
{
    struct stream_table table = {.rank = rank, .arena = arena};
    enum rkt_status status = rkt_row_list_init(&table.list, STREAMS_MAX);

    table.streams = calloc(STREAMS_MAX, sizeof(*table.streams));
    table.starts = rkt_array_room(rank->trace->work_count + 1, sizeof(*table.starts));
    if (!table.streams || !table.starts)
        status = RKT_ERR_NOMEM;
    if (status == RKT_OK) {
        measure_segments(&table);
        count_streams(&table);
        status = fill_rows(&table);
    }
    if (status == RKT_OK)
        status = rkt_row_list_finish(&table.list, arena, table_out);
    rkt_row_list_release(&table.list);
    free(table.streams);
    free(table.starts);
    return status;
}
