/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_PARTS_H
#define RKT_ANALYSIS_IMPORT_KINETO_PARTS_H

/*
 * kineto_parts - what the parts of the reader of Kineto traces call of each other; for kineto*.c
 * alone.
 */

#include "analysis/import/kineto_fields.h"
#include "analysis/import/kineto_state.h"

/* kineto.c */

/* The id of a string token's text; 0 for NULL or when memory is out. */
uint32_t rkt_kineto_intern(struct rkt_kineto *kineto, const struct rkt_json_field *field);
/* Its text, closed by a NUL and valid until the next call; "" for NULL. */
const char *rkt_kineto_text(struct rkt_kineto *kineto, const struct rkt_json_field *field);
/* Of the event's cat: each text that json_forms.h knows is looked at once. */
enum rkt_kineto_class rkt_kineto_class(struct rkt_kineto *kineto, const struct rkt_json_field *cat);
enum rkt_status rkt_kineto_add(struct rkt_kineto *kineto, const struct rkt_event *event,
                               struct rkt_error *err);

/* kineto_track.c: threads, processes, devices and their names */

/* Of the event's pid and tid, numbers or texts; dense from 1; 0 when memory is out. */
uint32_t rkt_kineto_thread(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields);
/* The same of its pid, cat and id. */
uint32_t rkt_kineto_async_track(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields);
/* An event of ph M. */
enum rkt_status rkt_kineto_metadata(struct rkt_kineto *kineto,
                                    const struct rkt_kineto_fields *fields, struct rkt_error *err);
/* The member deviceProperties. */
enum rkt_status rkt_kineto_devices(struct rkt_kineto *kineto, const struct rkt_json_field *member,
                                   struct rkt_error *err);
enum rkt_status rkt_kineto_end_tracks(struct rkt_kineto *kineto, struct rkt_error *err);
/* What the training process is called; "" unknown. */
const char *rkt_kineto_process_name(struct rkt_kineto *kineto, uint64_t pid, uint32_t *name_id_out);

/* kineto_slice.c: an event of ph X, and what its parts share with other slices */
enum rkt_status rkt_kineto_slice(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 struct rkt_error *err);
/* Are the args of a slice of this class and name looked at? */
bool rkt_kineto_slice_needs_args(enum rkt_kineto_class class, const struct rkt_json_field *name);
/* A time of the file, exact; false: none. */
bool rkt_kineto_time(struct rkt_kineto *kineto, const struct rkt_json_field *field,
                     int64_t *ns_out);
/* Its ts as a stamp of the source; false: none, or not above zero. */
bool rkt_kineto_start(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                      int64_t *start_ns_out);
/* Everything of a slice but its times. */
enum rkt_status rkt_kineto_fill(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                enum rkt_kineto_class class, struct rkt_event *event,
                                struct rkt_error *err);
/* Adds a whole slice, and what belongs to it. */
enum rkt_status rkt_kineto_store(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 enum rkt_kineto_class class, const struct rkt_event *event,
                                 struct rkt_error *err);
/* Counts it, and true, where slices of this class are not wanted. */
bool rkt_kineto_is_left_out(struct rkt_kineto *kineto, enum rkt_kineto_class class);
void rkt_kineto_reject(struct rkt_kineto *kineto, enum rkt_fate fate, enum rkt_event_kind kind);
/* First and last stamp. */
void rkt_kineto_note_event(struct rkt_kineto *kineto, const struct rkt_event *event);
bool rkt_kineto_times_are_unpadded(const struct rkt_kineto_times *times);

/* kineto_gpu.c: kernels, copies, synchronisations */
enum rkt_status rkt_kineto_fill_kernel(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_fields *fields,
                                       struct rkt_event *event, struct rkt_error *err);
void rkt_kineto_fill_memcpy(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                            struct rkt_event *event);
void rkt_kineto_fill_memset(const struct rkt_kineto_fields *fields, struct rkt_event *event);
void rkt_kineto_fill_sync(const struct rkt_kineto_fields *fields, struct rkt_event *event);
uint32_t rkt_kineto_correlation(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields);
uint32_t rkt_kineto_stream(const struct rkt_kineto_fields *fields, uint32_t fallback);

/* kineto_open.c: slices in two halves */
enum rkt_status rkt_kineto_begin(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 bool is_async, struct rkt_error *err);
enum rkt_status rkt_kineto_close(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 bool is_async, struct rkt_error *err);
void rkt_kineto_end_opens(struct rkt_kineto *kineto); /* what is open has no end */

/* kineto_sample.c: counters (ph C, or the args of a slice), instants */
enum rkt_status rkt_kineto_counter(struct rkt_kineto *kineto,
                                   const struct rkt_kineto_fields *fields, struct rkt_error *err);
enum rkt_status rkt_kineto_slice_counters(struct rkt_kineto *kineto,
                                          const struct rkt_kineto_fields *fields,
                                          const struct rkt_event *slice, struct rkt_error *err);
enum rkt_status rkt_kineto_instant(struct rkt_kineto *kineto,
                                   const struct rkt_kineto_fields *fields, bool is_async,
                                   struct rkt_error *err);

/* kineto_comm.c: collectives and communicators */

/* `event` is the kernel that was added; its fields may say what it carries out. */
enum rkt_status rkt_kineto_comm_kernel(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_fields *fields,
                                       const struct rkt_event *event, struct rkt_error *err);
/* A host operator with a collective in its args. */
enum rkt_status rkt_kineto_comm_operator(struct rkt_kineto *kineto,
                                         const struct rkt_kineto_fields *fields,
                                         struct rkt_error *err);
/* The member distributedInfo: rank, world size, groups. */
enum rkt_status rkt_kineto_distributed(struct rkt_kineto *kineto,
                                       const struct rkt_json_field *member, struct rkt_error *err);
/* The end of a file: joins what was left open; may find the rank. */
enum rkt_status rkt_kineto_end_file_comms(struct rkt_kineto *kineto, struct rkt_error *err);
/* Adds collectives and communicators. */
enum rkt_status rkt_kineto_end_comms(struct rkt_kineto *kineto, struct rkt_error *err);

#endif
