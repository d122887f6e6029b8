/* SPDX-License-Identifier: Apache-2.0 */
/* What a callback of NCCL costs the job: start and stop through the tables of libranktrace.so. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/capture/nccl_api/profiler.h"
#include "tests/bench/bench_job.h"

static const struct rkt_nccl_profiler_v5 *v5;
static void *comm;
static struct rkt_nccl_descr descr;
static uint64_t device_ns = 1700000000000000000u;

static void one_event(void)
{
    void *handle;

    (void)v5->start(comm, &handle, &descr);
    (void)v5->stop(handle);
}

/* Three callbacks, as NCCL makes them for each channel. */
static void one_channel(void)
{
    union rkt_nccl_state_args args;
    void *handle;

    descr.kernel_ch.timer_ns = device_ns;
    device_ns += 320;
    args.timer_ns = device_ns;
    (void)v5->start(comm, &handle, &descr);
    (void)v5->record(handle, RKT_NCCL_STATE_KERNEL_CH_STOP, &args);
    (void)v5->stop(handle);
}

static void say(const char *what, int callbacks, void (*call)(void))
{
    struct bench_pair pair = bench_median(call);
    double callback_ns = pair.call_ns / callbacks;

    (void)printf("bench=capture_nccl event=%s ns_per_callback=%.1f clock_gettime_ns=%.1f "
                 "ratio=%.2f\n",
                 what, callback_ns, pair.clock_ns, callback_ns / pair.clock_ns);
    (void)fflush(stdout);
}

static void job(void)
{
    void *handle = dlopen(RKT_BENCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int mask = 0;
    void *coll;

    v5 = handle ? dlsym(handle, "ncclProfiler_v5") : NULL;
    if (!v5 || v5->init(&comm, 1, &mask, NULL, 1, 8, 0, NULL) != 0 || mask == 0)
        exit(1);
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_COLL};
    descr.coll.func = "AllReduce";
    descr.coll.datatype = "ncclBfloat16";
    descr.coll.algo = "NVLS_TREE";
    descr.coll.proto = "LL128";
    say("coll", 2, one_event);
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_KERNEL_LAUNCH};
    say("kernel_launch", 2, one_event);
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_COLL};
    (void)v5->start(comm, &coll, &descr);
    (void)v5->stop(coll);
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_KERNEL_CH, .parent = coll};
    say("kernel_ch", 3, one_channel);
    descr = (struct rkt_nccl_descr){.type = RKT_NCCL_EVENT_KERNEL_PHASE};
    say("not_asked_for", 2, one_event);
}

int main(void)
{
    return bench_run_job(
        &(struct rkt_capture_config){.mask = RKT_CAPTURE_ALL, .nccl_level = RKT_NCCL_LEVEL_KERNEL},
        job);
}
