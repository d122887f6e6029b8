/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/units.h"

/* As execvp has it without PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"

#define TIMELINE "timeline"
#define EARLIER_MAX 1000

static const char *const RANK_STARTERS[] = {"torchrun", "accelerate"};
static const char *const RANK_STARTER_MODULES[] = {"torch.distributed.run",
                                                   "torch.distributed.launch"};

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum rkt_status check_path(const char *path, struct rkt_error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return rkt_fail_errno(err, RKT_ERR_INVALID,
                              "command '%s' cannot be run (is it there, and executable?)", path);
    if (!S_ISREG(st.st_mode))
        return rkt_fail(err, RKT_ERR_INVALID, "command '%s' is not a file", path);
    if (access(path, X_OK) < 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "command '%s' is not executable: chmod +x it, or name its interpreter",
                        path);
    return RKT_OK;
}

enum rkt_status rkt_check_command(const char *name, const char *path, struct rkt_error *err)
{
    char full[PATH_MAX];

    if (strchr(name, '/'))
        return check_path(name, err);
    for (path = path ? path : DEFAULT_PATH; *name && path; path = strchr(path, ':')) {
        size_t dir_len;

        path += *path == ':';
        dir_len = strcspn(path, ":");
        /* An empty part is the current folder. */
        (void)snprintf(full, sizeof(full), "%.*s%s%s", (int)dir_len, path, dir_len ? "/" : "",
                       name);
        if (is_file(full) && access(full, X_OK) == 0)
            return RKT_OK;
    }
    if (is_file(name))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "command '%s' was not found in PATH: is './%s' or 'python %s' meant?", name,
                        name, name);
    return rkt_fail(err, RKT_ERR_INVALID, "command '%s' was not found in PATH", name);
}

static enum rkt_status make_dirs(const char *dir, struct rkt_error *err)
{
    char path[PATH_MAX];
    size_t len = strlen(dir);

    if (len == 0 || len >= sizeof(path))
        return rkt_fail(err, RKT_ERR_INVALID, "the output folder's name has %zu bytes", len);
    memcpy(path, dir, len + 1);
    for (char *at = path + 1;; at++) {
        char end = *at;

        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return rkt_fail_errno(
                err, RKT_ERR_IO,
                "cannot make the output folder '%s' (choose another with --output)", path);
        *at = end;
        if (end == '\0')
            return RKT_OK;
    }
}

enum rkt_status rkt_check_output(const char *dir, struct rkt_error *err)
{
    char probe[PATH_MAX];
    enum rkt_status status = make_dirs(dir, err);
    int len, fd;

    if (status != RKT_OK)
        return status;
    len = snprintf(probe, sizeof(probe), "%s/.ranktrace-probe-%ld", dir, (long)getpid());
    if (len < 0 || (size_t)len >= sizeof(probe))
        return rkt_fail(err, RKT_ERR_INVALID, "the output folder's name is too long");
    fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot write in the output folder '%s'", dir);
    (void)close(fd);
    (void)unlink(probe);
    return RKT_OK;
}

/* The writer of a timeline holds a lock on it. */
static bool is_being_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_locked;

    if (fd < 0)
        return false;
    is_locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return is_locked;
}

enum rkt_status rkt_set_earlier_aside(const char *dir, char moved_to[PATH_MAX],
                                      struct rkt_error *err)
{
    char path[PATH_MAX];

    *moved_to = '\0';
    if (snprintf(path, sizeof(path), "%s/" TIMELINE ".rkt", dir) >= (int)sizeof(path))
        return rkt_fail(err, RKT_ERR_INVALID, "the output folder's name is too long");
    if (access(path, F_OK) < 0)
        return RKT_OK;
    if (is_being_written(path))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "another run is writing '%s': give another output folder", path);
    for (int i = 1; i < EARLIER_MAX; i++) {
        if (snprintf(moved_to, PATH_MAX, "%s/" TIMELINE ".%d.rkt", dir, i) >= PATH_MAX)
            break;
        if (access(moved_to, F_OK) == 0)
            continue;
        if (rename(path, moved_to) == 0)
            return RKT_OK;
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot rename '%s', which an earlier run wrote",
                              path);
    }
    return rkt_fail(err, RKT_ERR_IO,
                    "'%s' and %d more of earlier runs exist: remove some, or give another output",
                    path, EARLIER_MAX - 1);
}

/* Without a launcher this is the only process that ranktrace knows of. */
static enum rkt_status check_alone(char *const *env, struct rkt_error *err)
{
    const char *size_text = rkt_env_get(env, "WORLD_SIZE");
    uint64_t world_size;

    if (!size_text || !rkt_parse_u64(size_text, &world_size) || world_size <= 1)
        return RKT_OK;
    if (rkt_env_get(env, "TORCHELASTIC_RUN_ID"))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "torchrun started this process as one of %s: put ranktrace outside, "
                        "'ranktrace run -- torchrun ...'",
                        size_text);
    return rkt_fail(err, RKT_ERR_INVALID,
                    "WORLD_SIZE is %s, but no mpirun or srun started this process, so its sidecar "
                    "cannot find the others: start 'ranktrace run' by mpirun, or unset WORLD_SIZE",
                    size_text);
}

enum rkt_status rkt_check_launch(char *const *env, const struct rkt_rank_env *ranks,
                                 bool *needs_mpi_out, struct rkt_error *err)
{
    bool is_many = ranks->rank_count > 1 || (ranks->launcher && ranks->rank_count < 0);

    if (!ranks->launcher) {
        enum rkt_status status = check_alone(env, err);

        if (status != RKT_OK)
            return status;
    }
    if (is_many && !ranks->has_pmi)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%s started %d tasks without a way for MPI to join them: use "
                        "'srun --mpi=pmix' (or pmi2)",
                        ranks->launcher, ranks->rank_count);
    *needs_mpi_out = is_many;
    return RKT_OK;
}

static bool is_one_of(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return false;
}

static bool is_rank_starter(const char *word)
{
    const char *slash = strrchr(word, '/');

    return is_one_of(slash ? slash + 1 : word, RANK_STARTERS,
                     sizeof(RANK_STARTERS) / sizeof(RANK_STARTERS[0]));
}

bool rkt_command_starts_ranks(char *const *command)
{
    const char *slash = strrchr(command[0], '/');

    if (is_rank_starter(command[0]))
        return true;
    if (strncmp(slash ? slash + 1 : command[0], "python", strlen("python")) != 0)
        return false;
    for (char *const *word = command + 1; *word; word++) {
        if (strcmp(*word, "-m") == 0)
            return word[1] &&
                   is_one_of(word[1], RANK_STARTER_MODULES,
                             sizeof(RANK_STARTER_MODULES) / sizeof(RANK_STARTER_MODULES[0]));
        if (**word != '-')
            return is_rank_starter(*word);
        if ((strcmp(*word, "-W") == 0 || strcmp(*word, "-X") == 0) && word[1])
            word++; /* its value is no script */
    }
    return false;
}
