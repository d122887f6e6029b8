/* SPDX-License-Identifier: Apache-2.0 */
#include "common/node_id.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_boot_id(char *boot_id, size_t cap)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got;

    boot_id[0] = '\0';
    if (fd < 0)
        return;
    got = read(fd, boot_id, cap - 1);
    close(fd);
    boot_id[got > 0 ? got : 0] = '\0';
    boot_id[strcspn(boot_id, "\n")] = '\0';
}

void rkt_node_id_read(struct rkt_node_id *id_out)
{
    struct stat ns;

    memset(id_out, 0, sizeof(*id_out));
    (void)gethostname(id_out->host, sizeof(id_out->host) - 1);
    read_boot_id(id_out->boot_id, sizeof(id_out->boot_id));
    if (stat("/proc/self/ns/time", &ns) == 0)
        id_out->time_namespace = (uint64_t)ns.st_ino;
}

/* FNV-1a, the text's end too */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++);
    return hash;
}

uint64_t rkt_node_id_number(const struct rkt_node_id *id)
{
    return hash_text(hash_text(0xcbf29ce484222325u, id->host), id->boot_id);
}

bool rkt_node_id_shares_clock(const struct rkt_node_id *a, const struct rkt_node_id *b)
{
    return a->boot_id[0] != '\0' && strcmp(a->boot_id, b->boot_id) == 0 &&
           a->time_namespace == b->time_namespace;
}
