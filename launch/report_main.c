/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace report - reads a timeline and says how well the job scales, and what holds it up.
 *
 * Needs neither MPI nor CUDA. A timeline that was not closed is read as far as it goes. Built a
 * second time with MPI (RKT_REPORT_MPI): what a process of several that mpirun started becomes.
 *
 * Only rank 0 of those that make a report together, the lead, writes to anything.
 */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/narrow_reader.h"
#include "analysis/report/fail_if.h"
#include "analysis/report/report.h"
#include "common/options.h"
#include "launch/report_team.h"
#include "launch/result_file.h"

struct report_options {
    const char *format;
    const char *output;
    const char *tables;
    const char *sort;
    uint32_t top;
    struct rkt_option_list fail_if;
    struct rkt_analysis_options analysis;
    struct rkt_report_jobs jobs;
};

/* What write_report gets. */
struct report {
    const struct rkt_report_format *format;
    struct rkt_report_view view;
    struct rkt_condition conditions[RKT_OPTION_LIST_CAP];
    size_t condition_count;
    bool failed; /* a condition holds */
};

#define EXIT_LIMIT 3
#define FIELD(name) offsetof(struct report_options, name)

static const struct rkt_option OPTIONS[] = {
    {"format", 'f', NULL, RKT_OPTION_STRING, FIELD(format), "text|json", "text",
     "what to write: one page for a person, or everything for a program"},
    {"output", 'o', NULL, RKT_OPTION_STRING, FIELD(output), "FILE", NULL,
     "write to FILE, not to the terminal"},
    {"tables", 't', NULL, RKT_OPTION_STRING, FIELD(tables), "LIST", NULL,
     "under the page: kernels, operators, copies, calls, streams, idle, buckets, or all"},
    {"sort", 0, NULL, RKT_OPTION_STRING, FIELD(sort), "COLUMN", NULL,
     "order tables by one of their numbers, largest first; its name is that of the JSON report"},
    {"top", 0, NULL, RKT_OPTION_U32, FIELD(top), "N", NULL, "rows of each table (default: 10)"},
    {"fail-if", 0, NULL, RKT_OPTION_LIST, FIELD(fail_if), "CONDITION", NULL,
     "end with code 3 where it holds of a number of the JSON report, such as "
     "'straggler.loss_share > 0.05'; may be given several times"},
    RKT_ANALYSIS_OPTION_ROWS(struct report_options),
    RKT_FLOPS_OPTION_ROWS(struct report_options),
    {"jobs", 'j', "RANKTRACE_JOBS", RKT_OPTION_U32, FIELD(jobs.asked), "N", NULL,
     "processes that share the work (default: those of mpirun, else one per core, as far as it "
     "pays off)"},
    {"memory", 0, "RANKTRACE_MEMORY", RKT_OPTION_BYTES, FIELD(jobs.memory_bytes), "SIZE", "4GiB",
     "for the records that they work on; fewer start where that is not enough"},
};

static const struct rkt_command COMMAND = {
    .name = "report",
    .usage = "[mpirun ...] ranktrace report [options] TIMELINE",
    .summary = "Say how well a job scales, and what holds it up.",
    .details = "TIMELINE is a file that 'run' or 'merge' wrote, or the output folder of a run.\n"
               "Large ones on many cores or nodes:  mpirun -np 64 ranktrace report RUN\n"
               "The report is the same, whatever the number of processes.\n"
               "\n"
               "Exit codes: 0 done; 1 failed; 2 wrong use; 3 done, and a --fail-if holds.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

/* The format of this name; NULL and the reason in *err. */
static const struct rkt_report_format *find_format(const char *name, struct rkt_error *err)
{
    for (size_t i = 0; i < RKT_REPORT_FORMAT_COUNT; i++) {
        if (strcmp(RKT_REPORT_FORMATS[i].name, name) == 0)
            return &RKT_REPORT_FORMATS[i];
    }
    rkt_fail(err, RKT_ERR_INVALID, "unknown format '%s': text or json", name);
    return NULL;
}

static enum rkt_status write_report(const struct rkt_result *result, void *ctx, FILE *out,
                                    struct rkt_error *err)
{
    struct report *report = ctx;
    enum rkt_status status = report->format->write(result, &report->view, out, err);

    if (status != RKT_OK || report->condition_count == 0)
        return status;
    return rkt_check_conditions(result, report->conditions, report->condition_count, stderr,
                                &report->failed, err);
}

static enum rkt_status parse_conditions(const struct rkt_option_list *texts, struct report *report,
                                        struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < texts->count && status == RKT_OK; i++)
        status = rkt_condition_parse(texts->items[i], &report->conditions[i], err);
    report->condition_count = texts->count;
    return status;
}

/* What is asked for; `path` and the report's parts are set by check. */
struct request {
    struct report_options options;
    const char *path;
    struct report report;
    struct rkt_narrowing narrowing; /* of children, who share what was read before */
};

static enum rkt_status check(struct request *request, int path_count, char **paths,
                             struct rkt_error *err)
{
    const struct report_options *options = &request->options;
    struct report *report = &request->report;
    enum rkt_status status;

    report->format = find_format(options->format, err);
    if (!report->format)
        return RKT_ERR_INVALID;
    if (path_count != 1)
        return rkt_fail_usage(&COMMAND, "one timeline", err);
    request->path = paths[0];
    status =
        rkt_report_view_parse(options->tables, options->sort, options->top, &report->view, err);
    return status == RKT_OK ? parse_conditions(&options->fail_if, report, err) : status;
}

/* RKT_END: this is a member of the team, and it is done. */
static enum rkt_status analyse(struct rkt_store_reader *reader, struct request *request,
                               struct rkt_team *team, struct rkt_error *err)
{
    struct rkt_analysis_options options = request->options.analysis;
    struct rkt_analysis *analysis = NULL;
    enum rkt_status status;

    options.team = team;
    status = rkt_analysis_create(reader, &options, &analysis, err);
    if (status == RKT_OK)
        status = rkt_result_file_write(rkt_analysis_result(analysis), write_report,
                                       &request->report, request->options.output, err);
    rkt_analysis_destroy(analysis);
    return status;
}

/* Says why, where it failed. */
static int end(const struct request *request, enum rkt_status status, const struct rkt_error *err)
{
    if (status == RKT_OK && request->report.failed)
        return EXIT_LIMIT;
    return rkt_command_exit(&COMMAND, status, err);
}

/* Ends as the lead says, which knows of every failure. */
static int leave_as_member(struct rkt_team *team, enum rkt_status status,
                           const struct rkt_error *failure)
{
    (void)rkt_team_give_end(team, status < RKT_OK ? failure : NULL, NULL);
    return rkt_team_wait_for_end(team, RKT_EXIT_FAILED);
}

/* What those of a team do; the reader may be missing where its opening has failed. */
static int work_in_team(struct rkt_transport *transport, struct rkt_store_reader *reader,
                        struct request *request, enum rkt_status status, struct rkt_error *err)
{
    struct rkt_team *team = NULL;
    int exit_code = RKT_EXIT_FAILED;

    if (rkt_team_create(transport, &team, err) != RKT_OK)
        return rkt_command_exit(&COMMAND, err->status, err); /* the launcher ends the others */
    if (status == RKT_OK)
        status = analyse(reader, request, team, err);
    if (rkt_team_place(team) > 0) {
        exit_code = leave_as_member(team, status, err);
    } else {
        exit_code = end(request, status, err);
        rkt_team_dismiss(team, exit_code);
    }
    rkt_team_destroy(team);
    return exit_code;
}

#ifdef RKT_REPORT_MPI

static int report(struct request *request, const struct rkt_report_place *place)
{
    struct rkt_transport *transport = NULL;
    struct rkt_store_reader *reader = NULL;
    struct rkt_error err = {0};
    enum rkt_status status = rkt_transport_mpi_create(&transport, &err);
    int exit_code;

    if (status != RKT_OK)
        return rkt_command_exit(&COMMAND, status, &err);
    if (rkt_transport_size(transport) == place->size) {
        status = rkt_store_reader_open(request->path, &reader, &err);
        exit_code = work_in_team(transport, reader, request, status, &err);
    } else { /* each finds itself alone: one of them says so */
        status = rkt_fail(&err, RKT_ERR_MPI,
                          "%s started %d processes, and MPI knows of %d: it is another MPI than "
                          "this build's",
                          place->launcher, place->size, rkt_transport_size(transport));
        exit_code = place->rank == 0 ? rkt_command_exit(&COMMAND, status, &err) : RKT_EXIT_DONE;
    }
    rkt_store_reader_close(reader);
    rkt_transport_destroy(transport, true);
    return exit_code;
}

#else

static int report_with_children(struct rkt_store_reader *reader, struct request *request, int size,
                                struct rkt_error *err)
{
    struct rkt_analysis_options *options = &request->options.analysis;
    struct rkt_transport *transport;
    enum rkt_status status =
        rkt_narrow_reader(reader, options->comm_kernel, &request->narrowing, err);
    bool is_child;
    int exit_code;

    if (status != RKT_OK)
        return end(request, status, err);
    options->narrowing = &request->narrowing;
    status = rkt_transport_fork_create(size, &transport, err);
    if (status != RKT_OK)
        return end(request, analyse(reader, request, NULL, err), err);
    is_child = rkt_transport_rank(transport) > 0;
    exit_code = work_in_team(transport, reader, request, RKT_OK, err);
    rkt_transport_destroy(transport, exit_code == RKT_EXIT_DONE || exit_code == EXIT_LIMIT);
    if (is_child)
        _exit(exit_code); /* what the parent has open is not for a child to close */
    return exit_code;
}

static int report_alone(struct request *request)
{
    struct rkt_store_reader *reader = NULL;
    struct rkt_error err = {0};
    enum rkt_status status = rkt_store_reader_open(request->path, &reader, &err);
    int exit_code;
    int size;

    if (status != RKT_OK)
        return rkt_command_exit(&COMMAND, status, &err);
    size = rkt_report_choose_jobs(reader, &request->options.jobs);
    if (size > 1)
        exit_code = report_with_children(reader, request, size, &err);
    else
        exit_code = end(request, analyse(reader, request, NULL, &err), &err);
    rkt_store_reader_close(reader);
    return exit_code;
}

static int report(struct request *request, const struct rkt_report_place *place)
{
    return place->rank == 0 ? report_alone(request) : RKT_EXIT_DONE;
}

#endif

/* The arrays of one rank are freed, and the next rank's are as large: the memory stays here in
 * between. Else the kernel cleared each page again (1,024 ranks: 400,000 faults, not 60,000). */
static void keep_freed_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);  // NOLINT(concurrency-mt-unsafe): one thread yet
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20); // NOLINT(concurrency-mt-unsafe)
}

int main(int argc, char **argv)
{
    struct rkt_report_place place;
    struct request request = {0};
    struct rkt_error err = {0};
    enum rkt_status status;
    int next = 0;

    keep_freed_memory();
    rkt_report_place_find(environ, &place);
    if (place.rank > 0 && !freopen("/dev/null", "w", stdout)) /* --help is said once */
        return RKT_EXIT_FAILED;
    status = rkt_options_parse(&COMMAND, argc, argv, &request.options, &next, &err);
    if (status == RKT_OK)
        status = check(&request, argc - next, argv + next, &err);
    /* The first says it, and fails. Whoever fails before it makes the launcher end it. */
    if (status != RKT_OK && place.rank > 0)
        return RKT_EXIT_DONE;
    if (status != RKT_OK)
        return rkt_command_exit(&COMMAND, status, &err);
#ifndef RKT_REPORT_MPI
    if (place.size > 1 && request.options.jobs.asked == 0)
        rkt_report_become_mpi(&place, argv);
#endif
    return report(&request, &place);
}
