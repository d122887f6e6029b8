/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "common/clock.h"
#include "common/event.h"

static void func_spellings_of_nccl_and_pytorch_are_known(void **state)
{
    static const struct {
        const char *text;
        enum rkt_nccl_func func;
    } cases[] = {
        {"AllReduce", RKT_NCCL_FUNC_ALLREDUCE},
        {"allreduce_coalesced", RKT_NCCL_FUNC_ALLREDUCE},
        {"_allgather_base", RKT_NCCL_FUNC_ALLGATHER},
        {"all_gather_into_tensor_coalesced", RKT_NCCL_FUNC_ALLGATHER},
        {"_reduce_scatter_base", RKT_NCCL_FUNC_REDUCESCATTER},
        {"all_to_allv", RKT_NCCL_FUNC_ALLTOALL},
        {"AlltoAll", RKT_NCCL_FUNC_ALLTOALL},
        {"broadcast", RKT_NCCL_FUNC_BROADCAST},
        {"Reduce", RKT_NCCL_FUNC_REDUCE},
        {"gather", RKT_NCCL_FUNC_GATHER},
        {"scatter", RKT_NCCL_FUNC_SCATTER},
        {"SendRecv", RKT_NCCL_FUNC_SENDRECV},
        {"send 0->1", RKT_NCCL_FUNC_SEND},
        {"wait", RKT_NCCL_FUNC_UNKNOWN},
        {"", RKT_NCCL_FUNC_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rkt_nccl_func_parse(cases[i].text) != cases[i].func)
            fail_msg("'%s'", cases[i].text);
    }
}

static void datatypes_have_values_and_sizes_as_nccl(void **state)
{
    static const struct {
        const char *text;
        uint8_t value;
        uint32_t bytes;
    } cases[] = {
        {"ncclFloat32", 7, 4},
        {"Float", 7, 4},
        {"torch.float32", 7, 4},
        {"ncclInt8", 0, 1},
        {"Half", 6, 2},
        {"BFloat16", 9, 2},
        {"ncclBfloat16", 9, 2},
        {"Long", 4, 8},
        {"Int", 2, 4},
        {"ncclUint64", 5, 8},
        {"Double", 8, 8},
        {"Byte", 1, 1},
        {"complex", RKT_DATATYPE_UNKNOWN, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rkt_datatype_parse(cases[i].text) != cases[i].value ||
            rkt_datatype_bytes(cases[i].value) != cases[i].bytes)
            fail_msg("'%s'", cases[i].text);
    }
}

static void every_number_has_a_name_or_is_unknown(void **state)
{
    (void)state;
    assert_string_equal(rkt_event_kind_name(RKT_EVENT_KERNEL), "kernel");
    assert_string_equal(rkt_event_kind_name(RKT_EVENT_LOSS), "loss");
    assert_string_equal(rkt_event_kind_name((enum rkt_event_kind)200), "unknown");
    assert_string_equal(rkt_copy_kind_name(RKT_COPY_PTOP), "PtoP");
    assert_string_equal(rkt_nccl_func_name(RKT_NCCL_FUNC_BARRIER), "Barrier");
    assert_string_equal(rkt_loss_reason_name(RKT_LOSS_CAPTURE_OFF), "capture_off");
    assert_string_equal(rkt_clock_name(RKT_CLOCK_TRACE), "trace");
    assert_string_equal(rkt_clock_name((enum rkt_clock_id)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(func_spellings_of_nccl_and_pytorch_are_known),
        cmocka_unit_test(datatypes_have_values_and_sizes_as_nccl),
        cmocka_unit_test(every_number_has_a_name_or_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
