/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function that libranktrace.so gives out leaves errno alone: a job may look at it long after
 * the call that set it, with a call of ours in between. capture_exports.sh asks that each is named
 * here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/capture/nccl_api/profiler.h"
#include "agent/include/ranktrace.h"
#include "capture_job.h"
#include "nvtx_host.h"
#include "rkt_test.h"

#define SET 4242 /* no errno that any call would set */

static void must_keep(const char *what)
{
    if (errno == SET)
        return;
    (void)fprintf(stderr, "%s changed errno to %d\n", what, errno);
    abort();
}

#define KEEPS(call)       \
    do {                  \
        errno = SET;      \
        (void)(call);     \
        must_keep(#call); \
    } while (0)

#define KEEPS_VOID(call)  \
    do {                  \
        errno = SET;      \
        (call);           \
        must_keep(#call); \
    } while (0)

static void *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    if (!symbol) {
        (void)fprintf(stderr, "%s is not there\n", name);
        abort();
    }
    return symbol;
}

static void use_injections(void)
{
    int (*cuda)(void);
    void *symbol = find("InitializeInjection");

    memcpy(&cuda, &symbol, sizeof(symbol));
    KEEPS(cuda());
    KEEPS(cuda());
}

static void use_marks(void)
{
    uint64_t bucket;

    KEEPS(ranktrace_is_active());
    KEEPS_VOID(ranktrace_step(1));
    KEEPS_VOID(ranktrace_phase_begin(RANKTRACE_FORWARD));
    KEEPS_VOID(ranktrace_range_push("a range"));
    KEEPS_VOID(ranktrace_mark("a mark"));
    KEEPS_VOID(ranktrace_range_pop());
    KEEPS_VOID(ranktrace_range_pop()); /* one too many */
    KEEPS_VOID(ranktrace_phase_end(RANKTRACE_FORWARD));
    KEEPS(bucket = ranktrace_bucket_begin(0, 100, 2));
    KEEPS_VOID(ranktrace_bucket_end(bucket));
    KEEPS_VOID(ranktrace_bucket_end(bucket)); /* again */
    KEEPS_VOID(ranktrace_step(2));
    KEEPS_VOID(ranktrace_step_end());
    KEEPS_VOID(ranktrace_mark(NULL));
    KEEPS_VOID(ranktrace_sync_call(0, "Tensor.item", "train.py:1"));
}

static void use_nvtx_domain(struct nvtx_host *host, const void *domain,
                            const struct rkt_nvtx_attributes *attributes)
{
    uint64_t range;

    KEEPS(host->domain_push(domain, attributes));
    KEEPS(host->domain_pop(domain));
    KEEPS(range = host->domain_start(domain, attributes));
    KEEPS_VOID(host->domain_end(domain, range));
    KEEPS_VOID(host->domain_mark(domain, attributes));
    KEEPS_VOID(host->domain_name_category_w(domain, 2, L"a category"));
}

/* What NVTX is given by InitializeInjectionNvtx2 and InitializeInjectionNvtxExtension. */
static void use_nvtx(void)
{
    static struct nvtx_host host;
    struct rkt_nvtx_attributes attributes = nvtx_ascii("a range");
    const void *domain, *string;
    uint64_t range;
    int is_wanted;

    KEEPS(is_wanted = nvtx_host_load(&host));
    if (!is_wanted)
        return; /* NVTX then calls none of them */
    KEEPS(nvtx_host_load_payload(&host));
    KEEPS(domain = host.domain_create_a("a domain"));
    KEEPS(string = host.register_string_a(domain, "a string"));
    attributes = string ? nvtx_registered(string) : attributes;
    use_nvtx_domain(&host, domain, &attributes);
    KEEPS_VOID(host.mark_ex(&attributes));
    KEEPS_VOID(host.mark_a("a mark"));
    KEEPS_VOID(host.mark_w(L"a mark"));
    KEEPS(host.push_ex(&attributes));
    KEEPS(host.push_w(L"a range"));
    KEEPS(host.pop());
    KEEPS(host.pop());
    KEEPS(host.pop()); /* one too many */
    KEEPS(range = host.start_a("a range"));
    KEEPS_VOID(host.end(range));
    KEEPS_VOID(host.end(range)); /* again */
    KEEPS_VOID(host.name_category_a(1, "a category"));
    KEEPS_VOID(host.name_thread_a(1, "a thread"));
}

/* All kinds of events of a table, whether it asked for them or not. */
#define USE_EVENTS(table, descr_type)                                            \
    do {                                                                         \
        for (unsigned bit = 0; bit < 18; bit++) {                                \
            descr_type descr = {0};                                              \
            void *handle = NULL;                                                 \
            memcpy(&descr, &(uint64_t){(uint64_t)1 << bit}, sizeof(descr.type)); \
            KEEPS((table)->start(context, &handle, &descr));                     \
            KEEPS((table)->record(handle, (int)bit, NULL));                      \
            KEEPS((table)->stop(handle));                                        \
            KEEPS((table)->stop(handle));                                        \
        }                                                                        \
        KEEPS((table)->stop(NULL));                                              \
        KEEPS((table)->finalize(context));                                       \
    } while (0)

static void use_old_tables(void)
{
    struct rkt_nccl_profiler_v3 *v3 = find("ncclProfiler_v3");
    struct rkt_nccl_profiler_v4 *v4 = find("ncclProfiler_v4");
    void *context = NULL;
    int mask = 0;

    KEEPS(v3->init(&context, &mask));
    USE_EVENTS(v3, struct rkt_nccl_descr_v3);
    KEEPS(v4->init(&context, &mask, NULL, 7, 1, 2, 0, NULL));
    USE_EVENTS(v4, struct rkt_nccl_descr);
}

static void use_table(const char *name)
{
    struct rkt_nccl_profiler_v5 *v5 = find(name);
    void *context = NULL;
    int mask = 0;

    KEEPS(v5->init(&context, 8, &mask, NULL, 1, 2, 0, NULL));
    USE_EVENTS(v5, struct rkt_nccl_descr);
}

static void use_plugin(void)
{
    use_old_tables();
    use_table("ncclProfiler_v5");
    use_table("ncclProfiler_v6");
    use_table("ncclProfiler_v7");
}

static void use_all(void)
{
    use_injections();
    use_marks();
    use_plugin();
    use_nvtx();
}

static void use_all_marks_first(void)
{
    use_marks();
    use_nvtx();
    use_plugin();
    use_injections();
    use_marks();
}

static void errno_is_kept(void **state)
{
    static const struct {
        const char *what;
        void (*use)(void);
        bool has_no_variable, has_no_sidecar, does_hang_up;
    } cases[] = {
        {"traced", use_all, false, false, false},
        {"traced, marks first", use_all_marks_first, false, false, false},
        {"not watched", use_all, true, false, false},
        {"the sidecar cannot be reached", use_all, false, true, false},
        {"the sidecar leaves", use_all, false, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job;

        job_init(&job);
        job.has_no_variable = cases[i].has_no_variable;
        job.has_no_sidecar = cases[i].has_no_sidecar;
        job.does_hang_up = cases[i].does_hang_up;
        job_run(&job, cases[i].use);
        if (job.wait_status != 0)
            fail_msg("%s: %s", cases[i].what, job.stderr_text);
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errno_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
