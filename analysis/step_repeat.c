/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without marks: training does the same collectives in each step.
 *
 *   t = B B . A A C . A A C . A A C . A A       three whole repeats of "A A C" and a part of one
 *
 * The border array of Knuth, Morris and Pratt gives the shortest period of every prefix in O(n):
 * run forwards it forgives an end that does not repeat, backwards a beginning (the broadcasts of
 * the first step).
 */
#include "analysis/step_marks.h"

#include <stdlib.h>

#include "analysis/time_sort.h"

#define REPEATS_MIN 3u

/* One comm kernel: what it carries out, as one number, and when its host call was made. */
struct token {
    int64_t start_ns; /* start_ns and end_ns lead: time_sort */
    int64_t end_ns;
    uint64_t what;
};

/* tokens[first .. first + length) repeats with `period`. */
struct repeat {
    size_t first;
    size_t length;
    size_t period;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    return hash * 0xff51afd7ed558ccdu;
}

static uint64_t what_of(const struct rkt_rank_trace *trace, const struct rkt_work *work)
{
    uint64_t hash = 1;

    if (work->op == RKT_INDEX_NONE)
        return mix(hash, work->name_id);
    for (uint32_t i = 0; i < work->op_count; i++) {
        const struct rkt_event_nccl *nccl = &trace->ops[work->op + i].nccl;

        hash = mix(hash, nccl->comm_id);
        hash = mix(hash, nccl->count);
        hash = mix(hash, (uint64_t)nccl->func << 8 | nccl->datatype);
    }
    return hash;
}

static enum rkt_status make_tokens(const struct rkt_rank_trace *trace, struct token **tokens_out,
                                   size_t *count_out)
{
    struct token *tokens = calloc(trace->work_count + 1, sizeof(*tokens));
    size_t count = 0;

    if (!tokens)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        bool is_launched = work->launch_start_ns != RKT_TIME_UNKNOWN;

        if (work->work_class != RKT_WORK_COMM)
            continue;
        tokens[count++] = (struct token){
            .start_ns = is_launched ? work->launch_start_ns : work->start_ns,
            .end_ns = is_launched ? work->launch_end_ns : work->start_ns,
            .what = what_of(trace, work),
        };
    }
    *tokens_out = tokens;
    *count_out = count;
    return rkt_time_sort(tokens, count, sizeof(*tokens), RKT_BY_START);
}

static uint64_t what_at(const struct token *tokens, size_t count, size_t i, bool backwards)
{
    return tokens[backwards ? count - 1 - i : i].what;
}

/* The longest prefix (or suffix) that holds its shortest period at least 3 times. */
static struct repeat longest_repeat(const struct token *tokens, size_t count, size_t *border,
                                    bool backwards)
{
    struct repeat best = {0};

    border[0] = 0;
    for (size_t i = 1, k = 0; i < count; i++) {
        size_t length = i + 1;

        while (k > 0 &&
               what_at(tokens, count, i, backwards) != what_at(tokens, count, k, backwards))
            k = border[k - 1];
        if (what_at(tokens, count, i, backwards) == what_at(tokens, count, k, backwards))
            k++;
        border[i] = k;
        if (length >= REPEATS_MIN * (length - k))
            best = (struct repeat){backwards ? count - length : 0, length, length - k};
    }
    return best;
}

/* Which of the period's collectives comes first in a step: the one waited for longest. */
static size_t first_of_step(const struct token *tokens, const struct repeat *repeat)
{
    int64_t best_ns = INT64_MIN;
    size_t best = 0;

    for (size_t offset = 0; offset < repeat->period; offset++) {
        int64_t sum_ns = 0;

        /* Offset 0 has no collective before it in its first period: all leave that one out. */
        for (size_t i = offset + repeat->period; i < repeat->length; i += repeat->period) {
            const struct token *token = &tokens[repeat->first + i];

            if (i / repeat->period < REPEATS_MIN)
                sum_ns += token->start_ns - token[-1].start_ns;
        }
        if (sum_ns > best_ns) {
            best_ns = sum_ns;
            best = offset;
        }
    }
    return best;
}

static enum rkt_status add_marks(const struct token *tokens, const struct repeat *repeat,
                                 struct rkt_step_marks *marks)
{
    size_t first = repeat->first + first_of_step(tokens, repeat);

    if (first == 0) /* what came before the first step's collectives is not known to be whole */
        first += repeat->period;
    for (size_t i = first; i + repeat->period <= repeat->first + repeat->length;
         i += repeat->period) {
        struct rkt_step_mark mark = {
            .start_ns = tokens[i - 1].end_ns,
            .end_ns = tokens[i + repeat->period - 1].end_ns,
            .number = marks->count,
        };

        if (mark.end_ns > mark.start_ns && rkt_step_marks_add(marks, mark) != RKT_OK)
            return RKT_ERR_NOMEM;
    }
    return RKT_OK;
}

enum rkt_status rkt_step_marks_of_repeats(const struct rkt_rank_trace *trace,
                                          struct rkt_step_marks *marks)
{
    struct token *tokens = NULL;
    size_t count = 0;
    enum rkt_status status = make_tokens(trace, &tokens, &count);
    size_t *border = calloc(count + 1, sizeof(*border));

    if (!border)
        status = RKT_ERR_NOMEM;
    if (status == RKT_OK && count >= REPEATS_MIN) {
        struct repeat forwards = longest_repeat(tokens, count, border, false);
        struct repeat backwards = longest_repeat(tokens, count, border, true);
        const struct repeat *best = forwards.length >= backwards.length ? &forwards : &backwards;

        if (best->length > 0 && best->length >= count - best->length)
            status = add_marks(tokens, best, marks);
    }
    free(tokens);
    free(border);
    return status;
}
