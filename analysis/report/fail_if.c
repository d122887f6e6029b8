/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/fail_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"
#include "common/json_walk.h"
#include "common/units.h"

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
    char path[RKT_JSON_WALK_PATH_BYTES]; /* of the first that fails */
    double value;
};

struct check {
    const struct rkt_condition *conditions;
    struct tally *tallies;
    size_t count;
};

/* Texts, objects and arrays are not compared. */
static enum rkt_status look_at(void *ctx, const struct rkt_json_value *value, struct rkt_error *err)
{
    const struct check *check = ctx;

    (void)err;
    if (value->type != RKT_JSON_NULL && value->type != RKT_JSON_BOOL &&
        value->type != RKT_JSON_NUMBER)
        return RKT_OK;
    for (size_t i = 0; i < check->count; i++) {
        struct tally *tally = &check->tallies[i];

        if (!path_fits(check->conditions[i].path, value->path))
            continue;
        tally->unknown += value->type == RKT_JSON_NULL;
        tally->known += value->type != RKT_JSON_NULL;
        if (value->type == RKT_JSON_NULL || !holds(&check->conditions[i], value->number))
            continue;
        if (tally->failing++ == 0) {
            (void)snprintf(tally->path, sizeof(tally->path), "%s", value->path);
            tally->value = value->number;
        }
    }
    return RKT_OK;
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

static enum rkt_status check_text(const struct check *check, char *text, FILE *out,
                                  bool *failed_out, struct rkt_error *err)
{
    enum rkt_status status = rkt_json_walk(text, look_at, (void *)check, err);
    bool failed = false;

    for (size_t i = 0; i < check->count && status == RKT_OK; i++)
        status = say(&check->conditions[i], &check->tallies[i], out, &failed, err);
    if (status == RKT_OK)
        *failed_out = failed;
    return status;
}

enum rkt_status rkt_check_conditions_of(char *json, const struct rkt_condition *conditions,
                                        size_t count, FILE *out, bool *failed_out,
                                        struct rkt_error *err)
{
    struct check check = {conditions, calloc(count + 1, sizeof(*check.tallies)), count};
    enum rkt_status status;

    if (!check.tallies)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to check a report");
    status = check_text(&check, json, out, failed_out, err);
    free(check.tallies);
    return status;
}

enum rkt_status rkt_check_conditions(const struct rkt_result *result,
                                     const struct rkt_condition *conditions, size_t count,
                                     FILE *out, bool *failed_out, struct rkt_error *err)
{
    char *json = NULL;
    enum rkt_status status = rkt_report_json_of(result, &json, err);

    if (status == RKT_OK)
        status = rkt_check_conditions_of(json, conditions, count, out, failed_out, err);
    free(json);
    return status;
}
