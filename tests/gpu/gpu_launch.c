/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_launch - what a launch costs the host: COUNT empty kernels, as fast as one thread can.
 *
 *   gpu_launch [COUNT] [NODES]     NODES above 0: as graphs of so many kernels each
 *
 * Prints one line: device, driver, kernels, nanoseconds per kernel for the host alone (until the
 * last launch returned) and until all had run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "tests/gpu/work.h"

static CUgraphExec make_graph(const struct gpu_work *work, uint64_t nodes)
{
    CUgraph graph;
    CUgraphExec exec;

    GPU_CHECK(cuStreamBeginCapture(work->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (uint64_t i = 0; i < nodes; i++)
        gpu_work_spin(work, 0);
    GPU_CHECK(cuStreamEndCapture(work->stream, &graph));
    GPU_CHECK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

int main(int argc, char **argv)
{
    uint64_t count = 100000, nodes = 0, start_ns, launched_ns, done_ns;
    struct gpu_work work;
    CUgraphExec exec = NULL;
    char name[256];
    int driver = 0;

    if ((argc > 1 && !rkt_parse_u64(argv[1], &count)) ||
        (argc > 2 && !rkt_parse_u64(argv[2], &nodes)) || count == 0)
        return 2;
    gpu_work_open(&work);
    GPU_CHECK(cuDeviceGetName(name, sizeof(name), work.device));
    GPU_CHECK(cuDriverGetVersion(&driver));
    if (nodes > 0)
        exec = make_graph(&work, nodes);
    for (int i = 0; i < 100; i++) /* what is slow for the first ones alone */
        gpu_work_spin(&work, 0);
    GPU_CHECK(cuStreamSynchronize(work.stream));
    start_ns = rkt_now_raw_ns();
    for (uint64_t i = 0; i<count; i += nodes> 0 ? nodes : 1) {
        if (exec)
            GPU_CHECK(cuGraphLaunch(exec, work.stream));
        else
            gpu_work_spin(&work, 0);
    }
    launched_ns = rkt_now_raw_ns();
    GPU_CHECK(cuStreamSynchronize(work.stream));
    done_ns = rkt_now_raw_ns();
    (void)printf("device=\"%s\" driver=%d kernels=%llu nodes=%llu host_ns=%.1f all_ns=%.1f\n", name,
                 driver, (unsigned long long)count, (unsigned long long)nodes,
                 (double)(launched_ns - start_ns) / (double)count,
                 (double)(done_ns - start_ns) / (double)count);
    return 0;
}
