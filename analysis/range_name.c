/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) != 0;
}

/* Someone named it: operators are named by PyTorch and would match by chance. */
static bool is_named_by_hand(const struct rkt_range *range)
{
    return range->type == RKT_RANGE_USER || range->type == RKT_RANGE_NVTX ||
           range->type == RKT_RANGE_ANNOTATION;
}

/* `word` in `name`, not as a part of a longer word: "AddmmBackward0" holds no "backward". */
static bool has_word(const char *name, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strcasestr(name, word); at; at = strcasestr(at + 1, word)) {
        bool begins = at == name || !is_letter(at[-1]);
        char after = at[length];

        if (begins && !is_letter(after) && !isdigit((unsigned char)after))
            return true;
    }
    return false;
}

/* As "data", "## Data ##", "input copy"; not "DataParallel.forward". */
static bool begins_with_word(const char *name, const char *word)
{
    size_t length = strlen(word);

    while (*name != '\0' && !is_letter(*name))
        name++;
    return strncasecmp(name, word, length) == 0 && !is_letter(name[length]);
}

bool rkt_range_is_backward(const struct rkt_range *range, const char *name)
{
    if (range->type == RKT_RANGE_BACKWARD)
        return true;
    return is_named_by_hand(range) && has_word(name, "backward") &&
           !rkt_range_is_autograd_op(range, name);
}

bool rkt_range_is_input(const struct rkt_range *range, const char *name)
{
    if (range->type == RKT_RANGE_INPUT)
        return true;
    if (strstr(name, "DataLoader") && strstr(name, "__next__"))
        return range->type != RKT_RANGE_GPU_ANNOTATION;
    return is_named_by_hand(range) &&
           (begins_with_word(name, "data") || begins_with_word(name, "input") ||
            strcasestr(name, "dataload"));
}

bool rkt_range_is_autograd_op(const struct rkt_range *range, const char *name)
{
    static const char engine[] = "autograd::engine::evaluate_function";

    return (range->type == RKT_RANGE_CPU_OP || range->type == RKT_RANGE_NVTX) &&
           strncmp(name, engine, sizeof(engine) - 1) == 0;
}

static const char *const TYPE_NAMES[] = {
    [RKT_RANGE_USER] = "user",
    [RKT_RANGE_STEP] = "step",
    [RKT_RANGE_FORWARD] = "forward",
    [RKT_RANGE_BACKWARD] = "backward",
    [RKT_RANGE_OPTIMIZER] = "optimizer",
    [RKT_RANGE_INPUT] = "input",
    [RKT_RANGE_COMM_WAIT] = "comm wait",
    [RKT_RANGE_NVTX] = "nvtx",
    [RKT_RANGE_ANNOTATION] = "annotation",
    [RKT_RANGE_CPU_OP] = "cpu_op",
    [RKT_RANGE_PYTHON] = "python",
    [RKT_RANGE_GPU_ANNOTATION] = "gpu annotation",
    [RKT_RANGE_MARK] = "mark",
    [RKT_RANGE_OTHER] = "other",
    [RKT_RANGE_SYNC_CALL] = "sync call",
};

const char *rkt_range_type_name(uint8_t type)
{
    return type < sizeof(TYPE_NAMES) / sizeof(TYPE_NAMES[0]) ? TYPE_NAMES[type] : "other";
}

enum rkt_range_type rkt_range_type_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(TYPE_NAMES) / sizeof(TYPE_NAMES[0]); i++) {
        if (strcmp(TYPE_NAMES[i], name) == 0)
            return (enum rkt_range_type)i;
    }
    return RKT_RANGE_OTHER;
}
