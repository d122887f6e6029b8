/* SPDX-License-Identifier: Apache-2.0 */
/* Mark 16: what rank 0 made of a run, made again from what the sidecars stored, to the last bit. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock_redo.h"
#include "common/source_writer.h"
#include "common/store_writer.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define NODES 9u
#define CLAIM_NS 100 /* of every other run */

static const struct rkt_clock_params OTHERS[] = {
    {.rho_ppb = 700, .kappa_permille = 100}, {.kappa_permille = 900}, {.rho_ppb = 5000}};
#define OTHER_COUNT (sizeof(OTHERS) / sizeof(OTHERS[0]))

static enum rkt_status append(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

/* The bytes of an ALIGN; the caller frees them. */
static uint8_t *encode(const struct rkt_align_info *align, size_t *len_out)
{
    size_t cap = rkt_align_bytes_max(align->knot_count);
    struct rkt_align_info copy = *align;
    uint8_t *raw = malloc(cap);
    struct rkt_error err;

    if (!raw)
        abort();
    copy.source = 0;
    sim_must(rkt_align_info_encode(&copy, raw, cap, len_out, &err), &err);
    return raw;
}

static bool is_same(const struct rkt_align_info *a, const struct rkt_align_info *b)
{
    size_t a_len, b_len;
    uint8_t *a_raw = encode(a, &a_len), *b_raw = encode(b, &b_len);
    bool is_same = a_len == b_len && memcmp(a_raw, b_raw, a_len) == 0;

    free(a_raw);
    free(b_raw);
    return is_same;
}

static void write_sidecar(struct rkt_store_writer *store, const struct sim_run *run, uint32_t n,
                          const struct rkt_align_info *align)
{
    struct rkt_source_info info = {
        .source = n, .producer = RKT_PRODUCER_CAPTURE, .role = RKT_ROLE_SIDECAR, .node = n};
    struct rkt_align_info stored = *align;
    struct rkt_source_writer *writer;
    struct rkt_error err;
    size_t len = 0;
    uint8_t *raw;

    (void)snprintf(info.boot_id, sizeof(info.boot_id), "boot %u", n);
    sim_must(rkt_source_writer_create(&info, append, store, &writer, &err), &err);
    for (size_t i = 0; i < run->nodes[n].all_count; i++)
        sim_must(rkt_source_writer_add(writer, &run->nodes[n].all[i], &err), &err);
    sim_must(rkt_source_writer_flush(writer, &err), &err);
    rkt_source_writer_destroy(writer);
    stored.source = n;
    raw = encode(&stored, &len);
    sim_must(rkt_store_writer_append_payload(store, RKT_FRAME_ALIGN, n, raw, len, &err), &err);
    free(raw);
}

/* As a run leaves it: the exchanges of all sidecars, and what rank 0 made of what it kept. */
static struct rkt_store_reader *write_store(const struct sim_run *run)
{
    static const struct rkt_run_info INFO = {.producer = RKT_PRODUCER_CAPTURE,
                                             .reference_clock = RKT_CLOCK_MONOTONIC_RAW};
    struct rkt_clock_tree *tree = sim_run_tree(run, &sim_usual_params);
    char path[] = "/tmp/rkt-clocksim-XXXXXX";
    struct rkt_store_reader *reader;
    struct rkt_store_writer *store;
    struct rkt_error err;
    int fd = mkstemp(path);

    if (fd < 0)
        abort();
    (void)close(fd);
    sim_must(rkt_store_writer_create(path, RKT_STORE_LIVE, &INFO, &store, &err), &err);
    for (uint32_t n = 0; n < NODES; n++) {
        const struct rkt_align_info *align;

        sim_must(rkt_clock_tree_align(tree, n, &align, &err), &err);
        write_sidecar(store, run, n, align);
    }
    sim_must(rkt_store_writer_close(store, &err), &err);
    rkt_store_writer_destroy(store);
    sim_must(rkt_store_reader_open(path, &reader, &err), &err);
    (void)unlink(path);
    rkt_clock_tree_destroy(tree);
    return reader;
}

/* How many alignments differ: from the stored ones, and from what rank 0 would make of what it
 * kept. */
struct differences {
    size_t from_stored;
    size_t from_made;
};

static void redo(const struct sim_run *run, struct rkt_store_reader *reader,
                 const struct rkt_clock_params *params, struct differences *differences)
{
    struct rkt_clock_tree *tree = sim_run_tree(run, params);
    struct rkt_clock_redo *again;
    struct rkt_error err;

    sim_must(rkt_clock_redo_create(reader, params, &again, &err), &err);
    for (uint32_t n = 1; n < NODES; n++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, n);
        const struct rkt_align_info *made;
        struct rkt_align_info got;

        sim_must(rkt_clock_tree_align(tree, n, &made, &err), &err);
        sim_must(rkt_clock_redo_align(again, &source->info, &got, &err), &err);
        differences->from_stored += !is_same(&got, &source->align);
        differences->from_made += !is_same(&got, made);
    }
    rkt_clock_redo_destroy(again);
    rkt_clock_tree_destroy(tree);
}

void sim_goal_redo(const struct sim_trial *trial)
{
    static const char *const OF = "8 nodes";
    struct sim_run_model model = sim_run_model_star(NODES, sim_net_model_tcp(0.05));
    struct differences same = {0}, other = {0};
    size_t other_count = 0;

    model.keeps_all = true;
    for (uint64_t i = 0; i < 2 * trial->seed_count; i++) {
        struct rkt_store_reader *reader;
        struct sim_run run;

        model.claim = sim_claim_model_ptp(i % 2 ? CLAIM_NS : 0);
        sim_run_make(&run, &model, trial->first_seed + i / 2);
        reader = write_store(&run);
        redo(&run, reader, &sim_usual_params, &same);
        for (size_t k = 0; k < OTHER_COUNT; k++)
            redo(&run, reader, &OTHERS[k], &other);
        other_count += OTHER_COUNT * (NODES - 1);
        rkt_store_reader_close(reader);
        sim_run_release(&run);
    }
    sim_trial_at_most(trial, 16, OF, "alignments that are not as stored", (double)same.from_stored,
                      0);
    sim_trial_at_most(trial, 16, OF, "with other rho and kappa, not as made of them",
                      (double)(same.from_made + other.from_made), 0);
    sim_trial_at_most(trial, 16, OF, "with other rho and kappa, as stored all the same",
                      (double)(other_count - other.from_stored), 0);
}
