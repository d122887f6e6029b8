/* SPDX-License-Identifier: Apache-2.0 */
/* Who may switch CUPTI's kinds, and when, with a library that only notes what it is asked. */
#include "agent/capture/cupti_switch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "rkt_test.h"

#define THREAD_COUNT 8
#define ROUND_COUNT 500

static struct {
    atomic_int register_count;
    atomic_int enable_count;
    atomic_int disable_count;
    atomic_bool is_on[64];
    atomic_int inside; /* calls under way */
    CUptiResult kernel_result;
    struct rkt_cupti_switch *to_open; /* another thread opens it in the middle of a close */
} cupti;

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                      CUpti_BuffersCallbackCompleteFunc completed)
{
    assert_true(requested && completed);
    cupti.register_count++;
    return CUPTI_SUCCESS;
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool is_on)
{
    assert_int_equal(cupti.inside++, 0); /* CUPTI is never switched by two at once */
    cupti.is_on[kind] = is_on;
    (void)sched_yield(); /* a chance for the others to come in between */
    cupti.inside--;
    errno = EBADF; /* a library may */
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? cupti.kernel_result : CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind)
{
    cupti.enable_count++;
    return set_kind(kind, true);
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    struct rkt_cupti_switch *to_open = cupti.to_open;

    cupti.disable_count++;
    cupti.to_open = NULL;
    if (to_open)
        rkt_cupti_switch_set(to_open, RKT_CUPTI_OFF_WINDOW, false);
    return set_kind(kind, false);
}

static const struct rkt_cupti_library LIBRARY = {
    .register_callbacks = register_callbacks, .enable = enable, .disable = disable};

static void requested(uint8_t **buffer, size_t *size, size_t *count)
{
    *buffer = NULL;
    *size = *count = 0;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    (void)context;
    (void)stream;
    memset(buffer, 0, valid < size ? valid : size);
}

static int make_switch(void **state)
{
    static struct rkt_cupti_switch kinds;
    static struct rkt_cupti_api_names *names;

    if (!names)
        names = rkt_cupti_api_names_create(&LIBRARY, NULL);
    memset(&cupti, 0, sizeof(cupti));
    memset(&kinds, 0, sizeof(kinds));
    kinds.library = &LIBRARY;
    kinds.api_names = names;
    kinds.requested = requested;
    kinds.completed = completed;
    kinds.kinds[0] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kinds.kinds[1] = CUPTI_ACTIVITY_KIND_DRIVER;
    kinds.kind_count = 2;
    *state = &kinds;
    return names ? 0 : -1;
}

static void assert_kinds(bool is_on)
{
    assert_int_equal(cupti.is_on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], is_on);
    assert_int_equal(cupti.is_on[CUPTI_ACTIVITY_KIND_DRIVER], is_on);
}

static void closing_and_opening_again_is_done_once_each(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    assert_kinds(true);
    errno = 0;
    for (int i = 0; i < 3; i++)
        rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    assert_kinds(false);
    assert_int_equal(cupti.disable_count, 2);
    assert_false(rkt_cupti_switch_wants_records(kinds));
    for (int i = 0; i < 3; i++)
        rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    assert_kinds(true);
    assert_int_equal(cupti.enable_count, 4);
    assert_int_equal(cupti.register_count, 1); /* the callbacks may be another tool's by now */
    assert_int_equal(errno, 0);
}

static void records_are_made_only_without_any_reason_against(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_ALARM, true);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    assert_kinds(false);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_ALARM, false);
    assert_kinds(true);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_END, true);
    assert_kinds(false);
    rkt_cupti_switch_rearm(kinds);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    assert_kinds(false);
    assert_int_equal(cupti.register_count, 1);
}

static void window_that_is_closed_from_the_start_is_closed_after_it(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    assert_int_equal(cupti.disable_count, 0); /* CUPTI is not even there yet */
    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    assert_int_equal(cupti.enable_count, 2); /* it has to know before the first context */
    assert_kinds(false);
}

static void cupti_that_refuses_kernels_is_not_asked_again(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    cupti.kernel_result = CUPTI_ERROR_UNKNOWN;
    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_ERROR_UNKNOWN);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    assert_int_equal(cupti.enable_count, 1);
    assert_int_equal(cupti.disable_count, 0);
}

static void kinds_are_left_alone_while_another_tool_has_cupti(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OTHER_TOOL, true);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true); /* would end its records too */
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    assert_int_equal(cupti.enable_count, 2);
    assert_int_equal(cupti.disable_count, 0);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OTHER_TOOL, false);
    assert_kinds(false); /* the window is closed still */
    assert_int_equal(cupti.disable_count, 2);
}

static void rearming_takes_the_callbacks_and_enables_again(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OTHER_TOOL, true);
    memset(cupti.is_on, 0, sizeof(cupti.is_on)); /* as it leaves them */
    rkt_cupti_switch_rearm(kinds);
    assert_int_equal(cupti.register_count, 2);
    assert_kinds(true);
    /* in a closed window: at the next opening */
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    rkt_cupti_switch_rearm(kinds);
    assert_int_equal(cupti.register_count, 2);
    assert_kinds(false);
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, false);
    assert_int_equal(cupti.register_count, 3);
    assert_kinds(true);
}

static void change_in_the_middle_of_a_change_is_not_lost(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    cupti.to_open = kinds;
    rkt_cupti_switch_set(kinds, RKT_CUPTI_OFF_WINDOW, true);
    assert_null(cupti.to_open);
    assert_true(rkt_cupti_switch_wants_records(kinds));
    assert_kinds(true);
}

struct switcher {
    struct rkt_cupti_switch *kinds;
    enum rkt_cupti_off_reason reason;
    bool ends_off;
    pthread_t thread;
};

static void *switch_to_and_fro(void *arg)
{
    const struct switcher *mine = arg;

    for (unsigned i = 0; i < ROUND_COUNT; i++)
        rkt_cupti_switch_set(mine->kinds, mine->reason, i % 2 == 0);
    rkt_cupti_switch_set(mine->kinds, mine->reason, mine->ends_off);
    return NULL;
}

/* Whatever the order, CUPTI is switched by one at a time, and ends as the last calls said. */
static void last_word_counts_with_many_threads(void **state)
{
    struct rkt_cupti_switch *kinds = *state;

    assert_int_equal(rkt_cupti_switch_start(kinds), CUPTI_SUCCESS);
    for (int ends_off = 0; ends_off < 2; ends_off++) {
        struct switcher switchers[THREAD_COUNT];

        for (size_t i = 0; i < THREAD_COUNT; i++) {
            switchers[i] =
                (struct switcher){.kinds = kinds,
                                  .reason = i % 2 ? RKT_CUPTI_OFF_WINDOW : RKT_CUPTI_OFF_ALARM,
                                  .ends_off = ends_off};
            assert_int_equal(
                pthread_create(&switchers[i].thread, NULL, switch_to_and_fro, &switchers[i]), 0);
        }
        for (size_t i = 0; i < THREAD_COUNT; i++)
            pthread_join(switchers[i].thread, NULL);
        assert_kinds(!ends_off);
    }
}

#define SWITCHING(test) cmocka_unit_test_setup(test, make_switch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWITCHING(closing_and_opening_again_is_done_once_each),
        SWITCHING(records_are_made_only_without_any_reason_against),
        SWITCHING(window_that_is_closed_from_the_start_is_closed_after_it),
        SWITCHING(cupti_that_refuses_kernels_is_not_asked_again),
        SWITCHING(kinds_are_left_alone_while_another_tool_has_cupti),
        SWITCHING(rearming_takes_the_callbacks_and_enables_again),
        SWITCHING(change_in_the_middle_of_a_change_is_not_lost),
        SWITCHING(last_word_counts_with_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
