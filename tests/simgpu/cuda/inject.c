/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/inject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_PATH "CUDA_INJECTION64_PATH"
#define ENTRY "InitializeInjection"

typedef int (*entry_fn)(void);

void sim_inject(void)
{
    const char *path = getenv(ENV_PATH); /* NOLINT(concurrency-mt-unsafe): as the driver does */
    entry_fn entry;
    void *symbol;
    void *library;

    if (!path || !*path)
        return;
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "simgpu: %s: %s\n", ENV_PATH, dlerror());
        return;
    }
    symbol = dlsym(library, ENTRY);
    if (!symbol) {
        fprintf(stderr, "simgpu: %s: %s exports no " ENTRY "\n", ENV_PATH, path);
        return;
    }
    memcpy(&entry, &symbol, sizeof(entry));
    entry();
}
