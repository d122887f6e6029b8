/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one owner of mpi.h. Every send and receive is non-blocking and tested later, since a
 * peer may die in the middle of a message: then its request never completes, and only its
 * own messages wait behind it.
 */
#include "common/transport.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "common/array.h"
#include "common/bytes.h"
#include "common/message_queue.h"
#include "common/mpi_help.h"
#include "common/node_id.h"

/* To one peer, and from all. */
#define FLIGHT_BYTES_MAX ((size_t)64 << 20)
#define FLIGHT_COUNT_MAX 4096u
/* MPI_Finalize waits for every peer; where one is gone after all, the kernel ends the wait. */
#define FINALIZE_SECONDS_MAX 10u

/* Beside those of enum rkt_tag. */
#define CALL_TAG 100
#define CALL_BYTES 8u /* the number of the caller's node */

/* A message on its way, out or in. */
struct flight {
    MPI_Request request;
    enum rkt_tag tag;
    int peer;
    bool is_done;
    size_t len_bytes;
    unsigned char *bytes;
};

/* In order of start: messages of one peer and tag are handed out in that order. */
struct flight_list {
    struct flight *items;
    size_t count;
    size_t cap;
    size_t held_bytes;
};

struct mpi_transport {
    struct rkt_transport base; /* first: a transport is cast to its kind */
    int rank;
    int size;
    uint64_t *nodes;      /* rank 0: of each rank */
    size_t *out_bytes_to; /* by peer: of those in `out` */
    struct flight_list out;
    struct flight_list in;
    struct rkt_message_queue self;
};

static enum rkt_status fail_mpi(struct rkt_error *err, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    (void)MPI_Error_string(code, text, &len);
    return rkt_fail(err, RKT_ERR_MPI, "%s: %s", call, text);
}

/* A place for one more, with its buffer; NULL when memory is out. */
static struct flight *add_flight(struct flight_list *list, size_t len_bytes)
{
    struct flight *flight;

    if (!rkt_array_reserve((void **)&list->items, &list->cap, list->count + 1,
                           sizeof(*list->items)))
        return NULL;
    flight = &list->items[list->count];
    *flight = (struct flight){.len_bytes = len_bytes};
    flight->bytes = malloc(len_bytes > 0 ? len_bytes : 1);
    if (!flight->bytes)
        return NULL;
    list->count++;
    list->held_bytes += len_bytes;
    return flight;
}

static void remove_flight(struct flight_list *list, size_t index)
{
    list->held_bytes -= list->items[index].len_bytes;
    free(list->items[index].bytes);
    list->count--;
    memmove(&list->items[index], &list->items[index + 1],
            (list->count - index) * sizeof(*list->items));
}

static int mpi_rank(struct rkt_transport *t)
{
    return ((struct mpi_transport *)t)->rank;
}

static int mpi_size(struct rkt_transport *t)
{
    return ((struct mpi_transport *)t)->size;
}

static uint64_t mpi_node(struct rkt_transport *t, int rank)
{
    return ((struct mpi_transport *)t)->nodes[rank];
}

/* The dead keep what is on its way to them, and nothing else. */
static bool is_full(const struct mpi_transport *mpi, int to)
{
    size_t bytes = to == mpi->rank ? mpi->self.held_bytes : mpi->out_bytes_to[to];

    return bytes > FLIGHT_BYTES_MAX;
}

static void remove_sent(struct mpi_transport *mpi, size_t index)
{
    mpi->out_bytes_to[mpi->out.items[index].peer] -= mpi->out.items[index].len_bytes;
    remove_flight(&mpi->out, index);
}

/* The checker wants each request completed where it was made; progress and receive do it. */
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
static enum rkt_status mpi_send(struct rkt_transport *t, int to, enum rkt_tag tag, const void *data,
                                size_t len_bytes, struct rkt_error *err)
{
    struct mpi_transport *mpi = (struct mpi_transport *)t;
    struct flight *flight;
    int code;

    if (to < 0 || to >= mpi->size || len_bytes > INT_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "%zu bytes to rank %d in a run of %d", len_bytes, to,
                        mpi->size);
    if (rkt_tag_is_of_frames(tag) && is_full(mpi, to))
        return RKT_AGAIN;
    if (to == mpi->rank)
        return rkt_message_queue_push(&mpi->self, to, tag, data, len_bytes, err);
    flight = add_flight(&mpi->out, len_bytes);
    if (!flight)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message of %zu bytes", len_bytes);
    flight->peer = to;
    flight->tag = tag;
    mpi->out_bytes_to[to] += len_bytes;
    if (len_bytes > 0)
        memcpy(flight->bytes, data, len_bytes);
    code = MPI_Isend(flight->bytes, (int)len_bytes, MPI_BYTE, to, (int)tag, MPI_COMM_WORLD,
                     &flight->request);
    if (code == MPI_SUCCESS)
        return RKT_OK;
    remove_sent(mpi, mpi->out.count - 1);
    return fail_mpi(err, "MPI_Isend", code);
}
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

/* Take up what has arrived with this tag, as far as the limits allow. */
static enum rkt_status start_receives(struct mpi_transport *mpi, enum rkt_tag tag,
                                      struct rkt_error *err)
{
    while (mpi->in.count < FLIGHT_COUNT_MAX && mpi->in.held_bytes < FLIGHT_BYTES_MAX) {
        struct flight *flight;
        MPI_Message message;
        MPI_Status mpi_status;
        int is_there = 0, len = 0;
        int code =
            MPI_Improbe(MPI_ANY_SOURCE, (int)tag, MPI_COMM_WORLD, &is_there, &message, &mpi_status);

        if (code != MPI_SUCCESS)
            return fail_mpi(err, "MPI_Improbe", code);
        if (!is_there)
            return RKT_OK;
        (void)MPI_Get_count(&mpi_status, MPI_BYTE, &len);
        flight = add_flight(&mpi->in, (size_t)len);
        if (!flight)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message of %d bytes", len);
        flight->peer = mpi_status.MPI_SOURCE;
        flight->tag = tag;
        code = MPI_Imrecv(flight->bytes, len, MPI_BYTE, &message, &flight->request);
        if (code != MPI_SUCCESS) {
            remove_flight(&mpi->in, mpi->in.count - 1);
            return fail_mpi(err, "MPI_Imrecv", code);
        }
    }
    return RKT_OK;
}

static bool is_done(struct flight *flight)
{
    int flag = 0;

    if (!flight->is_done && MPI_Test(&flight->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        flag)
        flight->is_done = true;
    return flight->is_done;
}

/* An earlier message of the same peer and tag is still arriving. */
static bool has_earlier(const struct flight_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (list->items[i].peer == list->items[index].peer &&
            list->items[i].tag == list->items[index].tag)
            return true;
    }
    return false;
}

static enum rkt_status hand_out(struct mpi_transport *mpi, size_t index, void *buf,
                                size_t buf_bytes, struct rkt_arrival *arrival_out,
                                struct rkt_error *err)
{
    const struct flight *flight = &mpi->in.items[index];
    enum rkt_status status = RKT_OK;

    arrival_out->from = flight->peer;
    if (flight->len_bytes > buf_bytes) {
        status = rkt_fail(err, RKT_ERR_RANGE, "a message of %zu bytes from rank %d; room for %zu",
                          flight->len_bytes, flight->peer, buf_bytes);
    } else {
        memcpy(buf, flight->bytes, flight->len_bytes);
        arrival_out->len_bytes = flight->len_bytes;
    }
    remove_flight(&mpi->in, index);
    return status;
}

static enum rkt_status mpi_receive(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                                   size_t buf_bytes, struct rkt_arrival *arrival_out,
                                   struct rkt_error *err)
{
    struct mpi_transport *mpi = (struct mpi_transport *)t;
    enum rkt_status status =
        rkt_message_queue_pop(&mpi->self, tag, buf, buf_bytes, arrival_out, err);

    if (status != RKT_AGAIN)
        return status;
    status = start_receives(mpi, tag, err);
    if (status != RKT_OK)
        return status;
    for (size_t i = 0; i < mpi->in.count; i++) {
        if (mpi->in.items[i].tag == tag && is_done(&mpi->in.items[i]) && !has_earlier(&mpi->in, i))
            return hand_out(mpi, i, buf, buf_bytes, arrival_out, err);
    }
    return RKT_AGAIN;
}

static bool mpi_progress(struct rkt_transport *t)
{
    struct mpi_transport *mpi = (struct mpi_transport *)t;

    for (size_t i = mpi->out.count; i-- > 0;) {
        if (is_done(&mpi->out.items[i]))
            remove_sent(mpi, i);
    }
    return mpi->out.count > 0;
}

static void free_parts(struct mpi_transport *mpi)
{
    free(mpi->nodes);
    free(mpi->out_bytes_to);
    free(mpi);
}

/*
 * Unclean: buffers of requests that never complete are left to the exit, which MPI may still
 * write to until then.
 */
static void mpi_destroy(struct rkt_transport *t, bool is_clean)
{
    struct mpi_transport *mpi = (struct mpi_transport *)t;

    if (!is_clean)
        return;
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(FINALIZE_SECONDS_MAX);
    (void)MPI_Finalize();
    (void)alarm(0);
    while (mpi->out.count > 0)
        remove_sent(mpi, mpi->out.count - 1);
    while (mpi->in.count > 0)
        remove_flight(&mpi->in, mpi->in.count - 1);
    free(mpi->out.items);
    free(mpi->in.items);
    rkt_message_queue_release(&mpi->self);
    free_parts(mpi);
}

static const struct rkt_transport_ops MPI_OPS = {
    .rank = mpi_rank,
    .size = mpi_size,
    .node = mpi_node,
    .send = mpi_send,
    .receive = mpi_receive,
    .progress = mpi_progress,
    .destroy = mpi_destroy,
};

/*
 * Open MPI only, and only where the user chose nothing: TCP, since the shared-memory transport
 * would take /dev/shm from NCCL, and since the fast fabrics belong to the job. IPv4 only: with both
 * families up, Open MPI 4.1's TCP may hang in its first connect ("now in progress").
 */
static void choose_components(void)
{
    (void)setenv("OMPI_MCA_pml", "ob1", 0);      // NOLINT(concurrency-mt-unsafe): one thread yet
    (void)setenv("OMPI_MCA_btl", "tcp,self", 0); // NOLINT(concurrency-mt-unsafe)
    (void)setenv("OMPI_MCA_btl_tcp_disable_family", "6", 0); // NOLINT(concurrency-mt-unsafe)
    /* Where a write is the first to meet a connection that a peer's death has closed, Open MPI
     * 4.1's TCP closes its socket and then arms an event on it. Epoll refuses that one. Poll, the
     * default, takes it, the next connection makes a ring of the list it is in, and the next call
     * of MPI never returns. */
    (void)setenv("OMPI_MCA_opal_event_include", "epoll", 0); // NOLINT(concurrency-mt-unsafe)
    /* Inside MPI_Init every error is fatal, and would end all ranks with their jobs: that of a
     * rank that has died, above all. Sleep instead: who started us has a limit for that. */
    (void)setenv("OMPI_MCA_opal_abort_delay", "-1", 0); // NOLINT(concurrency-mt-unsafe)
    /* PMIx would share memory with mpirun, under locks: killed while it holds one, we would leave
     * an mpirun that never ends. By messages it asks for the little that we need. */
    (void)setenv("PMIX_MCA_gds", "hash", 0); // NOLINT(concurrency-mt-unsafe)
}

/*
 * Everyone calls on rank 0 before rank 0 sends to anyone, and says which node it is on. Connections
 * are made at the first message, and where both ends make one at the same moment, Open MPI 4.1's
 * TCP may drop both.
 */
static enum rkt_status call_on_rank_0(struct mpi_transport *mpi, struct rkt_error *err)
{
    struct rkt_node_id id;
    uint8_t buf[CALL_BYTES];
    int code = MPI_SUCCESS;

    rkt_node_id_read(&id);
    if (mpi->rank != 0) {
        rkt_put_u64(buf, rkt_node_id_number(&id));
        code = MPI_Send(buf, sizeof(buf), MPI_BYTE, 0, CALL_TAG, MPI_COMM_WORLD);
    } else {
        mpi->nodes[0] = rkt_node_id_number(&id);
    }
    for (int i = 1; mpi->rank == 0 && i < mpi->size && code == MPI_SUCCESS; i++) {
        MPI_Status mpi_status;

        code = MPI_Recv(buf, sizeof(buf), MPI_BYTE, MPI_ANY_SOURCE, CALL_TAG, MPI_COMM_WORLD,
                        &mpi_status);
        if (code == MPI_SUCCESS)
            mpi->nodes[mpi_status.MPI_SOURCE] = rkt_get_u64(buf);
    }
    return code == MPI_SUCCESS ? RKT_OK : fail_mpi(err, "first message to rank 0", code);
}

static enum rkt_status set_up(struct mpi_transport *mpi, struct rkt_error *err)
{
    rkt_mpi_help_take();
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &mpi->rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &mpi->size);
    mpi->base.ops = &MPI_OPS;
    rkt_message_queue_init(&mpi->self);
    mpi->nodes = calloc((size_t)mpi->size, sizeof(*mpi->nodes));
    mpi->out_bytes_to = calloc((size_t)mpi->size, sizeof(*mpi->out_bytes_to));
    if (!mpi->nodes || !mpi->out_bytes_to)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a run of %d", mpi->size);
    return call_on_rank_0(mpi, err);
}

enum rkt_status rkt_transport_mpi_create(struct rkt_transport **out, struct rkt_error *err)
{
    struct mpi_transport *mpi = calloc(1, sizeof(*mpi));
    enum rkt_status status;
    int provided = 0;
    int code;

    if (!mpi)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the MPI transport");
    choose_components();
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    status = code == MPI_SUCCESS ? set_up(mpi, err) : fail_mpi(err, "MPI_Init_thread", code);
    if (status != RKT_OK) {
        free_parts(mpi);
        return status;
    }
    *out = &mpi->base;
    return RKT_OK;
}
