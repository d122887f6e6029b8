/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_EXCHANGE_H
#define SIMGPU_TRAIN_EXCHANGE_H

/* exchange - brings NCCL's unique id from rank 0 to the others, over TCP to MASTER_ADDR. */

#include <nccl.h>
#include <stdbool.h>

#include "tests/simgpu/train/options.h"

/* Rank 0 makes the id and serves it to all others; they try for a minute. False: why is on
 * stderr. */
bool train_exchange_id(const struct train_options *options, ncclUniqueId *id_out);

#endif
