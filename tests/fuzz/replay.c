/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - runs a fuzz target without libFuzzer, over every file of a corpus folder: as it is,
 * cut short, and with single bytes changed. The same each time. Fails when there is no file.
 *
 *   replay CORPUS_FOLDER
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How many places of a file are cut at, and changed; spread over it where it is longer. */
#ifndef REPLAY_PLACES
#define REPLAY_PLACES 256u
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy that ends where its memory ends, so that a read past it is found. */
static void run_copy(const uint8_t *data, size_t size, size_t changed_at, uint8_t change)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    if (changed_at < size)
        copy[changed_at] ^= change;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_input(const uint8_t *data, size_t size)
{
    static const uint8_t CHANGES[] = {0x01, 0x80, 0xff};
    size_t step = size / REPLAY_PLACES + 1;

    run_copy(data, size, size, 0);
    for (size_t at = 0; at < size; at += step) {
        run_copy(data, at, at, 0);
        for (size_t c = 0; c < sizeof(CHANGES); c++)
            run_copy(data, size, at, CHANGES[c]);
    }
}

/* False when it is no regular file. */
static int run_file(const char *path)
{
    struct stat st;
    FILE *file;
    uint8_t *data;
    size_t size;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    file = fopen(path, "rbe");
    data = malloc((size_t)st.st_size + 1);
    if (!file || !data) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    size = fread(data, 1, (size_t)st.st_size, file);
    fclose(file);
    run_input(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    const struct dirent *item;
    int count = 0;

    if (!dir) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER (one that can be read)\n", argv[0]);
        return 2;
    }
    while ((item = readdir(dir))) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", argv[1], item->d_name);
        count += run_file(path);
    }
    closedir(dir);
    printf("%d inputs of %s\n", count, argv[1]);
    if (count == 0)
        fprintf(stderr, "%s holds no input: nothing was tested\n", argv[1]);
    return count ? 0 : 1;
}
