/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace - the front end: finds the program of a command and becomes it.
 *
 * Each command is a program of its own, ranktrace-COMMAND, so that reading a trace needs
 * neither MPI nor CUDA. Only commands that this build has are listed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "launch/install.h"

#define EXIT_FAILED 1
#define EXIT_WRONG_USE 2

static const struct {
    const char *name;
    const char *summary;
} COMMANDS[] = {
    {"run", "run a training job and trace all its ranks"},
    {"collect", "collect from a job that something else starts"},
    {"env", "print what such a job must have in its environment"},
    {"merge", "merge traces of PyTorch's profiler and other tools into one timeline"},
    {"report", "say how well a job scales, and what holds it up"},
    {"compare", "say what changed between runs, or how a job scales over several"},
    {"info", "say what is in a timeline"},
    {"view", "show a timeline in a browser"},
    {"export", "write a timeline in the format of another tool"},
    {"align", "align the clocks of a timeline again"},
    {"recover", "put what a broken run left behind into one clean timeline"},
    {"doctor", "check what this machine offers, and say what is missing"},
    {"simulate", "write the timeline of a made-up job"},
    {"demo", "trace a small job without a GPU and show its report"},
};
#define COMMAND_COUNT (sizeof(COMMANDS) / sizeof(COMMANDS[0]))

static bool find_command(const struct rkt_install *install, const char *name, char path[PATH_MAX])
{
    char program[64];
    int len = snprintf(program, sizeof(program), "ranktrace-%s", name);

    return len > 0 && (size_t)len < sizeof(program) && rkt_install_program(install, program, path);
}

static void print_usage(const struct rkt_install *install, FILE *out)
{
    char path[PATH_MAX];

    (void)fprintf(out, "usage: ranktrace COMMAND [options]\n\n"
                       "One timeline and one report for all ranks of a training job:\n"
                       "    mpirun -np 8 ranktrace run -- python train.py\n\n"
                       "commands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (find_command(install, COMMANDS[i].name, path))
            (void)fprintf(out, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    }
    (void)fprintf(out, "\n'ranktrace COMMAND --help' has the options of a command.\n");
}

/* A word that is no command of this build: say so, with the nearest one that is. */
static int refuse_command(const struct rkt_install *install, const char *word)
{
    const char *names[COMMAND_COUNT];
    const char *near;
    char path[PATH_MAX];
    size_t count = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, word) == 0) {
            (void)fprintf(stderr, "ranktrace: command '%s' is not part of this build\n", word);
            return EXIT_WRONG_USE;
        }
        if (find_command(install, COMMANDS[i].name, path))
            names[count++] = COMMANDS[i].name;
    }
    near = rkt_nearest_name(word, names, count);
    if (near)
        (void)fprintf(stderr, "ranktrace: unknown command '%s': did you mean '%s'?\n", word, near);
    else
        (void)fprintf(stderr, "ranktrace: unknown command '%s': see 'ranktrace help'\n", word);
    return EXIT_WRONG_USE;
}

static bool is_known(const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, word) == 0)
            return true;
    }
    return false;
}

/* Become the program of command `word`; args[0] is overwritten. Returns on failure only. */
static int become(const struct rkt_install *install, const char *word, char **args)
{
    char path[PATH_MAX];

    if (!is_known(word) || !find_command(install, word, path))
        return refuse_command(install, word);
    args[0] = path;
    execv(path, args);
    (void)fprintf(stderr, "ranktrace: cannot start %s: %m\n", path);
    return EXIT_FAILED;
}

static int show_help(const struct rkt_install *install, const char *word)
{
    char help[] = "--help";
    char *args[] = {NULL, help, NULL};

    if (word)
        return become(install, word, args);
    print_usage(install, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct rkt_install install;
    struct rkt_error err;

    if (rkt_install_locate(&install, &err) != RKT_OK) {
        (void)fprintf(stderr, "ranktrace: %s\n", err.text);
        return EXIT_FAILED;
    }
    if (argc < 2) {
        print_usage(&install, stderr);
        return EXIT_WRONG_USE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("ranktrace %s\n", RKT_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "help") == 0)
        return show_help(&install, argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return show_help(&install, NULL);
    if (argv[1][0] == '-') {
        (void)fprintf(stderr, "ranktrace: unknown option '%s': see 'ranktrace help'\n", argv[1]);
        return EXIT_WRONG_USE;
    }
    return become(&install, argv[1], argv + 1);
}
