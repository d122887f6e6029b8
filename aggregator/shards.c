/* SPDX-License-Identifier: Apache-2.0 */
/* Active on rank 0 only. */
#include "aggregator/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/run_message.h"
#include "common/store_reader.h"

#define LOOK_NS UINT64_C(200000000)

enum shard_state {
    SHARD_NONE,
    SHARD_OFFERED, /* and not seen yet */
    SHARD_TAKEN,
    SHARD_REFUSED,
    SHARD_CLOSING,
    SHARD_CLOSED,
};

struct shard {
    enum shard_state state;
    uint64_t offered_ns;
    uint64_t look_due_ns;
    bool is_whole;
    struct rkt_shard_info info;
};

struct rkt_shards {
    struct rkt_shards_config config;
    char *folder; /* with the '/' at its end; "" where there is none */
    int rank_count;
    struct shard items[]; /* by rank */
};

enum rkt_status rkt_shards_create(const struct rkt_shards_config *config,
                                  struct rkt_shards **shards_out, struct rkt_error *err)
{
    int rank_count = rkt_transport_size(config->transport);
    struct rkt_shards *shards =
        calloc(1, sizeof(*shards) + (size_t)rank_count * sizeof(shards->items[0]));
    const char *slash = strrchr(config->store_path, '/');

    if (shards)
        shards->folder =
            strndup(config->store_path, slash ? (size_t)(slash - config->store_path) + 1 : 0);
    if (!shards || !shards->folder) {
        free(shards);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a run of %d", rank_count);
    }
    shards->config = *config;
    shards->rank_count = rank_count;
    *shards_out = shards;
    return RKT_OK;
}

void rkt_shards_destroy(struct rkt_shards *shards)
{
    if (!shards)
        return;
    free(shards->folder);
    free(shards);
}

static void say(struct rkt_shards *shards, int rank, enum rkt_run_type type)
{
    const struct rkt_run_message message = {.type = (uint16_t)type};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    (void)rkt_transport_send(shards->config.transport, rank, RKT_TAG_LEADER_DOWN, buf,
                             rkt_run_message_encode(&message, buf), NULL);
}

static void begin_offer(struct rkt_shards *shards, int rank, const char *host, uint64_t now_ns)
{
    struct shard *shard = &shards->items[rank];

    shard->state = SHARD_OFFERED;
    shard->offered_ns = now_ns;
    shard->look_due_ns = now_ns;
    shard->info.rank = (uint32_t)rank;
    (void)snprintf(shard->info.host, sizeof(shard->info.host), "%s", host);
    rkt_shard_file_name(shards->config.run_id, (uint32_t)rank, shard->info.file);
}

/* Said again and again: who missed the answer gets it once more. */
void rkt_shards_ready(struct rkt_shards *shards, int rank, const char *host, uint64_t now_ns)
{
    struct shard *shard = &shards->items[rank];

    if (rank == 0 || shards->config.leaders[rank] != rank)
        shard->state = SHARD_REFUSED;
    if (shard->state == SHARD_NONE)
        begin_offer(shards, rank, host, now_ns);
    else if (shard->state == SHARD_TAKEN)
        say(shards, rank, RKT_RUN_SHARD_TAKEN);
    else if (shard->state == SHARD_REFUSED)
        say(shards, rank, RKT_RUN_SHARD_REFUSED);
}

void rkt_shards_closed(struct rkt_shards *shards, int rank, bool is_whole)
{
    struct shard *shard = &shards->items[rank];

    if (shard->state != SHARD_CLOSING)
        return;
    shard->state = SHARD_CLOSED;
    shard->is_whole = is_whole;
}

/* ---- to be seen ---- */

static enum rkt_status see(const struct rkt_shards *shards, const struct shard *shard,
                           struct rkt_error *err)
{
    struct rkt_store_reader *reader = NULL;
    enum rkt_status status = RKT_OK;
    char path[4096];
    uint64_t id;

    if (snprintf(path, sizeof(path), "%s%s", shards->folder, shard->info.file) >= (int)sizeof(path))
        return rkt_fail(err, RKT_ERR_RANGE, "the path of the folder is too long");
    status = rkt_store_reader_open(path, &reader, err);
    if (status != RKT_OK)
        return status;
    id = rkt_store_reader_run(reader)->run_id;
    if (id != shards->config.run_id)
        status = rkt_fail(err, RKT_ERR_FORMAT, "%s is of run %016llx, not %016llx", path,
                          (unsigned long long)id, (unsigned long long)shards->config.run_id);
    rkt_store_reader_close(reader);
    return status;
}

static void look(struct rkt_shards *shards, struct shard *shard, uint64_t now_ns)
{
    struct rkt_error err = {0};
    enum rkt_status status = see(shards, shard, &err);

    shard->look_due_ns = now_ns + LOOK_NS;
    if (status == RKT_OK)
        status = rkt_receiver_add_shard(shards->config.receiver, &shard->info, &err);
    if (status != RKT_OK && now_ns - shard->offered_ns < RKT_SHARD_SEEN_NS)
        return;
    shard->state = status == RKT_OK ? SHARD_TAKEN : SHARD_REFUSED;
    say(shards, (int)shard->info.rank,
        status == RKT_OK ? RKT_RUN_SHARD_TAKEN : RKT_RUN_SHARD_REFUSED);
    if (status != RKT_OK)
        rkt_log(RKT_LOG_INFO, "aggregator", "a leader's file is not seen here: it sends instead",
                "from=%u reason=\"%s\"", shard->info.rank, err.text);
}

void rkt_shards_step(struct rkt_shards *shards, uint64_t now_ns)
{
    for (int rank = 0; rank < shards->rank_count; rank++) {
        struct shard *shard = &shards->items[rank];

        if (shard->state == SHARD_OFFERED && now_ns >= shard->look_due_ns)
            look(shards, shard, now_ns);
    }
}

/* ---- the end ---- */

void rkt_shards_close(struct rkt_shards *shards)
{
    for (int rank = 0; rank < shards->rank_count; rank++) {
        if (shards->items[rank].state != SHARD_TAKEN ||
            rkt_run_state_of(shards->config.state, rank) == RKT_PEER_LOST)
            continue;
        shards->items[rank].state = SHARD_CLOSING;
        say(shards, rank, RKT_RUN_SHARD_CLOSE);
    }
}

bool rkt_shards_are_closed(const struct rkt_shards *shards)
{
    for (int rank = 0; rank < shards->rank_count; rank++) {
        if (shards->items[rank].state == SHARD_CLOSING)
            return false;
    }
    return true;
}

int rkt_shards_count(const struct rkt_shards *shards)
{
    int count = 0;

    for (int rank = 0; rank < shards->rank_count; rank++)
        count +=
            shards->items[rank].state >= SHARD_TAKEN && shards->items[rank].state != SHARD_REFUSED;
    return count;
}

int rkt_shards_whole_count(const struct rkt_shards *shards)
{
    int count = 0;

    for (int rank = 0; rank < shards->rank_count; rank++)
        count += shards->items[rank].is_whole;
    return count;
}
