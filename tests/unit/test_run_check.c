/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store_writer.h"
#include "launch/run_check.h"
#include "launch/run_dir.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS_MAX 8

static void commands_that_start_the_ranks_themselves_are_known(void **state)
{
    static const struct {
        const char *words[WORDS_MAX];
        bool want;
    } cases[] = {
        {{"torchrun", "--nproc-per-node=8", "train.py"}, true},
        {{"/opt/venv/bin/torchrun", "train.py"}, true},
        {{"accelerate", "launch", "train.py"}, true},
        {{"python", "-m", "torch.distributed.run", "train.py"}, true},
        {{"python", "-X", "dev", "-m", "torch.distributed.run"}, true},
        {{"python", "-W", "ignore", "/usr/bin/torchrun"}, true},
        {{"python", "-W"}, false},
        {{"python3.11", "-u", "-m", "torch.distributed.launch"}, true},
        {{"/usr/bin/python3", "/usr/bin/torchrun", "train.py"}, true},
        {{"python", "train.py"}, false},
        {{"python", "train.py", "torchrun"}, false},
        {{"python", "-m", "train", "torch.distributed.run"}, false},
        {{"python", "-m"}, false},
        {{"python"}, false},
        {{"bash", "torchrun"}, false},
        {{"torchrunner"}, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (rkt_command_starts_ranks((char *const *)cases[i].words) != cases[i].want)
            fail_msg("case %zu: %s %s", i, cases[i].words[0],
                     cases[i].words[1] ? cases[i].words[1] : "");
    }
}

static void a_launch_is_many_ranks_only_where_they_can_meet(void **state)
{
    static const struct {
        const char *what;
        const char *env[WORDS_MAX];
        struct rkt_rank_env ranks;
        enum rkt_status want;
        bool needs_mpi;
    } cases[] = {
        {"nothing", {"HOME=/"}, {NULL, -1, -1, -1, -1, false, false}, RKT_OK, false},
        {"mpirun -np 1", {"HOME=/"}, {"Open MPI", 0, 1, 0, 1, true, true}, RKT_OK, false},
        {"mpirun -np 8", {"HOME=/"}, {"Open MPI", 3, 8, 3, 8, true, true}, RKT_OK, true},
        {"PMIx without a count", {"HOME=/"}, {"PMIx", 3, -1, -1, -1, true, true}, RKT_OK, true},
        {"srun without PMI",
         {"HOME=/"},
         {"Slurm", 1, 2, 1, 2, false, false},
         RKT_ERR_INVALID,
         false},
        {"a worker of torchrun",
         {"WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none"},
         {NULL, -1, -1, -1, -1, false, false},
         RKT_ERR_INVALID,
         false},
        {"ranks by hand",
         {"WORLD_SIZE=2"},
         {NULL, -1, -1, -1, -1, false, false},
         RKT_ERR_INVALID,
         false},
        {"a world of one", {"WORLD_SIZE=1"}, {NULL, -1, -1, -1, -1, false, false}, RKT_OK, false},
        {"ranks by hand under mpirun",
         {"WORLD_SIZE=8"},
         {"Open MPI", 3, 8, 3, 8, true, true},
         RKT_OK,
         true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool needs_mpi = false;
        struct rkt_error err;
        enum rkt_status got =
            rkt_check_launch((char *const *)cases[i].env, &cases[i].ranks, &needs_mpi, &err);

        if (got != cases[i].want || needs_mpi != cases[i].needs_mpi)
            fail_msg("%s: %s, needs_mpi %d", cases[i].what, rkt_status_name(got), needs_mpi);
    }
}

static void commands_are_looked_up_as_exec_does(void **state)
{
    struct rkt_error err;

    (void)state;
    assert_rkt_ok(rkt_check_command("/bin/sh", NULL, &err), err);
    assert_rkt_ok(rkt_check_command("sh", NULL, &err), err);
    assert_rkt_ok(rkt_check_command("sh", "/nowhere::/bin", &err), err);
    assert_rkt_status(rkt_check_command("sh", "/nowhere", &err), RKT_ERR_INVALID);
    assert_rkt_status(rkt_check_command("sh", "", &err), RKT_ERR_INVALID);
    assert_rkt_status(rkt_check_command("", "/bin", &err), RKT_ERR_INVALID);
    assert_rkt_status(rkt_check_command("/bin", NULL, &err), RKT_ERR_INVALID);
    assert_rkt_status(rkt_check_command("/etc/passwd", NULL, &err), RKT_ERR_INVALID);
}

static void the_output_folder_is_made_with_those_above_it(void **state)
{
    char root[] = "/tmp/rkt_check.XXXXXX", path[64];
    struct rkt_error err;

    (void)state;
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof(path), "%s/a/b/", root);
    assert_rkt_ok(rkt_check_output(path, &err), err);
    assert_rkt_ok(rkt_check_output(path, &err), err); /* it may be there */
    assert_int_equal(rmdir(path), 0);                 /* and empty: no probe is left */
    (void)snprintf(path, sizeof(path), "%s/a", root);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(root), 0);
    assert_rkt_status(rkt_check_output("", &err), RKT_ERR_INVALID);
    assert_rkt_status(rkt_check_output("/dev/null/x", &err), RKT_ERR_IO);
}

static void earlier_timelines_are_kept_by_number(void **state)
{
    char root[] = "/tmp/rkt_check.XXXXXX", moved_to[PATH_MAX], path[64], want[64];
    struct rkt_error err;

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_rkt_ok(rkt_set_earlier_aside(root, moved_to, &err), err);
    assert_string_equal(moved_to, "");
    (void)snprintf(path, sizeof(path), "%s/timeline.rkt", root);
    for (int i = 1; i <= 2; i++) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
        assert_rkt_ok(rkt_set_earlier_aside(root, moved_to, &err), err);
        (void)snprintf(want, sizeof(want), "%s/timeline.%d.rkt", root, i);
        assert_string_equal(moved_to, want);
        assert_int_equal(access(path, F_OK), -1);
    }
    for (int i = 1; i <= 2; i++) {
        (void)snprintf(want, sizeof(want), "%s/timeline.%d.rkt", root, i);
        assert_int_equal(unlink(want), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static void a_timeline_that_is_being_written_stays_where_it_is(void **state)
{
    char root[] = "/tmp/rkt_aside.XXXXXX";
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE};
    struct rkt_store_writer *writer = NULL;
    char moved_to[PATH_MAX], path[PATH_MAX];
    struct rkt_error err;

    (void)state;
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof(path), "%s/timeline.rkt", root);
    assert_rkt_ok(rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, &err), err);
    assert_rkt_status(rkt_set_earlier_aside(root, moved_to, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "another run is writing"));
    assert_int_equal(access(path, F_OK), 0);
    rkt_store_writer_destroy(writer);
    assert_rkt_ok(rkt_set_earlier_aside(root, moved_to, &err), err);
    assert_int_equal(unlink(moved_to), 0);
    assert_int_equal(rmdir(root), 0);
}

static void the_private_folder_is_short_and_for_its_owner_alone(void **state)
{
    static const char *const bases[] = {NULL, "relative", "/nowhere",
                                        "/tmp//////////////////////////////////////////////////////"
                                        "///////////////////////////////"};
    struct rkt_run_dir dir;
    struct rkt_error err;
    struct stat st;

    (void)state;
    for (size_t i = 0; i < COUNT(bases); i++) {
        assert_rkt_ok(rkt_run_dir_create(bases[i], &dir, &err), err);
        if (strncmp(dir.path, "/tmp/ranktrace-", 15) != 0)
            fail_msg("base %zu gave %s", i, dir.path);
        assert_int_equal(stat(dir.path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        rkt_run_dir_remove(&dir);
        assert_int_equal(stat(dir.path, &st), -1);
        rkt_run_dir_remove(&dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_that_start_the_ranks_themselves_are_known),
        cmocka_unit_test(a_launch_is_many_ranks_only_where_they_can_meet),
        cmocka_unit_test(commands_are_looked_up_as_exec_does),
        cmocka_unit_test(the_output_folder_is_made_with_those_above_it),
        cmocka_unit_test(earlier_timelines_are_kept_by_number),
        cmocka_unit_test(a_timeline_that_is_being_written_stays_where_it_is),
        cmocka_unit_test(the_private_folder_is_short_and_for_its_owner_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
