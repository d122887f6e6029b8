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

enum rkt_status rkt_rank_names_init(struct rkt_rank_names *names, const char *regex,
                                    const char *const *file_ranks, size_t file_rank_count,
                                    struct rkt_error *err)
{
    memset(names, 0, sizeof(*names));
    for (size_t i = 0; i < file_rank_count; i++) {
        const char *equals = strrchr(file_ranks[i], '=');
        uint32_t rank;

        if (!equals || equals == file_ranks[i] || !read_rank(equals + 1, strlen(equals + 1), &rank))
            return rkt_fail(err, RKT_ERR_INVALID, "'%s': a file and its rank look like x.json=3",
                            file_ranks[i]);
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

bool rkt_rank_names_given(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    for (size_t i = 0; i < names->file_rank_count; i++) {
        const char *file = names->file_ranks[i];
        const char *equals = strrchr(file, '=');
        size_t len = (size_t)(equals - file);

        if ((strlen(path) == len && memcmp(path, file, len) == 0) ||
            (strlen(base) == len && memcmp(base, file, len) == 0))
            return read_rank(equals + 1, strlen(equals + 1), rank_out);
    }
    return false;
}

bool rkt_rank_names_find(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out)
{
    regmatch_t match[2] = {{-1, -1}, {-1, -1}};
    const regmatch_t *part;

    if (!names->has_regex)
        return rkt_rank_of_file(path, rank_out);
    if (regexec(&names->regex, path, 2, match, 0) != 0)
        return false;
    part = match[1].rm_so >= 0 ? &match[1] : &match[0];
    return read_rank(path + part->rm_so, (size_t)(part->rm_eo - part->rm_so), rank_out);
}
