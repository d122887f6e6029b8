/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/rival.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/thief/thief.h"

#define LIBRARY "libsimgpu-thief.so"

static struct {
    __typeof__(&simgpu_thief_start) start;
    __typeof__(&simgpu_thief_stop) stop;
    __typeof__(&simgpu_thief_record_count) record_count;
    bool is_running;
} rival;

static void find(void *library, const char *name, void *function)
{
    void *symbol = library ? dlsym(library, name) : NULL;

    if (!symbol) {
        fprintf(stderr, "simgpu_train: --thief: %s\n", dlerror());
        exit(1);
    }
    memcpy(function, &symbol, sizeof(symbol));
}

static void start(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);

    find(library, "simgpu_thief_start", &rival.start);
    find(library, "simgpu_thief_stop", &rival.stop);
    find(library, "simgpu_thief_record_count", &rival.record_count);
    rival.is_running = rival.start();
    if (!rival.is_running) {
        fprintf(stderr, "simgpu_train: --thief: CUPTI refuses\n");
        exit(1);
    }
}

static void stop(const struct train_options *options)
{
    rival.stop(options->thief_finalizes);
    rival.is_running = false;
}

void train_rival_step(const struct train_options *options, uint32_t step)
{
    if (!options->has_thief)
        return;
    if (step == options->thief_first)
        start();
    if (rival.is_running && step == options->thief_last + 1)
        stop(options);
}

uint64_t train_rival_end(const struct train_options *options)
{
    if (rival.is_running)
        stop(options);
    return rival.record_count ? rival.record_count() : 0;
}
