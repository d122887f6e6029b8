/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_WORDS_H
#define RKT_CAPTURE_NCCL_WORDS_H

/*
 * nccl_words - the words by which NCCL names what it does, as numbers.
 *
 * Compared as NCCL spells them, the frequent ones first: in a callback each comparison counts. NULL
 * and words that are not known are "unknown". Threads: any.
 */

#include <stdint.h>

uint8_t rkt_nccl_func_of(const char *text);     /* enum rkt_nccl_func */
uint8_t rkt_nccl_datatype_of(const char *text); /* RKT_DATATYPE_UNKNOWN if not known */
uint8_t rkt_nccl_algo_of(const char *text);     /* enum rkt_nccl_algo */
uint8_t rkt_nccl_proto_of(const char *text);    /* enum rkt_nccl_proto */

#endif
