/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <string.h>

#include "analysis/import/json_swallowed.h"

/* What is looked for is marked by its phase and nothing else has that one. */
#define SWALLOWED "{\"ph\":\"!\",\"name\":\"a\"}"
#define EVENT "{\"ph\":\"X\",\"name\":\"b\"}"
#define DEEP_16 "[[[[[[[[[[[[[[[["
#define UP_16 "]]]]]]]]]]]]]]]]"

static const struct {
    const char *what;
    enum rkt_json_holder holder;
    const char *text;
} CASES[] = {
    {"an event without args", RKT_JSON_HOLDER_EVENT, EVENT},
    {"as a value outside args", RKT_JSON_HOLDER_EVENT, "{\"x\":" SWALLOWED "}"},
    {"first in a list outside args", RKT_JSON_HOLDER_EVENT, "{\"ph\":\"X\",\"x\":[" SWALLOWED "]}"},
    {"deep outside args", RKT_JSON_HOLDER_EVENT, "{\"x\":{\"y\":[[" SWALLOWED "]]}}"},
    {"behind args", RKT_JSON_HOLDER_EVENT, "{\"args\":{},\"x\":" SWALLOWED "}"},
    {"in args of a value outside args", RKT_JSON_HOLDER_EVENT, "{\"x\":{\"args\":" SWALLOWED "}}"},
    {"in a key of args that is no object", RKT_JSON_HOLDER_EVENT,
     "{\"args\":1,\"x\":[" SWALLOWED "]}"},
    {"behind a text in args", RKT_JSON_HOLDER_EVENT, "{\"args\":{\"l\":[\"s\"," SWALLOWED "]}}"},
    {"behind a number in args", RKT_JSON_HOLDER_EVENT, "{\"args\":{\"l\":[5, " SWALLOWED "]}}"},
    {"behind a word in args", RKT_JSON_HOLDER_EVENT, "{\"args\":{\"l\":[null," SWALLOWED "]}}"},
    {"behind an object in args", RKT_JSON_HOLDER_EVENT, "{\"args\":{\"l\":[{}," SWALLOWED "]}}"},
    {"behind a list in args", RKT_JSON_HOLDER_EVENT, "{\"args\":{\"l\":[[]," SWALLOWED "]}}"},
    {"behind something and an event", RKT_JSON_HOLDER_EVENT,
     "{\"args\":[0," SWALLOWED "," EVENT "]}"},
    {"behind an event and something", RKT_JSON_HOLDER_EVENT,
     "{\"args\":[" EVENT ",0," SWALLOWED "]}"},
    {"with a time for a name, and blanks", RKT_JSON_HOLDER_EVENT,
     "{ \"args\" : [ 0 , { \"ts\" : 5 , \"ph\" : \"!\" } ] }"},
    {"in a text with braces and quotes before it", RKT_JSON_HOLDER_EVENT,
     "{\"args\":{\"s\":\"}]\\\"[{\",\"l\":[0," SWALLOWED "]}}"},
    {"alone in args", RKT_JSON_HOLDER_EVENT, "{\"args\":" EVENT "}"},
    {"events alone in a list in args", RKT_JSON_HOLDER_EVENT,
     "{\"args\":{\"l\":[" EVENT "," EVENT "]}}"},
    {"a value among others in args", RKT_JSON_HOLDER_EVENT,
     "{\"args\":{\"l\":[1],\"m\":" EVENT "}}"},
    {"a value in a list of others", RKT_JSON_HOLDER_EVENT,
     "{\"args\":{\"l\":[1,{\"k\":[2],\"m\":" EVENT "}]}}"},
    {"no event, as its phase is long", RKT_JSON_HOLDER_EVENT,
     "{\"x\":{\"ph\":\"XX\",\"name\":\"a\"}}"},
    {"no event, as its phase is no text", RKT_JSON_HOLDER_EVENT,
     "{\"x\":{\"ph\":111,\"name\":\"a\"}}"},
    {"no event, as its phase is an escape", RKT_JSON_HOLDER_EVENT,
     "{\"x\":{\"ph\":\"\\\"\",\"name\":\"a\"}}"},
    {"no event, as it has neither name nor time", RKT_JSON_HOLDER_EVENT,
     "{\"x\":{\"ph\":\"X\",\"dur\":1}}"},
    {"no event, as the phase is of what is in it", RKT_JSON_HOLDER_EVENT,
     "{\"x\":{\"y\":{\"ph\":\"X\"},\"name\":\"a\"}}"},
    {"in a member behind something", RKT_JSON_HOLDER_MEMBER, "[1," SWALLOWED "]"},
    {"in an object in a member", RKT_JSON_HOLDER_MEMBER, "{\"x\":[1," SWALLOWED "]}"},
    {"alone in a member", RKT_JSON_HOLDER_MEMBER, "{\"x\":" EVENT "}"},
    {"events alone in a member", RKT_JSON_HOLDER_MEMBER, "[" EVENT "," EVENT "]"},
    {"brackets that do not match", RKT_JSON_HOLDER_EVENT, "{\"x\":[}}]}" EVENT},
    {"brackets that never close", RKT_JSON_HOLDER_EVENT, "{\"x\":[{\"y"},
    {"a text of 63 levels", RKT_JSON_HOLDER_MEMBER,
     DEEP_16 DEEP_16 DEEP_16 "[[[[[[[[[[[[[[[1," SWALLOWED "]]]]]]]]]]]]]]]" UP_16 UP_16 UP_16},
    {"a text of more levels than are looked into", RKT_JSON_HOLDER_MEMBER,
     DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 "1," EVENT UP_16 UP_16 UP_16 UP_16 UP_16},
};

static size_t start_of_marked(const char *text)
{
    const char *mark = strchr(text, '!');

    if (!mark)
        return strlen(text);
    while (*mark != '{')
        mark--;
    return (size_t)(mark - text);
}

static void the_first_event_that_damage_swallowed_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const char *text = CASES[i].text;
        size_t found = rkt_json_find_swallowed(text, strlen(text), CASES[i].holder);

        if (found != start_of_marked(text))
            fail_msg("%s: at %zu of %zu", CASES[i].what, found, strlen(text));
    }
}

static void only_text_with_an_object_and_a_phase_may_hold_an_event(void **state)
{
    static const char PHASE_FIRST[] = "[\"ph\",{}]";

    (void)state;
    assert_true(rkt_json_may_hold_event(EVENT, strlen(EVENT)));
    assert_true(rkt_json_may_hold_event("[1," EVENT "]", strlen("[1," EVENT "]")));
    assert_false(rkt_json_may_hold_event(EVENT, strlen("{\"ph")));
    assert_false(rkt_json_may_hold_event(PHASE_FIRST, strlen(PHASE_FIRST)));
    assert_false(rkt_json_may_hold_event("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_event_that_damage_swallowed_is_found),
        cmocka_unit_test(only_text_with_an_object_and_a_phase_may_hold_an_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
