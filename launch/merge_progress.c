/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/merge_progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"

#define INTERVAL_NS 200000000L
#define LINE_BYTES 80
static const char CLEAR_LINE[] = "\r\033[K";

struct rkt_merge_progress {
    struct rkt_import_progress *progress;
    uint64_t start_ns;
    pthread_t thread;
    pthread_mutex_t lock; /* of is_done */
    pthread_cond_t done;
    bool is_done;
};

void rkt_merge_progress_text(uint64_t done_bytes, uint64_t total_bytes, int64_t elapsed_ns,
                             char *buf, size_t buf_bytes)
{
    double seconds = (double)(elapsed_ns > 0 ? elapsed_ns : 1) / 1e9;
    double rate = (double)done_bytes / seconds;
    double percent = total_bytes > 0 ? 100.0 * (double)done_bytes / (double)total_bytes : 0;
    uint64_t left_bytes = total_bytes > done_bytes ? total_bytes - done_bytes : 0;
    char rate_text[32];
    char done_text[32];

    (void)rkt_format_bytes((uint64_t)rate, rate_text, sizeof(rate_text));
    (void)rkt_format_bytes(done_bytes, done_text, sizeof(done_text));
    if (total_bytes == 0) { /* all of them are pipes */
        (void)snprintf(buf, buf_bytes, "%s  %s/s", done_text, rate_text);
        return;
    }
    (void)snprintf(buf, buf_bytes, "%3.0f %%  %s/s  %.0f s left", percent < 100 ? percent : 100,
                   rate_text, rate > 0 ? (double)left_bytes / rate : 0);
}

static void print_line(const struct rkt_merge_progress *shown)
{
    char text[LINE_BYTES];

    rkt_merge_progress_text(
        atomic_load_explicit(&shown->progress->done_bytes, memory_order_relaxed),
        atomic_load_explicit(&shown->progress->total_bytes, memory_order_relaxed),
        (int64_t)(rkt_now_raw_ns() - shown->start_ns), text, sizeof(text));
    (void)fprintf(stderr, "%s%s", CLEAR_LINE, text);
}

/* True once stop was called. */
static bool wait_interval(struct rkt_merge_progress *shown)
{
    struct timespec until;
    bool is_done;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += INTERVAL_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&shown->lock);
    if (!shown->is_done)
        (void)pthread_cond_timedwait(&shown->done, &shown->lock, &until);
    is_done = shown->is_done;
    pthread_mutex_unlock(&shown->lock);
    return is_done;
}

static void *show(void *arg)
{
    struct rkt_merge_progress *shown = arg;

    while (!wait_interval(shown))
        print_line(shown);
    return NULL;
}

struct rkt_merge_progress *rkt_merge_progress_start(struct rkt_import_progress *progress)
{
    struct rkt_merge_progress *shown;

    if (!isatty(STDERR_FILENO))
        return NULL;
    shown = calloc(1, sizeof(*shown));
    if (!shown)
        return NULL;
    shown->progress = progress;
    shown->start_ns = rkt_now_raw_ns();
    pthread_mutex_init(&shown->lock, NULL);
    pthread_cond_init(&shown->done, NULL);
    if (pthread_create(&shown->thread, NULL, show, shown) != 0) {
        free(shown);
        return NULL;
    }
    return shown;
}

void rkt_merge_progress_stop(struct rkt_merge_progress *shown)
{
    if (!shown)
        return;
    pthread_mutex_lock(&shown->lock);
    shown->is_done = true;
    pthread_cond_signal(&shown->done);
    pthread_mutex_unlock(&shown->lock);
    pthread_join(shown->thread, NULL);
    (void)fprintf(stderr, "%s", CLEAR_LINE);
    pthread_cond_destroy(&shown->done);
    pthread_mutex_destroy(&shown->lock);
    free(shown);
}
