/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <unistd.h>

#include "launch/mpi_watch.h"

static void mpi_libraries_are_told_by_their_file_names(void **state)
{
    static const struct {
        const char *path;
        bool want;
    } cases[] = {
        {"7f00-7f01 r-xp 00000000 08:01 42  /usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4\n", true},
        {"/opt/mpich/lib/libmpich.so.12", true},
        {"/usr/lib/libmpi_cxx.so.40", false},
        {"/usr/lib/libmpi.so.d/libc.so.6", false},
        {"libmpi.so", false},
        {"7f00-7f01 rw-p 00000000 00:00 0 [heap]\n", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rkt_is_mpi_library(cases[i].path) != cases[i].want)
            fail_msg("%s", cases[i].path);
    }
}

static void a_process_without_mpi_is_looked_at_a_few_times(void **state)
{
    struct rkt_mpi_watch watch;
    int looks = 0;

    (void)state;
    rkt_mpi_watch_init(&watch, 0);
    for (; watch.next_ns != RKT_MPI_WATCH_NEVER; looks++)
        assert_false(rkt_mpi_watch_look(&watch, getpid(), watch.next_ns));
    assert_int_equal(looks, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mpi_libraries_are_told_by_their_file_names),
        cmocka_unit_test(a_process_without_mpi_is_looked_at_a_few_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
