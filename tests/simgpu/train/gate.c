/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_PAUSE_NS 10000000

enum verdict {
    PASSES,
    WAITS,
    ENDS
};

static enum verdict look(const char *path, uint32_t step)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    char *behind;

    if (!file)
        return WAITS;
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    if (strtoul(text, &behind, 10) > step)
        return PASSES;
    return strncmp(behind, " end", 4) == 0 ? ENDS : WAITS;
}

bool train_gate_pass(const struct train_options *options, uint32_t step)
{
    const struct timespec pause = {.tv_nsec = LOOK_PAUSE_NS};
    enum verdict verdict = options->gate ? look(options->gate, step) : PASSES;

    if (verdict == WAITS)
        fprintf(stderr, "simgpu_train: rank %d waits before step %u\n", options->rank, step);
    while (verdict == WAITS) {
        nanosleep(&pause, NULL);
        verdict = look(options->gate, step);
    }
    return verdict == PASSES;
}
