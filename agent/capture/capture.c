/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/capture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture/cupti_source.h"
#include "agent/capture/marks.h"
#include "agent/capture/nccl_source.h"
#include "agent/capture/nvtx_source.h"
#include "agent/capture/steps.h"
#include "agent/capture/visit.h"
#include "agent/capture/window.h"
#include "common/log.h"

#define START_WAIT_MS 40000 /* longer than a start takes whose sidecar does not answer */

enum capture_state {
    STATE_NEW,
    STATE_ACTIVE,
    STATE_CLOSING, /* sources stop; what they still hold goes out */
    STATE_OFF,
};

/*
 * What the process has of us: plugin callbacks come without a pointer of ours, so it is
 * here. The one mutable global of the library.
 */
static struct {
    _Atomic(struct rkt_capture *) capture; /* set before ACTIVE, then never changed */
    _Atomic enum capture_state state;
    _Atomic bool has_spoken;
    pthread_mutex_t start_lock; /* guards the way from NEW to ACTIVE or OFF */
} process = {.start_lock = PTHREAD_MUTEX_INITIALIZER};

static enum capture_state state_now(void)
{
    /* acquire: who sees ACTIVE sees the capture */
    return atomic_load_explicit(&process.state, memory_order_acquire);
}

static void set_state(enum capture_state state)
{
    atomic_store_explicit(&process.state, state, memory_order_release);
}

/* A log line whose write cannot kill the job: its stderr may be a pipe that nobody reads. */
static void log_without_signal(const char *what, const char *detail)
{
    struct timespec no_wait = {0};
    sigset_t sigpipe;
    sigset_t pending;
    sigset_t before;

    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
    rkt_log(RKT_LOG_WARN, "capture", what, "detail=\"%s\"", detail);
    if (!sigismember(&pending, SIGPIPE)) { /* take back what we caused */
        while (sigtimedwait(&sigpipe, NULL, &no_wait) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void rkt_capture_say(const char *what, const char *detail)
{
    struct rkt_visit visit = rkt_visit_begin();

    if (!atomic_exchange_explicit(&process.has_spoken, true, memory_order_relaxed))
        log_without_signal(what, detail);
    rkt_visit_end(visit);
}

void rkt_capture_turn_off(const char *why)
{
    struct rkt_capture *capture = rkt_capture_started();

    if (capture && state_now() == STATE_ACTIVE)
        rkt_nccl_source_set_open(capture->nccl, false); /* or NCCL would go on calling */
    set_state(STATE_OFF);
    rkt_capture_say("this process is no longer traced", why);
}

/* ---- fork and exit ---- */

/* A job may have closed all descriptors, and have one of its own under our number by now. */
static bool is_socket_ours(const struct rkt_capture *capture)
{
    struct stat now;

    return fstat(capture->socket_fd, &now) == 0 && S_ISSOCK(now.st_mode) &&
           now.st_ino == capture->socket_inode;
}

/* The region stays mapped, but is the parent's; so is the connection. */
static void off_in_child(void)
{
    struct rkt_capture *capture = atomic_load_explicit(&process.capture, memory_order_relaxed);

    if (!capture)
        return;
    set_state(STATE_OFF);
    rkt_threads_disown(capture->threads);
    if (is_socket_ours(capture))
        close(capture->socket_fd);
}

static void close_at_exit(void)
{
    enum capture_state active = STATE_ACTIVE;
    struct rkt_capture *capture = atomic_load_explicit(&process.capture, memory_order_acquire);
    struct rkt_visit visit;

    if (!atomic_compare_exchange_strong_explicit(&process.state, &active, STATE_CLOSING,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    visit = rkt_visit_begin();
    rkt_steps_close(capture);
    rkt_marks_close(capture->marks, capture->threads);
    rkt_nvtx_source_close(capture);
    if (rkt_cupti_source_stop(capture->cupti))
        rkt_region_set_closed(capture->region);
    set_state(STATE_OFF);
    rkt_visit_end(visit);
}

/* ---- start ---- */

static void destroy_parts(struct rkt_capture *capture)
{
    rkt_nvtx_source_destroy(capture->nvtx);
    rkt_nccl_source_destroy(capture->nccl);
    rkt_cupti_source_destroy(capture->cupti);
    rkt_marks_destroy(capture->marks);
    rkt_steps_destroy(capture->steps);
    rkt_window_destroy(capture->window);
    rkt_threads_destroy(capture->threads);
    rkt_intern_destroy(capture->intern);
    rkt_region_destroy(capture->region);
    close(capture->socket_fd);
    free(capture);
}

/* Everything that the callbacks will need. Takes the region and the descriptor over. */
static struct rkt_capture *create_parts(struct rkt_region *region, int socket_fd,
                                        const struct rkt_capture_config *config)
{
    struct rkt_capture *capture = calloc(1, sizeof(*capture));
    struct stat socket;

    if (!capture) {
        rkt_region_destroy(region);
        close(socket_fd);
        return NULL;
    }
    capture->region = region;
    capture->socket_fd = socket_fd;
    capture->socket_inode = fstat(socket_fd, &socket) == 0 ? socket.st_ino : 0;
    capture->config = *config;
    capture->intern = rkt_intern_create(region);
    if (capture->intern)
        capture->threads = rkt_threads_create(region, capture->intern);
    capture->steps = rkt_steps_create();
    capture->window = rkt_window_create(config);
    capture->marks = rkt_marks_create();
    capture->cupti = rkt_cupti_source_create();
    capture->nccl = rkt_nccl_source_create(config);
    capture->nvtx = rkt_nvtx_source_create();
    if (!capture->threads || !capture->steps || !capture->window || !capture->marks ||
        !capture->cupti || !capture->nccl || !capture->nvtx) {
        destroy_parts(capture);
        return NULL;
    }
    return capture;
}

void rkt_capture_close_before_others(void)
{
    (void)atexit(close_at_exit);
}

static bool watch_process(void)
{
    return pthread_atfork(NULL, NULL, off_in_child) == 0 && atexit(close_at_exit) == 0;
}

/* Under the lock. */
static enum capture_state start(void)
{
    const char *path = secure_getenv(RKT_ENV_SOCKET);
    struct rkt_hello hello;
    struct rkt_welcome welcome;
    struct rkt_error err = {0};
    struct rkt_region *region;
    struct rkt_capture *capture;
    int socket_fd;

    if (!path || !*path)
        return STATE_OFF; /* not watched: the usual case of a linked program, no doubt */
    rkt_hello_fill(&hello);
    rkt_log_init(hello.rank);
    if (rkt_hello_connect(path, &hello, &welcome, &region, &socket_fd, &err) != RKT_OK) {
        rkt_capture_say("this process is not traced", err.text);
        return STATE_OFF;
    }
    capture = create_parts(region, socket_fd, &welcome.config);
    if (!capture || !watch_process()) {
        if (capture)
            destroy_parts(capture);
        rkt_capture_say("this process is not traced", "no memory");
        return STATE_OFF;
    }
    atomic_store_explicit(&process.capture, capture, memory_order_release);
    return STATE_ACTIVE;
}

static void start_and_publish(void)
{
    set_state(start());
    if (state_now() == STATE_ACTIVE) /* before the source that asked for it starts */
        rkt_window_start(rkt_capture_started());
}

/* Who comes second does not wait, and is off until the first one is through. */
static void start_once(void)
{
    struct rkt_visit visit = rkt_visit_begin();

    if (pthread_mutex_trylock(&process.start_lock) == 0) {
        if (state_now() == STATE_NEW)
            start_and_publish();
        pthread_mutex_unlock(&process.start_lock);
    }
    rkt_visit_end(visit);
}

/* With an end, as after a fork the lock may be one that nobody gives back. */
static void start_or_wait(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rkt_visit visit = rkt_visit_begin();

    start_once();
    for (int i = 0; i < START_WAIT_MS && state_now() == STATE_NEW; i++) {
        (void)nanosleep(&pause, NULL);
        start_once();
    }
    rkt_visit_end(visit);
}

struct rkt_capture *rkt_capture_get(enum rkt_capture_bit source)
{
    struct rkt_capture *capture;

    if (state_now() == STATE_NEW)
        start_once();
    if (state_now() != STATE_ACTIVE)
        return NULL;
    capture = atomic_load_explicit(&process.capture, memory_order_relaxed);
    return capture->config.mask & source ? capture : NULL;
}

bool rkt_capture_is_starting(void)
{
    return state_now() == STATE_NEW;
}

struct rkt_capture *rkt_capture_wait(enum rkt_capture_bit source)
{
    if (state_now() == STATE_NEW)
        start_or_wait();
    return rkt_capture_get(source);
}

struct rkt_capture *rkt_capture_started(void)
{
    return atomic_load_explicit(&process.capture, memory_order_acquire);
}

bool rkt_capture_is_on(void)
{
    enum capture_state state = state_now();

    return state == STATE_ACTIVE || state == STATE_CLOSING;
}
