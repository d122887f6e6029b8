/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/rank_of_file.h"

#include <string.h>
#include <strings.h>

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
    return false;
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
