/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message goes as pieces of one tag, which arrive in order: some of kind PART, then one of kind
 * LAST. END or FAILED is a member's last.
 */
#include "analysis/team.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/packed.h"
#include "common/clock.h"

#define PIECE_BYTES_MAX ((size_t)1 << 20)
#define PAUSE_NS 200000
#define SILENCE_NS (UINT64_C(1800) * 1000000000)
#define DISMISSAL_NS (UINT64_C(10) * 1000000000)

enum piece_kind {
    PIECE_PART,
    PIECE_LAST,
    PIECE_END,
    PIECE_FAILED,
};

struct rkt_team {
    struct rkt_transport *transport;
    size_t size;
    size_t place;
    uint8_t *piece; /* of PIECE_BYTES_MAX and its kind; the one that is sent, or has come */

    /* the lead's */
    struct rkt_packed *inboxes; /* by place: the message that is coming */
    size_t handed;              /* place of the inbox that is on loan; 0: none */
    size_t end_count;
    uint64_t heard_ns;

    /* a member's */
    bool is_dismissed;
    bool is_lead_gone;
    int exit_code;
};

enum rkt_status rkt_team_create(struct rkt_transport *transport, struct rkt_team **team_out,
                                struct rkt_error *err)
{
    struct rkt_team *team = calloc(1, sizeof(*team));

    if (team) {
        team->transport = transport;
        team->size = (size_t)rkt_transport_size(transport);
        team->place = (size_t)rkt_transport_rank(transport);
        team->piece = malloc(PIECE_BYTES_MAX + 1);
        team->inboxes = calloc(team->size, sizeof(*team->inboxes));
        team->heard_ns = rkt_now_raw_ns();
    }
    if (!team || !team->piece || !team->inboxes) {
        rkt_team_destroy(team);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to work with other processes");
    }
    *team_out = team;
    return RKT_OK;
}

void rkt_team_destroy(struct rkt_team *team)
{
    if (!team)
        return;
    for (size_t i = 0; team->inboxes && i < team->size; i++)
        rkt_packed_release(&team->inboxes[i]);
    free(team->inboxes);
    free(team->piece);
    free(team);
}

size_t rkt_team_size(const struct rkt_team *team)
{
    return team->size;
}

size_t rkt_team_place(const struct rkt_team *team)
{
    return team->place;
}

static void pause_a_little(void)
{
    const struct timespec pause = {0, PAUSE_NS};

    (void)nanosleep(&pause, NULL);
}

/* ---- a member ---- */

static void listen_to_lead(struct rkt_team *team)
{
    struct rkt_arrival arrival;
    uint8_t code;
    enum rkt_status status =
        rkt_transport_receive(team->transport, RKT_TAG_CONTROL_DOWN, &code, 1, &arrival, NULL);

    if (status == RKT_AGAIN)
        return;
    team->is_dismissed = true;
    team->is_lead_gone = status != RKT_OK || arrival.len_bytes != 1;
    team->exit_code = team->is_lead_gone ? 0 : code;
}

/* RKT_END: dismissed. */
static enum rkt_status send_piece(struct rkt_team *team, enum piece_kind kind,
                                  struct rkt_bytes bytes, struct rkt_error *err)
{
    uint64_t give_up_ns = rkt_now_raw_ns() + SILENCE_NS;

    team->piece[0] = (uint8_t)kind;
    if (bytes.len_bytes > 0)
        memcpy(team->piece + 1, bytes.at, bytes.len_bytes);
    for (;;) {
        enum rkt_status status;

        listen_to_lead(team);
        if (team->is_dismissed)
            return RKT_END;
        status = rkt_transport_send(team->transport, 0, RKT_TAG_FRAME, team->piece,
                                    bytes.len_bytes + 1, err);
        (void)rkt_transport_progress(team->transport);
        if (status != RKT_AGAIN)
            return status;
        if (rkt_now_raw_ns() > give_up_ns)
            return rkt_fail(err, RKT_ERR_IO, "process 0 takes nothing from process %zu",
                            team->place);
        pause_a_little();
    }
}

enum rkt_status rkt_team_give(struct rkt_team *team, struct rkt_bytes message,
                              struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (; message.len_bytes > PIECE_BYTES_MAX && status == RKT_OK;
         message.at += PIECE_BYTES_MAX, message.len_bytes -= PIECE_BYTES_MAX)
        status = send_piece(team, PIECE_PART, (struct rkt_bytes){message.at, PIECE_BYTES_MAX}, err);
    return status == RKT_OK ? send_piece(team, PIECE_LAST, message, err) : status;
}

enum rkt_status rkt_team_give_end(struct rkt_team *team, const struct rkt_error *failure,
                                  struct rkt_error *err)
{
    struct rkt_packed packed = {0};
    enum rkt_status status;

    if (!failure)
        return send_piece(team, PIECE_END, (struct rkt_bytes){NULL, 0}, err);
    rkt_packed_i64(&packed, failure->status);
    rkt_packed_text(&packed, failure->text, strlen(failure->text));
    status =
        send_piece(team, PIECE_FAILED, (struct rkt_bytes){packed.bytes, packed.len_bytes}, err);
    rkt_packed_release(&packed);
    return status;
}

int rkt_team_wait_for_end(struct rkt_team *team, int otherwise)
{
    uint64_t give_up_ns = rkt_now_raw_ns() + SILENCE_NS;

    while (!team->is_dismissed && rkt_now_raw_ns() < give_up_ns) {
        (void)rkt_transport_progress(team->transport);
        listen_to_lead(team);
        if (!team->is_dismissed)
            pause_a_little();
    }
    return team->is_dismissed && !team->is_lead_gone ? team->exit_code : otherwise;
}

/* ---- the lead ---- */

static enum rkt_status fail_as_member(const uint8_t *bytes, size_t len_bytes, struct rkt_error *err)
{
    struct rkt_unpacking from;
    struct rkt_bytes text;
    int64_t status;

    rkt_unpacking_init(&from, (struct rkt_bytes){bytes, len_bytes});
    status = rkt_unpack_i64(&from);
    text = rkt_unpack_text(&from);
    if (from.has_failed || status >= 0 || status < INT32_MIN)
        return rkt_fail(err, RKT_ERR_INTERNAL, "a process failed and could not say why");
    return rkt_fail(err, (enum rkt_status)status, "%.*s", (int)text.len_bytes,
                    (const char *)text.at);
}

/* RKT_AGAIN: nothing to hand out yet. */
static enum rkt_status take_piece(struct rkt_team *team, const struct rkt_arrival *arrival,
                                  struct rkt_error *err)
{
    struct rkt_packed *inbox;

    if (arrival->from <= 0 || (size_t)arrival->from >= team->size || arrival->len_bytes == 0)
        return rkt_fail(err, RKT_ERR_INTERNAL, "a message of %zu bytes from process %d",
                        arrival->len_bytes, arrival->from);
    inbox = &team->inboxes[arrival->from];
    switch ((enum piece_kind)team->piece[0]) {
    case PIECE_PART:
    case PIECE_LAST:
        rkt_packed_bytes(inbox, team->piece + 1, arrival->len_bytes - 1);
        if (inbox->has_failed)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for what process %d found",
                            arrival->from);
        return team->piece[0] == PIECE_LAST ? RKT_OK : RKT_AGAIN;
    case PIECE_END:
        team->end_count++;
        return RKT_AGAIN;
    case PIECE_FAILED:
        return fail_as_member(team->piece + 1, arrival->len_bytes - 1, err);
    }
    return rkt_fail(err, RKT_ERR_INTERNAL, "process %d: a message of kind %u", arrival->from,
                    team->piece[0]);
}

/* RKT_AGAIN: none has come. */
static enum rkt_status look_for_message(struct rkt_team *team, struct rkt_bytes *message_out,
                                        size_t *place_out, struct rkt_error *err)
{
    struct rkt_arrival arrival;
    enum rkt_status status;

    do {
        status = rkt_transport_receive(team->transport, RKT_TAG_FRAME, team->piece,
                                       PIECE_BYTES_MAX + 1, &arrival, err);
        if (status != RKT_OK)
            return status;
        team->heard_ns = rkt_now_raw_ns();
        status = take_piece(team, &arrival, err);
    } while (status == RKT_AGAIN);
    if (status != RKT_OK)
        return status;
    team->handed = (size_t)arrival.from;
    *message_out = (struct rkt_bytes){team->inboxes[team->handed].bytes,
                                      team->inboxes[team->handed].len_bytes};
    *place_out = team->handed;
    return RKT_OK;
}

enum rkt_status rkt_team_take(struct rkt_team *team, bool waits, struct rkt_bytes *message_out,
                              size_t *place_out, struct rkt_error *err)
{
    if (team->handed > 0)
        rkt_packed_reset(&team->inboxes[team->handed]);
    team->handed = 0;
    team->heard_ns = rkt_now_raw_ns();
    for (;;) {
        enum rkt_status status = look_for_message(team, message_out, place_out, err);

        if (status != RKT_AGAIN)
            return status;
        if (team->end_count + 1 == team->size)
            return RKT_END;
        if (!waits)
            return RKT_AGAIN;
        if (rkt_now_raw_ns() - team->heard_ns > SILENCE_NS)
            return rkt_fail(
                err, RKT_ERR_IO, "%zu of %zu processes have said nothing for %d minutes",
                team->size - 1 - team->end_count, team->size, (int)(SILENCE_NS / 60000000000));
        pause_a_little();
    }
}

void rkt_team_dismiss(struct rkt_team *team, int exit_code)
{
    uint64_t give_up_ns = rkt_now_raw_ns() + DISMISSAL_NS;
    uint8_t code = (uint8_t)exit_code;

    for (size_t i = 1; i < team->size; i++)
        (void)rkt_transport_send(team->transport, (int)i, RKT_TAG_CONTROL_DOWN, &code, 1, NULL);
    while (rkt_transport_progress(team->transport) && rkt_now_raw_ns() < give_up_ns)
        pause_a_little();
}
