/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_switch.h"

#include "agent/capture/visit.h"

#define OFF_REASONS ((uint32_t)(RKT_CUPTI_OFF_WINDOW | RKT_CUPTI_OFF_ALARM | RKT_CUPTI_OFF_END))
#define REASONS (OFF_REASONS | (uint32_t)RKT_CUPTI_OTHER_TOOL)
#define TAKE_ONE (REASONS + 1u)

static CUptiResult take_callbacks(const struct rkt_cupti_switch *cupti_switch)
{
    return cupti_switch->library->register_callbacks(cupti_switch->requested,
                                                     cupti_switch->completed);
}

static CUptiResult switch_on(struct rkt_cupti_switch *cupti_switch)
{
    const struct rkt_cupti_library *library = cupti_switch->library;
    CUptiResult result = library->enable(cupti_switch->kinds[0]);

    if (result != CUPTI_SUCCESS)
        return result; /* without kernels the rest says little */
    for (size_t i = 1; i < cupti_switch->kind_count; i++)
        (void)library->enable(cupti_switch->kinds[i]); /* without one the others say much */
    /* Enabling a kind enables all of its calls. */
    rkt_cupti_api_names_apply(cupti_switch->api_names, library);
    cupti_switch->is_on = true;
    return CUPTI_SUCCESS;
}

static void switch_off(struct rkt_cupti_switch *cupti_switch)
{
    for (size_t i = 0; i < cupti_switch->kind_count; i++)
        (void)cupti_switch->library->disable(cupti_switch->kinds[i]);
    cupti_switch->is_on = false;
}

static void carry_out(struct rkt_cupti_switch *cupti_switch, uint32_t wanted)
{
    bool is_on = !(wanted & OFF_REASONS);

    if (wanted & RKT_CUPTI_OTHER_TOOL)
        return;
    if (is_on && (wanted & ~REASONS) != cupti_switch->taken) {
        /* The other tool may have finalized CUPTI, which forgets everything. */
        (void)rkt_cupti_library_set_options(cupti_switch->library);
        (void)take_callbacks(cupti_switch);
        cupti_switch->taken = wanted & ~REASONS;
        cupti_switch->is_on = false; /* the other tool has switched kinds off */
    }
    if (is_on && !cupti_switch->is_on)
        (void)switch_on(cupti_switch);
    else if (!is_on && cupti_switch->is_on)
        switch_off(cupti_switch);
}

/*
 * Whoever changed `wanted` and then finds another at work may go: that one reads `wanted` after it
 * has said that it is done. All of it is sequentially consistent, as each writes one variable and
 * then reads the other; likewise with has_started.
 */
static void follow(struct rkt_cupti_switch *cupti_switch)
{
    struct rkt_visit visit;
    uint32_t wanted;

    if (!atomic_load(&cupti_switch->has_started))
        return;
    visit = rkt_visit_begin();
    do {
        if (atomic_exchange(&cupti_switch->is_busy, true))
            break;
        wanted = atomic_load(&cupti_switch->wanted);
        carry_out(cupti_switch, wanted);
        atomic_store(&cupti_switch->is_busy, false);
    } while (atomic_load(&cupti_switch->wanted) != wanted);
    rkt_visit_end(visit);
}

CUptiResult rkt_cupti_switch_start(struct rkt_cupti_switch *cupti_switch)
{
    CUptiResult result = take_callbacks(cupti_switch);

    if (result == CUPTI_SUCCESS)
        result = switch_on(cupti_switch);
    if (result != CUPTI_SUCCESS)
        return result;
    atomic_store(&cupti_switch->has_started, true);
    follow(cupti_switch);
    return CUPTI_SUCCESS;
}

void rkt_cupti_switch_set(struct rkt_cupti_switch *cupti_switch, enum rkt_cupti_off_reason reason,
                          bool is_off)
{
    if (is_off)
        atomic_fetch_or(&cupti_switch->wanted, (uint32_t)reason);
    else
        atomic_fetch_and(&cupti_switch->wanted, ~(uint32_t)reason);
    follow(cupti_switch);
}

void rkt_cupti_switch_rearm(struct rkt_cupti_switch *cupti_switch)
{
    atomic_fetch_add(&cupti_switch->wanted, TAKE_ONE);
    rkt_cupti_switch_set(cupti_switch, RKT_CUPTI_OTHER_TOOL, false);
}

bool rkt_cupti_switch_wants_records(const struct rkt_cupti_switch *cupti_switch)
{
    return !(atomic_load_explicit(&cupti_switch->wanted, memory_order_relaxed) & OFF_REASONS);
}
