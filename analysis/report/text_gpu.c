/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"

#define ROWS_MAX 8
#define SHARE 10000.0 /* counters of a share are in 0.01 % */
/* Busy says much more than is used when so far above it. */
#define FAR_ABOVE 0.2

static const struct rkt_gpu_use *main_gpu(const struct rkt_rank_result *rank)
{
    return rank->gpu_count > 0 ? &rank->gpus[0] : NULL;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Lower median over the ranks that have it; NAN. `room` holds a number for each rank. */
static double median_mean(const struct rkt_result *result, enum rkt_counter counter, double *room)
{
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_gpu_use *use = main_gpu(&result->ranks[r]);

        if (use && !isnan(use->mean[counter]))
            room[count++] = use->mean[counter];
    }
    if (count == 0)
        return NAN;
    qsort(room, count, sizeof(*room), compare_doubles);
    return room[(count - 1) / 2];
}

static struct rkt_cell whole(double number)
{
    struct rkt_cell cell = {"n/a"};

    if (!isnan(number))
        (void)snprintf(cell.text, sizeof(cell.text), "%.0f", number);
    return cell;
}

/* "1485/1980" */
static struct rkt_cell clocks(const struct rkt_gpu_use *use)
{
    struct rkt_cell cell;

    (void)snprintf(cell.text, sizeof(cell.text), "%.6s/%.6s",
                   whole(use->mean[RKT_COUNTER_SM_CLOCK]).text,
                   whole(use->mean[RKT_COUNTER_SM_CLOCK_MAX]).text);
    return cell;
}

/* The limit that most readings name; "" for none. */
static const char *usual_limit(const struct rkt_gpu_use *use)
{
    double largest = 0;
    int found = 0;

    for (int i = RKT_THROTTLE_REASON_COUNT - 1; i > 0; i--) { /* but idle; what says more first */
        if (use->throttled_by[i] > largest) {
            largest = use->throttled_by[i];
            found = i;
        }
    }
    return found > 0 ? rkt_throttle_reason_name((enum rkt_throttle_reason)(1 << found)) : "";
}

static void print_rank(uint32_t rank, const struct rkt_gpu_use *use, FILE *out)
{
    const char *limit = usual_limit(use);

    (void)fprintf(out, "  %4u%9s%9s%9s%9s%13s%8s%7s%11s%s%s\n", rank,
                  rkt_cell_percent(use->mean[RKT_COUNTER_GPU_BUSY] / SHARE).text,
                  rkt_cell_percent(use->mean[RKT_COUNTER_SM_ACTIVE] / SHARE).text,
                  rkt_cell_percent(use->mean[RKT_COUNTER_TENSOR_ACTIVE] / SHARE).text,
                  rkt_cell_percent(use->mean[RKT_COUNTER_DRAM_ACTIVE] / SHARE).text,
                  clocks(use).text, whole(use->mean[RKT_COUNTER_POWER] / 1000).text,
                  whole(use->most[RKT_COUNTER_TEMPERATURE]).text,
                  rkt_cell_percent(use->throttled).text, *limit ? " " : "", limit);
}

/* How many ranks are throttled more (equal ones by position). */
static size_t place_of(const struct rkt_result *result, size_t rank)
{
    double own = main_gpu(&result->ranks[rank])->throttled;
    size_t place = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_gpu_use *use = main_gpu(&result->ranks[r]);

        place += use && (use->throttled > own || (!(own > use->throttled) && r < rank));
    }
    return place;
}

static bool is_row_shown(const struct rkt_result *result, size_t rank)
{
    if (result->rank_count <= ROWS_MAX)
        return true;
    return (result->straggler.is_found && result->straggler.rank == rank) ||
           place_of(result, rank) < ROWS_MAX / 2;
}

static void print_rows(const struct rkt_result *result, FILE *out)
{
    size_t hidden = 0;
    size_t more = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];
        const struct rkt_gpu_use *use = main_gpu(rank);

        more += rank->gpu_count > 1;
        if (use && is_row_shown(result, r))
            print_rank(rank->rank, use, out);
        else
            hidden += use != NULL;
    }
    if (hidden > 0)
        rkt_text_line(out, "  (%zu ranks that are throttled no more than these are left out)",
                      hidden);
    if (more > 0)
        rkt_text_line(out,
                      "  (of %zu rank%s with several GPUs the one with most work; the others "
                      "are in the JSON report)",
                      more, more == 1 ? "" : "s");
}

/* What "99 %" hides. */
static void print_contrast(const struct rkt_result *result, double *room, FILE *out)
{
    double busy = median_mean(result, RKT_COUNTER_GPU_BUSY, room) / SHARE;
    double active = median_mean(result, RKT_COUNTER_SM_ACTIVE, room) / SHARE;
    double tensor = median_mean(result, RKT_COUNTER_TENSOR_ACTIVE, room) / SHARE;

    if (isnan(active))
        rkt_text_line(out, "  SM active, tensor, DRAM: n/a; they take a Hopper GPU or "
                           "newer, and a driver that gives them");
    else if (busy - active >= FAR_ABOVE)
        rkt_text_line(out,
                      "  nvidia-smi says %s busy (median rank): some kernel runs. Of the "
                      "multiprocessors only %s work, and the tensor cores %s of the time.",
                      rkt_cell_percent(busy).text, rkt_cell_percent(active).text,
                      rkt_cell_percent(tensor).text);
}

enum rkt_status rkt_text_gpu(const struct rkt_result *result, FILE *out, struct rkt_error *err)
{
    double *room = calloc(result->rank_count + 1, sizeof(*room));
    bool has_samples = false;

    if (room == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", result->rank_count);
    for (size_t r = 0; r < result->rank_count; r++)
        has_samples |= result->ranks[r].gpu_count > 0;
    if (has_samples) {
        rkt_text_line(out,
                      "GPU (NVML's samples over the steady steps, means; temperature: highest)");
        (void)fprintf(out, "  rank%9s%9s%9s%9s%13s%8s%7s%11s\n", "busy", "SM act.", "tensor",
                      "DRAM", "SM MHz/max", "power W", "deg C", "throttled");
        print_rows(result, out);
        print_contrast(result, room, out);
        (void)fputc('\n', out);
    }
    free(room);
    return RKT_OK;
}

/* ---- a straggler's GPU ---- */

/* " (0000:5e:00.0 on node-3)" */
static void name_gpu(const struct rkt_rank_trace *trace, uint32_t device_id, char *name,
                     size_t name_bytes)
{
    const struct rkt_event_device *device = rkt_gpu_device(trace, device_id);

    *name = '\0';
    if (device)
        (void)snprintf(name, name_bytes, " (%04x:%02x:%02x.0 on %.128s)", device->pci_domain,
                       device->pci_bus, device->pci_device, trace->source.info.host);
}

void rkt_text_gpu_cause(const struct rkt_result *result, FILE *out)
{
    const struct rkt_gpu_cause *gpu = &result->straggler.gpu;
    char name[192], reason[128], clocks[96] = "";

    if (!gpu->is_found)
        return;
    name_gpu(result->ranks[result->straggler.rank].trace, gpu->device_id, name, sizeof(name));
    if (gpu->reason != 0)
        (void)snprintf(reason, sizeof(reason), "is throttled: %s, in %s of its samples (%s)",
                       rkt_throttle_reason_name(gpu->reason), rkt_cell_percent(gpu->share).text,
                       rkt_cell_percent(gpu->others_share).text);
    else
        (void)snprintf(reason, sizeof(reason), "runs slower, and NVML gives no reason");
    if (isfinite(gpu->clock_mhz) && isfinite(gpu->others_clock_mhz))
        (void)snprintf(clocks, sizeof(clocks), "; SM clock %.0f MHz (%.0f MHz)", gpu->clock_mhz,
                       gpu->others_clock_mhz);
    rkt_text_line(out, "  Its GPU%s %s%s. In brackets: the other ranks.", name, reason, clocks);
}
