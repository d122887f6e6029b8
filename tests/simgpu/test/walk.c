/* SPDX-License-Identifier: Apache-2.0 */

/*
 * walk - lets a CUPTI library walk activity buffers that another process has filled:
 *
 *     walk LIBRARY FILE
 *
 * FILE holds one buffer. Prints the kind and offset of each record, then "end" and the last result.
 * Linked with no stand-in, so that the library under test finds nothing but itself.
 */

#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_MAX (1u << 20)

typedef CUptiResult (*next_record_fn)(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record);

static next_record_fn find_walker(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "cuptiActivityGetNextRecord") : NULL;
    next_record_fn next_record = NULL;

    if (symbol)
        memcpy(&next_record, &symbol, sizeof(symbol));
    else
        fprintf(stderr, "walk: %s\n", dlerror());
    return next_record;
}

int main(int argc, char **argv)
{
    next_record_fn next_record = argc == 3 ? find_walker(argv[1]) : NULL;
    FILE *file = argc == 3 ? fopen(argv[2], "re") : NULL;
    uint8_t *buffer = aligned_alloc(8, BUFFER_MAX);
    CUpti_Activity *record = NULL;
    CUptiResult result;
    size_t valid_bytes;

    if (!next_record || !file || !buffer)
        return 1;
    valid_bytes = fread(buffer, 1, BUFFER_MAX, file);
    fclose(file);
    while ((result = next_record(buffer, valid_bytes, &record)) == CUPTI_SUCCESS)
        printf("%d %zu\n", (int)record->kind, (size_t)((uint8_t *)record - buffer));
    printf("end %d\n", (int)result);
    free(buffer);
    return 0;
}
