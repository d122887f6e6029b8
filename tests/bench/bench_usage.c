/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_usage - what a program used: bench_usage OUT_FILE PROGRAM [ARGUMENT...]
 *
 * Writes "CPU_US PEAK_KIB" and ends as the program did. A child's peak counts what its parent held
 * when it was started: of a program that Python starts that is mostly Python.
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    FILE *out;
    int status;
    pid_t pid;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: bench_usage OUT_FILE PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
        wait4(pid, &status, 0, &used) != pid) {
        (void)fprintf(stderr, "bench_usage: %s: cannot run it\n", argv[2]);
        return 1;
    }
    out = fopen(argv[1], "w");
    if (!out)
        return 1;
    (void)fprintf(out, "%lld %ld\n",
                  1000000LL * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      used.ru_utime.tv_usec + used.ru_stime.tv_usec,
                  used.ru_maxrss);
    if (fclose(out) != 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
