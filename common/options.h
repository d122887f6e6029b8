/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_OPTIONS_H
#define RKT_COMMON_OPTIONS_H

/*
 * options - one table gives the parser, the environment names and --help; and how a command ends.
 *
 * Command line beats environment beats default. Both "--name value" and "--name=value"; "--" ends
 * the options. They may stand between and behind the words that are none, except where the first
 * such word begins another command. An unknown option is an error that names the nearest known one.
 * Strings point into argv or the environment and are not copied.
 *
 *     static const struct rkt_option OPTIONS[] = {
 *         {"output", 'o', "RANKTRACE_OUTPUT", RKT_OPTION_STRING,
 *          offsetof(struct run_options, output), "DIR", "ranktrace-out", "where results go"},
 *     };
 *
 * Threads: main, before any other starts.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

enum rkt_option_type {
    RKT_OPTION_FLAG,     /* bool; no value on the command line; 0 or 1 in the environment */
    RKT_OPTION_STRING,   /* const char * */
    RKT_OPTION_U32,      /* uint32_t */
    RKT_OPTION_DURATION, /* uint64_t, ns */
    RKT_OPTION_BYTES,    /* uint64_t */
    RKT_OPTION_NUMBER,   /* double, above 0: "989e12" */
    RKT_OPTION_LIST,     /* struct rkt_option_list: may be given several times */
};

#define RKT_OPTION_LIST_CAP 64
struct rkt_option_list {
    const char *items[RKT_OPTION_LIST_CAP];
    size_t count;
};

struct rkt_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    const char *env;  /* NULL: none */
    enum rkt_option_type type;
    size_t field_offset;      /* into the struct given to parse */
    const char *value_name;   /* "DIR", "1s"; NULL for a flag */
    const char *default_text; /* NULL: zero, and not printed */
    const char *help;
};

struct rkt_command {
    const char *name;    /* "report" */
    const char *usage;   /* "ranktrace report [options] FILE" */
    const char *summary; /* one line */
    const char *details; /* more help under the options; NULL for none */
    const struct rkt_option *options;
    size_t option_count;
    bool takes_command; /* the first word ends the options: what follows is not ours */
};

/*
 * Fill *fields (a zeroed struct) from defaults, environment and argv[1..], and move the words
 * that are no options behind those that are, in their order; *next_out is the first's index.
 * RKT_END: help or version was asked for and printed; the program ends with code 0.
 * RKT_ERR_INVALID: wrong use, said in *err; the program ends with code 2.
 */
enum rkt_status rkt_options_parse(const struct rkt_command *command, int argc, char **argv,
                                  void *fields, int *next_out, struct rkt_error *err);

/* Exit codes of all commands; `run` returns the job's own where it failed. */
enum rkt_exit_code {
    RKT_EXIT_DONE = 0,
    RKT_EXIT_FAILED = 1,
    RKT_EXIT_WRONG_USE = 2,
};

/*
 * The exit code of a command that ended so: DONE for RKT_OK and RKT_END; else *err is said on
 * stderr, and it is WRONG_USE for RKT_ERR_INVALID, FAILED for the others.
 */
int rkt_command_exit(const struct rkt_command *command, enum rkt_status status,
                     const struct rkt_error *err);

/* RKT_ERR_INVALID, with the command's usage behind what to give. */
enum rkt_status rkt_fail_usage(const struct rkt_command *command, const char *what,
                               struct rkt_error *err);

/*
 * RKT_ERR_INVALID by the value of option `name`, of which `text` is a part: the reason, behind
 * "option '--NAME': ", or "variable RANKTRACE_NAME: " where the text is the environment's.
 */
enum rkt_status rkt_fail_value(struct rkt_error *err, const char *name, const char *text,
                               const char *reason_fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Every RANKTRACE_ variable of the environment that is not in `known` is a warning with the
 * nearest known name: a misspelt one must not be ignored in silence.
 */
void rkt_options_check_environment(const char *const *known, size_t known_count);

/* The nearest of `names` to `word`, or NULL where none is near: "did you mean". */
const char *rkt_nearest_name(const char *word, const char *const *names, size_t name_count);

#endif
