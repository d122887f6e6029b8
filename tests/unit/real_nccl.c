/* SPDX-License-Identifier: Apache-2.0 */
#include "real_nccl.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOL(member, name)                       \
    {                                              \
        offsetof(struct real_nccl, member), (name) \
    }

static const struct {
    size_t at;
    const char *name;
} SYMBOLS[] = {
    SYMBOL(init, "_Z22ncclProfilerPluginInitP8ncclComm"),
    SYMBOL(finalize, "_Z26ncclProfilerPluginFinalizeP8ncclComm"),
    SYMBOL(start_group_api, "_Z30ncclProfilerStartGroupApiEventP8ncclInfob"),
    SYMBOL(stop_group_api, "_Z29ncclProfilerStopGroupApiEventv"),
    SYMBOL(group_state, "_Z36ncclProfilerRecordGroupApiEventState24ncclProfilerEventState_t"),
    SYMBOL(start_coll_api, "_Z29ncclProfilerStartCollApiEventP8ncclInfob"),
    SYMBOL(stop_coll_api, "_Z28ncclProfilerStopCollApiEventv"),
    SYMBOL(start_launch, "_Z34ncclProfilerStartKernelLaunchEventP14ncclKernelPlanP11CUstream_st"),
    SYMBOL(stop_launch, "_Z33ncclProfilerStopKernelLaunchEventP14ncclKernelPlan"),
    SYMBOL(start_group, "_Z27ncclProfilerStartGroupEventP14ncclKernelPlan"),
    SYMBOL(stop_group, "_Z26ncclProfilerStopGroupEventP14ncclKernelPlan"),
    SYMBOL(start_tasks, "_Z27ncclProfilerStartTaskEventsP14ncclKernelPlan"),
    SYMBOL(stop_tasks, "_Z26ncclProfilerStopTaskEventsP14ncclKernelPlan"),
    SYMBOL(start_channel, "_Z30ncclProfilerStartKernelChEventP13ncclProxyArgsim"),
    SYMBOL(stop_channel, "_Z29ncclProfilerStopKernelChEventP13ncclProxyArgsim"),
    SYMBOL(start_proxy_op, "_Z29ncclProfilerStartProxyOpEventiP13ncclProxyArgs"),
    SYMBOL(stop_proxy_op, "_Z28ncclProfilerStopProxyOpEventiP13ncclProxyArgs"),
    SYMBOL(start_send_step, "_Z35ncclProfilerStartSendProxyStepEventiP13ncclProxyArgsi"),
    SYMBOL(step_state, "_Z37ncclProfilerRecordProxyStepEventStateiP13ncclProxyArgsi"
                       "24ncclProfilerEventState_t"),
    SYMBOL(stop_step, "_Z30ncclProfilerStopProxyStepEventiP13ncclProxyArgsi"),
    SYMBOL(start_control, "_Z31ncclProfilerStartProxyCtrlEventPvPS_"),
    SYMBOL(control_state, "_Z37ncclProfilerRecordProxyCtrlEventStatePvi24ncclProfilerEventState_t"),
    SYMBOL(stop_control, "_Z30ncclProfilerStopProxyCtrlEventPv"),
    SYMBOL(net_callback, "_Z20ncclProfilerCallbackPPviS_lS_"),
};
#define SYMBOL_COUNT (sizeof(SYMBOLS) / sizeof(SYMBOLS[0]))

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

static size_t find_all(const unsigned char *file, const Elf64_Shdr *symtab, char *base,
                       struct real_nccl *nccl)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
    const char *names = (const char *)file + sections[symtab->sh_link].sh_offset;
    const Elf64_Sym *list = (const void *)(file + symtab->sh_offset);
    size_t found = 0;

    for (size_t i = 0; i < symtab->sh_size / sizeof(*list); i++) {
        for (size_t n = 0; n < SYMBOL_COUNT; n++) {
            void *address = base + list[i].st_value;

            if (strcmp(names + list[i].st_name, SYMBOLS[n].name) != 0)
                continue;
            memcpy((char *)nccl + SYMBOLS[n].at, &address, sizeof(address));
            found++;
        }
    }
    return found;
}

const char *real_nccl_find(struct real_nccl *nccl_out)
{
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int (*get_version)(int *) = NULL;
    const Elf64_Shdr *symtab;
    unsigned char *file;
    size_t found = 0;
    struct stat st;
    Dl_info where;
    int version = 0;
    int fd;

    if (!handle)
        return "no libnccl.so.2 that the loader finds";
    *(void **)&get_version = dlsym(handle, "ncclGetVersion");
    if (!get_version || get_version(&version) != 0 || version != REAL_NCCL_VERSION)
        return "libnccl.so.2 is not of the release whose inner calls are known, 2.28.9";
    if (dladdr(*(void **)&get_version, &where) == 0)
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
        found = find_all(file, symtab, where.dli_fbase, nccl_out);
    munmap(file, (size_t)st.st_size);
    return found == SYMBOL_COUNT ? NULL : "libnccl.so.2 is stripped, or the stand-in";
}
