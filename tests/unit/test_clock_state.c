/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel is the test's: adjtimex(2) by the linker, /proc and /sys by a folder. */
#include "rkt_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "agent/sidecar/clock_state.h"
#include "agent/sidecar/own_source.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/strtab.h"

#define S UINT64_C(1000000000)
#define STATES_MAX 16u

static struct timex kernel;
static bool is_refused;
static unsigned set_modes; /* what it was asked to change */

int __wrap_adjtimex(struct timex *state);
int __wrap_adjtimex(struct timex *state)
{
    set_modes |= state->modes;
    if (is_refused) {
        errno = EPERM;
        return -1;
    }
    *state = kernel;
    return TIME_OK;
}

static int set_up(void **state)
{
    (void)state;
    kernel = (struct timex){.tick = 10000};
    is_refused = false;
    set_modes = 0;
    return 0;
}

static struct rkt_event_clock_state take(void)
{
    struct rkt_event event = {0};
    uint64_t before_ns = rkt_now_raw_ns();

    assert_true(rkt_clock_state_take(&event));
    assert_int_equal(event.kind, RKT_EVENT_CLOCK_STATE);
    assert_int_equal(event.clock_id, RKT_CLOCK_MONOTONIC_RAW);
    assert_true(event.start_ns >= before_ns && event.end_ns == event.start_ns);
    return event.clock_state;
}

static void errors_are_in_ns_and_the_status_as_the_kernel_gives_it(void **state)
{
    struct rkt_event_clock_state got;

    (void)state;
    kernel.maxerror = 1234;
    kernel.esterror = 56;
    kernel.status = STA_PLL | STA_NANO;
    kernel.offset = -789;
    got = take();
    assert_int_equal(got.max_error_ns, 1234000);
    assert_int_equal(got.est_error_ns, 56000);
    assert_int_equal(got.status, STA_PLL | STA_NANO);
    assert_int_equal(got.offset_ns, -789);
}

static void an_offset_is_in_us_where_the_kernel_says_so(void **state)
{
    (void)state;
    kernel.offset = -789;
    kernel.status = STA_UNSYNC;
    assert_int_equal(take().offset_ns, -789000);
}

static void the_frequency_is_of_both_ways_to_steer(void **state)
{
    static const struct {
        const char *what;
        long frequency, tick_us;
        int32_t ppb;
    } CASES[] = {
        {"the quartz as it is", 0, 10000, 0},
        {"12.5 ppm by frequency", 819200, 10000, 12500},
        {"-500 ppm by frequency", -32768000, 10000, -500000},
        {"200 ppm by ticks", 0, 10002, 200000},
        {"by both, against each other", 6553600, 9999, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int32_t ppb;

        kernel.freq = CASES[i].frequency;
        kernel.tick = CASES[i].tick_us;
        ppb = take().frequency_ppb;
        if (ppb != CASES[i].ppb)
            fail_msg("%s: %d ppb, not %d", CASES[i].what, ppb, CASES[i].ppb);
    }
}

static void a_kernel_that_does_not_say_is_no_state(void **state)
{
    struct rkt_event event = {.kind = RKT_EVENT_KERNEL};

    (void)state;
    is_refused = true;
    assert_false(rkt_clock_state_take(&event));
    assert_int_equal(event.kind, RKT_EVENT_KERNEL);
}

/* ---- /proc and /sys ---- */

static void put_file(const char *root, const char *folder, const char *name, const char *text)
{
    char path[512], command[600];
    FILE *file;

    (void)snprintf(command, sizeof(command), "mkdir -p '%s/%s'", root, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void facts_are_those_of_the_files(void **state)
{
    static const struct {
        const char *what, *source, *cpu, *want_source;
        uint32_t want_flags;
    } CASES[] = {
        {"a server", "tsc\n",
         "processor\t: 0\nflags\t\t: fpu tsc constant_tsc art nonstop_tsc\n"
         "processor\t: 1\nflags\t\t: fpu\n",
         "tsc", RKT_TSC_CONSTANT | RKT_TSC_NONSTOP},
        {"a TSC that stops", "hpet\n", "flags : tsc constant_tsc\n", "hpet", RKT_TSC_CONSTANT},
        {"a name that is part of another", "kvm-clock\n", "flags : xnonstop_tsc nonstop_tscx\n",
         "kvm-clock", 0},
        {"another machine", "arch_sys_counter\n", "Features : fp asimd\n", "arch_sys_counter", 0},
        {"empty files", "", "", "", 0},
        {"no colon", "tsc", "flags nonstop_tsc\n", "tsc", 0},
        {"a name that is none", "0123456789012345678901234567890123456789\n", "flags :\n", "", 0},
    };
    char root[] = "/tmp/clock-facts-XXXXXX", command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_source_info info = {0};

        put_file(root, "sys/devices/system/clocksource/clocksource0", "current_clocksource",
                 CASES[i].source);
        put_file(root, "proc", "cpuinfo", CASES[i].cpu);
        rkt_clock_facts_read(root, &info);
        if (strcmp(info.clocksource, CASES[i].want_source) != 0 ||
            info.tsc_flags != CASES[i].want_flags)
            fail_msg("%s: '%s', flags %u", CASES[i].what, info.clocksource, info.tsc_flags);
    }
    (void)snprintf(command, sizeof(command), "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static void where_there_is_nothing_to_read_facts_are_unknown(void **state)
{
    struct rkt_source_info info = {0};

    (void)state;
    rkt_clock_facts_read("/proc/self/fd/none", &info);
    assert_string_equal(info.clocksource, "");
    assert_int_equal(info.tsc_flags, 0);
}

/* ---- what a sidecar records ---- */

struct store {
    struct rkt_packer *packer;
    struct rkt_decoder *decoder;
    struct rkt_source_info source;
    struct rkt_event states[STATES_MAX];
    size_t state_count;
};

static enum rkt_status take_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct store *store = ctx;
    struct rkt_frame_head head;
    struct rkt_batch batch;
    struct rkt_bytes raw;

    assert_rkt_ok(rkt_frame_head_decode(frame, frame_bytes, &head, err), *err);
    assert_rkt_ok(rkt_unpack_payload(store->packer, &head, frame + RKT_FRAME_HEAD_BYTES, &raw, err),
                  *err);
    if (head.kind == RKT_FRAME_SOURCE)
        assert_rkt_ok(rkt_source_info_decode(raw.at, raw.len_bytes, &store->source, err), *err);
    if (head.kind != RKT_FRAME_BATCH)
        return RKT_OK;
    assert_rkt_ok(rkt_decode_events(store->decoder, raw, &batch, err), *err);
    for (size_t i = 0; i < batch.count; i++) {
        if (batch.events[i].kind != RKT_EVENT_CLOCK_STATE)
            continue;
        assert_in_range(store->state_count, 0, STATES_MAX - 1);
        store->states[store->state_count++] = batch.events[i];
    }
    return RKT_OK;
}

/* 25 s of a sidecar's life, looked at each 100 ms; from 15 s on nobody steers. */
static void live(struct store *store)
{
    static const struct rkt_node_id NODE = {.host = "here", .boot_id = "boot"};
    struct rkt_own_source *own;
    struct rkt_error err = {0};

    store->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    store->decoder = rkt_decoder_create();
    assert_rkt_ok(rkt_own_source_create(3, &NODE, take_frame, store, &own, &err), err);
    for (uint64_t at_ns = 1000 * S; at_ns < 1025 * S; at_ns += S / 10) {
        kernel.status = at_ns < 1015 * S ? 0 : STA_UNSYNC;
        assert_rkt_ok(rkt_own_source_step(own, at_ns, &err), err);
    }
    assert_rkt_ok(rkt_own_source_end(own, &err), err);
    rkt_own_source_destroy(own);
    rkt_packer_destroy(store->packer);
    rkt_decoder_destroy(store->decoder);
}

static void a_sidecar_records_the_state_each_ten_seconds(void **state)
{
    struct store store = {0};
    struct rkt_source_info here = {0};

    (void)state;
    live(&store);
    assert_int_equal(store.state_count, 3);
    assert_int_equal(store.states[1].clock_state.status, 0);
    assert_int_equal(store.states[2].clock_state.status, STA_UNSYNC);
    assert_int_equal(set_modes, 0);
    rkt_clock_facts_read("", &here);
    assert_string_equal(store.source.clocksource, here.clocksource);
    assert_int_equal(store.source.tsc_flags, here.tsc_flags);
}

static void a_sidecar_that_is_refused_goes_on_without(void **state)
{
    struct store store = {0};

    (void)state;
    is_refused = true;
    live(&store);
    assert_int_equal(store.state_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(errors_are_in_ns_and_the_status_as_the_kernel_gives_it, set_up),
        cmocka_unit_test_setup(an_offset_is_in_us_where_the_kernel_says_so, set_up),
        cmocka_unit_test_setup(the_frequency_is_of_both_ways_to_steer, set_up),
        cmocka_unit_test_setup(a_kernel_that_does_not_say_is_no_state, set_up),
        cmocka_unit_test(facts_are_those_of_the_files),
        cmocka_unit_test(where_there_is_nothing_to_read_facts_are_unknown),
        cmocka_unit_test_setup(a_sidecar_records_the_state_each_ten_seconds, set_up),
        cmocka_unit_test_setup(a_sidecar_that_is_refused_goes_on_without, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
