/* SPDX-License-Identifier: Apache-2.0 */
/* The real libnccl.so.2 as the host of our plugin, on a machine without a GPU (real_nccl.h). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "real_nccl.h"
#include "rkt_test.h"

#define EXIT_SKIPPED 77
#define DEVICE_NS 1700000000000000000ull
#define ALL_EVENTS 0xfff
#define RANK 1
#define COLLECTIVE_SEQ 12

static struct real_nccl nccl;

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void *take_zeros(size_t bytes)
{
    void *memory = calloc(1, bytes);

    must(memory != NULL);
    return memory;
}

/* ---- life of the plugin ---- */

static void one_call(void *comm)
{
    struct real_nccl_info info = {.func = REAL_FUNC_ALL_REDUCE,
                                  .name = "AllReduce",
                                  .count = 1000,
                                  .datatype = REAL_DATATYPE_BFLOAT16,
                                  .comm = comm};

    must(nccl.start_group_api(&info, false) == 0);
    must(nccl.group_state(23) == 0);
    must(nccl.start_coll_api(&info, false) == 0);
    must(nccl.stop_coll_api() == 0);
    must(nccl.stop_coll_api() == 0); /* this release keeps the handle: a doubled stop */
    must(nccl.group_state(24) == 0);
    must(nccl.stop_group_api() == 0);
}

static void lives_of_the_plugin(int count)
{
    void *comm = take_zeros(REAL_COMM_BYTES);

    for (int i = 0; i < count; i++) {
        must(nccl.init(comm) == 0);
        one_call(comm);
        must(nccl.finalize(comm) == 0); /* the last communicator: NCCL unloads the plugin */
    }
    free(comm);
}

static void two_lives_of_the_plugin(void)
{
    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    lives_of_the_plugin(2);
}

static void check_calls(const struct job *job, size_t count)
{
    const struct rkt_event *event;

    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), count);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, &event), count);
    assert_true(event->start_ns <= event->end_ns);
    assert_int_equal(event->thread_id, job->hello.pid);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &event), count);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(event->nccl.datatype, REAL_DATATYPE_BFLOAT16);
    assert_int_equal(event->nccl.count, 1000);
    assert_int_equal(event->flags, 0);
    assert_int_equal(event->clock_id, RKT_CLOCK_MONOTONIC_RAW);
}

static void real_nccl_loads_uses_and_unloads_the_plugin(void **state)
{
    job_run(*state, two_lives_of_the_plugin);
    check_calls(*state, 2);
}

static void real_nccl_goes_on_when_capture_is_off(void **state)
{
    struct job *job = *state;

    job->has_no_variable = true;
    job_run(job, two_lives_of_the_plugin);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
}

/* ---- the names by which NCCL finds a plugin ---- */

/* This program again, as the loader looks at its variables only at its start. */
static void again_with(const char *variable, const char *value, const char *plugin)
{
    if (plugin)
        setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
    else
        unsetenv("NCCL_PROFILER_PLUGIN");
    setenv(variable, value, 1);
    execl("/proc/self/exe", "test", "job", (char *)NULL);
}

static char folder[64];

/* A folder with the library under this name, in front of where the loader looks. */
static void again_with_folder(const char *file, const char *plugin)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    must(symlink(RKT_TEST_LIBRARY, path) == 0);
    snprintf(path, sizeof(path), "%s:%s", folder, before ? before : "");
    again_with("LD_LIBRARY_PATH", path, plugin);
}

static void by_short_name(void)
{
    again_with_folder("libnccl-profiler-ranktrace.so", "ranktrace");
}

static void by_library_name(void)
{
    again_with_folder("libother.so", "libother.so");
}

static void by_default_name(void)
{
    again_with_folder("libnccl-profiler.so", NULL);
}

static void as_part_of_the_program(void)
{
    again_with("LD_PRELOAD", RKT_TEST_LIBRARY, "STATIC_PLUGIN");
}

static void run_with_folder(struct job *job, const char *file, void (*function)(void))
{
    char path[128];

    snprintf(folder, sizeof(folder), "/tmp/ranktrace-names-XXXXXX");
    assert_non_null(mkdtemp(folder));
    job_run(job, function);
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    unlink(path);
    rmdir(folder);
    check_calls(job, 1);
}

static void real_nccl_finds_the_plugin_by_a_short_name(void **state)
{
    run_with_folder(*state, "libnccl-profiler-ranktrace.so", by_short_name);
}

static void real_nccl_finds_the_plugin_by_a_library_name(void **state)
{
    run_with_folder(*state, "libother.so", by_library_name);
}

static void real_nccl_finds_the_plugin_by_the_default_name(void **state)
{
    run_with_folder(*state, "libnccl-profiler.so", by_default_name);
}

static void real_nccl_finds_the_plugin_in_the_program(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: AddressSanitizer refuses LD_PRELOAD\n");
    skip();
#endif
    job_run(*state, as_part_of_the_program);
    check_calls(*state, 1);
}

/* ---- a collective with its channels and network work ---- */

static void *make_task(void)
{
    void *task = take_zeros(REAL_TASK_BYTES);

    REAL_PUT(task, REAL_TASK_FUNC, int, REAL_FUNC_ALL_REDUCE);
    REAL_PUT(task, REAL_TASK_COUNT, size_t, 4096);
    REAL_PUT(task, REAL_TASK_DATATYPE, int, REAL_DATATYPE_BFLOAT16);
    REAL_PUT(task, REAL_TASK_ALGO, int8_t, 1);  /* ring */
    REAL_PUT(task, REAL_TASK_PROTO, int8_t, 2); /* simple */
    REAL_PUT(task, REAL_TASK_MASK, int, ALL_EVENTS);
    return task;
}

static void *enqueue(void *comm, void *task)
{
    void *plan = take_zeros(REAL_PLAN_BYTES);

    REAL_PUT(plan, REAL_PLAN_COMM, void *, comm);
    REAL_PUT(plan, REAL_PLAN_COLL_TASK, void *, task);
    must(nccl.start_launch(plan, NULL) == 0);
    must(nccl.stop_launch(plan) == 0);
    must(nccl.start_group(plan) == 0);
    must(nccl.start_tasks(plan) == 0);
    must(nccl.stop_tasks(plan) == 0);
    must(nccl.stop_group(plan) == 0);
    return plan;
}

static void *make_proxy(void *comm, void *task, int pid)
{
    void *proxy = take_zeros(REAL_PROXY_BYTES);

    REAL_PUT(proxy, REAL_PROXY_CHANNEL, int, 5);
    REAL_PUT(proxy, REAL_PROXY_STEP_COUNT, int, 8);
    REAL_PUT(proxy, REAL_PROXY_PEER, int, 3);
    REAL_PUT(proxy, REAL_PROXY_MASK, int, ALL_EVENTS);
    REAL_PUT(proxy, REAL_PROXY_PID, int, pid);
    REAL_PUT(proxy, REAL_PROXY_CONTEXT, void *, real_get_pointer(comm, REAL_COMM_CONTEXT));
    REAL_PUT(proxy, REAL_PROXY_TASK_HANDLE, void *, real_get_pointer(task, REAL_TASK_HANDLE));
    REAL_PUT(proxy, REAL_PROXY_SLICE_STEPS, int, 1);
    REAL_PUT(proxy, REAL_PROXY_CHUNK_BYTES, int, 512);
    REAL_PUT(proxy, REAL_PROXY_BYTES_MOVED, size_t, 333);
    return proxy;
}

static void send_one_step(void *proxy)
{
    void *net = NULL;

    must(nccl.start_proxy_op(0, proxy) == 0);
    must(nccl.start_send_step(0, proxy, 1) == 0);
    must(nccl.step_state(0, proxy, 1, 8) == 0);
    must(nccl.step_state(0, proxy, 1, 9) == 0);
    must(nccl.net_callback(&net, 0, (char *)proxy + REAL_PROXY_STEPS + 16, 0x10001, NULL) == 0);
    must(nccl.net_callback(&net, 1, NULL, 0x10001, NULL) == 0);
    must(nccl.stop_step(0, proxy, 1) == 0);
    must(nccl.stop_proxy_op(0, proxy) == 0);
}

static void sleep_once(void *comm)
{
    void *control = NULL;

    must(nccl.start_control(real_get_pointer(comm, REAL_COMM_CONTEXT), &control) == 0);
    must(nccl.control_state(control, 0, 15) == 0);
    must(nccl.control_state(control, 0, 16) == 0);
    must(nccl.stop_control(control) == 0);
}

static void whole_collective(void)
{
    void *comm = take_zeros(REAL_COMM_BYTES);
    void *task = make_task();
    void *plan;
    void *proxy;
    void *foreign;

    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    REAL_PUT(comm, REAL_COMM_RANK, int, RANK);
    REAL_PUT(comm, REAL_COMM_SEQ + REAL_FUNC_ALL_REDUCE * sizeof(uint64_t), uint64_t,
             COLLECTIVE_SEQ);
    must(nccl.init(comm) == 0);
    plan = enqueue(comm, task);
    proxy = make_proxy(comm, task, getpid());
    foreign = make_proxy(comm, task, getppid());
    must(nccl.stop_channel(proxy, 0, DEVICE_NS) == 0); /* seen before its start */
    must(nccl.start_channel(proxy, 0, DEVICE_NS) == 0);
    must(nccl.stop_channel(proxy, 0, DEVICE_NS + 640) == 0);
    must(nccl.stop_channel(proxy, 0, DEVICE_NS + 999) == 0); /* the handle is still there */
    send_one_step(proxy);
    send_one_step(foreign);
    sleep_once(comm);
    must(nccl.stop_tasks(plan) == 0); /* again, as the handles are kept */
    must(nccl.finalize(comm) == 0);
    free(foreign);
    free(proxy);
    free(plan);
    free(task);
    free(comm);
}

static void check_channel(const struct job *job)
{
    const struct rkt_event *channel;

    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_CH, &channel), 1);
    assert_int_equal(channel->clock_id, RKT_CLOCK_GLOBALTIMER);
    assert_int_equal(channel->start_ns, DEVICE_NS);
    assert_int_equal(channel->end_ns, DEVICE_NS + 640);
    assert_int_equal(channel->nccl.peer, 5);
    assert_int_equal(channel->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(channel->nccl.seq, COLLECTIVE_SEQ);
}

static void check_network(const struct job *job)
{
    const struct rkt_event *op;
    const struct rkt_event *step;
    const struct rkt_event *net;

    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_OP, &op), 2);
    assert_int_equal(op[0].nccl.peer, 3);
    assert_int_equal(op[0].nccl.datatype, 5);
    assert_int_equal(op[0].nccl.count, 8 * 512);
    assert_int_equal(op[0].nccl.seq, COLLECTIVE_SEQ);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_STEP, &step), 4);
    assert_int_equal(step->nccl.algo, 8);
    assert_int_equal(step->nccl.seq, COLLECTIVE_SEQ);
    assert_int_equal(step->nccl.count, 333);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_NET_PLUGIN, &net), 2);
    assert_int_equal(net->nccl.count, 0x10001);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_PROXY_CTRL, NULL), 1);
}

static void real_nccl_tells_of_channels_and_network_work(void **state)
{
    struct job *job = *state;
    const struct rkt_event *coll;
    size_t of_unknown = 0;

    job->capture.nccl_level = RKT_NCCL_LEVEL_PROXY;
    job_run(job, whole_collective);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_LAUNCH, NULL), 1);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, &coll), 1);
    assert_int_equal(coll->nccl.seq, COLLECTIVE_SEQ);
    assert_int_equal(coll->nccl.count, 4096);
    assert_int_equal(coll->nccl.algo, RKT_ALGO_RING);
    assert_int_equal(coll->nccl.proto, RKT_PROTO_SIMPLE);
    check_channel(job);
    check_network(job);
    for (size_t i = 0; i < job->event_count; i++)
        of_unknown += job->events[i].kind == RKT_EVENT_NCCL &&
                      job->events[i].type == RKT_NCCL_PROXY_OP &&
                      job->events[i].nccl.seq == UINT64_MAX;
    assert_int_equal(of_unknown, 1); /* that of the other process */
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(real_nccl_loads_uses_and_unloads_the_plugin),
        JOB_TEST(real_nccl_goes_on_when_capture_is_off),
        JOB_TEST(real_nccl_finds_the_plugin_by_a_short_name),
        JOB_TEST(real_nccl_finds_the_plugin_by_a_library_name),
        JOB_TEST(real_nccl_finds_the_plugin_by_the_default_name),
        JOB_TEST(real_nccl_finds_the_plugin_in_the_program),
        JOB_TEST(real_nccl_tells_of_channels_and_network_work),
    };
    const char *why = real_nccl_find(&nccl);

    if (argc == 2 && strcmp(argv[1], "job") == 0) {
        must(why == NULL);
        lives_of_the_plugin(1);
        return 0;
    }
    if (why) {
        printf("skipped: %s\n", why);
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
