/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const SCENARIOS[] = {
    [TRAIN_CLEAN] = "clean",
    [TRAIN_SLOW_COMPUTE] = "slow-compute",
    [TRAIN_SLOW_INPUT] = "slow-input",
    [TRAIN_HIDDEN_SYNC] = "hidden-sync",
    [TRAIN_LAUNCH_GAPS] = "launch-gaps",
    [TRAIN_NO_OVERLAP] = "no-overlap",
    [TRAIN_PAGEABLE] = "pageable-input",
};

static const char HELP[] =
    "simgpu_train: a data parallel training loop on the driver interface and NCCL\n"
    "\n"
    "  --steps N          training steps (20)\n"
    "  --layers N         layers of the model (8)\n"
    "  --buckets N        gradient buckets, one AllReduce each (4)\n"
    "  --compute-us N     forward time of a step; backward takes twice that (8000)\n"
    "  --bytes N          bytes in a bucket (26214400)\n"
    "  --input-bytes N    bytes of a step's input (4194304)\n"
    "  --scenario NAME    clean, slow-compute, slow-input, hidden-sync, launch-gaps,\n"
    "                     no-overlap or pageable-input (clean)\n"
    "  --slow-rank N      the rank that slow-compute and slow-input slow down (0)\n"
    "  --slow-factor X    by how much (2.0)\n"
    "  --graphs           capture the second step and launch it as a graph from then on; not with\n"
    "                     slow-input, hidden-sync, launch-gaps and pageable-input\n"
    "  --runtime          kernels are launched as by the CUDA runtime, whose call is around the\n"
    "                     driver's; with the stand-in driver only\n"
    "  --memory-churn N   blocks that each step takes and gives back, from the device and from "
    "its\n"
    "                     pool; the first wait for the device (0)\n"
    "  --side-kernels N   kernels of no length launched beside the training (0)\n"
    "  --threads N        by so many threads, each in a stream of its own (1)\n"
    "  --rate N           so many a second in all; 0: as fast as it goes (0)\n"
    "  --gate FILE        begins only the steps below the number in FILE, and says on stderr "
    "before\n"
    "                     which it waits; with \"end\" behind the number it ends there\n"
    "  --thief FIRST:LAST[:finalize]  steps in which another client takes CUPTI over, as\n"
    "                     torch.profiler does; with finalize it ends with cuptiFinalize\n"
    "\n"
    "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT come from the environment.\n"
    "Prints one line of JSON: what this rank really did.\n";

const char *train_scenario_name(enum train_scenario scenario)
{
    return SCENARIOS[scenario];
}

static bool parse_number(const char *name, const char *text, uint64_t max, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || *value > max) {
        fprintf(stderr, "simgpu_train: %s: %s is not a number from 0 to %llu\n", name, text,
                (unsigned long long)max);
        return false;
    }
    return true;
}

static bool parse_count(const char *name, const char *text, uint32_t max, uint32_t *count)
{
    uint64_t value;

    if (!parse_number(name, text, max, &value))
        return false;
    if (value == 0) {
        fprintf(stderr, "simgpu_train: %s: must be at least 1\n", name);
        return false;
    }
    *count = (uint32_t)value;
    return true;
}

static bool parse_factor(const char *text, double *factor)
{
    char *end;

    *factor = strtod(text, &end);
    if (end == text || *end || !(*factor >= 1 && *factor <= 100)) {
        fprintf(stderr, "simgpu_train: --slow-factor: %s is not a number from 1 to 100\n", text);
        return false;
    }
    return true;
}

static bool parse_scenario(const char *text, enum train_scenario *scenario)
{
    for (size_t i = 0; i < sizeof(SCENARIOS) / sizeof(SCENARIOS[0]); i++) {
        if (strcmp(text, SCENARIOS[i]) == 0) {
            *scenario = (enum train_scenario)i;
            return true;
        }
    }
    fprintf(stderr, "simgpu_train: --scenario: there is no %s\n", text);
    return false;
}

/* FIRST:LAST[:finalize] */
static bool read_thief(const char *text, struct train_options *options)
{
    char *end;
    unsigned long first = strtoul(text, &end, 10);
    unsigned long last;

    if (end == text || *end != ':')
        return false;
    text = end + 1;
    last = strtoul(text, &end, 10);
    if (end == text || first > last || last >= TRAIN_STEPS_MAX)
        return false;
    options->thief_finalizes = strcmp(end, ":finalize") == 0;
    options->has_thief = true;
    options->thief_first = (uint32_t)first;
    options->thief_last = (uint32_t)last;
    return !*end || options->thief_finalizes;
}

static bool parse_thief(const char *text, struct train_options *options)
{
    if (read_thief(text, options))
        return true;
    fprintf(stderr, "simgpu_train: --thief: %s is not FIRST:LAST[:finalize]\n", text);
    return false;
}

/* What waits or sleeps inside a step cannot be captured. */
static bool check(const struct train_options *options)
{
    if (!options->has_graphs || options->scenario == TRAIN_CLEAN ||
        options->scenario == TRAIN_SLOW_COMPUTE || options->scenario == TRAIN_NO_OVERLAP)
        return true;
    fprintf(stderr, "simgpu_train: --graphs: not with --scenario %s\n",
            train_scenario_name(options->scenario));
    return false;
}

static bool parse_load(int letter, const char *text, struct train_options *options)
{
    uint64_t value;

    switch (letter) {
    case 'g':
        options->has_graphs = true;
        return true;
    case 'u':
        options->has_runtime = true;
        return true;
    case 'm':
        if (!parse_number("--memory-churn", text, 10000, &value))
            return false;
        options->memory_churn = (uint32_t)value;
        return true;
    case 't':
        return parse_count("--threads", text, TRAIN_THREADS_MAX, &options->thread_count);
    case 'k':
        return parse_number("--side-kernels", text, 1000000000, &options->side_kernels);
    case 'R':
        return parse_number("--rate", text, 10000000, &options->rate);
    case 'G':
        options->gate = text;
        return true;
    case 'T':
        return parse_thief(text, options);
    default:
        return false;
    }
}

static bool parse_option(int letter, const char *text, struct train_options *options)
{
    uint64_t value;

    switch (letter) {
    case 's':
        return parse_count("--steps", text, TRAIN_STEPS_MAX, &options->step_count);
    case 'l':
        return parse_count("--layers", text, TRAIN_LAYERS_MAX, &options->layer_count);
    case 'b':
        return parse_count("--buckets", text, TRAIN_BUCKETS_MAX, &options->bucket_count);
    case 'c':
        return parse_number("--compute-us", text, 10000000, &options->compute_us);
    case 'B':
        return parse_number("--bytes", text, 4ull << 30, &options->bucket_bytes);
    case 'i':
        return parse_number("--input-bytes", text, 4ull << 30, &options->input_bytes);
    case 'S':
        return parse_scenario(text, &options->scenario);
    case 'f':
        return parse_factor(text, &options->slow_factor);
    case 'r':
        if (!parse_number("--slow-rank", text, 4096, &value))
            return false;
        options->slow_rank = (int)value;
        return true;
    default:
        return parse_load(letter, text, options);
    }
}

static bool env_number(const char *name, uint64_t max, uint64_t fallback, uint64_t *value)
{
    const char *text = getenv(name);

    *value = fallback;
    return !text || parse_number(name, text, max, value);
}

static bool read_place(struct train_options *options)
{
    uint64_t rank;
    uint64_t world_size;
    uint64_t local_rank;
    uint64_t port;

    if (!env_number("RANK", 4096, 0, &rank) || !env_number("WORLD_SIZE", 4096, 1, &world_size) ||
        !env_number("LOCAL_RANK", 4096, rank, &local_rank) ||
        !env_number("MASTER_PORT", 65535, 29500, &port))
        return false;
    if (rank >= world_size) {
        fprintf(stderr, "simgpu_train: RANK %llu is not below WORLD_SIZE %llu\n",
                (unsigned long long)rank, (unsigned long long)world_size);
        return false;
    }
    options->rank = (int)rank;
    options->world_size = (int)world_size;
    options->local_rank = (int)local_rank;
    options->master_port = (uint16_t)port;
    options->master_addr = getenv("MASTER_ADDR");
    if (!options->master_addr)
        options->master_addr = "127.0.0.1";
    return true;
}

bool train_options_parse(int argc, char **argv, struct train_options *options_out)
{
    static const struct option LONG[] = {
        {"steps", required_argument, NULL, 's'},
        {"layers", required_argument, NULL, 'l'},
        {"buckets", required_argument, NULL, 'b'},
        {"compute-us", required_argument, NULL, 'c'},
        {"bytes", required_argument, NULL, 'B'},
        {"input-bytes", required_argument, NULL, 'i'},
        {"scenario", required_argument, NULL, 'S'},
        {"slow-rank", required_argument, NULL, 'r'},
        {"slow-factor", required_argument, NULL, 'f'},
        {"graphs", no_argument, NULL, 'g'},
        {"runtime", no_argument, NULL, 'u'},
        {"memory-churn", required_argument, NULL, 'm'},
        {"side-kernels", required_argument, NULL, 'k'},
        {"threads", required_argument, NULL, 't'},
        {"rate", required_argument, NULL, 'R'},
        {"gate", required_argument, NULL, 'G'},
        {"thief", required_argument, NULL, 'T'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct train_options options = {.step_count = 20,
                                    .layer_count = 8,
                                    .bucket_count = 4,
                                    .compute_us = 8000,
                                    .bucket_bytes = 25u << 20,
                                    .input_bytes = 4u << 20,
                                    .slow_factor = 2,
                                    .thread_count = 1};
    int letter;

    while ((letter = getopt_long(argc, argv, "", LONG, NULL)) != -1) {
        if (letter == 'h') {
            fputs(HELP, stdout);
            exit(0);
        }
        if (!parse_option(letter, optarg, &options))
            return false;
    }
    if (optind < argc) {
        fprintf(stderr, "simgpu_train: what is %s?\n", argv[optind]);
        return false;
    }
    if (!check(&options) || !read_place(&options))
        return false;
    *options_out = options;
    return true;
}
