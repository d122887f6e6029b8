/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/window_rule.h"

#include "rkt_test.h"

#define STEPS_MAX 32

static char letter(enum rkt_window_edge edge)
{
    switch (edge) {
    case RKT_WINDOW_CLOSED:
        return '-';
    case RKT_WINDOW_WARMUP:
        return 'w';
    case RKT_WINDOW_OPENED:
        return 'R';
    }
    return '?';
}

static struct rkt_window_rule rule_of(struct rkt_schedule schedule, bool is_closed)
{
    const struct rkt_capture_config config = {.schedule = schedule, .is_closed = is_closed};
    struct rkt_window_rule rule;

    rkt_window_rule_init(&rule, &config);
    return rule;
}

/* What PyTorch's schedule(skip_first, wait, warmup, active, repeat) gives for steps 0, 1, 2, ... */
static void schedules_are_those_of_pytorch(void **state)
{
    static const struct {
        struct rkt_schedule schedule; /* skip, wait, warmup, active, cycles */
        const char *steps;
    } cases[] = {
        {{0, 0, 0, 1, 0, 0, 0}, "RRRRRRRR"},
        {{0, 1, 1, 2, 0, 0, 0}, "-wRR-wRR-wRR"},
        {{0, 1, 1, 2, 1, 0, 0}, "-wRR--------"},
        {{0, 2, 2, 3, 1, 0, 0}, "--wwRRR-------"},
        {{0, 2, 2, 3, 2, 0, 0}, "--wwRRR--wwRRR------"},
        {{3, 1, 1, 2, 1, 0, 0}, "----wRR-----"},
        {{5, 0, 0, 2, 1, 0, 0}, "-----RR-----"},
        {{2, 0, 1, 1, 3, 0, 0}, "--wRwRwR----"},
        {{0, 0, 0, UINT32_MAX, 1, 0, 0}, "RRRRRRRRRRRRRRRRRRRR"},
        {{0, UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 0, 0}, "--------"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_window_rule rule = rule_of(cases[i].schedule, false);
        char steps[STEPS_MAX] = "";
        size_t count = strlen(cases[i].steps);

        for (uint64_t step = 0; step < count; step++)
            steps[step] = letter(rkt_window_rule_at(
                &rule, NULL, &(struct rkt_window_step){.number = step + 1000, .index = step}));
        assert_string_equal(steps, cases[i].steps);
        assert_int_equal(letter(rkt_window_rule_start(&rule)), cases[i].steps[0]);
    }
}

static void a_range_of_steps_goes_by_their_numbers(void **state)
{
    struct rkt_schedule steps_10_to_12 = {
        .skip = 9, .warmup = 1, .active = 3, .cycles = 1, .by_step_number = 1};
    struct rkt_window_rule rule = rule_of(steps_10_to_12, false);
    char steps[STEPS_MAX] = "";

    (void)state;
    for (uint64_t i = 0; i < 10; i++) /* a job that goes on from step 6 */
        steps[i] = letter(rkt_window_rule_at(
            &rule, NULL, &(struct rkt_window_step){.number = 6 + i, .index = i}));
    assert_string_equal(steps, "---wRRR---");
}

struct order_case {
    const char *what;
    bool is_closed;
    struct rkt_schedule schedule;
    struct {
        uint64_t given_in; /* step in which the process sees it first */
        struct rkt_region_window_order order;
    } orders[3];
    const char *steps;
};

static void orders_overrule_from_their_step_on(void **state)
{
    static const struct order_case cases[] = {
        {"none", .is_closed = true, .steps = "--------"},
        {"open", true, {0}, {{2, {4, true}}}, "---wRRRR"},
        {"close", false, {0}, {{2, {4, false}}}, "RRRR----"},
        {"open and close", true, {0}, {{1, {3, true}}, {4, {6, false}}}, "--wRRR--"},
        {"given in the step before its own", true, {0}, {{3, {4, true}}}, "---wRRRR"},
        {"late: at once, without a warm-up", true, {0}, {{5, {3, true}}}, "-----RRR"},
        {"at once", true, {0}, {{2, {0, true}}}, "--RRRRRR"},
        {"replaced in time", true, {0}, {{1, {5, true}}, {2, {4, false}}}, "--------"},
        {"already so", false, {0}, {{1, {3, true}}}, "RRRRRRRR"},
        {"over a schedule", false, {.wait = 1, .active = 1}, {{2, {4, false}}}, "-R-R----"},
        {"a schedule's window, then open",
         false,
         {.wait = 1, .active = 1, .cycles = 1},
         {{2, {5, true}}},
         "-R--wRRR"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_window_rule rule = rule_of(cases[i].schedule, cases[i].is_closed);
        const struct rkt_region_window_order *order = NULL;
        char steps[STEPS_MAX] = "";

        for (uint64_t step = 0; step < strlen(cases[i].steps); step++) {
            for (size_t k = 0; k < 3; k++) {
                if (cases[i].orders[k].given_in == step && step > 0)
                    order = &cases[i].orders[k].order;
            }
            steps[step] = letter(rkt_window_rule_at(
                &rule, order, &(struct rkt_window_step){.number = step % 3, .index = step}));
        }
        if (strcmp(steps, cases[i].steps) != 0)
            fail_msg("%s: %s in place of %s", cases[i].what, steps, cases[i].steps);
    }
}

static void without_steps_an_order_holds_at_once(void **state)
{
    struct rkt_window_rule rule = rule_of((struct rkt_schedule){0}, true);

    (void)state;
    assert_int_equal(rkt_window_rule_start(&rule), RKT_WINDOW_CLOSED);
    assert_int_equal(
        rkt_window_rule_now(&rule, &(struct rkt_region_window_order){.from_step = 0, .is_open = 1}),
        RKT_WINDOW_OPENED);
    assert_int_equal(rkt_window_rule_at(&rule, NULL, &(struct rkt_window_step){0}),
                     RKT_WINDOW_OPENED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_those_of_pytorch),
        cmocka_unit_test(a_range_of_steps_goes_by_their_numbers),
        cmocka_unit_test(orders_overrule_from_their_step_on),
        cmocka_unit_test(without_steps_an_order_holds_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
