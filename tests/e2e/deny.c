/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny - runs a command in which a system call fails with EPERM, as under a strict seccomp profile.
 *
 *   deny socket|memfd_create COMMAND [ARGS...]
 *
 * Exits with 77 where the kernel takes no filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call_number(const char *name)
{
    if (strcmp(name, "socket") == 0)
        return SYS_socket;
    return strcmp(name, "memfd_create") == 0 ? SYS_memfd_create : -1;
}

static int deny(unsigned number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv)
{
    long number = argc > 2 ? call_number(argv[1]) : -1;

    if (number < 0) {
        (void)fprintf(stderr, "deny: socket or memfd_create, and a command\n");
        return 99;
    }
    if (!deny((unsigned)number)) {
        (void)fprintf(stderr, "deny: the kernel takes no filter: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[2], argv + 2);
    (void)fprintf(stderr, "deny: cannot run %s: %s\n", argv[2], strerror(errno));
    return 99;
}
