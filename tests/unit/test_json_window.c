/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change while they are read; that any window gives the same is in
 * test_json_reader.c. */
#include "rkt_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/import/json_reader.h"

#define EVENT "{\"ph\":\"X\",\"name\":\"a\"},"
#define EVENT_BYTES (sizeof(EVENT) - 1)
#define EVENTS 4000u

/* At its first event the file gets shorter, or is no file any more. */
struct changing {
    int fd;
    off_t short_bytes; /* 0: it cannot be read any more */
    int source_fd;     /* of who reads it */
    int folder_fd;     /* in its place then */
    size_t event_count;
};

static enum rkt_status change(void *ctx, const struct rkt_json_object *event, struct rkt_error *err)
{
    struct changing *changing = ctx;

    (void)event;
    (void)err;
    changing->event_count++;
    if (changing->event_count == 1 && changing->short_bytes == 0)
        assert_int_equal(dup2(changing->folder_fd, changing->source_fd), changing->source_fd);
    else if (changing->event_count == 1)
        assert_int_equal(ftruncate(changing->fd, changing->short_bytes), 0);
    return RKT_OK;
}

static enum rkt_status walk_changing(struct changing *changing, struct rkt_json_stats *stats,
                                     struct rkt_error *err)
{
    struct rkt_json_handler handler = {.ctx = changing, .event = change};
    struct rkt_text_source *source = NULL;
    enum rkt_status status;
    char path[64];

    changing->fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(changing->fd >= 0);
    assert_int_equal(write(changing->fd, "[", 1), 1);
    for (size_t i = 0; i < EVENTS; i++)
        assert_int_equal(write(changing->fd, EVENT, EVENT_BYTES), (ssize_t)EVENT_BYTES);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", changing->fd);
    changing->folder_fd = open("/", O_RDONLY | O_CLOEXEC);
    changing->source_fd = dup(changing->fd); /* the number that it will have */
    (void)close(changing->source_fd);
    assert_rkt_ok(rkt_text_source_open(path, &source, err), *err);
    status = rkt_json_read(source, RKT_JSON_WINDOW_BYTES_MIN, &handler, stats, err);
    rkt_text_source_close(source);
    (void)close(changing->fd);
    (void)close(changing->folder_fd);
    return status;
}

static void of_a_file_that_gets_shorter_the_rest_is_read(void **state)
{
    struct changing changing = {.short_bytes = 20 * sysconf(_SC_PAGESIZE) + 100};
    struct rkt_json_stats stats;
    struct rkt_error err = {0};
    size_t whole = (size_t)(changing.short_bytes - 1) / EVENT_BYTES;

    (void)state;
    assert_in_range(whole, 1000, EVENTS - 200); /* it was longer by more than a page */
    assert_rkt_ok(walk_changing(&changing, &stats, &err), err);
    assert_int_equal(changing.event_count, whole);
    assert_true(stats.is_cut || stats.damaged_count > 0 || stats.has_rest);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct changing changing = {0};
    struct rkt_json_stats stats;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_status(walk_changing(&changing, &stats, &err), RKT_ERR_IO);
    assert_in_range(changing.event_count, 1, EVENTS - 1);
    assert_non_null(strstr(err.text, "cannot read after byte"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(of_a_file_that_gets_shorter_the_rest_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
