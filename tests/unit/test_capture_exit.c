/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process ends, or becomes two, while eight of its threads mark and launch. However it does so:
 * it ends as it would without the library, in good time, says nothing, and what it had written is
 * there. The library is loaded by the driver and by dlopen, as in a job; it is not linked with this
 * test.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture_job.h"
#include "rkt_test.h"
#include "tests/simgpu/test/gpu.h"

#define THREADS 8u
#define LAUNCHERS 2u
#define ENOUGH UINT64_C(500) /* marks of each thread before anything happens */
#define MANY  \
    UINT64_C( \
        20000) /* of one thread: from then on it takes its time, or the others' fill all room */
#define FORKS 10
#define CODE 23

/* As in test_capture_gpu.c: the leak check of gcc 12 crashes over the stand-in's variables. */
const char *__asan_default_options(void); /* NOLINT(readability-identifier-naming): its name */

/* NOLINTNEXTLINE(readability-identifier-naming) */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0:handle_abort=0";
}

static void must(int is_true)
{
    if (!is_true)
        abort();
}

/* ---- the job's threads ---- */

struct producer {
    pthread_t thread;
    unsigned number;
};

/* Shared with the test, which compares it with what arrived. */
struct account {
    _Atomic uint64_t marks[THREADS]; /* that returned */
};

static struct account *account;

static struct {
    struct producer producers[THREADS];
    struct test_gpu *gpu;
    void *library;
    void (*mark)(const char *name);
    int (*is_active)(void);
    _Atomic bool should_stop;
} process;

static void find(const char *name, void *function)
{
    void *symbol = dlsym(process.library, name);

    must(symbol != NULL);
    memcpy(function, &symbol, sizeof(symbol));
}

static void *produce(void *arg)
{
    const struct producer *producer = arg;

    must(!process.gpu || cuCtxSetCurrent(process.gpu->context) == CUDA_SUCCESS);
    while (!atomic_load_explicit(&process.should_stop, memory_order_relaxed)) {
        process.mark("mark");
        if (atomic_fetch_add_explicit(&account->marks[producer->number], 1, memory_order_relaxed) >
            MANY)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (process.gpu && producer->number < LAUNCHERS)
            (void)cuLaunchKernel(process.gpu->other_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        sched_yield();
    }
    return NULL;
}

static void wait_for_marks(uint64_t each)
{
    for (unsigned i = 0; i < THREADS; i++) {
        while (atomic_load_explicit(&account->marks[i], memory_order_relaxed) < each)
            sched_yield();
    }
}

static void start_gpu(void)
{
    void *gpu;

    setenv("CUDA_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(test_gpu_setup(&gpu) == 0);
    process.gpu = gpu;
}

static void start_threads(void)
{
    process.library = dlopen(RKT_TEST_LIBRARY, RTLD_NOW);
    must(process.library != NULL);
    find("ranktrace_mark", &process.mark);
    find("ranktrace_is_active", &process.is_active);
    must(process.is_active());
    for (unsigned i = 0; i < THREADS; i++) {
        process.producers[i].number = i;
        must(pthread_create(&process.producers[i].thread, NULL, produce, &process.producers[i]) ==
             0);
    }
    wait_for_marks(ENOUGH);
}

static void begin(void)
{
    start_gpu();
    start_threads();
}

static void end(void)
{
    atomic_store_explicit(&process.should_stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_join(process.producers[i].thread, NULL) == 0);
}

/* ---- ways to end ---- */

static void by_exit(void)
{
    begin();
    exit(CODE);
}

static void by_exit_after_its_threads(void)
{
    begin();
    end();
    exit(CODE);
}

static void by_underscore_exit(void)
{
    begin();
    _exit(CODE);
}

static void by_quick_exit(void)
{
    begin();
    quick_exit(CODE);
}

static void by_abort(void)
{
    begin();
    abort();
}

static void by_sigkill(void)
{
    begin();
    (void)raise(SIGKILL);
}

static void by_sigterm(void)
{
    begin();
    (void)raise(SIGTERM);
}

static void by_exec(void)
{
    begin();
    execl("/bin/sh", "sh", "-c", "exit 23", (char *)NULL);
}

static void *exit_from_here(void *arg)
{
    (void)arg;
    exit(CODE);
}

static void by_exit_of_another_thread(void)
{
    pthread_t thread;

    begin();
    must(pthread_create(&thread, NULL, exit_from_here, NULL) == 0);
    pthread_exit(NULL);
}

/*
 * The main thread ends first, then all others: the last one's end is exit(0). Without a GPU, whose
 * driver has threads that do not end; then no thread of ours may be left either.
 */
#if !defined(__SANITIZE_THREAD__)
static void by_the_end_of_the_last_thread(void)
{
    start_threads();
    atomic_store_explicit(&process.should_stop, true, memory_order_relaxed);
    pthread_exit(NULL);
}
#endif

static void mark_late(void)
{
    process.mark("late");
    (void)cuLaunchKernel(process.gpu->other_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void by_exit_with_handlers_around_ours(void)
{
    must(atexit(mark_late) == 0); /* runs after ours */
    begin();
    must(atexit(mark_late) == 0); /* runs before ours */
    exit(CODE);
}

static void by_exit_after_dlclose(void)
{
    begin();
    must(dlclose(process.library) == 0);
    wait_for_marks(2 * ENOUGH);          /* they call into it still */
    must(dlclose(process.library) == 0); /* what the driver had opened */
    wait_for_marks(3 * ENOUGH);
    exit(CODE);
}

/* ---- ways to become two ---- */

static void wait_for_child(pid_t pid)
{
    int status;

    must(pid > 0);
    must(waitpid(pid, &status, 0) == pid);
    must(status == 0);
}

static void fork_and_leave(void (*leave)(int))
{
    begin();
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            must(!process.is_active());
            process.mark("of a child");
            leave(0);
        }
        wait_for_child(pid);
    }
    exit(CODE);
}

static void by_exit_with_children_that_exit(void)
{
#if defined(__SANITIZE_THREAD__)
    fork_and_leave(_exit); /* its exit waits for threads that fork did not copy */
#else
    fork_and_leave(exit);
#endif
}

static void by_exit_with_children_that_leave(void)
{
    fork_and_leave(_exit);
}

static void by_exit_with_spawned_children(void)
{
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    pid_t pid;

    begin();
    for (int i = 0; i < FORKS; i++) {
        must(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) == 0);
        wait_for_child(pid);
        pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): jobs do */
        if (pid == 0) {
            execvp("true", arguments);
            _exit(1);
        }
        wait_for_child(pid);
    }
    exit(CODE);
}

/* A daemon: who goes on is the child, which is not traced; who was traced ends at once. */
static void by_leaving_a_daemon_behind(void)
{
    begin();
    if (fork() == 0) {
        process.mark("of a daemon");
        _exit(0);
    }
    exit(CODE);
}

static void signals_are_as_they_were(void)
{
    struct sigaction before[NSIG] = {0}, now[NSIG] = {0};
    sigset_t mask_before, mask_now;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, NULL, &before[number]);
    must(pthread_sigmask(SIG_SETMASK, NULL, &mask_before) == 0);
    begin();
    must(pthread_sigmask(SIG_SETMASK, NULL, &mask_now) == 0);
    for (int number = 1; number < NSIG; number++) {
        (void)sigaction(number, NULL, &now[number]);
        must(now[number].sa_handler == before[number].sa_handler);
        must(sigismember(&mask_now, number) == sigismember(&mask_before, number));
    }
    exit(CODE);
}

/* ---- the table ---- */

enum ending {
    ALL_IS_THERE,      /* no exit handler ran: all marks up to the end */
    CLOSED_IN_BETWEEN, /* an exit handler closed while threads still marked */
};

static const struct {
    const char *what;
    void (*run)(void);
    enum ending ending;
    int signal_number;
    int exit_code;
} CASES[] = {
    {"exit", by_exit, CLOSED_IN_BETWEEN, 0, CODE},
    {"exit after its threads", by_exit_after_its_threads, CLOSED_IN_BETWEEN, 0, CODE},
    {"_exit", by_underscore_exit, ALL_IS_THERE, 0, CODE},
    {"quick_exit", by_quick_exit, ALL_IS_THERE, 0, CODE},
    {"abort", by_abort, ALL_IS_THERE, SIGABRT, 0},
    {"SIGKILL", by_sigkill, ALL_IS_THERE, SIGKILL, 0},
    {"SIGTERM", by_sigterm, ALL_IS_THERE, SIGTERM, 0},
    {"exec", by_exec, ALL_IS_THERE, 0, CODE},
    {"exit of another thread", by_exit_of_another_thread, CLOSED_IN_BETWEEN, 0, CODE},
#if !defined(__SANITIZE_THREAD__) /* whose own thread does not end */
    {"end of the last thread", by_the_end_of_the_last_thread, CLOSED_IN_BETWEEN, 0, 0},
#endif
    {"exit handlers around ours", by_exit_with_handlers_around_ours, CLOSED_IN_BETWEEN, 0, CODE},
    {"dlclose, then exit", by_exit_after_dlclose, CLOSED_IN_BETWEEN, 0, CODE},
    {"children that exit", by_exit_with_children_that_exit, CLOSED_IN_BETWEEN, 0, CODE},
    {"children that leave", by_exit_with_children_that_leave, CLOSED_IN_BETWEEN, 0, CODE},
    {"spawned children", by_exit_with_spawned_children, CLOSED_IN_BETWEEN, 0, CODE},
    {"a daemon", by_leaving_a_daemon_behind, CLOSED_IN_BETWEEN, 0, CODE},
    {"signals", signals_are_as_they_were, CLOSED_IN_BETWEEN, 0, CODE},
};

static size_t count_marks(const struct job *job, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < job->event_count; i++)
        count += job->events[i].kind == RKT_EVENT_RANGE &&
                 strcmp(job_name(job, job->events[i].name_id), name) == 0;
    return count;
}

static void check_marks(const struct job *job, enum ending ending, const char *what)
{
    uint64_t wrote = 0;
    uint64_t got = count_marks(job, "mark") + job->losses.ring_full[RKT_EVENT_RANGE];

    for (unsigned i = 0; i < THREADS; i++)
        wrote += account->marks[i];
    /* Each thread may have one under way. */
    if (got > wrote + THREADS || (ending == ALL_IS_THERE && got < wrote) || got < THREADS * ENOUGH)
        fail_msg("%s: %llu marks of %llu arrived", what, (unsigned long long)got,
                 (unsigned long long)wrote);
}

static void check(const struct job *job, size_t i)
{
    int status = job->wait_status;

    if ((WIFSIGNALED(status) ? WTERMSIG(status) : 0) != CASES[i].signal_number ||
        (WIFEXITED(status) ? WEXITSTATUS(status) : 0) != CASES[i].exit_code)
        fail_msg("%s: wait status %d\n%s", CASES[i].what, status, job->stderr_text);
    if (job->stderr_text[0] != '\0')
        fail_msg("%s: said %s", CASES[i].what, job->stderr_text);
    if (job->was_closed != (CASES[i].ending == CLOSED_IN_BETWEEN))
        fail_msg("%s: %s", CASES[i].what, job->was_closed ? "closed" : "not closed");
    check_marks(job, CASES[i].ending, CASES[i].what);
    if (count_marks(job, "of a child") + count_marks(job, "of a daemon") != 0)
        fail_msg("%s: a child wrote", CASES[i].what);
}

static void each_end_is_as_without_us(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct job job;

        print_message("%s\n", CASES[i].what);
        memset(account, 0, sizeof(*account));
        job_init(&job);
        job.config.ring_count = 16;
        job_run(&job, CASES[i].run);
        check(&job, i);
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_end_is_as_without_us)};

    account =
        mmap(NULL, sizeof(*account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return account == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
