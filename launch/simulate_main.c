/* SPDX-License-Identifier: Apache-2.0 */
/* ranktrace simulate - the timeline of a made-up job, and the truth about it. */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/simulate/sim_run.h"
#include "analysis/simulate/sim_store.h"
#include "analysis/simulate/sim_truth.h"
#include "analysis/simulate/sim_works.h"
#include "common/options.h"
#include "common/units.h"

struct simulate_options {
    const char *output;
    const char *truth;
    const char *works;
    const char *store;
    bool force;
    struct rkt_option_list set;
};

static const struct rkt_option OPTIONS[] = {
    {"output", 'o', NULL, RKT_OPTION_STRING, offsetof(struct simulate_options, output), "FILE",
     "simulated.rkt", "the timeline"},
    {"store", 0, NULL, RKT_OPTION_STRING, offsetof(struct simulate_options, store),
     "single|sharded", "single", "sharded: FILE has node 0, each further node a file beside it"},
    {"force", 'f', NULL, RKT_OPTION_FLAG, offsetof(struct simulate_options, force), NULL, NULL,
     "overwrite files that exist"},
    {"truth", 0, NULL, RKT_OPTION_STRING, offsetof(struct simulate_options, truth), "FILE", NULL,
     "also write what the run really was, as JSON"},
    {"works", 0, NULL, RKT_OPTION_STRING, offsetof(struct simulate_options, works), "FILE", NULL,
     "also write what every rank did and when, as CSV"},
    {"set", 's', NULL, RKT_OPTION_LIST, offsetof(struct simulate_options, set), "KEY=VALUE", NULL,
     "a line of the scenario, after those of the file; may be given several times"},
};

static const struct rkt_command COMMAND = {
    .name = "simulate",
    .usage = "ranktrace simulate [options] [SCENARIO]",
    .summary = "Write the timeline of a made-up job.",
    .details = "SCENARIO is a file of KEY = VALUE lines; without one a small clean job is made.\n"
               "The same scenario and seed give the same bytes.\n"
               "\n"
               "    ranktrace simulate -s ranks=8 -s 'fault = slow-compute rank=2 amount=25ms'\n"
               "\n"
               "Keys and faults: launch/README.md. Exit codes: 0 done; 1 failed; 2 wrong use.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static enum rkt_status read_scenario(const struct simulate_options *options, const char *path,
                                     struct rkt_scenario *scenario, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    struct rkt_error cause;

    rkt_scenario_init(scenario);
    if (path)
        status = rkt_scenario_read(scenario, path, err);
    for (size_t i = 0; i < options->set.count && status == RKT_OK; i++) {
        status = rkt_scenario_line(scenario, options->set.items[i], &cause);
        if (status != RKT_OK)
            (void)rkt_fail(err, status, "--set '%s': %s", options->set.items[i], cause.text);
    }
    return status == RKT_OK ? rkt_scenario_check(scenario, err) : status;
}

typedef enum rkt_status (*write_fn)(const struct rkt_sim_run *run, FILE *out,
                                    struct rkt_error *err);

static enum rkt_status write_file(const struct rkt_sim_run *run, const char *path, write_fn fn,
                                  struct rkt_error *err)
{
    FILE *out = fopen(path, "we");
    enum rkt_status status;

    if (!out)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    status = fn(run, out, err);
    if (fclose(out) != 0 && status == RKT_OK)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot write %s", path);
    return status;
}

static bool is_sharded(const struct simulate_options *options)
{
    return strcmp(options->store, "sharded") == 0;
}

/* May be made, or written again. */
static enum rkt_status check_output(const char *path, bool is_forced, struct rkt_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    struct stat st;

    if (stat(path, &st) == 0)
        return is_forced || !S_ISREG(st.st_mode)
                   ? RKT_OK
                   : rkt_fail(err, RKT_ERR_INVALID, "%s exists: --force overwrites it", path);
    if (slash && snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path) >=
                     (int)sizeof(folder))
        return rkt_fail(err, RKT_ERR_INVALID, "the path of an output is too long");
    if (access(folder, W_OK | X_OK) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO,
                              "cannot create %s (is its folder there, and writable?)", path);
    return RKT_OK;
}

/* However they are spelled: --output is not made before the end, so names are compared as well. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    while (strncmp(a, "./", 2) == 0)
        a += 2;
    while (strncmp(b, "./", 2) == 0)
        b += 2;
    return strcmp(a, b) == 0;
}

/* Before a minute's work, not after it. */
static enum rkt_status check_outputs(const struct simulate_options *options,
                                     const struct rkt_scenario *scenario, struct rkt_error *err)
{
    const struct {
        const char *option;
        const char *path;
    } files[] = {
        {"--output", options->output}, {"--truth", options->truth}, {"--works", options->works}};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < 3 && status == RKT_OK; i++) {
        for (size_t k = 0; k < i && files[i].path; k++) {
            if (files[k].path && is_same_file(files[i].path, files[k].path))
                return rkt_fail(err, RKT_ERR_INVALID, "%s and %s are the same file, %s",
                                files[i].option, files[k].option, files[k].path);
        }
        if (files[i].path)
            status = check_output(files[i].path, options->force, err);
    }
    if (status == RKT_OK && is_sharded(options) && !options->force)
        status = rkt_sim_store_check(scenario, options->output, err);
    return status;
}

static enum rkt_status check_store(const struct simulate_options *options, struct rkt_error *err)
{
    if (is_sharded(options) || strcmp(options->store, "single") == 0)
        return RKT_OK;
    return rkt_fail(err, RKT_ERR_INVALID, "unknown store '%s': there are single and sharded",
                    options->store);
}

static enum rkt_status simulate(const struct rkt_scenario *scenario,
                                const struct simulate_options *options, struct rkt_error *err)
{
    uint64_t event_count = 0;
    char length[32];
    struct rkt_sim_run run;
    enum rkt_status status = rkt_sim_run_init(&run, scenario, options->truth, err);

    if (status != RKT_OK)
        return status;
    status = rkt_sim_store_write(&run, options->output, is_sharded(options), &event_count, err);
    if (status == RKT_OK && options->truth)
        status = write_file(&run, options->truth, rkt_sim_truth_write, err);
    if (status == RKT_OK && options->works)
        status = write_file(&run, options->works, rkt_sim_works_write, err);
    if (status == RKT_OK)
        (void)printf("%s: %u ranks, %u steps, %s, %" PRIu64 " events\n", options->output,
                     scenario->rank_count, scenario->step_count,
                     rkt_format_duration(rkt_sim_run_length_ns(&run), length, sizeof(length)),
                     event_count);
    rkt_sim_run_release(&run);
    return status;
}

int main(int argc, char **argv)
{
    struct simulate_options options = {0};
    struct rkt_scenario scenario;
    struct rkt_error err = {0};
    int next = 0;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    if (status == RKT_OK && argc - next > 1)
        status = rkt_fail_usage(&COMMAND, "one scenario", &err);
    if (status == RKT_OK)
        status = check_store(&options, &err);
    if (status == RKT_OK)
        status = read_scenario(&options, next < argc ? argv[next] : NULL, &scenario, &err);
    if (status == RKT_OK)
        status = check_outputs(&options, &scenario, &err);
    if (status == RKT_OK)
        status = simulate(&scenario, &options, &err);
    return rkt_command_exit(&COMMAND, status, &err);
}
