/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/team.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rkt_test.h"

#define LONG_BYTES ((size_t)3 << 20)

/* What members saw, for the lead to look at. */
struct seen {
    int code[4];
    int status[4];
};

struct fixture {
    struct rkt_transport *transport;
    struct rkt_team *team;
    struct seen *seen;
};

/* A team of `size`; `member` is what its members do, and they end there. */
static void set_up(struct fixture *fx, int size,
                   void (*member)(struct rkt_team *team, struct seen *seen))
{
    struct rkt_error err;

    fx->seen =
        mmap(NULL, sizeof(*fx->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(fx->seen != MAP_FAILED);
    assert_rkt_ok(rkt_transport_fork_create(size, &fx->transport, &err), err);
    assert_rkt_ok(rkt_team_create(fx->transport, &fx->team, &err), err);
    if (rkt_team_place(fx->team) == 0)
        return;
    member(fx->team, fx->seen);
    _exit(0);
}

static void tear_down(struct fixture *fx, bool is_clean)
{
    rkt_team_destroy(fx->team);
    rkt_transport_destroy(fx->transport, is_clean);
    munmap(fx->seen, sizeof(*fx->seen));
}

static void give_a_long_and_an_empty_message(struct rkt_team *team, struct seen *seen)
{
    size_t place = rkt_team_place(team);
    uint8_t *bytes = malloc(LONG_BYTES);

    if (!bytes)
        return;
    memset(bytes, (int)place, LONG_BYTES);
    (void)rkt_team_give(team, (struct rkt_bytes){bytes, LONG_BYTES - place}, NULL);
    (void)rkt_team_give(team, (struct rkt_bytes){bytes, 0}, NULL);
    (void)rkt_team_give_end(team, NULL, NULL);
    seen->code[place] = rkt_team_wait_for_end(team, 99);
    free(bytes);
}

static void messages_come_whole_and_the_end_is_the_leads(void **state)
{
    struct rkt_bytes message;
    struct rkt_error err;
    struct fixture fx;
    size_t count[4] = {0};
    size_t place = 0;

    (void)state;
    set_up(&fx, 4, give_a_long_and_an_empty_message);
    assert_int_equal(rkt_team_size(fx.team), 4);
    for (int i = 0; i < 6; i++) {
        assert_rkt_ok(rkt_team_take(fx.team, true, &message, &place, &err), err);
        assert_in_range(place, 1, 3);
        if (count[place]++ > 0) {
            assert_int_equal(message.len_bytes, 0);
            continue;
        }
        assert_int_equal(message.len_bytes, LONG_BYTES - place);
        for (size_t k = 0; k < message.len_bytes; k++)
            assert_true(message.at[k] == place);
    }
    assert_rkt_status(rkt_team_take(fx.team, true, &message, &place, &err), RKT_END);
    rkt_team_dismiss(fx.team, 3);
    rkt_team_destroy(fx.team);
    rkt_transport_destroy(fx.transport, true); /* when they have ended */
    for (int i = 1; i < 4; i++)
        assert_int_equal(fx.seen->code[i], 3);
    munmap(fx.seen, sizeof(*fx.seen));
}

static void fail_as_the_second(struct rkt_team *team, struct seen *seen)
{
    struct rkt_error why;

    rkt_fail(&why, RKT_ERR_VERSION, "the file is of version %d", 9);
    (void)rkt_team_give_end(team, rkt_team_place(team) == 2 ? &why : NULL, NULL);
    seen->code[rkt_team_place(team)] = rkt_team_wait_for_end(team, 99);
}

static void the_reason_of_a_member_is_the_leads(void **state)
{
    struct rkt_bytes message;
    struct rkt_error err = {0};
    struct fixture fx;
    size_t place;

    (void)state;
    set_up(&fx, 3, fail_as_the_second);
    assert_rkt_status(rkt_team_take(fx.team, true, &message, &place, &err), RKT_ERR_VERSION);
    assert_string_equal(err.text, "the file is of version 9");
    rkt_team_dismiss(fx.team, 1);
    tear_down(&fx, true);
}

static void give_until_dismissed(struct rkt_team *team, struct seen *seen)
{
    size_t place = rkt_team_place(team);
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK)
        status = rkt_team_give(team, (struct rkt_bytes){(const uint8_t *)"x", 1}, NULL);
    seen->status[place] = status;
    seen->code[place] = rkt_team_wait_for_end(team, 99);
}

static void members_stop_when_nothing_is_needed_any_more(void **state)
{
    struct rkt_bytes message;
    struct rkt_error err;
    struct fixture fx;
    size_t place;

    (void)state;
    set_up(&fx, 3, give_until_dismissed);
    assert_rkt_ok(rkt_team_take(fx.team, true, &message, &place, &err), err);
    rkt_team_dismiss(fx.team, 1);
    rkt_team_destroy(fx.team);
    rkt_transport_destroy(fx.transport, true);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(fx.seen->status[i], RKT_END);
        assert_int_equal(fx.seen->code[i], 1);
    }
    munmap(fx.seen, sizeof(*fx.seen));
}

static void die(struct rkt_team *team, struct seen *seen)
{
    (void)team;
    (void)seen;
    (void)raise(SIGKILL);
}

static void a_member_that_dies_ends_the_wait(void **state)
{
    struct rkt_bytes message;
    struct rkt_error err = {0};
    struct fixture fx;
    size_t place;

    (void)state;
    set_up(&fx, 2, die);
    assert_rkt_status(rkt_team_take(fx.team, true, &message, &place, &err), RKT_ERR_IO);
    assert_non_null(strstr(err.text, "process 1 of 2 was ended by signal 9"));
    tear_down(&fx, false);
}

static void a_team_of_one_has_nobody_to_wait_for(void **state)
{
    struct rkt_transport *transport;
    struct rkt_bytes message;
    struct rkt_team *team;
    struct rkt_error err;
    size_t place;

    (void)state;
    assert_rkt_ok(rkt_transport_local_create(&transport, &err), err);
    assert_rkt_ok(rkt_team_create(transport, &team, &err), err);
    assert_rkt_status(rkt_team_take(team, true, &message, &place, &err), RKT_END);
    rkt_team_dismiss(team, 0);
    rkt_team_destroy(team);
    rkt_transport_destroy(transport, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_and_the_end_is_the_leads),
        cmocka_unit_test(the_reason_of_a_member_is_the_leads),
        cmocka_unit_test(members_stop_when_nothing_is_needed_any_more),
        cmocka_unit_test(a_member_that_dies_ends_the_wait),
        cmocka_unit_test(a_team_of_one_has_nobody_to_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
