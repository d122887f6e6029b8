/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/rank_env.h"

#include <stddef.h>
#include <string.h>

#include "common/units.h"

#define SLURM_STEP "SLURM_STEP_ID"

/* NULL: this launcher has no such variable. */
struct launcher {
    const char *name;
    const char *needs; /* must be set, besides `rank` */
    const char *rank;
    const char *rank_count;
    const char *local_rank;
    const char *local_rank_count;
    bool signals_groups;
};

static const struct launcher LAUNCHERS[] = {
    {"Open MPI", NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    {"Slurm", SLURM_STEP, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, false},
    {"PMI", NULL, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", false},
    {"PMIx", NULL, "PMIX_RANK", NULL, NULL, NULL, true},
};

static const char *const MPI_PREFIXES[] = {"PMIX_", "PMI_", "OMPI_MCA_orte_", "OMPI_MCA_ess_"};

bool rkt_env_is_for_mpi(const char *text)
{
    for (size_t i = 0; i < sizeof(MPI_PREFIXES) / sizeof(MPI_PREFIXES[0]); i++) {
        if (strncmp(text, MPI_PREFIXES[i], strlen(MPI_PREFIXES[i])) == 0)
            return true;
    }
    return false;
}

const char *rkt_env_get(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    }
    return NULL;
}

/* -1 when unset. */
static enum rkt_status read_number(char *const *env, const char *name, int32_t *out,
                                   struct rkt_error *err)
{
    const char *text = name ? rkt_env_get(env, name) : NULL;
    uint64_t value;

    *out = -1;
    if (!text)
        return RKT_OK;
    if (!rkt_parse_u64(text, &value) || value > RKT_RANK_COUNT_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "variable %s: '%s' is no number from 0 to %d", name,
                        text, RKT_RANK_COUNT_MAX);
    *out = (int32_t)value;
    return RKT_OK;
}

static bool cut_number(const char **text, uint64_t *out)
{
    char digits[16];
    size_t len = strspn(*text, "0123456789");

    if (len == 0 || len >= sizeof(digits))
        return false;
    memcpy(digits, *text, len);
    digits[len] = '\0';
    *text += len;
    return rkt_parse_u64(digits, out);
}

int32_t rkt_slurm_tasks_on_node(const char *list, uint64_t node_index)
{
    while (*list) {
        uint64_t tasks, nodes = 1;

        if (!cut_number(&list, &tasks) || tasks > RKT_RANK_COUNT_MAX)
            return -1;
        if (strncmp(list, "(x", 2) == 0) {
            list += 2;
            if (!cut_number(&list, &nodes) || *list++ != ')')
                return -1;
        }
        if (node_index < nodes)
            return (int32_t)tasks;
        node_index -= nodes;
        if (*list == ',')
            list++;
        else if (*list)
            return -1;
    }
    return -1;
}

/* Slurm's count of a step is in one of two variables; that of a node in a list. */
static enum rkt_status read_slurm_counts(char *const *env, struct rkt_rank_env *ranks,
                                         struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    const char *list = rkt_env_get(env, "SLURM_STEP_TASKS_PER_NODE");
    int32_t node_index = -1;

    if (ranks->rank_count < 0)
        status = read_number(env, "SLURM_NTASKS", &ranks->rank_count, err);
    if (status == RKT_OK)
        status = read_number(env, "SLURM_NODEID", &node_index, err);
    if (!list)
        list = rkt_env_get(env, "SLURM_TASKS_PER_NODE");
    if (status == RKT_OK && list && node_index >= 0)
        ranks->local_rank_count = rkt_slurm_tasks_on_node(list, (uint64_t)node_index);
    return status;
}

static enum rkt_status read_launcher(const struct launcher *launcher, char *const *env,
                                     struct rkt_rank_env *ranks, struct rkt_error *err)
{
    enum rkt_status status = read_number(env, launcher->rank, &ranks->rank, err);

    if (status == RKT_OK)
        status = read_number(env, launcher->rank_count, &ranks->rank_count, err);
    if (status == RKT_OK)
        status = read_number(env, launcher->local_rank, &ranks->local_rank, err);
    if (status == RKT_OK)
        status = read_number(env, launcher->local_rank_count, &ranks->local_rank_count, err);
    if (status == RKT_OK && launcher->needs)
        status = read_slurm_counts(env, ranks, err);
    if (status == RKT_OK && ranks->rank_count >= 0 && ranks->rank >= ranks->rank_count)
        status = rkt_fail(err, RKT_ERR_INVALID, "%s says that this is rank %d of %d",
                          launcher->name, ranks->rank, ranks->rank_count);
    return status;
}

enum rkt_status rkt_rank_env_read(char *const *env, struct rkt_rank_env *ranks_out,
                                  struct rkt_error *err)
{
    struct rkt_rank_env ranks = {NULL, -1, -1, -1, -1, false, false};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < sizeof(LAUNCHERS) / sizeof(LAUNCHERS[0]); i++) {
        const struct launcher *launcher = &LAUNCHERS[i];

        if (!rkt_env_get(env, launcher->rank) ||
            (launcher->needs && !rkt_env_get(env, launcher->needs)))
            continue;
        ranks.launcher = launcher->name;
        ranks.signals_groups = launcher->signals_groups;
        status = read_launcher(launcher, env, &ranks, err);
        break;
    }
    if (status != RKT_OK)
        return status;
    ranks.has_pmi = rkt_env_get(env, "PMIX_RANK") || rkt_env_get(env, "PMI_RANK");
    *ranks_out = ranks;
    return RKT_OK;
}
