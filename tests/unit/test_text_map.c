/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/import/text_map.h"

#define PAGES 2048u /* more than is given back at once */

static size_t page;

/* A file of `len` bytes, each of its own page. */
static int make_file(size_t len)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    char *bytes = test_malloc(len);

    assert_true(fd >= 0);
    page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)('a' + i / page % 26);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    test_free(bytes);
    return fd;
}

static void the_text_is_the_files_and_zeros_are_around_it(void **state)
{
    const long off_by[] = {-1, 0, 1};

    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < 3; i++) {
        size_t len = 2 * page + (size_t)off_by[i];
        int fd = make_file(len);
        struct rkt_text_map map;

        assert_true(rkt_text_map_open(fd, &map));
        assert_int_equal(map.len_bytes, len);
        assert_int_equal(map.text[-1], 0);
        assert_int_equal(map.text[0], 'a');
        assert_int_equal(map.text[page], 'b');
        assert_int_equal(map.text[len - 1], 'a' + (len - 1) / page);
        for (size_t behind = 0; behind < page; behind++)
            assert_int_equal(map.text[len + behind], 0);
        assert_false(rkt_text_map_is_broken(&map));
        rkt_text_map_close(&map);
        (void)close(fd);
    }
}

static void what_is_written_stays_out_of_the_file(void **state)
{
    int fd = make_file(page);
    struct rkt_text_map map;
    char byte;

    (void)state;
    assert_true(rkt_text_map_open(fd, &map));
    map.text[-1] = '[';
    map.text[0] = '!';
    map.text[page] = ']';
    assert_int_equal(map.text[0], '!');
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    assert_int_equal(byte, 'a');
    rkt_text_map_close(&map);
    (void)close(fd);
}

/* Of the first pages: those that are still as they were written to. */
static size_t count_kept(const struct rkt_text_map *map, size_t pages)
{
    size_t count = 0;

    for (size_t i = 0; i < pages; i++)
        count += map->text[i * page] == '!';
    return count;
}

static void what_is_forgotten_is_given_back(void **state)
{
    int fd = make_file(PAGES * page);
    struct rkt_text_map map;

    (void)state;
    assert_true(rkt_text_map_open(fd, &map));
    for (size_t i = 0; i < PAGES; i++)
        map.text[i * page] = '!';
    rkt_text_map_forget(&map, page); /* not worth a call */
    assert_int_equal(count_kept(&map, PAGES), PAGES);
    rkt_text_map_forget(&map, (PAGES - 1) * page + 1);
    assert_int_equal(count_kept(&map, PAGES - 1), 0);
    assert_int_equal(map.text[(PAGES - 1) * page], '!');
    assert_int_equal(map.text[page], 'b');
    rkt_text_map_close(&map);
    (void)close(fd);
}

static void where_the_file_got_shorter_are_zeros(void **state)
{
    int fd = make_file(4 * page);
    struct rkt_text_map map;
    struct rkt_text_map other;

    (void)state;
    assert_true(rkt_text_map_open(fd, &other));
    rkt_text_map_close(&other);
    assert_true(rkt_text_map_open(fd, &map));
    assert_int_equal(ftruncate(fd, (off_t)page), 0);
    assert_int_equal(map.text[0], 'a');
    assert_false(rkt_text_map_is_broken(&map));
    assert_int_equal(map.text[3 * page + 7], 0);
    assert_true(rkt_text_map_is_broken(&map));
    assert_int_equal(map.text[2 * page], 0);
    assert_int_equal(map.text[0], 'a');
    rkt_text_map_close(&map);
    assert_true(rkt_text_map_open(fd, &map)); /* the next one is whole again */
    assert_false(rkt_text_map_is_broken(&map));
    rkt_text_map_close(&map);
    (void)close(fd);
}

static void what_is_no_file_with_bytes_is_to_be_read(void **state)
{
    struct rkt_text_map map;
    int pipe_fds[2];
    int empty = memfd_create("empty", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_false(rkt_text_map_open(pipe_fds[0], &map));
    rkt_text_map_close(&map);
    assert_false(rkt_text_map_open(empty, &map));
    rkt_text_map_close(&map);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    (void)close(empty);
}

static void there_are_so_many_maps_and_no_more(void **state)
{
    static struct rkt_text_map maps[1024];
    int fd = make_file(1);
    size_t count = 0;
    struct rkt_text_map one_more;

    (void)state;
    while (count < 1024 && rkt_text_map_open(fd, &maps[count]))
        count++;
    assert_in_range(count, 64, 1023);
    rkt_text_map_close(&maps[count / 2]);
    assert_true(rkt_text_map_open(fd, &one_more));
    assert_false(rkt_text_map_open(fd, &maps[count / 2]));
    rkt_text_map_close(&one_more);
    for (size_t i = 0; i < count; i++)
        rkt_text_map_close(&maps[i]);
    (void)close(fd);
}

static void exit_with_9(int number)
{
    (void)number;
    _exit(9);
}

/* A child that reads behind the end of a file that nobody mapped by text_map. */
static int status_of_a_fault(void (*handler)(int))
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        int fd = make_file(page);
        struct rkt_text_map map;
        volatile const char *bytes = (const char *)mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);

        (void)ftruncate(fd, 0);
        (void)signal(SIGBUS, handler);
        if ((const void *)bytes == MAP_FAILED || !rkt_text_map_open(make_file(page), &map))
            _exit(1);
        (void)bytes[0];
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void faults_of_others_are_theirs(void **state)
{
    int status;

    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    status = status_of_a_fault(SIG_DFL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
    status = status_of_a_fault(exit_with_9);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_others_are_theirs),
        cmocka_unit_test(the_text_is_the_files_and_zeros_are_around_it),
        cmocka_unit_test(what_is_written_stays_out_of_the_file),
        cmocka_unit_test(what_is_forgotten_is_given_back),
        cmocka_unit_test(where_the_file_got_shorter_are_zeros),
        cmocka_unit_test(what_is_no_file_with_bytes_is_to_be_read),
        cmocka_unit_test(there_are_so_many_maps_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
