/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TEST_CHILD_H
#define SIMGPU_TEST_CHILD_H

/*
 * child - a part of a test in a process of its own, as the stand-ins read the environment once. The
 * test itself must not have used them before. An assertion that fails in the child is told, and
 * ends it with another status than 0.
 */

/* Runs `body` with the variables of `environment`, "NAME=value NAME=value". Returns how the child
 * ended, as waitpid says it. */
int test_child(const char *environment, void (*body)(void));

#endif
