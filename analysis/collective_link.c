/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/collective_link.h"

#include <stdlib.h>
#include <string.h>

/* By position in ranks: which of the hosts, from 1; 0 not told. */
static void number_hosts(const struct rkt_result *result, uint32_t *hosts)
{
    uint32_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const char *host = result->ranks[r].trace->source.info.host;
        size_t same = 0;

        if (host[0] == '\0')
            continue;
        while (same < r && strcmp(result->ranks[same].trace->source.info.host, host) != 0)
            same++;
        hosts[r] = same < r ? hosts[same] : ++count;
    }
}

/* `seen` has a number for each host, none of which is `mark`. 0: of some rank it is not told. */
static uint32_t count_hosts(const struct rkt_collective *collective, const uint32_t *hosts,
                            size_t *seen, size_t mark)
{
    uint32_t count = 0;

    for (size_t i = 0; i < collective->participant_count; i++) {
        uint32_t host = hosts[collective->participants[i].rank];

        if (host == 0)
            return 0;
        count += seen[host] != mark;
        seen[host] = mark;
    }
    return count;
}

/* 0 where one of them does not know it, or knows another. */
static uint8_t agreed(uint8_t known, uint8_t said, bool is_first)
{
    return is_first || known == said ? said : 0;
}

static void take_words(const struct rkt_result *result, struct rkt_collective *collective)
{
    bool is_first = true;

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *participant = &collective->participants[i];
        const struct rkt_rank_trace *trace = result->ranks[participant->rank].trace;
        const struct rkt_work *work = participant->work == RKT_INDEX_NONE
                                          ? NULL
                                          : rkt_rank_trace_work(trace, participant->work);

        for (uint32_t k = 0; work && work->op != RKT_INDEX_NONE && k < work->op_count; k++) {
            const struct rkt_event_nccl *nccl = &trace->ops[work->op + k].nccl;

            collective->algo = agreed(collective->algo, nccl->algo, is_first);
            collective->proto = agreed(collective->proto, nccl->proto, is_first);
            is_first = false;
        }
    }
}

enum rkt_status rkt_find_links(struct rkt_result *result, struct rkt_error *err)
{
    uint32_t *hosts = calloc(result->rank_count + 1, sizeof(*hosts));
    size_t *seen = calloc(result->rank_count + 2, sizeof(*seen));

    if (hosts && seen) {
        number_hosts(result, hosts);
        for (size_t i = 0; i < result->collective_count; i++) {
            struct rkt_collective *collective = &result->collectives[i];

            collective->host_count = count_hosts(collective, hosts, seen, i + 1);
            take_words(result, collective);
        }
    }
    free(hosts);
    free(seen);
    return hosts && seen ? RKT_OK
                         : rkt_fail(err, RKT_ERR_NOMEM, "no memory for the hosts of collectives");
}
