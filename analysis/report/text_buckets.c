/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/bucket_table.h"
#include "analysis/report/text_format.h"
#include "analysis/report/text_parts.h"

void rkt_text_buckets(const struct rkt_result *result, size_t top, FILE *out)
{
    (void)fputc('\n', out);
    if (result->bucket_count == 0) {
        rkt_text_line(out, "BUCKETS: no gradient bucket was recognised");
        return;
    }
    rkt_text_line(out,
                  "BUCKETS (ms, medians; launch, ready, start: from the begin of backward, on the "
                  "host and the GPU)");
    (void)fprintf(out, "  bucket%10s%9s%9s%9s%8s%9s%10s%9s%10s\n", "size", "launch", "ready",
                  "start", "queued", "wait", "transfer", "exposed", "GB/s bus");
    for (size_t i = 0; i < result->bucket_count && i < top; i++) {
        const struct rkt_bucket_row *row = &result->buckets[i];

        (void)fprintf(out, "  %6u%10s%9s%9s%9s%8s%9s%10s%9s%10s\n", row->index,
                      rkt_cell_bytes(row->bytes).text, rkt_cell_ms(row->launch_offset_ns).text,
                      rkt_cell_ms(row->ready_ns).text, rkt_cell_ms(row->start_ns).text,
                      rkt_cell_percent(row->queued_share).text, rkt_cell_ms(row->wait_ns).text,
                      rkt_cell_ms(row->transfer_ns).text, rkt_cell_ms(row->exposed_ns).text,
                      rkt_cell_gb_per_s(row->busbw_bytes_per_s).text);
    }
    if (result->bucket_count > top)
        rkt_text_line(out, "  (%zu more; --top N shows N)", result->bucket_count - top);
}
