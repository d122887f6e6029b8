/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/ptx.h"

#include <string.h>

#define SPACE " \t\r\n"
#define NAME_END SPACE "(){};,"

bool sim_ptx_is_text(const char *image)
{
    static const char KEY[] = ".version";
    const char *text = image + strspn(image, SPACE);

    while (strncmp(text, "//", 2) == 0) {
        text += strcspn(text, "\n");
        text += strspn(text, SPACE);
    }
    return strncmp(text, KEY, sizeof(KEY) - 1) == 0;
}

static bool first_parameter_is_u64(const char *after_name)
{
    const char *text = after_name + strspn(after_name, SPACE);

    if (*text != '(')
        return false;
    text++;
    text += strspn(text, SPACE);
    if (strncmp(text, ".param", 6) != 0)
        return false;
    text += 6;
    text += strspn(text, SPACE);
    return strncmp(text, ".u64", 4) == 0;
}

bool sim_ptx_next(const char **cursor, struct sim_ptx_entry *entry_out)
{
    static const char KEY[] = ".entry";
    const char *found = strstr(*cursor, KEY);
    const char *name;

    if (!found)
        return false;
    name = found + sizeof(KEY) - 1;
    name += strspn(name, SPACE);
    entry_out->name = name;
    entry_out->name_len = strcspn(name, NAME_END);
    entry_out->has_duration = first_parameter_is_u64(name + entry_out->name_len);
    *cursor = name + entry_out->name_len;
    return true;
}
