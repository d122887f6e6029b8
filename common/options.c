/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/units.h"

extern char **environ;

#define NAME_COUNT_MAX 128
#define DISTANCE_MAX 32
/* Of --help: where the explanations begin, and where lines end. */
#define HELP_COLUMN ((size_t)28)
#define HELP_WIDTH ((size_t)80)

static void *field_of(void *fields, const struct rkt_option *option)
{
    return (char *)fields + option->field_offset;
}

static bool set_u32(void *field, const char *text)
{
    uint64_t value;

    if (!rkt_parse_u64(text, &value) || value > UINT32_MAX)
        return false;
    *(uint32_t *)field = (uint32_t)value;
    return true;
}

static bool set_flag(void *field, const char *text)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return false;
    *(bool *)field = *text == '1';
    return true;
}

static bool add_to_list(struct rkt_option_list *list, const char *text)
{
    if (list->count == RKT_OPTION_LIST_CAP)
        return false;
    list->items[list->count++] = text;
    return true;
}

/* strtod alone would take spaces, names of no numbers, and hexadecimal digits. */
static bool set_number(double *field, const char *text)
{
    char *end;
    double value;

    if (strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || !isfinite(value))
        return false;
    *field = value;
    return true;
}

static const char *wanted(enum rkt_option_type type)
{
    switch (type) {
    case RKT_OPTION_FLAG:
        return "0 or 1";
    case RKT_OPTION_STRING:
        return "a text";
    case RKT_OPTION_U32:
        return "a whole number from 0 to 4294967295";
    case RKT_OPTION_DURATION:
        return "a duration with its unit, such as 250ms, 30s or 2min";
    case RKT_OPTION_BYTES:
        return "a size with its unit, such as 64MiB";
    case RKT_OPTION_NUMBER:
        return "a number above 0, such as 1.5 or 3e12";
    case RKT_OPTION_LIST:
        return "at most 64 values";
    }
    return "something else";
}

static bool set_value(void *field, enum rkt_option_type type, const char *text)
{
    switch (type) {
    case RKT_OPTION_FLAG:
        return set_flag(field, text);
    case RKT_OPTION_STRING:
        *(const char **)field = text;
        return true;
    case RKT_OPTION_U32:
        return set_u32(field, text);
    case RKT_OPTION_DURATION:
        return rkt_parse_duration_ns(text, field);
    case RKT_OPTION_BYTES:
        return rkt_parse_bytes(text, field);
    case RKT_OPTION_NUMBER:
        return set_number(field, text);
    case RKT_OPTION_LIST:
        return add_to_list(field, text);
    }
    return false;
}

/* Edits (insert, delete, replace one character) from a to b; words past the limit are far. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t row[DISTANCE_MAX + 1];

    if (a_len > DISTANCE_MAX || b_len > DISTANCE_MAX)
        return DISTANCE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_len];
}

const char *rkt_nearest_name(const char *word, const char *const *names, size_t name_count)
{
    size_t best_distance = strlen(word) / 3 + 2;
    const char *best = NULL;

    for (size_t i = 0; i < name_count; i++) {
        size_t distance = edit_distance(word, names[i]);

        if (distance < best_distance) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}

static enum rkt_status unknown_option(const struct rkt_command *command, const char *word,
                                      struct rkt_error *err)
{
    const char *names[NAME_COUNT_MAX] = {"help", "version"};
    size_t count = 2;
    const char *near;
    char bare[64];

    for (size_t i = 0; i < command->option_count && count < NAME_COUNT_MAX; i++)
        names[count++] = command->options[i].name;
    (void)snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    near = rkt_nearest_name(bare, names, count);
    if (near && word[1] == '-')
        return rkt_fail(err, RKT_ERR_INVALID, "unknown option '%s': did you mean '--%s'?", word,
                        near);
    return rkt_fail(err, RKT_ERR_INVALID, "unknown option '%s': see 'ranktrace %s --help'", word,
                    command->name);
}

static enum rkt_status set_option(const struct rkt_option *option, void *fields, const char *text,
                                  struct rkt_error *err)
{
    if (set_value(field_of(fields, option), option->type, text))
        return RKT_OK;
    return rkt_fail(err, RKT_ERR_INVALID, "option '--%s': '%s' is not %s", option->name, text,
                    wanted(option->type));
}

static const struct rkt_option *find_long(const struct rkt_command *command, const char *name,
                                          size_t len_bytes)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rkt_option *option = &command->options[i];

        if (strlen(option->name) == len_bytes && memcmp(option->name, name, len_bytes) == 0)
            return option;
    }
    return NULL;
}

static const struct rkt_option *find_letter(const struct rkt_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].letter == letter)
            return &command->options[i];
    }
    return NULL;
}

/* The option behind argv[*at] and its value ("1" for a flag); *at moves past both. */
static enum rkt_status take_option(const struct rkt_command *command, int argc, char **argv,
                                   int *at, void *fields, struct rkt_error *err)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    const char *value = equals ? equals + 1 : NULL;
    const struct rkt_option *option;

    if (is_long)
        option =
            find_long(command, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
    else
        option = word[2] == '\0' ? find_letter(command, word[1]) : NULL;
    if (!option)
        return unknown_option(command, word, err);
    ++*at;
    if (option->type == RKT_OPTION_FLAG) {
        if (value)
            return rkt_fail(err, RKT_ERR_INVALID, "option '--%s' takes no value", option->name);
        return set_option(option, fields, "1", err);
    }
    if (!value) {
        if (*at >= argc)
            return rkt_fail(err, RKT_ERR_INVALID, "option '--%s' needs a value: %s", option->name,
                            wanted(option->type));
        value = argv[(*at)++];
    }
    return set_option(option, fields, value, err);
}

static enum rkt_status apply_defaults(const struct rkt_command *command, void *fields,
                                      struct rkt_error *err)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rkt_option *option = &command->options[i];

        if (option->default_text && option->type != RKT_OPTION_LIST &&
            !set_value(field_of(fields, option), option->type, option->default_text))
            return rkt_fail(err, RKT_ERR_INTERNAL, "default '%s' of option '--%s' is not %s",
                            option->default_text, option->name, wanted(option->type));
    }
    return RKT_OK;
}

static enum rkt_status apply_environment(const struct rkt_command *command, void *fields,
                                         struct rkt_error *err)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rkt_option *option = &command->options[i];
        const char *text =
            option->env ? getenv(option->env) : NULL; // NOLINT(concurrency-mt-unsafe)

        if (text && !set_value(field_of(fields, option), option->type, text))
            return rkt_fail(err, RKT_ERR_INVALID, "variable %s: '%s' is not %s", option->env, text,
                            wanted(option->type));
    }
    return RKT_OK;
}

/* The variable of option `name`: RANKTRACE_STEP_RANGE of step-range. */
static void name_variable(const char *name, char *variable_out, size_t cap_bytes)
{
    (void)snprintf(variable_out, cap_bytes, "RANKTRACE_%s", name);
    for (char *at = variable_out; *at; at++) {
        if (*at == '-')
            *at = '_';
        else if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    }
}

enum rkt_status rkt_fail_value(struct rkt_error *err, const char *name, const char *text,
                               const char *reason_fmt, ...)
{
    char variable[64];
    char reason[sizeof(err->text)];
    const char *value;
    va_list args;

    va_start(args, reason_fmt);
    (void)vsnprintf(reason, sizeof(reason), reason_fmt, args);
    va_end(args);
    name_variable(name, variable, sizeof(variable));
    value = getenv(variable); // NOLINT(concurrency-mt-unsafe)
    if (value && text >= value && text <= value + strlen(value))
        return rkt_fail(err, RKT_ERR_INVALID, "variable %s: %s", variable, reason);
    return rkt_fail(err, RKT_ERR_INVALID, "option '--%s': %s", name, reason);
}

/* Words of `text` in the right column of the help. */
static void print_right(const char *text)
{
    size_t column = HELP_COLUMN;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
            (void)printf("\n%*s", (int)HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        (void)printf("%s%.*s", column > HELP_COLUMN ? " " : "", (int)len, text);
        column += len + (column > HELP_COLUMN);
        text += len + strspn(text + len, " ");
    }
    (void)printf("\n");
}

static void print_option(const struct rkt_option *option)
{
    char left[64];
    char right[512];

    (void)snprintf(left, sizeof(left), "%c%c%s--%s%s%s", option->letter ? '-' : ' ',
                   option->letter ? option->letter : ' ', option->letter ? ", " : "  ",
                   option->name, option->value_name ? " " : "",
                   option->value_name ? option->value_name : "");
    (void)snprintf(right, sizeof(right), "%s%s%s%s%s%s%s", option->help,
                   option->default_text ? " (default " : "",
                   option->default_text ? option->default_text : "",
                   option->default_text ? ")" : "", option->env ? " [" : "",
                   option->env ? option->env : "", option->env ? "]" : "");
    (void)printf("  %-*s ", (int)HELP_COLUMN - 3, left);
    print_right(right);
}

static void print_help(const struct rkt_command *command)
{
    (void)printf("usage: %s\n\n%s\n\noptions:\n", command->usage, command->summary);
    for (size_t i = 0; i < command->option_count; i++)
        print_option(&command->options[i]);
    (void)printf("  %-25s %s\n  %-25s %s\n", "-h, --help", "this text", "    --version",
                 "the version");
    if (command->details)
        (void)printf("\n%s\n", command->details);
}

static bool is_help(const struct rkt_command *command, const char *word)
{
    if (strcmp(word, "--help") == 0 || (strcmp(word, "-h") == 0 && !find_letter(command, 'h'))) {
        print_help(command);
        return true;
    }
    if (strcmp(word, "--version") == 0) {
        (void)printf("ranktrace %s\n", RKT_VERSION);
        return true;
    }
    return false;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* argv[at .. at + count) goes in front of the words from `first` on, which keep their order. */
static void move_forward(char **argv, int first, int at, int count)
{
    for (int i = 0; i < count; i++) {
        char *word = argv[at + i];

        memmove(&argv[first + i + 1], &argv[first + i], (size_t)(at - first) * sizeof(*argv));
        argv[first + i] = word;
    }
}

static enum rkt_status parse_words(const struct rkt_command *command, int argc, char **argv,
                                   void *fields, int *next, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    bool is_end = false;
    int at = 1;

    while (at < argc && !is_end && (is_option(argv[at]) || !command->takes_command)) {
        int start = at;

        if (!is_option(argv[at])) {
            at++;
            continue;
        }
        if (is_help(command, argv[at]))
            return RKT_END;
        is_end = strcmp(argv[at], "--") == 0;
        if (is_end)
            at++;
        else
            status = take_option(command, argc, argv, &at, fields, err);
        if (status != RKT_OK)
            return status;
        move_forward(argv, *next, start, at - start);
        *next += at - start;
    }
    return RKT_OK;
}

enum rkt_status rkt_options_parse(const struct rkt_command *command, int argc, char **argv,
                                  void *fields, int *next_out, struct rkt_error *err)
{
    enum rkt_status status = apply_defaults(command, fields, err);
    int next = 1;

    if (status == RKT_OK)
        status = apply_environment(command, fields, err);
    if (status == RKT_OK)
        status = parse_words(command, argc, argv, fields, &next, err);
    if (status == RKT_OK)
        *next_out = next;
    return status;
}

int rkt_command_exit(const struct rkt_command *command, enum rkt_status status,
                     const struct rkt_error *err)
{
    if (status >= RKT_OK)
        return RKT_EXIT_DONE;
    (void)fprintf(stderr, "ranktrace %s: %s\n", command->name, err->text);
    return status == RKT_ERR_INVALID ? RKT_EXIT_WRONG_USE : RKT_EXIT_FAILED;
}

enum rkt_status rkt_fail_usage(const struct rkt_command *command, const char *what,
                               struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_INVALID, "give %s: %s", what, command->usage);
}

void rkt_options_check_environment(const char *const *known, size_t known_count)
{
    static const char prefix[] = "RANKTRACE_";

    for (char **at = environ; *at; at++) {
        char name[64];
        const char *near;
        bool is_known = false;

        if (strncmp(*at, prefix, sizeof(prefix) - 1) != 0)
            continue;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
        for (size_t i = 0; i < known_count; i++)
            is_known |= strcmp(known[i], name) == 0;
        if (is_known)
            continue;
        near = rkt_nearest_name(name, known, known_count);
        rkt_log(RKT_LOG_WARN, "options", "unknown variable, ignored", "name=%s%s%s", name,
                near ? " near=" : "", near ? near : "");
    }
}
