/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real libnccl.so.2 as the host of our plugin, on a machine without a GPU. Its public
 * calls need a device before they reach the plugin; its inner ones do not, and release builds
 * keep their names in .symtab. So the test calls those, with a communicator of zeros. It is
 * bound to the one release whose calls it knows, and skipped for any other.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_job.h"
#include "common/clock.h"
#include "rkt_test.h"

#define EXIT_SKIPPED 77
#define KNOWN_VERSION 22809
#define COMM_BYTES ((size_t)64 << 20) /* more than a communicator of that release */
#define ALL_REDUCE 4
#define BFLOAT16 9

/* The head of ncclInfo in that release: what was asked of NCCL. */
struct call_info {
    int func;
    const char *name;
    const void *send;
    void *recv;
    size_t count;
    int datatype;
    int op;
    int root;
    void *comm;
    void *stream;
    char rest[1024];
};

struct symbol {
    const char *name;
    void *address;
};

enum {
    INIT,
    FINALIZE,
    START_GROUP,
    STOP_GROUP,
    GROUP_STATE,
    START_COLL,
    STOP_COLL,
    SYMBOL_COUNT
};

static struct symbol symbols[SYMBOL_COUNT] = {
    {"_Z22ncclProfilerPluginInitP8ncclComm", NULL},
    {"_Z26ncclProfilerPluginFinalizeP8ncclComm", NULL},
    {"_Z30ncclProfilerStartGroupApiEventP8ncclInfob", NULL},
    {"_Z29ncclProfilerStopGroupApiEventv", NULL},
    {"_Z36ncclProfilerRecordGroupApiEventState24ncclProfilerEventState_t", NULL},
    {"_Z29ncclProfilerStartCollApiEventP8ncclInfob", NULL},
    {"_Z28ncclProfilerStopCollApiEventv", NULL},
};

/* ---- finding what .symtab names ---- */

static const Elf64_Shdr *find_symtab(const unsigned char *file)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);

    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB)
            return &sections[i];
    }
    return NULL;
}

static void find_in_symtab(const unsigned char *file, const Elf64_Shdr *symtab, char *base)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
    const char *names = (const char *)file + sections[symtab->sh_link].sh_offset;
    const Elf64_Sym *list = (const void *)(file + symtab->sh_offset);

    for (size_t i = 0; i < symtab->sh_size / sizeof(*list); i++) {
        for (size_t n = 0; n < SYMBOL_COUNT; n++) {
            if (strcmp(names + list[i].st_name, symbols[n].name) == 0)
                symbols[n].address = base + list[i].st_value;
        }
    }
}

/* NULL, or why the inner calls of this library cannot be made. */
static const char *find_symbols(void *handle)
{
    int (*get_version)(int *) = NULL;
    Dl_info where;
    const Elf64_Shdr *symtab;
    unsigned char *file;
    struct stat st;
    int version = 0;
    int fd;

    *(void **)&get_version = dlsym(handle, "ncclGetVersion");
    if (!get_version || get_version(&version) != 0 || version != KNOWN_VERSION)
        return "libnccl.so.2 is not of the release whose inner calls are known, 2.28.9";
    if (dladdr(dlsym(handle, "ncclGetVersion"), &where) == 0)
        return "the loader does not tell where libnccl.so.2 is";
    fd = open(where.dli_fname, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return "libnccl.so.2 cannot be read";
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return "libnccl.so.2 cannot be read";
    symtab = find_symtab(file);
    if (symtab)
        find_in_symtab(file, symtab, where.dli_fbase);
    munmap(file, (size_t)st.st_size);
    for (size_t n = 0; n < SYMBOL_COUNT; n++) {
        if (!symbols[n].address)
            return "libnccl.so.2 is stripped";
    }
    return NULL;
}

/* ---- calling them ---- */

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void call_with_comm(int which, void *comm)
{
    int (*function)(void *);

    *(void **)&function = symbols[which].address;
    must(function(comm) == 0);
}

static void call_with_info(int which, struct call_info *info)
{
    int (*function)(struct call_info *, bool);

    *(void **)&function = symbols[which].address;
    must(function(info, false) == 0);
}

static void call_plain(int which)
{
    int (*function)(void);

    *(void **)&function = symbols[which].address;
    must(function() == 0);
}

static void record_group_state(int state)
{
    int (*function)(int);

    *(void **)&function = symbols[GROUP_STATE].address;
    must(function(state) == 0);
}

static void one_collective(void *comm)
{
    struct call_info info = {
        .func = ALL_REDUCE, .name = "AllReduce", .count = 1000, .datatype = BFLOAT16};

    info.comm = comm;
    call_with_info(START_GROUP, &info);
    record_group_state(23);
    call_with_info(START_COLL, &info);
    call_plain(STOP_COLL);
    record_group_state(24);
    call_plain(STOP_GROUP);
}

static void two_lives_of_the_plugin(void)
{
    void *comm = calloc(1, COMM_BYTES);

    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    must(comm != NULL);
    for (int i = 0; i < 2; i++) {
        call_with_comm(INIT, comm);
        one_collective(comm);
        call_with_comm(FINALIZE, comm); /* the last communicator: NCCL unloads the plugin */
    }
    free(comm);
}

static void real_nccl_loads_uses_and_unloads_the_plugin(void **state)
{
    const struct rkt_event *event;
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, two_lives_of_the_plugin);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_true(job.was_closed);
    assert_int_equal(job_count(&job, RKT_EVENT_COMM, -1, NULL), 2);
    assert_int_equal(job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, &event), 2);
    assert_true(event->start_ns <= event->end_ns);
    assert_int_equal(event->thread_id, job.hello.pid);
    assert_int_equal(job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &event), 2);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(event->nccl.datatype, BFLOAT16);
    assert_int_equal(event->nccl.count, 1000);
    assert_int_equal(event->flags, 0);
    assert_int_equal(event->clock_id, RKT_CLOCK_MONOTONIC_RAW);
    job_free(&job);
}

static void one_life_of_the_plugin(void)
{
    void *comm = calloc(1, COMM_BYTES);

    setenv("NCCL_PROFILER_PLUGIN", RKT_TEST_LIBRARY, 1);
    must(comm != NULL);
    call_with_comm(INIT, comm);
    one_collective(comm);
    call_with_comm(FINALIZE, comm);
    free(comm);
}

static void real_nccl_goes_on_when_capture_is_off(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    job.has_no_variable = true;
    job_run(&job, one_life_of_the_plugin);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_nccl_loads_uses_and_unloads_the_plugin),
        cmocka_unit_test(real_nccl_goes_on_when_capture_is_off),
    };
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? find_symbols(handle) : "no libnccl.so.2 that the loader finds";

    if (why) {
        printf("skipped: %s\n", why);
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
