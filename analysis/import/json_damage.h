/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_JSON_DAMAGE_H
#define RKT_ANALYSIS_IMPORT_JSON_DAMAGE_H

/*
 * json_damage - the account of what of a JSON text could not be read. Threads: as the stats.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/import/json_reader.h"

/* text[0, bytes) stands at `position` and is given up. */
void rkt_json_note_damage(struct rkt_json_stats *stats, const char *text, size_t bytes,
                          uint64_t position);

#endif
