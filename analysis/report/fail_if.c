/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/fail_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/writers.h"
#include "common/units.h"

#define PATH_BYTES 512u
#define DEPTH_MAX 32u

/* ---- texts to conditions ---- */

/* "0.05", "5%", "120ms" */
static bool parse_limit(const char *text, double *limit_out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    uint64_t duration_ns;

    if (end != text && isfinite(value) && (*end == '\0' || strcmp(end, "%") == 0)) {
        *limit_out = *end == '%' ? value / 100 : value;
        return true;
    }
    if (!rkt_parse_duration_ns(text, &duration_ns))
        return false;
    *limit_out = (double)duration_ns;
    return true;
}

enum rkt_status rkt_condition_parse(const char *text, struct rkt_condition *condition_out,
                                    struct rkt_error *err)
{
    struct rkt_condition condition = {.path = ""};
    size_t lead = strspn(text, " ");
    size_t path = strcspn(text + lead, " <>=!");
    const char *rest = text + lead + path;
    size_t operation;

    rest += strspn(rest, " ");
    operation = strspn(rest, "<>=!");
    if (path == 0 || path >= sizeof(condition.path) || operation == 0 || operation > 2)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "'%s' is no condition such as straggler.loss_share > 0.05", text);
    memcpy(condition.path, text + lead, path);
    memcpy(condition.operation, rest, operation);
    if (operation == 2 ? condition.operation[1] != '=' || condition.operation[0] == '\0'
                       : condition.operation[0] != '<' && condition.operation[0] != '>')
        return rkt_fail(err, RKT_ERR_INVALID,
                        "'%s' in '%s' is none of > >= < <= == !=", condition.operation, text);
    rest += operation;
    rest += strspn(rest, " ");
    if (!parse_limit(rest, &condition.limit))
        return rkt_fail(err, RKT_ERR_INVALID, "'%s' in '%s' is no number, percentage or duration",
                        rest, text);
    *condition_out = condition;
    return RKT_OK;
}

/* ---- one number ---- */

static bool holds(const struct rkt_condition *condition, double value)
{
    bool is_equal = !(value < condition->limit) && !(value > condition->limit);

    switch (condition->operation[0]) {
    case '>':
        return value > condition->limit || (condition->operation[1] == '=' && is_equal);
    case '<':
        return value < condition->limit || (condition->operation[1] == '=' && is_equal);
    case '=':
        return is_equal;
    default: /* "!=" */
        return !is_equal;
    }
}

/* "ranks[3].run" fits "ranks[*].run". */
static bool path_fits(const char *pattern, const char *path)
{
    while (*pattern != '\0' && *path != '\0') {
        if (strncmp(pattern, "[*]", 3) == 0 && *path == '[') {
            pattern += 3;
            path += strcspn(path, "]") + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == *path;
}

struct tally {
    size_t known;
    size_t unknown;
    size_t failing;
    char path[PATH_BYTES]; /* of the first that fails */
    double value;
};

struct check {
    const struct rkt_condition *conditions;
    struct tally *tallies;
    size_t count;
};

/* NAN: null. */
static void look_at(const struct check *check, const char *path, double value)
{
    for (size_t i = 0; i < check->count; i++) {
        struct tally *tally = &check->tallies[i];

        if (!path_fits(check->conditions[i].path, path))
            continue;
        tally->unknown += isnan(value) ? 1 : 0;
        tally->known += isnan(value) ? 0 : 1;
        if (isnan(value) || !holds(&check->conditions[i], value))
            continue;
        if (tally->failing++ == 0) {
            (void)snprintf(tally->path, sizeof(tally->path), "%s", path);
            tally->value = value;
        }
    }
}

/* ---- the report ---- */

/* Walks text that our own writer made. */
struct walk {
    const struct check *check;
    const char *at;
    char path[PATH_BYTES];
};

static void skip_space(struct walk *walk)
{
    walk->at += strspn(walk->at, " \n,:");
}

/* Behind its closing quote; *length_out without quotes. */
static const char *read_text(struct walk *walk, size_t *length_out)
{
    const char *start = ++walk->at;

    while (*walk->at != '"' && *walk->at != '\0')
        walk->at += *walk->at == '\\' && walk->at[1] != '\0' ? 2 : 1;
    *length_out = (size_t)(walk->at - start);
    walk->at += *walk->at == '"';
    return start;
}

static void read_value(struct walk *walk)
{
    char *end = NULL;
    size_t length;

    if (*walk->at == '"') {
        (void)read_text(walk, &length);
        return;
    }
    if (strncmp(walk->at, "null", 4) == 0)
        look_at(walk->check, walk->path, (double)NAN);
    else if (strncmp(walk->at, "true", 4) == 0)
        look_at(walk->check, walk->path, 1);
    else if (strncmp(walk->at, "false", 5) == 0)
        look_at(walk->check, walk->path, 0);
    else
        look_at(walk->check, walk->path, strtod(walk->at, &end));
    walk->at += strcspn(walk->at, ",}] \n");
}

/* An object or array that is open, and where its path ends. */
struct level {
    size_t path_bytes;
    size_t next; /* member of an array */
    bool is_array;
};

/* The path of the level's next member. */
static void name_member(struct walk *walk, struct level *level)
{
    char *end = walk->path + level->path_bytes;
    size_t room = sizeof(walk->path) - level->path_bytes;
    const char *key;
    size_t length;

    if (level->is_array) {
        (void)snprintf(end, room, "[%zu]", level->next++);
        return;
    }
    key = read_text(walk, &length);
    (void)snprintf(end, room, "%s%.*s", level->path_bytes > 0 ? "." : "", (int)length, key);
    skip_space(walk);
}

static void walk_report(const struct check *check, const char *text)
{
    struct walk walk = {.check = check, .at = text};
    struct level levels[DEPTH_MAX];
    size_t depth = 0;

    for (skip_space(&walk); *walk.at != '\0'; skip_space(&walk)) {
        if (*walk.at == '}' || *walk.at == ']') {
            depth -= depth > 0;
            walk.at++;
            continue;
        }
        if (depth > 0)
            name_member(&walk, &levels[depth - 1]);
        if ((*walk.at == '{' || *walk.at == '[') && depth < DEPTH_MAX)
            levels[depth++] = (struct level){strlen(walk.path), 0, *walk.at++ == '['};
        else
            read_value(&walk);
    }
}

/* ---- all of it ---- */

static enum rkt_status say(const struct rkt_condition *condition, const struct tally *tally,
                           FILE *out, bool *failed, struct rkt_error *err)
{
    if (tally->known + tally->unknown == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "the report has no number %s", condition->path);
    if (tally->known == 0)
        (void)fprintf(out, "%s is n/a: not compared with %g\n", condition->path, condition->limit);
    if (tally->failing == 0)
        return RKT_OK;
    *failed = true;
    (void)fprintf(out, "%s is %.15g: the limit is %s %g", tally->path, tally->value,
                  condition->operation, condition->limit);
    if (tally->failing > 1)
        (void)fprintf(out, " (and %zu more)", tally->failing - 1);
    (void)fputc('\n', out);
    return RKT_OK;
}

static enum rkt_status check_text(const struct check *check, const char *text, FILE *out,
                                  bool *failed_out, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    bool failed = false;

    walk_report(check, text);
    for (size_t i = 0; i < check->count && status == RKT_OK; i++)
        status = say(&check->conditions[i], &check->tallies[i], out, &failed, err);
    if (status == RKT_OK)
        *failed_out = failed;
    return status;
}

enum rkt_status rkt_check_conditions(const struct rkt_result *result,
                                     const struct rkt_condition *conditions, size_t count,
                                     FILE *out, bool *failed_out, struct rkt_error *err)
{
    struct check check = {conditions, calloc(count + 1, sizeof(*check.tallies)), count};
    enum rkt_status status = RKT_OK;
    size_t len_bytes = 0;
    char *text = NULL;
    FILE *report;

    if (!check.tallies)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a report");
    report = open_memstream(&text, &len_bytes);
    if (!report)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a report");
    if (status == RKT_OK)
        status = rkt_report_write_json(result, NULL, report, err);
    if (report && fclose(report) != 0 && status == RKT_OK)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a report");
    if (status == RKT_OK)
        status = check_text(&check, text ? text : "", out, failed_out, err);
    free(text);
    free(check.tallies);
    return status;
}
