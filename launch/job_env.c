/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/job_env.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* More than this module ever adds. */
#define ADDED_MAX 16

/* Which job, and which step of it: the same on all ranks. */
static const char *const JOB_NAMES[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID"};

/* Below the range from which Linux takes ports for outgoing connections. */
#define PORT_FIRST 20000u
#define PORT_COUNT 12000u

struct builder {
    char *const *env;
    struct rkt_arena *arena;
    char **texts;
    size_t count;
    bool is_out_of_memory;
};

static bool is_variable(const char *text, const char *name)
{
    size_t len = strlen(name);

    return strncmp(text, name, len) == 0 && text[len] == '=';
}

static void remove_variable(struct builder *builder, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < builder->count; i++) {
        if (!is_variable(builder->texts[i], name))
            builder->texts[kept++] = builder->texts[i];
    }
    builder->count = kept;
}

/* NAME=value, or NAME=value:rest. */
static void add(struct builder *builder, const char *name, const char *value, const char *rest)
{
    size_t len = strlen(name) + strlen(value) + (rest ? strlen(rest) + 1 : 0) + 2;
    char *text = rkt_arena_calloc(builder->arena, len, 1);

    if (!text) {
        builder->is_out_of_memory = true;
        return;
    }
    (void)snprintf(text, len, "%s=%s%s%s", name, value, rest ? ":" : "", rest ? rest : "");
    builder->texts[builder->count++] = text;
}

static void replace(struct builder *builder, const char *name, const char *value)
{
    remove_variable(builder, name);
    if (value)
        add(builder, name, value, NULL);
}

static void set_where_unset(struct builder *builder, const char *name, const char *value)
{
    if (value && !rkt_env_get(builder->env, name))
        add(builder, name, value, NULL);
}

static void set_number_where_unset(struct builder *builder, const char *name, int32_t value)
{
    char text[16];

    if (value < 0)
        return;
    (void)snprintf(text, sizeof(text), "%d", value);
    set_where_unset(builder, name, text);
}

static void add_ranks(struct builder *builder, const struct rkt_job_env_plan *plan)
{
    if (!plan->sets_ranks || !plan->ranks->launcher)
        return;
    set_number_where_unset(builder, "RANK", plan->ranks->rank);
    set_number_where_unset(builder, "WORLD_SIZE", plan->ranks->rank_count);
    set_number_where_unset(builder, "LOCAL_RANK", plan->ranks->local_rank);
    set_number_where_unset(builder, "LOCAL_WORLD_SIZE", plan->ranks->local_rank_count);
    set_where_unset(builder, "MASTER_ADDR", plan->master_host);
    set_where_unset(builder, "MASTER_PORT", plan->master_port);
}

static void add_tracing(struct builder *builder, const struct rkt_job_env_plan *plan)
{
    const char *python_path = rkt_env_get(builder->env, "PYTHONPATH");

    set_where_unset(builder, "CUDA_INJECTION64_PATH", plan->capture_library);
    set_where_unset(builder, "NCCL_PROFILER_PLUGIN", plan->capture_library);
    if (!plan->has_no_nvtx)
        set_where_unset(builder, "NVTX_INJECTION64_PATH", plan->capture_library);
    /* From outside they are another run's. */
    replace(builder, "RANKTRACE_SOCKET", plan->socket_path);
    replace(builder, "RANKTRACE_LIBRARY", plan->capture_library);
    if (plan->torch_hook_dir && plan->has_no_sync_lines)
        replace(builder, "RANKTRACE_SYNC_LINES", "0");
    if (plan->torch_hook_dir) {
        remove_variable(builder, "PYTHONPATH");
        add(builder, "PYTHONPATH", plan->torch_hook_dir,
            python_path && *python_path ? python_path : NULL);
    }
}

enum rkt_status rkt_job_env_build(char *const *env, const struct rkt_job_env_plan *plan,
                                  struct rkt_arena *arena, char ***env_out, struct rkt_error *err)
{
    struct builder builder = {.env = env, .arena = arena};
    size_t count = 0;

    while (env[count])
        count++;
    builder.texts = RKT_ARENA_ARRAY(arena, char *, count + ADDED_MAX);
    if (!builder.texts)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an environment of %zu variables", count);
    for (size_t i = 0; i < count; i++) {
        if (!plan->has_mpi_sidecar || !rkt_env_is_for_mpi(env[i]))
            builder.texts[builder.count++] = env[i];
    }
    add_ranks(&builder, plan);
    add_tracing(&builder, plan);
    if (builder.is_out_of_memory)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the job's environment");
    builder.texts[builder.count] = NULL;
    *env_out = builder.texts;
    return RKT_OK;
}

bool rkt_job_env_guess_port(char *const *env, char port[RKT_MASTER_PORT_BYTES])
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    bool has_name = false;

    for (size_t i = 0; i < sizeof(JOB_NAMES) / sizeof(JOB_NAMES[0]); i++) {
        const char *name = rkt_env_get(env, JOB_NAMES[i]);

        has_name |= name != NULL;
        for (; name && *name; name++)
            hash = (hash ^ (unsigned char)*name) * 16777619u;
    }
    if (has_name)
        (void)snprintf(port, RKT_MASTER_PORT_BYTES, "%u", PORT_FIRST + hash % PORT_COUNT);
    return has_name;
}
