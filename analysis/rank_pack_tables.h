/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_PACK_TABLES_H
#define RKT_ANALYSIS_RANK_PACK_TABLES_H

/*
 * rank_pack_tables - a rank's key tables, and where it lost most, as bytes; a part of rank_pack.
 *
 * Threads: any; no state. Memory: what is unpacked is the arena's, a text of several rows once.
 * On error: as packed.h. NULL is packed as such, and comes back.
 */

#include "analysis/key_table.h"
#include "analysis/packed.h"
#include "analysis/place.h"
#include "common/arena.h"

void rkt_tables_pack(const struct rkt_tables *tables, struct rkt_packed *packed);
const struct rkt_tables *rkt_tables_unpack(struct rkt_unpacking *from, struct rkt_arena *arena);

void rkt_places_pack(const struct rkt_places *places, struct rkt_packed *packed);
const struct rkt_places *rkt_places_unpack(struct rkt_unpacking *from, struct rkt_arena *arena);

#endif
