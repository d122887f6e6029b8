/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/free_port.h"

static int bind_port(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void found_port_can_be_bound_and_is_not_found_while_it_is(void **state)
{
    uint16_t port = rkt_free_port_find(7);
    int fd;

    (void)state;
    assert_int_not_equal(port, 0);
    fd = bind_port(port);
    assert_int_not_equal(rkt_free_port_find(7), port);
    close(fd);
}

static void found_port_is_not_one_that_the_kernel_gives_away(void **state)
{
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    char text[64] = "";
    unsigned long low;

    (void)state;
    if (file && !fgets(text, sizeof(text), file))
        text[0] = '\0';
    if (file)
        (void)fclose(file);
    low = strtoul(text, NULL, 10);
    if (low <= 32000)
        low = UINT16_MAX; /* a machine with another range: nothing to hold */
    for (uint64_t seed = 0; seed < 100; seed++)
        assert_true(rkt_free_port_find(seed) < low);
}

static void seeds_spread_the_ports(void **state)
{
    (void)state;
    assert_int_not_equal(rkt_free_port_find(1), rkt_free_port_find(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_port_can_be_bound_and_is_not_found_while_it_is),
        cmocka_unit_test(found_port_is_not_one_that_the_kernel_gives_away),
        cmocka_unit_test(seeds_spread_the_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
