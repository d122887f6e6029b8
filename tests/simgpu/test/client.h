/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TEST_CLIENT_H
#define SIMGPU_TEST_CLIENT_H

/*
 * client - what the tests of the stand-in CUPTI share: a client that keeps a copy of the first part
 * of each record, and a second one that can take its place.
 */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define TEST_BUFFER_BYTES 4096u
#define TEST_KEPT_MAX 256

union test_record {
    CUpti_Activity head;
    CUpti_ActivityKernel4 kernel;
    CUpti_ActivityKernel5 graph_kernel;
    CUpti_ActivityMemcpy copy;
    CUpti_ActivityMemset set;
    CUpti_ActivityAPI api;
    CUpti_ActivitySynchronization sync;
    CUpti_ActivityMemory2 memory;
    CUpti_ActivityOverhead overhead;
    CUpti_ActivityGraphTrace graph;
    CUpti_ActivityExternalCorrelation external;
    uint8_t bytes[256];
};

struct test_client {
    pthread_mutex_t lock; /* guards all below while buffers come and go */
    bool gives_null;
    size_t requested_count;
    size_t completed_count;
    size_t empty_count; /* of the completed ones, those without a valid byte */
    pthread_t last_requester;
    size_t kept_count;
    union test_record kept[TEST_KEPT_MAX];
};

extern struct test_client test_client;
extern struct test_client test_thief;

/* Register the callbacks of one of the two. */
CUptiResult test_client_register(const struct test_client *client);

/* cmocka set-up: all kinds off, no buffer out, test_client registered, nothing kept. */
int test_client_setup(void **state);
void test_client_forget(struct test_client *client);

/* Wait for the device and take all that is complete. */
void test_client_collect(void);

size_t test_client_count(const struct test_client *client, CUpti_ActivityKind kind);

/* The n-th (from 0) kept record of `kind`; fails the test if there is none. */
const union test_record *test_client_record(CUpti_ActivityKind kind, size_t n);

void test_enable(CUpti_ActivityKind kind);
void test_disable(CUpti_ActivityKind kind);

#endif
