/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/install.h"

struct tree {
    char root[64];
};

static void make_dir(const char *root, const char *path)
{
    char full[PATH_MAX];

    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    assert_int_equal(mkdir(full, 0755), 0);
}

static void make_file(const char *root, const char *path, mode_t mode)
{
    char full[PATH_MAX];
    FILE *file;

    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(full, mode), 0);
}

static int make_tree(void **state)
{
    static const char *const dirs[] = {"bin",   "libexec",         "libexec/ranktrace",   "lib",
                                       "share", "share/ranktrace", "share/ranktrace/hook"};
    static struct tree tree;

    (void)snprintf(tree.root, sizeof(tree.root), "/tmp/rkt_install.XXXXXX");
    if (!mkdtemp(tree.root))
        return -1;
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        make_dir(tree.root, dirs[i]);
    make_file(tree.root, "bin/ranktrace", 0755);
    make_file(tree.root, "libexec/ranktrace/ranktrace-run", 0755);
    make_file(tree.root, "libexec/ranktrace/ranktrace-notes", 0644);
    make_file(tree.root, "lib/libx.so", 0644);
    *state = &tree;
    return 0;
}

static int remove_tree(void **state)
{
    const struct tree *tree = *state;
    char command[128];

    (void)snprintf(command, sizeof(command), "rm -r %s", tree->root);
    return system(command); // NOLINT(cert-env33-c)
}

static void locate(const struct tree *tree, const char *program, struct rkt_install *install)
{
    char path[PATH_MAX];
    struct rkt_error err;

    (void)snprintf(path, sizeof(path), "%s/%s", tree->root, program);
    assert_rkt_ok(rkt_install_from(path, install, &err), err);
}

static void programs_find_each_other_from_both_folders(void **state)
{
    static const char *const from[] = {"bin/ranktrace", "libexec/ranktrace/ranktrace-run"};
    const struct tree *tree = *state;
    char path[PATH_MAX], want[PATH_MAX];

    (void)snprintf(want, sizeof(want), "%s/libexec/ranktrace/ranktrace-run", tree->root);
    for (size_t i = 0; i < 2; i++) {
        struct rkt_install install;

        locate(tree, from[i], &install);
        assert_string_equal(install.prefix, tree->root);
        assert_true(rkt_install_program(&install, "ranktrace-run", path));
        assert_string_equal(path, want);
        assert_true(rkt_install_program(&install, "ranktrace", path));
        assert_true(rkt_install_library(&install, "libx.so", path));
        assert_true(rkt_install_share(&install, "hook", path));
    }
}

static void what_is_absent_or_cannot_be_run_is_not_found(void **state)
{
    struct rkt_install install;
    char path[PATH_MAX];

    locate(*state, "bin/ranktrace", &install);
    assert_false(rkt_install_program(&install, "ranktrace-report", path));
    assert_false(rkt_install_program(&install, "ranktrace-notes", path));
    assert_false(rkt_install_library(&install, "liby.so", path));
    assert_false(rkt_install_share(&install, "other", path));
}

static void a_program_that_stands_alone_looks_beside_itself(void **state)
{
    const struct tree *tree = *state;
    struct rkt_install install;

    locate(tree, "elsewhere/ranktrace", &install);
    assert_string_equal(install.prefix, install.program_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_find_each_other_from_both_folders),
        cmocka_unit_test(what_is_absent_or_cannot_be_run_is_not_found),
        cmocka_unit_test(a_program_that_stands_alone_looks_beside_itself),
    };

    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
