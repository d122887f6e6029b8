/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/marks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* All set or all NULL; written before the first other thread. */
static struct {
    void (*step)(uint64_t step);
    void (*step_end)(void);
    void (*phase_begin)(enum ranktrace_phase phase);
    void (*phase_end)(enum ranktrace_phase phase);
    uint64_t (*bucket_begin)(uint32_t index, uint64_t bytes, uint32_t param_count);
    void (*bucket_end)(uint64_t handle);
} marks;

static void *find_library(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;

    return library ? library : dlopen("libranktrace.so", RTLD_NOW | RTLD_NOLOAD);
}

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

bool train_marks_init(void)
{
    void *library = find_library();

    if (library && find(library, "ranktrace_step", &marks.step) &&
        find(library, "ranktrace_step_end", &marks.step_end) &&
        find(library, "ranktrace_phase_begin", &marks.phase_begin) &&
        find(library, "ranktrace_phase_end", &marks.phase_end) &&
        find(library, "ranktrace_bucket_begin", &marks.bucket_begin) &&
        find(library, "ranktrace_bucket_end", &marks.bucket_end))
        return true;
    memset(&marks, 0, sizeof(marks));
    return false;
}

void train_mark_step(uint64_t step)
{
    if (marks.step)
        marks.step(step);
}

void train_mark_step_end(void)
{
    if (marks.step_end)
        marks.step_end();
}

void train_mark_phase_begin(enum ranktrace_phase phase)
{
    if (marks.phase_begin)
        marks.phase_begin(phase);
}

void train_mark_phase_end(enum ranktrace_phase phase)
{
    if (marks.phase_end)
        marks.phase_end(phase);
}

uint64_t train_mark_bucket_begin(uint32_t index, uint64_t bytes)
{
    return marks.bucket_begin ? marks.bucket_begin(index, bytes, 1) : 0;
}

void train_mark_bucket_end(uint64_t handle)
{
    if (marks.bucket_end)
        marks.bucket_end(handle);
}
