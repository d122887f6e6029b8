/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/autograd.h"

#include <pthread.h>
#include <stdlib.h>

struct train_autograd {
    /* set in create, then read only */
    void (*setup)(void *arg);
    void (*backward)(void *arg);
    void *arg;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t has_changed;
    enum {
        IDLE,
        WANTED,
        STOPPING
    } state;
};

static void *autograd_main(void *arg)
{
    struct train_autograd *autograd = arg;

    autograd->setup(autograd->arg);
    pthread_mutex_lock(&autograd->lock);
    for (;;) {
        while (autograd->state == IDLE)
            pthread_cond_wait(&autograd->has_changed, &autograd->lock);
        pthread_mutex_unlock(&autograd->lock);
        autograd->backward(autograd->arg);
        pthread_mutex_lock(&autograd->lock);
        autograd->state = IDLE;
        pthread_cond_broadcast(&autograd->has_changed);
    }
    return NULL;
}

struct train_autograd *train_autograd_create(void (*setup)(void *arg), void (*backward)(void *arg),
                                             void *arg)
{
    struct train_autograd *autograd = calloc(1, sizeof(*autograd));
    pthread_t thread;

    if (!autograd)
        return NULL;
    autograd->setup = setup;
    autograd->backward = backward;
    autograd->arg = arg;
    pthread_mutex_init(&autograd->lock, NULL);
    pthread_cond_init(&autograd->has_changed, NULL);
    if (pthread_create(&thread, NULL, autograd_main, autograd) != 0) {
        free(autograd);
        return NULL;
    }
    pthread_setname_np(thread, "pt_autograd_0");
    pthread_detach(thread);
    return autograd;
}

void train_autograd_run(struct train_autograd *autograd)
{
    pthread_mutex_lock(&autograd->lock);
    autograd->state = WANTED;
    pthread_cond_broadcast(&autograd->has_changed);
    while (autograd->state != IDLE)
        pthread_cond_wait(&autograd->has_changed, &autograd->lock);
    pthread_mutex_unlock(&autograd->lock);
}
