/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_DESCRIPTOR_H
#define RKT_COMMON_DESCRIPTOR_H

/*
 * descriptor - what a store says about the run, about each source, and about its end.
 *
 * Payloads of RUN, SOURCE, END, ALIGN and SHARD frames: msgpack maps with small integer keys
 * (common/doc/wire-format.md). Absent keys decode to zero or ""; numbers of an enum that
 * this version does not know decode to its unknown value (a role: RKT_ROLE_HELPER).
 *
 * Threads: any; no state. Memory: texts of a decoded struct are inside it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"

/* Stored in files: never renumber. */
enum rkt_producer {
    RKT_PRODUCER_UNKNOWN = 0,
    RKT_PRODUCER_CAPTURE = 1, /* ranktrace run or collect */
    RKT_PRODUCER_KINETO = 2,  /* a PyTorch trace */
};

enum rkt_source_role {
    RKT_ROLE_RANK = 0,    /* the main process of a rank */
    RKT_ROLE_HELPER = 1,  /* another process with the same RANK: outside every sum */
    RKT_ROLE_SIDECAR = 2, /* clock records of a node, losses of transport */
};

struct rkt_run_info {
    uint8_t producer;        /* enum rkt_producer */
    uint8_t reference_clock; /* enum rkt_clock_id of job time */
    uint32_t rank_count;     /* expected; 0 unknown */
    uint64_t start_realtime_ns;
    char version[32];  /* of the ranktrace that wrote it */
    char command[512]; /* the job's, cut where longer; without the environment */
    char host[128];    /* of rank 0 */
    uint64_t run_id;   /* random, one for all files of a run; 0 unknown */
    bool is_part;      /* this file is one that a SHARD frame of another names */
};

struct rkt_source_info {
    uint32_t source; /* number in the frame heads; unique in a store, few holes */
    uint8_t producer;
    uint8_t role;
    uint8_t gpu_clock; /* enum rkt_clock_id of its GPU records */
    bool rank_known;
    uint32_t rank; /* RANK: global */
    uint32_t local_rank;
    uint32_t world_size; /* 0 unknown */
    uint32_t node;       /* index of the node (sidecar); its clock records are its own */
    uint32_t restart_count;
    uint64_t pid;
    uint64_t start_raw_ns; /* of the process, MONOTONIC_RAW; 0 unknown */
    int64_t base_ns;       /* imported: baseTimeNanoseconds; in the alignment, not in stamps */
    char host[128];
    char boot_id[40];
    char file[256];    /* imported: the file's name without folders */
    char program[128]; /* what the process runs; also an imported trace's producer version */
    /* of a sidecar: what its node's clocks are */
    uint64_t time_namespace; /* as node_id.h */
    char clocksource[32];    /* the kernel's: "tsc" */
    uint32_t tsc_flags;      /* enum rkt_tsc_flag */
};

/* Stored in files: never renumber. */
enum rkt_tsc_flag {
    RKT_TSC_CONSTANT = 1, /* constant_tsc */
    RKT_TSC_NONSTOP = 2,  /* nonstop_tsc */
};

enum rkt_end_reason {
    RKT_END_UNKNOWN = 0,
    RKT_END_EXITED = 1,
    RKT_END_SIGNALED = 2,
    RKT_END_LOST = 3, /* its sidecar went silent: said by rank 0 */
};

struct rkt_end_info {
    uint8_t reason;
    bool cut_short;        /* the process did not close capture: its last events may be missing */
    int32_t exit_code;     /* when exited */
    int32_t signal_number; /* when signaled */
    uint64_t event_count;  /* encoded */
    uint64_t dropped_count;
    uint64_t sent_bytes;
};

/*
 * One piece of an alignment: the offset (reference minus local) of a node's
 * MONOTONIC_RAW at a local time, with the bound on both sides.
 */
struct rkt_align_knot {
    uint64_t local_ns;
    int64_t offset_ns;
    int64_t bound_ns;  /* guaranteed: the truth lies within offset ± bound */
    int64_t likely_ns; /* likewise where no way is much slower than the way back */
};

/* Stored in files: never renumber. */
enum rkt_align_state {
    RKT_ALIGN_UNALIGNED = 0,
    RKT_ALIGN_REFERENCE = 1,   /* bound 0; until version 1.2 also the same host */
    RKT_ALIGN_MEASURED = 2,    /* by exchanges */
    RKT_ALIGN_WALL_CLOCK = 3,  /* imported: as the file's stamps claim, no bound known */
    RKT_ALIGN_SAME_HOST = 4,   /* the reference's kernel clock, read on its host: bound 0 */
    RKT_ALIGN_COLLECTIVES = 5, /* by what collectives allow */
    RKT_ALIGN_STATE_COUNT
};

#define RKT_ALIGN_HOPS_MAX 4u

struct rkt_align_info {
    uint32_t source;
    uint8_t state; /* enum rkt_align_state */
    uint8_t hop_count;
    uint32_t
        hops[RKT_ALIGN_HOPS_MAX]; /* sources whose clocks lead to the reference, which is last */
    const struct rkt_align_knot *knots; /* by local_ns; linear in between */
    size_t knot_count;
    /*
     * Outside the knots: the rates, and how fast the bounds grow. 0: not said (before version 1.3)
     */
    int32_t first_rate_ppb;
    int32_t last_rate_ppb;
    uint32_t growth_ppb;
    /* how it was made (clock_curve.h) */
    uint32_t flags; /* enum rkt_clock_flag */
    uint32_t rho_ppb;
    uint32_t kappa_permille;
    uint32_t noise_ppt; /* of the rate, per square root of a second */
};

#define RKT_SHARD_FILE_BYTES 256u

/* A further store of the run, beside the one that says so. */
struct rkt_shard_info {
    char file[RKT_SHARD_FILE_BYTES]; /* its name in the same folder */
    char host[128];                  /* that writes it */
    uint32_t rank;                   /* of the sidecar that writes it */
};

/* "timeline-ID-RANK.rkt", ID in 16 hex digits: unique, so that files of several runs may lie in one
 * folder. */
void rkt_shard_file_name(uint64_t run_id, uint32_t rank, char name_out[RKT_SHARD_FILE_BYTES]);

/* Whether it can only be a file of the folder itself: no '/' in it, and neither "." nor "..". */
bool rkt_shard_file_is_plain(const char *name);

enum rkt_status rkt_run_info_encode(const struct rkt_run_info *info, uint8_t *buf, size_t buf_bytes,
                                    size_t *len_out, struct rkt_error *err);
enum rkt_status rkt_run_info_decode(const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_run_info *info_out, struct rkt_error *err);
enum rkt_status rkt_source_info_encode(const struct rkt_source_info *info, uint8_t *buf,
                                       size_t buf_bytes, size_t *len_out, struct rkt_error *err);
enum rkt_status rkt_source_info_decode(const uint8_t *raw, size_t raw_bytes,
                                       struct rkt_source_info *info_out, struct rkt_error *err);
enum rkt_status rkt_end_info_encode(const struct rkt_end_info *info, uint8_t *buf, size_t buf_bytes,
                                    size_t *len_out, struct rkt_error *err);
enum rkt_status rkt_end_info_decode(const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_end_info *info_out, struct rkt_error *err);
enum rkt_status rkt_align_info_encode(const struct rkt_align_info *info, uint8_t *buf,
                                      size_t buf_bytes, size_t *len_out, struct rkt_error *err);
/* Encode refuses a name that is not plain (RKT_ERR_INVALID); decode does not. */
enum rkt_status rkt_shard_info_encode(const struct rkt_shard_info *info, uint8_t *buf,
                                      size_t buf_bytes, size_t *len_out, struct rkt_error *err);
enum rkt_status rkt_shard_info_decode(const uint8_t *raw, size_t raw_bytes,
                                      struct rkt_shard_info *info_out, struct rkt_error *err);
/* The knots are the arena's, in order of local_ns. */
enum rkt_status rkt_align_info_decode(const uint8_t *raw, size_t raw_bytes, struct rkt_arena *arena,
                                      struct rkt_align_info *info_out, struct rkt_error *err);

/* One or two words; "unknown" for a number that is none. */
const char *rkt_producer_name(enum rkt_producer producer);
const char *rkt_source_role_name(enum rkt_source_role role);
const char *rkt_end_reason_name(enum rkt_end_reason reason);
const char *rkt_align_state_name(enum rkt_align_state state); /* "measured" */

#define RKT_ALIGN_KNOTS_MAX (1u << 20)

/* Room that always holds an encoded ALIGN of so many knots (RKT_ALIGN_KNOTS_MAX at most). */
static inline size_t rkt_align_bytes_max(size_t knot_count)
{
    return 40 * knot_count + 256;
}

/* Room that always holds an encoded RUN, SOURCE, END or SHARD. */
#define RKT_DESCRIPTOR_BYTES_MAX 2048u

#endif
