/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "launch/own_address.h"

static void say_address(const struct ifaddrs *card, char *text)
{
    const void *address = card->ifa_addr;
    int family = address ? card->ifa_addr->sa_family : AF_UNSPEC;

    *text = '\0';
    if (family == AF_INET)
        (void)inet_ntop(family, &((const struct sockaddr_in *)address)->sin_addr, text,
                        RKT_ADDRESS_BYTES);
    if (family == AF_INET6)
        (void)inet_ntop(family, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
                        RKT_ADDRESS_BYTES);
}

static bool is_of_a_card(const char *text)
{
    struct ifaddrs *cards;
    bool is_one = false;

    assert_int_equal(getifaddrs(&cards), 0);
    for (const struct ifaddrs *card = cards; card; card = card->ifa_next) {
        char own[RKT_ADDRESS_BYTES];

        say_address(card, own);
        is_one |= strcmp(own, text) == 0;
    }
    freeifaddrs(cards);
    return is_one;
}

/* Which of them it is, many_hosts.sh looks at: here there may be no route at all. */
static void the_address_is_that_of_a_network_card(void **state)
{
    char text[RKT_ADDRESS_BYTES];

    (void)state;
    if (!rkt_own_address_find(text))
        skip();
    assert_true(is_of_a_card(text));
    assert_string_not_equal(text, "127.0.0.1");
}

static void a_host_is_known_by_its_name_or_address(void **state)
{
    (void)state;
    assert_true(rkt_host_is_known("localhost"));
    assert_true(rkt_host_is_known("127.0.0.1"));
    assert_false(rkt_host_is_known("no.such.host.invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_is_that_of_a_network_card),
        cmocka_unit_test(a_host_is_known_by_its_name_or_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
