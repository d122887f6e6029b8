/* SPDX-License-Identifier: Apache-2.0 */
/* What metrics are called, and which way is better. */
#include "analysis/compare_run.h"

static const struct {
    const char *name;
    const char *title;
    bool is_time;
    int direction;
} METRICS[RKT_METRIC_COUNT] = {
    [RKT_METRIC_STEP] = {"step_ns", "step time", true, 1},
    [RKT_METRIC_COMPUTE] = {"compute_ns", "computing", true, 0},
    [RKT_METRIC_COMM_WAIT] = {"comm_wait_ns", "exposed comm, wait", true, 1},
    [RKT_METRIC_COMM_TRANSFER] = {"comm_transfer_ns", "exposed comm, transfer", true, 1},
    [RKT_METRIC_COMM_UNSPLIT] = {"comm_unsplit_ns", "exposed comm, unsplit", true, 1},
    [RKT_METRIC_COPY] = {"copy_ns", "exposed copies", true, 1},
    [RKT_METRIC_IDLE] = {"idle_ns", "idle", true, 1},
    [RKT_METRIC_IDLE_SYNC] = {"idle_sync_ns", "  sync", true, 1},
    [RKT_METRIC_IDLE_ALLOC] = {"idle_alloc_ns", "  alloc", true, 1},
    [RKT_METRIC_IDLE_INPUT] = {"idle_input_ns", "  input", true, 1},
    [RKT_METRIC_IDLE_HOST] = {"idle_host_ns", "  host", true, 1},
    [RKT_METRIC_IDLE_LAUNCH] = {"idle_launch_ns", "  launch", true, 1},
    [RKT_METRIC_IDLE_DEPENDENCY] = {"idle_dependency_ns", "  dependency", true, 1},
    [RKT_METRIC_IDLE_DEVICE] = {"idle_device_ns", "  device", true, 1},
    [RKT_METRIC_IDLE_UNKNOWN] = {"idle_unknown_ns", "  unknown", true, 1},
    [RKT_METRIC_COMM_SHARE] = {"comm_share", "communication share", false, 1},
    [RKT_METRIC_EXPOSED_SHARE] = {"exposed_share", "exposed share", false, 1},
    [RKT_METRIC_OVERLAP] = {"overlap", "overlap", false, -1},
    [RKT_METRIC_BACKWARD_OVERLAP] = {"backward_overlap", "overlap with backward", false, -1},
    [RKT_METRIC_STRAGGLER] = {"straggler_loss", "largest gain of a rank", false, 1},
    [RKT_METRIC_PARALLEL] = {"parallel", "parallel efficiency", false, -1},
    [RKT_METRIC_BALANCE] = {"balance", "load balance", false, -1},
    [RKT_METRIC_COMM_EFFICIENCY] = {"comm_efficiency", "communication eff.", false, -1},
};

const char *rkt_metric_name(enum rkt_metric metric)
{
    return METRICS[metric].name;
}

const char *rkt_metric_title(enum rkt_metric metric)
{
    return METRICS[metric].title;
}

bool rkt_metric_is_time(enum rkt_metric metric)
{
    return METRICS[metric].is_time;
}

int rkt_metric_direction(enum rkt_metric metric)
{
    return METRICS[metric].direction;
}
