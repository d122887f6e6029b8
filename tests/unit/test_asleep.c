/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold on a machine that is busy with other things: no thread sleeps while it computes,
 * while it waits for a core, or while another thread of the process computes.
 */
#include "agent/capture/asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "rkt_test.h"

#define MS UINT64_C(1000000)
/* A thread that is kept from a core right where it looks at its waits takes that off its sleep. */
#define SLEEP_NS (100 * MS)
#define SLEEP_LEAST_NS (20 * MS)
#define TRIES 1000 /* of 10 ms CPU time: who shares its core has waited 5 ms long before */

#define SCHEDSTAT "/proc/thread-self/schedstat"

/* A stretch, and what is certain of it: all of it read within. */
struct stretch {
    struct rkt_asleep thread;
    struct rkt_asleep_begin begin;
    uint64_t cpu_ns;    /* of this thread */
    uint64_t waited_ns; /* for a core */
    uint64_t length_ns;
    uint64_t asleep_ns;
};

static uint64_t read_waited_ns(void)
{
    char text[128] = "";
    uint64_t waited_ns = 0;
    int fd = open(SCHEDSTAT, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    assert_true(rkt_asleep_parse(text, &waited_ns));
    return waited_ns;
}

static void begin_stretch(struct stretch *stretch)
{
    memset(stretch, 0, sizeof(*stretch));
    rkt_asleep_begin(&stretch->thread, rkt_now_raw_ns(), &stretch->begin);
    assert_true(stretch->begin.is_known);
    stretch->waited_ns = read_waited_ns();
    stretch->cpu_ns = rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void end_stretch(struct stretch *stretch)
{
    uint64_t end_ns;

    stretch->cpu_ns = rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - stretch->cpu_ns;
    stretch->waited_ns = read_waited_ns() - stretch->waited_ns;
    end_ns = rkt_now_raw_ns();
    stretch->length_ns = end_ns - stretch->begin.look.now_ns;
    stretch->asleep_ns = rkt_asleep_end(&stretch->thread, &stretch->begin, end_ns);
}

static void compute(uint64_t cpu_ns)
{
    uint64_t until_ns = rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

    while (rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
        ;
}

static void pause_for(uint64_t ns)
{
    struct timespec left = {.tv_nsec = (long)ns};

    while (nanosleep(&left, &left) != 0)
        assert_int_equal(errno, EINTR);
}

static void a_sleep_is_told(void **state)
{
    struct stretch stretch;

    (void)state;
    begin_stretch(&stretch);
    pause_for(SLEEP_NS);
    end_stretch(&stretch);
    assert_in_range(stretch.asleep_ns, SLEEP_LEAST_NS, stretch.length_ns);
}

static void computing_is_no_sleep(void **state)
{
    struct stretch stretch;

    (void)state;
    begin_stretch(&stretch);
    compute(30 * MS);
    pause_for(10 * MS);
    end_stretch(&stretch);
    assert_true(stretch.cpu_ns >= 30 * MS);
    assert_in_range(stretch.asleep_ns, 0, stretch.length_ns - stretch.cpu_ns);
}

static void *compute_elsewhere(void *arg)
{
    compute(*(uint64_t *)arg);
    return NULL;
}

static void waiting_for_another_thread_that_computes_is_no_sleep(void **state)
{
    uint64_t cpu_ns = 30 * MS;
    struct stretch stretch;
    pthread_t other;

    (void)state;
    begin_stretch(&stretch);
    assert_int_equal(pthread_create(&other, NULL, compute_elsewhere, &cpu_ns), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    end_stretch(&stretch);
    assert_in_range(stretch.asleep_ns, 0, stretch.length_ns - cpu_ns);
}

/* Another process that wants this thread's core, and has to share it. */
struct rival {
    pid_t pid;
    cpu_set_t cores; /* of this thread, before */
};

static void start_rival(struct rival *rival)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_getaffinity(0, sizeof(rival->cores), &rival->cores), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    rival->pid = fork();
    if (rival->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            ;
    }
    assert_true(rival->pid > 0);
}

static void end_rival(const struct rival *rival)
{
    kill(rival->pid, SIGKILL);
    assert_int_equal(waitpid(rival->pid, NULL, 0), rival->pid);
    assert_int_equal(sched_setaffinity(0, sizeof(rival->cores), &rival->cores), 0);
}

static void waiting_for_a_core_is_no_sleep(void **state)
{
    struct stretch stretch = {0};
    struct rival rival;

    (void)state;
    start_rival(&rival);
    for (int i = 0; i < TRIES && stretch.waited_ns < 5 * MS; i++) {
        begin_stretch(&stretch);
        compute(10 * MS);
        end_stretch(&stretch);
        assert_in_range(stretch.asleep_ns, 0,
                        stretch.length_ns - stretch.cpu_ns - stretch.waited_ns);
    }
    end_rival(&rival);
    assert_true(stretch.waited_ns >= 5 * MS);
}

/* Computing, then a sleep. Without that of the sleep nothing is left, though the core was
 * shared. */
static void a_sleep_is_taken_off_without_a_wait_for_a_core(void **state)
{
    struct rival rival;
    uint64_t waited_ns = 0;

    (void)state;
    start_rival(&rival);
    for (int i = 0; i < TRIES && waited_ns < 5 * MS; i++) {
        struct stretch outer;
        struct rkt_asleep_begin inner;
        uint64_t inner_ns, length_ns;

        begin_stretch(&outer);
        compute(10 * MS);
        waited_ns = read_waited_ns() - outer.waited_ns;
        rkt_asleep_begin(&outer.thread, rkt_now_raw_ns(), &inner);
        pause_for(SLEEP_NS);
        inner_ns = rkt_asleep_end(&outer.thread, &inner, rkt_now_raw_ns());
        length_ns = outer.thread.last.now_ns - inner.look.now_ns;
        end_stretch(&outer);
        assert_in_range(inner_ns, SLEEP_LEAST_NS, length_ns);
        assert_in_range(outer.asleep_ns, SLEEP_LEAST_NS,
                        inner_ns + outer.length_ns - length_ns - 10 * MS - waited_ns + MS);
    }
    end_rival(&rival);
    assert_true(waited_ns >= 5 * MS);
}

/* Or each phase of a job that computes would ask for the file. */
static void who_computes_is_looked_at_once(void **state)
{
    struct rkt_asleep thread = {0};
    struct rkt_asleep_begin begin;
    struct rkt_asleep_look first;
    uint64_t cpu_ns;

    (void)state;
    rkt_asleep_begin(&thread, rkt_now_raw_ns(), &begin);
    first = thread.last;
    for (int i = 0; i < 100; i++) { /* with times in which it can have computed throughout */
        cpu_ns = rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - first.process_cpu_ns;
        assert_int_equal(rkt_asleep_end(&thread, &begin, first.now_ns + cpu_ns), 0);
        rkt_asleep_begin(&thread, first.now_ns + cpu_ns, &begin);
    }
    assert_memory_equal(&thread.last, &first, sizeof(first));
    rkt_asleep_begin(&thread, first.now_ns + cpu_ns + 1000 * MS, &begin);
    assert_true(thread.last.now_ns > first.now_ns);
}

static void a_stretch_within_another_leaves_it_whole(void **state)
{
    struct stretch inner;
    struct rkt_asleep_begin outer;
    uint64_t end_ns, outer_ns;

    (void)state;
    begin_stretch(&inner);
    outer = inner.begin;
    pause_for(SLEEP_NS);
    end_stretch(&inner);
    pause_for(SLEEP_NS);
    end_ns = rkt_now_raw_ns();
    outer_ns = rkt_asleep_end(&inner.thread, &outer, end_ns);
    assert_in_range(inner.asleep_ns, SLEEP_LEAST_NS, inner.length_ns);
    assert_in_range(outer_ns, inner.asleep_ns + SLEEP_LEAST_NS, end_ns - outer.look.now_ns);
}

static void without_the_kernels_file_nothing_is_known(void **state)
{
    struct rkt_asleep thread = {0};
    struct rkt_asleep_begin begin;
    struct rlimit before;
    struct rkt_asleep_begin later;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    errno = 1234;
    rkt_asleep_begin(&thread, rkt_now_raw_ns(), &begin);
    assert_int_equal(errno, 1234);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(begin.is_known);
    assert_true(thread.is_off);
    assert_int_equal(rkt_asleep_end(&thread, &begin, begin.look.now_ns + 5 * MS), 0);
    rkt_asleep_begin(&thread, rkt_now_raw_ns(), &later); /* and is not asked for again */
    assert_false(later.is_known);
}

static void a_file_that_goes_away_makes_it_unknown_again(void **state)
{
    struct rkt_asleep thread = {0};
    struct rkt_asleep_begin begin;
    struct rlimit before;

    (void)state;
    rkt_asleep_begin(&thread, rkt_now_raw_ns(), &begin);
    assert_true(begin.is_known);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    errno = 1234;
    assert_int_equal(rkt_asleep_end(&thread, &begin, UINT64_MAX), 0);
    assert_int_equal(errno, 1234);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(thread.is_off);
}

static void only_the_second_of_three_numbers_is_taken(void **state)
{
    static const struct {
        const char *text;
        bool is_good;
        uint64_t waited_ns;
    } CASES[] = {
        {"17 2665476 1\n", true, 2665476},
        {"0 0 0\n", true, 0},
        {"18446744073709551615 18446744073709551615 1\n", true, UINT64_MAX},
        {"", false, 0},
        {"17", false, 0},
        {"17 12", false, 0},
        {"17 -1 3", false, 0},
        {"17  3", false, 0},
        {"17 18446744073709551616 3", false, 0},
        {"1 11111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
         "11111111111111111111111111 3",
         false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        uint64_t waited_ns = 0;

        if (rkt_asleep_parse(CASES[i].text, &waited_ns) != CASES[i].is_good ||
            waited_ns != CASES[i].waited_ns)
            fail_msg("'%s' gave %llu", CASES[i].text, (unsigned long long)waited_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleep_is_told),
        cmocka_unit_test(computing_is_no_sleep),
        cmocka_unit_test(waiting_for_another_thread_that_computes_is_no_sleep),
        cmocka_unit_test(waiting_for_a_core_is_no_sleep),
        cmocka_unit_test(a_sleep_is_taken_off_without_a_wait_for_a_core),
        cmocka_unit_test(who_computes_is_looked_at_once),
        cmocka_unit_test(a_stretch_within_another_leaves_it_whole),
        cmocka_unit_test(without_the_kernels_file_nothing_is_known),
        cmocka_unit_test(a_file_that_goes_away_makes_it_unknown_again),
        cmocka_unit_test(only_the_second_of_three_numbers_is_taken),
    };

    if (access(SCHEDSTAT, R_OK) != 0) {
        (void)printf("skipped: this kernel has no " SCHEDSTAT "\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
