/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_api/nvtx.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "common/clock.h"
#include "nvtx_host.h"
#include "rkt_test.h"

#define THREAD_COUNT ((size_t)8)
#define RANGES_PER_THREAD ((size_t)200)

static struct nvtx_host host;

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void load(void)
{
    must(nvtx_host_load(&host) == 1);
    must(nvtx_host_load_payload(&host) == 1);
}

static void assert_good_end(const struct job *job)
{
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
}

static const struct rkt_event *find_range(const struct job *job, const char *name)
{
    const struct rkt_event *event = job_find(job, RKT_EVENT_RANGE, name);

    if (!event)
        fail_msg("no range is called '%s'", name);
    return event;
}

/* ---- push and pop ---- */

static void pushes_of_two_domains(void)
{
    struct rkt_nvtx_attributes attributes = nvtx_ascii("of the domain");
    const void *domain;

    load();
    domain = host.domain_create_a("torch");
    must(domain != NULL);
    must(host.domain_create_a("torch") == domain);
    must(host.push_a("outer") == 0);
    must(host.domain_push(domain, &attributes) == 0);
    must(host.push_a("inner") == 1);
    must(host.domain_pop(domain) == 0); /* while "inner", pushed after it, is open */
    must(host.pop() == 1);
    must(host.pop() == 0);
    must(host.pop() == RKT_NVTX_NO_LEVEL); /* none is open: does nothing */
    must(host.domain_pop(domain) == RKT_NVTX_NO_LEVEL);
}

static void ranges_nest_per_domain(void **state)
{
    struct job *job = *state;
    const struct rkt_event *outer;
    const struct rkt_event *inner;
    const struct rkt_event *other;

    job_run(job, pushes_of_two_domains);
    assert_good_end(job);
    outer = find_range(job, "outer");
    inner = find_range(job, "inner");
    other = find_range(job, "of the domain");
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 3);
    assert_true(outer->start_ns <= other->start_ns && other->start_ns <= inner->start_ns);
    assert_true(other->end_ns <= inner->end_ns && inner->end_ns <= outer->end_ns);
    assert_int_equal(outer->range.domain_id, 0);
    assert_string_equal(job_name(job, other->range.domain_id), "torch");
    assert_int_equal(outer->thread_id, job->hello.pid);
    assert_int_equal(outer->clock_id, RKT_CLOCK_MONOTONIC_RAW);
}

static void deep_pushes(void)
{
    struct rkt_nvtx_attributes attributes = nvtx_ascii("other");
    const void *domain;

    load();
    domain = host.domain_create_a("deep");
    for (int i = 0; i < 70; i++)
        must(host.push_a("range") == (i < 64 ? i : RKT_NVTX_NO_LEVEL));
    must(host.domain_push(domain, &attributes) == RKT_NVTX_NO_LEVEL);
    for (int i = 69; i >= 0; i--)
        must(host.pop() == (i < 64 ? i : RKT_NVTX_NO_LEVEL));
    must(host.domain_push(domain, &attributes) == RKT_NVTX_NO_LEVEL); /* in one that is too deep */
    must(host.domain_pop(domain) == RKT_NVTX_NO_LEVEL);
    must(host.domain_pop(domain) == RKT_NVTX_NO_LEVEL);
    must(host.domain_push(domain, &attributes) == 0);
    must(host.domain_pop(domain) == 0);
}

static void ranges_beyond_the_limit_are_counted_not_mixed_up(void **state)
{
    struct job *job = *state;

    job_run(job, deep_pushes);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 65);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, RKT_LOSS_TOO_MANY_OPEN, NULL), 8);
}

/* ---- start and end ---- */

static void *end_elsewhere(void *arg)
{
    host.end(*(const uint64_t *)arg);
    host.end(*(const uint64_t *)arg); /* a second time: does nothing */
    return NULL;
}

static void started_ranges(void)
{
    struct rkt_nvtx_attributes attributes = nvtx_ascii("second");
    const void *domain;
    pthread_t thread;
    uint64_t first;
    uint64_t second;

    load();
    domain = host.domain_create_w(L"loader");
    first = host.start_a("first");
    second = host.domain_start(domain, &attributes);
    must(first != 0 && second != 0 && first != second);
    pthread_create(&thread, NULL, end_elsewhere, &first);
    pthread_join(thread, NULL);
    host.domain_end(domain, second);
    host.end(0);
    host.end(UINT64_MAX);
    must(host.start_w(L"left open") != 0);
}

static void a_started_range_ends_on_any_thread_and_once(void **state)
{
    struct job *job = *state;
    const struct rkt_event *open;

    job_run(job, started_ranges);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 3);
    assert_int_equal(find_range(job, "first")->thread_id, job->hello.pid); /* where it began */
    assert_true(find_range(job, "first")->end_ns <= find_range(job, "second")->end_ns);
    assert_string_equal(job_name(job, find_range(job, "second")->range.domain_id), "loader");
    open = find_range(job, "left open");
    assert_int_equal(open->flags, RKT_FLAG_NO_END);
    assert_int_equal(open->start_ns, open->end_ns);
}

/* ---- texts ---- */

static void texts_of_all_kinds(void)
{
    struct rkt_nvtx_attributes wide = {.version = 3, .bytes = sizeof(wide)};
    struct rkt_nvtx_attributes registered;
    const void *domain;
    const void *string;

    load();
    domain = host.domain_create_a("d");
    string = host.register_string_a(domain, "registered");
    must(string != NULL && host.register_string_a(domain, "registered") == string);
    registered = nvtx_registered(string);
    host.domain_mark(domain, &registered);
    registered = nvtx_registered(host.register_string_w(domain, L"wide registered"));
    host.domain_mark(domain, &registered);
    host.mark_a("plain");
    host.mark_w(L"sp\u00e4t \u20ac \U0001f600");
    host.mark_w((const wchar_t[]){L'<', 0xd800, 0x7fffffff, L'>', L'\0'}); /* no characters */
    wide.message_type = RKT_NVTX_MESSAGE_UNICODE;
    wide.message.unicode = L"in attributes";
    wide.payload_type = RKT_NVTX_PAYLOAD_INT32;
    wide.payload.i32 = -7;
    host.mark_ex(&wide);
}

static void messages_of_every_kind_are_read(void **state)
{
    struct job *job = *state;

    job_run(job, texts_of_all_kinds);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 6);
    (void)find_range(job, "<\xef\xbf\xbd\xef\xbf\xbd>");
    assert_string_equal(job_name(job, find_range(job, "registered")->range.domain_id), "d");
    assert_string_equal(job_name(job, find_range(job, "wide registered")->range.domain_id), "d");
    assert_int_equal(find_range(job, "plain")->range.domain_id, 0);
    (void)find_range(job, "sp\xc3\xa4t \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_int_equal((int64_t)find_range(job, "in attributes")->range.value, -7);
}

static void categories(void)
{
    struct rkt_nvtx_attributes attributes = nvtx_ascii("copy");
    const void *domain;

    load();
    domain = host.domain_create_a("app");
    host.domain_name_category_a(domain, 4, "input");
    host.domain_name_category_w(domain, 4, L"a second name");
    host.name_category_w(4, L"io");
    attributes.category = 4;
    host.domain_mark(domain, &attributes);
    attributes.message.ascii = "read";
    host.mark_ex(&attributes);
    attributes.message.ascii = "unnamed";
    attributes.category = 5;
    host.domain_mark(domain, &attributes);
}

static void a_category_with_a_name_is_told(void **state)
{
    struct job *job = *state;

    job_run(job, categories);
    assert_good_end(job);
    assert_string_equal(job_name(job, find_range(job, "copy")->range.domain_id), "app:input");
    assert_string_equal(job_name(job, find_range(job, "read")->range.domain_id), "io");
    assert_string_equal(job_name(job, find_range(job, "unnamed")->range.domain_id), "app");
}

static void names_of_objects(void)
{
    struct rkt_nvtx_resource resource = {.version = 3,
                                         .bytes = sizeof(resource),
                                         .type = RKT_NVTX_RESOURCE_THREAD_NATIVE,
                                         .id.number = 78,
                                         .message_type = RKT_NVTX_MESSAGE_ASCII,
                                         .message.ascii = "by resource"};

    load();
    host.name_thread_a(77, "decoder");
    host.name_thread_w(79, L"wide thread");
    host.name_cudevice_a(3, "the big one");
    host.name_cudadevice_w(2, L"the small one");
    host.name_cudevice_a(-1, "none");
    (void)host.resource_create(NULL, &resource);
}

static void assert_named(const struct job *job, const char *name, enum rkt_named_object what,
                         uint64_t object_id)
{
    const struct rkt_event *event = job_find(job, RKT_EVENT_NAME, name);

    assert_non_null(event);
    assert_int_equal(event->type, what);
    assert_int_equal(event->name.object_id, object_id);
}

static void threads_and_devices_are_named(void **state)
{
    struct job *job = *state;

    job_run(job, names_of_objects);
    assert_good_end(job);
    assert_named(job, "decoder", RKT_NAMED_THREAD, 77);
    assert_named(job, "wide thread", RKT_NAMED_THREAD, 79);
    assert_named(job, "by resource", RKT_NAMED_THREAD, 78);
    assert_named(job, "the big one", RKT_NAMED_DEVICE, 3);
    assert_named(job, "the small one", RKT_NAMED_DEVICE, 2);
    assert_null(job_find(job, RKT_EVENT_NAME, "none"));
}

/* ---- bad input ---- */

static void nothing_but_null(void)
{
    struct rkt_nvtx_attributes small = nvtx_ascii("too small");
    struct rkt_nvtx_attributes odd = nvtx_ascii("odd");
    struct rkt_nvtx_payload_data record = {.schema_id = 1, .bytes = 8, .data = NULL};

    load();
    small.bytes = 16;
    odd.message_type = 99;
    odd.payload_type = RKT_NVTX_PAYLOAD_EXTENDED;
    odd.record_count = 1000;
    must(host.domain_create_a(NULL) == NULL && host.domain_create_w(NULL) == NULL);
    must(host.domain_create_a("") == NULL);
    must(host.register_string_a(NULL, NULL) == NULL);
    must(host.schema_register(NULL, NULL) == 0 && host.enum_register(NULL, NULL) == 0);
    host.name_category_a(1, NULL);
    host.name_thread_a(0, NULL);
    must(host.resource_create(NULL, NULL) == NULL);
    errno = 1234;
    must(host.push_a(NULL) == 0);
    must(host.push_w(NULL) == 1);
    must(host.push_ex(NULL) == 2);
    must(host.domain_push(NULL, &small) == 3);
    must(host.domain_push(NULL, &odd) == 4);
    must(host.push_payload(NULL, NULL, 3) == 5);
    must(host.pop_payload(NULL, &record, 1) == 5);
    for (int i = 4; i >= 0; i--)
        must(host.pop() == i);
    host.mark_a(NULL);
    host.mark_ex(NULL);
    host.mark_payload(NULL, NULL, 0);
    host.end(host.start_ex(NULL));
    host.end_payload(NULL, host.start_payload(NULL, NULL, 0), NULL, 0);
    must(errno == 1234);
}

static void null_anywhere_does_no_harm(void **state)
{
    struct job *job = *state;

    job_run(job, nothing_but_null);
    assert_good_end(job);
    assert_null(job_find(job, RKT_EVENT_RANGE, "too small"));
    assert_null(job_find(job, RKT_EVENT_RANGE, "odd"));
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 8);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 3);
}

/* ---- steps ---- */

static void ranges_in_every_step(void)
{
    load();
    for (uint64_t step = 0; step < 4; step++) {
        ranktrace_step(step);
        must(host.push_a("range") == 0);
        host.end(host.start_a("range"));
        host.mark_a("mark");
        host.pop();
    }
}

static void ranges_outside_a_capture_window_are_not_kept(void **state)
{
    struct job *job = *state;

    job->capture.schedule = (struct rkt_schedule){.wait = 1, .active = 1, .cycles = 1};
    job_run(job, ranges_in_every_step);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 2);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_MARK, NULL), 1);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, NULL), 4);
}

static void steps_by_nvtx(void)
{
    struct rkt_nvtx_attributes attributes = nvtx_ascii(NULL);
    uint64_t id;

    load();
    ranktrace_step(50); /* ignored: the range says what a step is */
    must(host.push_a("iteration") == 0);
    host.pop();
    attributes.message_type = RKT_NVTX_MESSAGE_REGISTERED;
    attributes.message.registered = host.register_string_a(NULL, "iteration 2");
    host.push_ex(&attributes);
    host.pop();
    id = host.start_a("iteration");
    host.end(id);
    host.push_a("other");
    host.pop();
}

static void nvtx_ranges_can_be_the_steps(void **state)
{
    struct job *job = *state;
    const struct rkt_event *first;

    strcpy(job->capture.step_range, "iteration");
    job_run(job, steps_by_nvtx);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_STEP, &first), 3);
    assert_int_equal(first->range.value, 0);
    assert_int_equal(job->last_step, 2);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 4);
}

/* ---- the process ---- */

static void fork_under_nvtx(void)
{
    int wait_status = -1;
    pid_t pid;

    load();
    host.push_a("parent");
    pid = fork();
    if (pid == 0) {
        host.push_a("child");
        host.pop();
        host.pop();
        _exit(host.start_a("child") == 0 ? 0 : 1);
    }
    must(waitpid(pid, &wait_status, 0) == pid && wait_status == 0);
    host.pop();
}

static void child_of_a_fork_writes_nothing(void **state)
{
    struct job *job = *state;

    job_run(job, fork_under_nvtx);
    assert_good_end(job);
    (void)find_range(job, "parent");
    assert_null(job_find(job, RKT_EVENT_RANGE, "child"));
}

static void *many_ranges(void *arg)
{
    const void *domain = host.domain_create_a("shared");
    struct rkt_nvtx_attributes attributes = nvtx_registered(host.register_string_a(domain, arg));

    for (size_t i = 0; i < RANGES_PER_THREAD; i++) {
        uint64_t id = host.domain_start(domain, &attributes);

        host.domain_push(domain, &attributes);
        host.push_a("inner");
        host.domain_pop(domain);
        host.pop();
        host.end(id);
        host.domain_name_category_a(domain, (uint32_t)i % 16 + 1, "category");
    }
    return NULL;
}

static void many_threads(void)
{
    static char names[THREAD_COUNT][16];
    pthread_t threads[THREAD_COUNT];

    load();
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "thread %zu", i);
        pthread_create(&threads[i], NULL, many_ranges, names[i]);
    }
    for (size_t i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void eight_threads_lose_nothing(void **state)
{
    struct job *job = *state;

    job->config.ring_count = THREAD_COUNT + 1;
    job_run(job, many_threads);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL),
                     3 * THREAD_COUNT * RANGES_PER_THREAD);
}

static void off(void)
{
    must(nvtx_host_load(&host) == 0);
    must(nvtx_host_load_payload(&host) == 0);
    must(host.push_a == NULL && host.schema_register == NULL);
}

static void a_process_that_is_not_watched_pays_nothing(void **state)
{
    struct job *job = *state;

    job->has_no_variable = true;
    job_run(job, off);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
}

static void ranges_that_are_not_wanted_are_not_asked_for(void **state)
{
    struct job *job = *state;

    job->capture.mask = RKT_CAPTURE_MARKS | RKT_CAPTURE_NCCL;
    job_run(job, off);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job->event_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(ranges_nest_per_domain),
        JOB_TEST(ranges_beyond_the_limit_are_counted_not_mixed_up),
        JOB_TEST(a_started_range_ends_on_any_thread_and_once),
        JOB_TEST(messages_of_every_kind_are_read),
        JOB_TEST(a_category_with_a_name_is_told),
        JOB_TEST(threads_and_devices_are_named),
        JOB_TEST(null_anywhere_does_no_harm),
        JOB_TEST(nvtx_ranges_can_be_the_steps),
        JOB_TEST(ranges_outside_a_capture_window_are_not_kept),
        JOB_TEST(child_of_a_fork_writes_nothing),
        JOB_TEST(eight_threads_lose_nothing),
        JOB_TEST(a_process_that_is_not_watched_pays_nothing),
        JOB_TEST(ranges_that_are_not_wanted_are_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
