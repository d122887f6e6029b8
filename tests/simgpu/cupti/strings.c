/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/strings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cupti/settings.h"

struct string {
    struct string *next;
    char text[];
};

static struct {
    pthread_mutex_t lock; /* guards the list; a leaf */
    struct string *strings;
} interned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct string *find_locked(const char *text)
{
    struct string *string = interned.strings;

    while (string && strcmp(string->text, text) != 0)
        string = string->next;
    return string;
}

static struct string *add_locked(const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct string *string = malloc(sizeof(*string) + bytes);

    if (!string)
        return NULL;
    memcpy(string->text, text, bytes);
    string->next = interned.strings;
    interned.strings = string;
    return string;
}

const char *sim_string_intern(const char *text)
{
    struct string *string;

    pthread_mutex_lock(&interned.lock);
    string = find_locked(text);
    if (!string)
        string = add_locked(text);
    pthread_mutex_unlock(&interned.lock);
    return string ? string->text : NULL;
}

void sim_string_spoil(const char *text)
{
    struct string *string;

    if (!sim_settings_has(SIM_MODE_STALE_NAMES))
        return;
    pthread_mutex_lock(&interned.lock);
    string = find_locked(text);
    if (string)
        memset(string->text, '?', strlen(string->text));
    pthread_mutex_unlock(&interned.lock);
}
