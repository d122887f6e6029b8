/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdio.h>

#include "analysis/import/json_forms.h"

#define TEXT_CAP 4096u

enum meaning {
    MEANING_OTHER,
    MEANING_PH,
    MEANING_CAT,
};

struct fixture {
    struct rkt_json_forms *forms;
    struct rkt_json_parser *parser;
    char text[TEXT_CAP + RKT_JSON_PADDING];
    char seen[TEXT_CAP]; /* "key=value," of each field, '+' before those of args, then "; unread" */
    bool refuses_args;
};

static uint16_t meaning_of(const char *key, size_t bytes, bool in_args)
{
    if (in_args)
        return MEANING_OTHER;
    if (bytes == 2 && memcmp(key, "ph", 2) == 0)
        return MEANING_PH;
    return bytes == 3 && memcmp(key, "cat", 3) == 0 ? MEANING_CAT : MEANING_OTHER;
}

static bool wants_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    const struct fixture *fixture = ctx;

    (void)fields;
    (void)count;
    return !fixture->refuses_args;
}

static void put(struct fixture *fixture, const struct rkt_json_object *object)
{
    size_t used = 0;

    for (size_t i = 0; i < object->count; i++) {
        const struct rkt_json_field *field = &object->fields[i];

        used += (size_t)snprintf(fixture->seen + used, TEXT_CAP - used, "%s%.*s=%s%.*s,",
                                 field->in_args ? "+" : "", (int)field->key_bytes, field->key,
                                 field->is_text ? "'" : "", (int)field->value_bytes, field->value);
        assert_true(used < TEXT_CAP);
        assert_int_equal(field->meaning, meaning_of(field->key, field->key_bytes, field->in_args));
    }
    (void)snprintf(fixture->seen + used, TEXT_CAP - used, "; %.*s",
                   object->unread ? (int)(object->text_end - object->unread) : 0,
                   object->unread ? object->unread : "");
}

static bool see(void *ctx, const struct rkt_json_object *object)
{
    put(ctx, object);
    return true;
}

static void set_text(struct fixture *fixture, const char *text)
{
    memset(fixture->text, 0, sizeof(fixture->text));
    (void)snprintf(fixture->text, TEXT_CAP, "%s", text);
}

static bool see_and_learn(void *ctx, const struct rkt_json_object *object)
{
    struct fixture *fixture = ctx;

    put(fixture, object);
    rkt_json_forms_learn(fixture->forms, object);
    return true;
}

static void parse(struct fixture *fixture, const char *text, bool learns)
{
    struct rkt_json_object_visitor visitor = {fixture, wants_args, learns ? see_and_learn : see};
    size_t end;

    set_text(fixture, text);
    assert_int_equal(
        rkt_json_parse_object(fixture->parser, fixture->text, strlen(text), &visitor, &end),
        RKT_JSON_DONE);
}

/* What is behind the object does not matter. */
static bool read_with(struct fixture *fixture, const char *text, const char *behind,
                      struct rkt_json_object *object)
{
    struct rkt_json_object_visitor visitor = {fixture, wants_args, NULL};

    set_text(fixture, text);
    (void)snprintf(fixture->text + strlen(text), TEXT_CAP - strlen(text), "%s", behind);
    fixture->seen[0] = '\0';
    if (!rkt_json_forms_read(fixture->forms, fixture->text, &visitor, object))
        return false;
    assert_ptr_equal(object->text, fixture->text);
    assert_ptr_equal(object->text_end, fixture->text + strlen(text));
    put(fixture, object);
    return true;
}

static bool read_known(struct fixture *fixture, const char *text)
{
    struct rkt_json_object object;

    return read_with(fixture, text, "", &object);
}

static int make(void **state)
{
    struct fixture *fixture = test_calloc(1, sizeof(*fixture));

    fixture->parser = rkt_json_parser_create(meaning_of);
    fixture->forms = rkt_json_forms_create(meaning_of, 1u << MEANING_PH | 1u << MEANING_CAT);
    *state = fixture;
    return fixture->parser && fixture->forms ? 0 : 1;
}

static int drop(void **state)
{
    struct fixture *fixture = *state;

    rkt_json_parser_destroy(fixture->parser);
    rkt_json_forms_destroy(fixture->forms);
    test_free(fixture);
    return 0;
}

/* Objects of one form: the first is learned, the second must be read as the parser reads it. */
static void objects_like_known_ones_have_the_parsers_fields(void **state)
{
    static const struct {
        const char *first;
        const char *second;
    } CASES[] = {
        {"{}", "{}"},
        {"{\"ph\":\"X\",\"ts\":1,\"dur\":20}", "{\"ph\":\"X\",\"ts\":12345678901234567,\"dur\":0}"},
        {"{\"name\": \"a\", \"pid\": 1}",
         "{\"name\": \"\", \"pid\": 123456789012345678901234567890}"},
        {"{\"a\": 1.5, \"b\": -2, \"c\": true}", "{\"a\": 0.25, \"b\": null, \"c\": NaN}"},
        {"{\"a\": 1e5, \"b\": -.}", "{\"a\": 1.5e-5, \"b\": 1.2.3}"},
        {"{ \"name\" : \"of more than sixteen bytes\" , \"x\" : \"\" }",
         "{ \"name\" : \"and this one is of more than two times sixteen\" , \"x\" : \"]}\" }"},
        {"{\"d\": [[1, 2], []], \"t\": [\"float\", \"\"]}",
         "{\"d\": [], \"t\": [[\"],[\"], -1.5, null,\n\t[ ]]}"},
        {"{\"ph\":\"X\",\"args\":{},\"ts\":1}", "{\"ph\":\"X\",\"args\":{},\"ts\":2}"},
        {"{\"ph\":\"X\",\"args\": {\"cat\":\"a\",\"b\":1},\"ts\":1}",
         "{\"ph\":\"X\",\"args\": {\"cat\":\"c\",\"b\":2},\"ts\":2}"},
        {"{\"args\": 7, \"b\": 1}", "{\"args\": 8, \"b\": 2}"},
        {"{\"a\": 1,                                                                        "
         "\"args\": {                                                                     \"b\": "
         "1}}",
         "{\"a\": 2,                                                                        "
         "\"args\": {                                                                     \"b\": "
         "3}}"},
        {"{\"a key that with its blanks is much longer than what one node of the tree can hold\": "
         "1}",
         "{\"a key that with its blanks is much longer than what one node of the tree can hold\": "
         "2}"},
        {"{\"cat\":\"a text that tells kinds apart and is longer than any node's literal may be\"}",
         "{\"cat\":\"another one\"}"},
        {"{\"cat\":\"this one is just short enough to be a part of its form, really so\",\"a\":1}",
         "{\"cat\":\"this one is just short enough to be a part of its form, really so\",\"a\":2}"},
    };

    for (int refuses = 0; refuses < 2; refuses++) {
        for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
            struct fixture *fixture;
            char parsed[TEXT_CAP];
            struct rkt_json_object object;

            assert_int_equal(make(state), 0);
            fixture = *state;
            fixture->refuses_args = refuses;
            assert_false(read_known(fixture, CASES[i].first));
            parse(fixture, CASES[i].first, true);
            parse(fixture, CASES[i].second, false);
            (void)snprintf(parsed, sizeof(parsed), "%s", fixture->seen);
            if (!read_with(fixture, CASES[i].second, ",{\"ph\":\"X\"}]", &object))
                fail_msg("%s is not read after %s", CASES[i].second, CASES[i].first);
            assert_string_equal(fixture->seen, parsed);
            (void)drop(state);
        }
    }
}

/* Of one form to the eye, but not for us: the parser is to say what they are. */
static void what_may_be_anything_else_is_not_read(void **state)
{
    static const char KNOWN[] = "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[1]}";
    static const char *const OTHERS[] = {
        "",
        "{",
        "{\"ph\":\"Y\",\"name\":\"a\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"XX\",\"name\":\"a\",\"ts\":1,\"l\":[1]}",
        "{\"ph\": \"X\",\"name\":\"a\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[1],\"m\":2}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[1]",
        "{\"ph\":\"X\",\"name\":\"a\\n\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\\\"\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\nb\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"\xc3\xa9\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a long text without an end, and nothing else",
        "{\"ph\":\"X\",\"name\":\"ph\",\"ts\":1,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"1\",\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1 ,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1*,\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":{},\"l\":[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[[1]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[{}]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[\"ph\"]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[\"\\\\\"]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[1:2]}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"l\":[1",
    };
    struct fixture *fixture = *state;

    parse(fixture, KNOWN, true);
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (read_known(fixture, OTHERS[i]))
            fail_msg("%s is read", OTHERS[i]);
    }
    assert_true(read_known(fixture, KNOWN));
}

static void objects_that_may_hide_events_are_not_learned(void **state)
{
    static const char *const OBJECTS[] = {
        "{\"ph\":\"X\",\"ph\":\"X\"}",
        "{\"ph\":\"X\",\"a\":{\"b\":1}}",
        "{\"ph\":\"X\",\"args\":{\"a\":{\"b\":1}}}",
        "{\"args\":{\"a\":1},\"ph\":\"X\"}",
        "{\"ph\":\"X\",\"args\":{\"a\":1},\"args\":{\"a\":1}}",
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(OBJECTS) / sizeof(OBJECTS[0]); i++) {
        parse(fixture, OBJECTS[i], true);
        if (read_known(fixture, OBJECTS[i]))
            fail_msg("%s is learned", OBJECTS[i]);
    }
}

/* A value that is now this and now that, also where one literal begins as another does. */
static void forms_part_where_their_objects_do(void **state)
{
    static const char *const OBJECTS[] = {
        "{\"ph\":\"X\",\"tid\":7,\"a\":1}",
        "{\"ph\":\"X\",\"tid\":\"stream 7\",\"a\":1}",
        "{\"ph\":\"X\",\"tid\":-7,\"a\":1}",
        "{\"ph\":\"X\",\"tid\":[7],\"a\":1}",
        "{\"ph\":\"X\",\"tid\":7}",
        "{\"ph\":\"Xa\",\"tid\":7}",
        "{\"ph\":\"X\",\"cat\":\"a\",\"t\":1}",
        "{\"ph\":\"X\",\"cat\":\"ab\",\"t\":1}",
    };
    const size_t count = sizeof(OBJECTS) / sizeof(OBJECTS[0]);
    struct fixture *fixture = *state;

    for (size_t i = 0; i < count; i++)
        parse(fixture, OBJECTS[i], true);
    for (size_t i = 0; i < count * count; i++) { /* each behind each other */
        size_t which = i % 2 ? i / 2 % count : i / 2 / count % count;
        char parsed[TEXT_CAP];

        parse(fixture, OBJECTS[which], false);
        (void)snprintf(parsed, sizeof(parsed), "%s", fixture->seen);
        assert_true(read_known(fixture, OBJECTS[which]));
        assert_string_equal(fixture->seen, parsed);
    }
}

static void texts_that_tell_kinds_apart_are_numbered(void **state)
{
    static const char *const OBJECTS[] = {
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\"}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\"}",
    };
    struct fixture *fixture = *state;
    uint16_t kinds[2][3];

    for (size_t i = 0; i < 2; i++) {
        struct rkt_json_object object;

        parse(fixture, OBJECTS[i], true);
        assert_true(read_with(fixture, OBJECTS[i], "", &object));
        for (size_t f = 0; f < 3; f++)
            kinds[i][f] = object.fields[f].kind;
    }
    assert_int_not_equal(kinds[0][0], 0);
    assert_int_equal(kinds[0][0], kinds[1][0]);
    assert_int_not_equal(kinds[0][1], 0);
    assert_int_not_equal(kinds[0][1], kinds[1][1]);
    assert_int_equal(kinds[0][2], 0);
    assert_true(kinds[1][1] < RKT_JSON_FORM_NODES_MAX);
}

static void too_many_forms_leave_the_first_ones(void **state)
{
    struct fixture *fixture = *state;
    char text[TEXT_CAP];
    size_t known = 0;

    for (int i = 0; i < 3000; i++) {
        (void)snprintf(text, sizeof(text), "{\"ph\":\"X\",\"%d\":1,\"%d\":2,\"%d\":3}", i / 900,
                       i / 30, i);
        parse(fixture, text, true);
        known += read_known(fixture, text);
    }
    assert_in_range(known, 30, RKT_JSON_FORM_NODES_MAX);
    assert_true(read_known(fixture, "{\"ph\":\"X\",\"0\":1,\"0\":2,\"0\":3}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_like_known_ones_have_the_parsers_fields),
        cmocka_unit_test_setup_teardown(what_may_be_anything_else_is_not_read, make, drop),
        cmocka_unit_test_setup_teardown(objects_that_may_hide_events_are_not_learned, make, drop),
        cmocka_unit_test_setup_teardown(forms_part_where_their_objects_do, make, drop),
        cmocka_unit_test_setup_teardown(texts_that_tell_kinds_apart_are_numbered, make, drop),
        cmocka_unit_test_setup_teardown(too_many_forms_leave_the_first_ones, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
