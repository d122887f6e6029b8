/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/rank_of_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"

#define RANK_DIGITS_MAX 7 /* more is a time or a process id */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The number behind `word` at text[0], one of - _ = . or nothing between; false if none. */
static bool number_after(const char *text, size_t len, const char *word, uint32_t *out)
{
    size_t at = strlen(word);
    size_t digits = 0;
    uint32_t value = 0;

    if (len <= at || strncasecmp(text, word, at) != 0)
        return false;
    if (strchr("-_=.", text[at]))
        at++;
    for (; at < len && is_digit(text[at]) && digits <= RANK_DIGITS_MAX; at++, digits++)
        value = value * 10 + (uint32_t)(text[at] - '0');
    if (digits == 0 || digits > RANK_DIGITS_MAX)
        return false;
    *out = value;
    return true;
}

/* "rank_HOST_5.json": the number that ends the name before its first dot. */
static bool number_at_end(const char *name, size_t len, uint32_t *out)
{
    const char *dot = memchr(name, '.', len);
    size_t end = dot ? (size_t)(dot - name) : len;
    size_t at = end;
    uint32_t value = 0;

    while (at > 0 && is_digit(name[at - 1]))
        at--;
    if (at == 0 || name[at - 1] != '_' || at == end || end - at > RANK_DIGITS_MAX)
        return false;
    for (; at < end; at++)
        value = value * 10 + (uint32_t)(name[at] - '0');
    *out = value;
    return true;
}

static bool rank_behind_host(const char *name, size_t len, uint32_t *out)
{
    static const char WORD[] = "rank_";

    for (size_t at = 0; at + sizeof(WORD) <= len; at++) {
        if ((at == 0 || !is_letter(name[at - 1])) &&
            strncasecmp(name + at, WORD, sizeof(WORD) - 1) == 0 &&
            is_letter(name[at + sizeof(WORD) - 1]))
            return number_at_end(name, len, out);
    }
    return false;
}

static bool rank_in(const char *name, size_t len, uint32_t *rank_out)
{
    static const char *const WORDS[] = {"rank", "worker"};

    for (size_t w = 0; w < sizeof(WORDS) / sizeof(WORDS[0]); w++) {
        for (size_t at = 0; at < len; at++) {
            if ((at == 0 || !is_letter(name[at - 1])) &&
                number_after(name + at, len - at, WORDS[w], rank_out))
                return true;
        }
    }
    return rank_behind_host(name, len, rank_out);
}

bool rkt_rank_of_file(const char *path, uint32_t *rank_out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *folder = slash;

    if (rank_in(name, strlen(name), rank_out))
        return true;
    while (folder && folder > path && folder[-1] != '/')
        folder--;
    return folder && rank_in(folder, (size_t)(slash - folder), rank_out);
}

bool rkt_host_of_file(const char *path, uint64_t pid, char *host_out, size_t host_bytes)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *last = strstr(name, ".pt.trace.json");
    char end[32];
    const char *found;

    (void)snprintf(end, sizeof(end), "_%llu.", (unsigned long long)pid);
    found = last && pid != 0 ? strstr(name, end) : NULL;
    if (!found || found == name || (size_t)(found - name) >= host_bytes)
        return false;
    memcpy(host_out, name, (size_t)(found - name));
    host_out[found - name] = '\0';
    return true;
}

/* ---- the user's own rules ---- */

static bool read_rank(const char *text, size_t len, uint32_t *rank_out)
{
    char copy[16];
    uint64_t value;

    if (len == 0 || len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!rkt_parse_u64(copy, &value) || value > INT32_MAX)
        return false;
    *rank_out = (uint32_t)value;
    return true;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static enum rkt_status check_file_rank(const char *file_rank, struct rkt_error *err)
{
    const char *equals = strrchr(file_rank, '=');
    uint32_t rank;

    if (!equals || equals == file_rank || !is_number(equals + 1))
        return rkt_fail(err, RKT_ERR_INVALID, "'%s': a file and its rank look like x.json=3",
                        file_rank);
    if (!read_rank(equals + 1, strlen(equals + 1), &rank))
        return rkt_fail(err, RKT_ERR_INVALID, "'%s': the rank is too large: at most %d", file_rank,
                        INT32_MAX);
    return RKT_OK;
}

enum rkt_status rkt_rank_names_init(struct rkt_rank_names *names, const char *regex,
                                    const char *const *file_ranks, size_t file_rank_count,
                                    struct rkt_error *err)
{
    memset(names, 0, sizeof(*names));
    for (size_t i = 0; i < file_rank_count; i++) {
        enum rkt_status status = check_file_rank(file_ranks[i], err);

        if (status != RKT_OK)
            return status;
    }
    if (regex) {
        int code = regcomp(&names->regex, regex, REG_EXTENDED);
        char why[128];

        if (code != 0) {
            (void)regerror(code, &names->regex, why, sizeof(why));
            return rkt_fail(err, RKT_ERR_INVALID, "'%s' is no regular expression: %s", regex, why);
        }
        names->has_regex = true;
    }
    names->file_ranks = file_ranks;
    names->file_rank_count = file_rank_count;
    return RKT_OK;
}

void rkt_rank_names_release(struct rkt_rank_names *names)
{
    if (names->has_regex)
        regfree(&names->regex);
    memset(names, 0, sizeof(*names));
}

/* ---- FILE=N ---- */

enum fit {
    FIT_NONE,
    FIT_NAME, /* FILE is the last part of the path */
    FIT_PATH, /* FILE is the path: what is named so exactly is meant first */
};

/* Where a part of the path begins: over "./" and slashes, which say nothing there. */
static const char *skip_nothing(const char *at, const char *end)
{
    for (;;) {
        if (at < end && *at == '/')
            at++;
        else if (end - at >= 2 && at[0] == '.' && at[1] == '/')
            at += 2;
        else
            return at;
    }
}

/* Do both lead to one place, however they are written? Links are not followed. */
static bool is_same_path(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const char *a_end = a + a_bytes;
    const char *b_end = b + b_bytes;

    if (a_bytes == 0 || b_bytes == 0 || (*a == '/') != (*b == '/'))
        return false;
    a = skip_nothing(a, a_end);
    b = skip_nothing(b, b_end);
    while (a < a_end && b < b_end && *a == *b) {
        bool is_slash = *a == '/';

        a++;
        b++;
        if (is_slash) {
            a = skip_nothing(a, a_end);
            b = skip_nothing(b, b_end);
        }
    }
    return a == a_end && b == b_end;
}

static enum fit fit_of(const char *file_rank, const char *path)
{
    size_t file_bytes = (size_t)(strrchr(file_rank, '=') - file_rank);
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    if (is_same_path(file_rank, file_bytes, path, strlen(path)))
        return FIT_PATH;
    return strlen(base) == file_bytes && memcmp(base, file_rank, file_bytes) == 0 ? FIT_NAME
                                                                                  : FIT_NONE;
}

static uint32_t rank_of(const char *file_rank)
{
    const char *equals = strrchr(file_rank, '=');
    uint32_t rank = 0;

    (void)read_rank(equals + 1, strlen(equals + 1), &rank); /* init has checked it */
    return rank;
}

/* The FILE=N that fits this path best, the first of those; NULL: none does. */
static const char *best_of(const struct rkt_rank_names *names, const char *path, enum fit *fit_out)
{
    const char *best = NULL;

    *fit_out = FIT_NONE;
    for (size_t i = 0; i < names->file_rank_count; i++) {
        enum fit fit = fit_of(names->file_ranks[i], path);

        if (fit > *fit_out) {
            *fit_out = fit;
            best = names->file_ranks[i];
        }
    }
    return best;
}

static enum rkt_status fail_two_ranks(const char *one, const char *other, const char *path,
                                      struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_INVALID, "--rank %s and --rank %s: two ranks for %s", one, other,
                    path);
}

/* Is it of use for some file, and does none of the same fit say otherwise? */
static enum rkt_status check_use(const struct rkt_rank_names *names, const char *file_rank,
                                 const struct rkt_import_paths *paths, struct rkt_error *err)
{
    const char *better = NULL; /* which leaves it without use for this file */
    const char *path_of_better = NULL;
    bool is_used = false;

    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i].path;
        enum fit fit = fit_of(file_rank, path);
        enum fit best_fit;
        const char *best;
        bool is_other;

        if (fit == FIT_NONE)
            continue;
        best = best_of(names, path, &best_fit);
        is_other = rank_of(best) != rank_of(file_rank);
        if (is_other && fit == best_fit)
            return fail_two_ranks(best, file_rank, path, err);
        is_used |= !is_other;
        better = is_other ? best : better;
        path_of_better = is_other ? path : path_of_better;
    }
    if (is_used)
        return RKT_OK;
    if (better)
        return fail_two_ranks(better, file_rank, path_of_better, err);
    return rkt_fail(err, RKT_ERR_INVALID, "--rank %s: no such file among those given", file_rank);
}

enum rkt_status rkt_rank_names_check(const struct rkt_rank_names *names,
                                     const struct rkt_import_paths *paths, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < names->file_rank_count && status == RKT_OK; i++)
        status = check_use(names, names->file_ranks[i], paths, err);
    return status;
}

bool rkt_rank_names_given(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out)
{
    enum fit fit;
    const char *best = best_of(names, path, &fit);

    if (best)
        *rank_out = rank_of(best);
    return best != NULL;
}

const char *rkt_rank_names_match(const struct rkt_rank_names *names, const char *path,
                                 size_t *bytes_out)
{
    regmatch_t match[2] = {{-1, -1}, {-1, -1}};
    const regmatch_t *part;

    if (!names->has_regex || regexec(&names->regex, path, 2, match, 0) != 0)
        return NULL;
    part = match[1].rm_so >= 0 ? &match[1] : &match[0];
    *bytes_out = (size_t)(part->rm_eo - part->rm_so);
    return path + part->rm_so;
}

bool rkt_rank_names_find(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out)
{
    size_t bytes = 0;
    const char *part;

    if (!names->has_regex)
        return rkt_rank_of_file(path, rank_out);
    part = rkt_rank_names_match(names, path, &bytes);
    return part && read_rank(part, bytes, rank_out);
}
