/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_AUTOGRAD_H
#define SIMGPU_TRAIN_AUTOGRAD_H

/*
 * autograd - the thread on which the backward pass runs, as in PyTorch: one per device, named
 * pt_autograd_0, fed by the main thread, which waits for it. It ends with the process, as there.
 */

struct train_autograd;

/* `backward(arg)` is what the thread does each time. NULL: no thread. */
struct train_autograd *train_autograd_create(void (*setup)(void *arg), void (*backward)(void *arg),
                                             void *arg);
void train_autograd_run(struct train_autograd *autograd);

#endif
