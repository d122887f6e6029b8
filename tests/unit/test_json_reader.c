/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "analysis/import/json_reader.h"
#include "analysis/import/json_scan.h"

/* What a walk gave out: "a,b,c" of the names, and "key=value;" of the members. */
struct seen {
    char names[65536];
    char members[4096];
    size_t args_count;
    bool refuses_args;
};

static void append(char *text, size_t cap, const char *more, size_t len, const char *end)
{
    size_t used = strlen(text);

    if (used + len + 2 > cap)
        fail_msg("the test's text is full");
    (void)snprintf(text + used, cap - used, "%.*s%s", (int)len, more, end);
}

static enum rkt_status see_event(void *ctx, const struct rkt_json_object *event,
                                 struct rkt_error *err)
{
    struct seen *seen = ctx;

    (void)err;
    for (size_t i = 0; i < event->count; i++) {
        const struct rkt_json_field *field = &event->fields[i];

        seen->args_count += field->in_args;
        if (!field->in_args && field->key_bytes == 4 && memcmp(field->key, "name", 4) == 0)
            append(seen->names, sizeof(seen->names), field->value, field->value_bytes, ",");
    }
    return RKT_OK;
}

static bool see_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    const struct seen *seen = ctx;

    (void)fields;
    (void)count;
    return !seen->refuses_args;
}

static enum rkt_status see_member(void *ctx, const struct rkt_json_field *member,
                                  struct rkt_error *err)
{
    struct seen *seen = ctx;

    (void)err;
    append(seen->members, sizeof(seen->members), member->key, member->key_bytes, "=");
    append(seen->members, sizeof(seen->members), member->value, member->value_bytes, ";");
    return RKT_OK;
}

static enum rkt_status walk_source(struct rkt_text_source *source, size_t window, struct seen *seen,
                                   struct rkt_json_stats *stats, struct rkt_text_damage *damage)
{
    struct rkt_json_handler handler = {
        .ctx = seen, .wants_args = see_args, .event = see_event, .member = see_member};
    enum rkt_status status;

    memset(seen->names, 0, sizeof(seen->names));
    memset(seen->members, 0, sizeof(seen->members));
    seen->args_count = 0;
    status = rkt_json_read(source, window, &handler, stats, NULL);
    if (damage)
        *damage = *rkt_text_source_damage(source);
    rkt_text_source_close(source);
    return status;
}

/* As a file. */
static enum rkt_status walk_file(const void *bytes, size_t len, size_t window, struct seen *seen,
                                 struct rkt_json_stats *stats)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct rkt_text_source *source;
    char path[64];

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_rkt_status(rkt_text_source_open(path, &source, NULL), RKT_OK);
    (void)close(fd);
    return walk_source(source, window, seen, stats, NULL);
}

static void assert_same_stats(const struct rkt_json_stats *a, const struct rkt_json_stats *b)
{
    assert_int_equal(a->json_bytes, b->json_bytes);
    assert_int_equal(a->event_count, b->event_count);
    assert_int_equal(a->repaired_count, b->repaired_count);
    assert_int_equal(a->damaged_count, b->damaged_count);
    assert_int_equal(a->damaged_bytes, b->damaged_bytes);
    assert_int_equal(a->first_damage, b->first_damage);
    assert_int_equal(a->place_count, b->place_count);
    assert_int_equal(a->is_cut, b->is_cut);
    assert_int_equal(a->has_rest, b->has_rest);
}

/* From memory, and the same from a file. */
static enum rkt_status walk(const void *bytes, size_t len, size_t window, struct seen *seen,
                            struct rkt_json_stats *stats, struct rkt_text_damage *damage)
{
    static struct seen in_file; /* large */
    struct rkt_text_source *source = rkt_text_source_from_memory(bytes, len);
    struct rkt_json_stats file_stats;
    enum rkt_status status;

    assert_non_null(source);
    in_file.refuses_args = seen->refuses_args;
    status = walk_source(source, window, seen, stats, damage);
    assert_int_equal(walk_file(bytes, len, window, &in_file, &file_stats), status);
    assert_string_equal(in_file.names, seen->names);
    assert_string_equal(in_file.members, seen->members);
    assert_int_equal(in_file.args_count, seen->args_count);
    if (status == RKT_OK)
        assert_same_stats(&file_stats, stats);
    return status;
}

static struct seen seen; /* large */

struct case_of {
    const char *what;
    const char *json;
    const char *names;
    const char *members;
    uint64_t damaged;
    uint64_t repaired;
    bool is_cut;
    bool has_rest;
};

#define A "{\"ph\":\"X\",\"name\":\"a\"}"
#define B "{\"ph\":\"X\",\"name\":\"b\"}"
#define C "{\"ph\":\"X\",\"name\":\"c\"}"

static const struct case_of CASES[] = {
    {"object form, members on both sides", "{\"x\":1,\"traceEvents\":[" A "," B "],\"y\":\"z\"}",
     "a,b,", "x=1;y=z;", 0, 0, false, false},
    {"bare array", "[" A "," B "]", "a,b,", "", 0, 0, false, false},
    {"bare array that was never closed", "[" A "," B ",", "a,b,", "", 0, 0, false, false},
    {"minified or with blanks everywhere", " { \"traceEvents\" : [ " A " ,\n\t" B " ] } \n", "a,b,",
     "", 0, 0, false, false},
    {"byte order mark", "\xef\xbb\xbf[" A "]", "a,", "", 0, 0, false, false},
    {"BR-10: empty elements", "[," A ",," B ",]", "a,b,", "", 0, 0, false, false},
    {"no events at all", "{\"traceEvents\":[]}", "", "", 0, 0, false, false},
    {"no list of events", "{\"x\":[1,{\"y\":2}]}", "", "x=[1,{\"y\":2}];", 0, 0, false, false},
    {"list ends in the window, other objects behind it",
     "{\"traceEvents\":[" A "," B "],\"devices\":[{\"i\":0},{\"i\":1},{\"i\":2}]}", "a,b,",
     "devices=[{\"i\":0},{\"i\":1},{\"i\":2}];", 0, 0, false, false},
    {"BR-05: newline inside a string", "[" A ",{\"ph\":\"X\",\"name\":\"one\ntwo\"}," B "]",
     "a,one\\u000atwo,b,", "", 0, 1, false, false},
    {"BR-17: bytes that are no UTF-8", "[" A ",{\"ph\":\"X\",\"name\":\"\xff\xfe!\"}," B "]",
     "a,\xef\xbf\xbd\xef\xbf\xbd!,b,", "", 0, 1, false, false},
    {"an element that is no object", "[" A ",null,7,\"x\"," B "]", "a,b,", "", 3, 0, false, false},
    {"a comma is missing between events", "[" A B "," C "]", "a,b,c,", "", 0, 0, false, false},
    {"a comma is missing inside an event", "[" A ",{\"ph\":\"X\" \"name\":\"x\"}," B "]", "a,b,",
     "", 1, 0, false, false},
    {"a quote is missing", "[" A ",{\"ph\":\"X\",\"name\":\"x}," B "," C "]", "a,b,c,", "", 1, 0,
     false, false},
    {"a brace is missing", "[" A ",{\"ph\":\"X\",\"name\":\"x\"," B "," C "]", "a,b,c,", "", 1, 0,
     false, false},
    {"the last event is broken, members follow",
     "{\"traceEvents\":[" A ",{\"ph\":\"X\",\"name\":\"x}],\"baseTimeNanoseconds\":5}", "a,",
     "baseTimeNanoseconds=5;", 1, 0, false, false},
    {"cut inside an event", "{\"traceEvents\":[" A "," B ",{\"ph\":\"X\",\"na", "a,b,", "", 1, 0,
     true, false},
    {"cut between events", "{\"traceEvents\":[" A "," B, "a,b,", "", 0, 0, true, false},
    {"cut inside a member", "{\"traceEvents\":[" A "],\"x\":[1,2", "a,", "", 1, 0, true, false},
    {"BR-15: garbage behind the end", "{\"traceEvents\":[" A "]}garbage", "a,", "", 1, 0, false,
     true},
    {"events behind a stray end of the list", "{\"traceEvents\":[" A "]," B "],\"x\":1}", "a,b,",
     "x=1;", 0, 0, false, false},
    {"events behind a stray end of all", "{\"traceEvents\":[" A "]}," B "],\"x\":1}", "a,b,",
     "x=1;", 1, 0, false, true},
    {"the end of a broken event looks like that of the list",
     "{\"traceEvents\":[{\"ph\":\"X\",\"args\":{\"l\":[{}}}},{\"b\":[3]}]}}," A "," B "],\"x\":1}",
     "a,b,", "x=1;", 1, 0, false, true},
    {"a member that is broken before the events", "{\"x\" 5, \"traceEvents\":[" A "]}", "a,", "", 1,
     0, false, false},
    {"an object that looks like an event inside args",
     "[{\"ph\":\"X\",\"args\":{\"list\":[" B "]},\"name\":\"a\"}]", "a,", "", 0, 0, false, false},
    {"a broken event that takes the end of the list for its own",
     "{\"traceEvents\":[" A ",{\"ph\":\"X\",\"args\":[{}," B "," C "],\"x\":1}", "a,b,c,", "x=1;",
     1, 0, false, false},
    {"objects that begin as events do inside args, among others",
     "[{\"ph\":\"X\",\"args\":{\"l\":[1,{\"ph\":7,\"name\":1},{\"ph\":\"on\",\"name\":1},{\"ph\":"
     "\"X\"},"
     "{\"k\":" B "}]},\"name\":\"a\"}," C "]",
     "a,c,", "", 0, 0, false, false},
    {"two damaged events make one of all between them",
     "{\"traceEvents\":[" A ",{\"ph\":[{}," B "," C ",{\"l\":1}]}],\"x\":1}", "a,b,c,", "", 2, 0,
     false, true},
    {"the same where the first one is broken in its args",
     "[" A ",{\"ph\":\"X\",\"args\":{\"l\":[{\"a\":1}," B "," C ",{\"b\":1}]},\"name\":\"x\"}]",
     "a,b,c,", "", 2, 0, false, true},
    {"the same with a list for args", "[" A ",{\"ph\":\"X\",\"args\":[{}," B "," C "]}]", "a,b,c,",
     "", 2, 0, false, true},
    {"the same where nothing but the shortest event is between",
     "[" A ",{\"ph\":\"X\",\"x\":[1,{\"ph\":\"E\",\"ts\":1}," B "]}]", "a,b,", "", 2, 0, false,
     true},
    {"the same with the name in front",
     "[{\"name\":\"x\",\"l\":[2,{\"name\":\"a\",\"ph\":\"X\"}]}," B "]", "a,b,", "", 2, 0, false,
     true},
    {"the same behind events that are one value of it",
     "[" A ",{\"ph\":\"X\",\"args\":{\"e\":[{\"ph\":\"X\",\"name\":\"x\"}],\"l\":[1," B "," C
     "]}}]",
     "a,b,c,", "", 3, 0, false, true},
    {"the same in the first of two args",
     "[" A ",{\"ph\":\"X\",\"args\":{\"l\":[1," B "]},\"args\":{}}," C "]", "a,b,c,", "", 2, 0,
     false, true},
    {"events in a member that damage began",
     "{\"traceEvents\":[" A "],\"x\":[1," B "," C "],\"y\":2}", "a,b,c,", "y=2;", 1, 0, false,
     false},
    {"a member that is a list of events", "{\"traceEvents\":[" A "],\"x\":[" B "]}", "a,",
     "x=[" B "];", 0, 0, false, false},
    {"a brace is missing where names come first",
     "{\"traceEvents\":[{\"name\":\"x\",\"ph\":\"X\",{\"name\":\"a\",\"ph\":\"X\"}," B "],\"y\":2}",
     "a,b,", "y=2;", 1, 0, false, false},
    {"a brace is missing where keys are sorted",
     "[{\"args\":{\"i\":1},\"name\":\"a\",\"ph\":\"X\"},{\"args\":{\"i\":1,\"name\":\"x\",\"ph\":"
     "\"X\"},"
     "{\"args\":{},\"name\":\"b\",\"ph\":\"X\"}]",
     "a,b,", "", 1, 0, false, false},
    {"nested args with braces in texts",
     "[{\"ph\":\"X\",\"args\":{\"s\":\"},{\\\"ph\\\":\"},\"name\":\"a\"}," B "]", "a,b,", "", 0, 0,
     false, false},
};

static void check_case(const struct case_of *c, size_t window)
{
    struct rkt_json_stats stats;

    assert_rkt_status(walk(c->json, strlen(c->json), window, &seen, &stats, NULL), RKT_OK);
    if (strcmp(seen.names, c->names) != 0 || strcmp(seen.members, c->members) != 0)
        fail_msg("%s: got %s and %s", c->what, seen.names, seen.members);
    if (stats.damaged_count != c->damaged || stats.repaired_count != c->repaired ||
        stats.is_cut != c->is_cut || stats.has_rest != c->has_rest)
        fail_msg("%s: damaged %llu, repaired %llu, cut %d, rest %d", c->what,
                 (unsigned long long)stats.damaged_count, (unsigned long long)stats.repaired_count,
                 stats.is_cut, stats.has_rest);
    if ((stats.first_damage != UINT64_MAX) != (stats.damaged_count > 0))
        fail_msg("%s: damage and its place do not agree", c->what);
}

static void every_event_is_given_out_and_all_damage_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        for (int refuses = 0; refuses <= 1; refuses++) {
            seen.refuses_args = refuses;
            check_case(&CASES[i], 0);
            check_case(&CASES[i], RKT_JSON_WINDOW_BYTES_MIN);
        }
    }
    seen.refuses_args = false;
}

static void an_event_is_found_by_whatever_key_it_has_first(void **state)
{
    static const char *const KEYS[] = {"ph", "name", "cat", "pid",  "tid",
                                       "ts", "id",   "bp",  "args", "dur"};
    char text[2 * RKT_JSON_SURE_EVENT_BYTES];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        len =
            (size_t)sprintf(text, "7,{\"x\":1},{ \"%s\" : {\"a\":\"}\"} , \"ph\":\"X\"}", KEYS[i]);
        assert_int_equal(rkt_json_find_event(text, len, 0), strlen("7,{\"x\":1},"));
        assert_int_equal(rkt_json_find_sure_event(text, len, 0), strlen("7,{\"x\":1},"));
    }
    len = (size_t)sprintf(text, "{\"args\":\"%0*d\",\"ph\":\"X\"}", (int)RKT_JSON_SURE_EVENT_BYTES,
                          0);
    assert_int_equal(rkt_json_find_event(text, len, 0), 0);
    assert_int_equal(rkt_json_find_sure_event(text, len, 0), len);
}

static void what_two_damaged_events_lose_is_said_with_its_place(void **state)
{
    static const char JSON[] = "[" A ",{\"ph\":[{}," B "," C ",{\"l\":1}]}]";
    struct rkt_json_stats stats;

    (void)state;
    assert_rkt_status(walk(JSON, sizeof(JSON) - 1, 0, &seen, &stats, NULL), RKT_OK);
    assert_int_equal(stats.place_count, 2);
    assert_int_equal(stats.places[0].position, strlen("[" A ","));
    assert_int_equal(stats.places[0].bytes, strlen("{\"ph\":[{},"));
    assert_int_equal(stats.places[1].position, sizeof(JSON) - 1 - strlen("}]"));
    assert_int_equal(stats.places[1].bytes, strlen("}]"));
    assert_int_equal(stats.first_damage, stats.places[0].position);
    assert_int_equal(stats.damaged_bytes, stats.places[0].bytes + stats.places[1].bytes);
}

static void what_is_no_json_is_refused_by_name(void **state)
{
    static const char *const TEXTS[][2] = {
        {"", "is empty"},
        {"hello", "is no JSON"},
        {"PK\3\4zip", "zip archive"},
        {"RKTF\1", "ranktrace store"},
        {"<html>", "HTML"},
    };
    struct rkt_json_handler handler = {
        .ctx = &seen, .wants_args = see_args, .event = see_event, .member = see_member};

    (void)state;
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        struct rkt_text_source *source =
            rkt_text_source_from_memory(TEXTS[i][0], strlen(TEXTS[i][0]));
        struct rkt_json_stats stats;
        struct rkt_error err = {0};

        assert_rkt_status(rkt_json_read(source, 0, &handler, &stats, &err), RKT_ERR_FORMAT);
        if (!strstr(err.text, TEXTS[i][1]))
            fail_msg("%s: %s", TEXTS[i][0], err.text);
        rkt_text_source_close(source);
    }
}

/* Events whose texts hold everything that a cut could take for an end. */
static size_t make_awkward(char *json, size_t event_count)
{
    static const char *const TEXTS[] = {
        "plain", "},{",     "}, {\\\"ph\\\":\\\"X\\\"", "\\\\", "\\\"", "]", "[{", "{}",
        "",      "\\\\\\\""};
    size_t used = (size_t)sprintf(json, "{\"schemaVersion\": 1,\n\"traceEvents\": [\n");

    for (size_t i = 0; i < event_count; i++)
        used += (size_t)sprintf(
            json + used,
            "%s{\"ph\": \"X\", \"name\": \"e%zu\", \"args\": {\"t\": \"%s\", \"l\": [{\"a\": 1}, "
            "{\"b\": [%zu]}]}}",
            i > 0 ? ",\n" : "", i, TEXTS[i % (sizeof(TEXTS) / sizeof(TEXTS[0]))], i);
    return used + (size_t)sprintf(json + used, "],\n\"devices\": [{\"id\": 0}, {\"id\": 1}],\n"
                                               "\"base\": 42}\n");
}

static void windows_of_every_size_give_the_same_events(void **state)
{
    static char json[65536];
    static char whole[sizeof(seen.names)];
    size_t len = make_awkward(json, 150);
    struct rkt_json_stats stats;

    (void)state;
    assert_rkt_status(walk(json, len, 0, &seen, &stats, NULL), RKT_OK);
    assert_int_equal(stats.event_count, 150);
    assert_int_equal(stats.damaged_count, 0);
    assert_int_equal(seen.args_count, 300);
    memcpy(whole, seen.names, sizeof(whole));
    for (size_t window = RKT_JSON_WINDOW_BYTES_MIN; window < 800; window++) {
        assert_rkt_status(walk(json, len, window, &seen, &stats, NULL), RKT_OK);
        if (strcmp(seen.names, whole) != 0 || stats.damaged_count > 0 ||
            strcmp(seen.members, "schemaVersion=1;devices=[{\"id\": 0}, {\"id\": 1}];base=42;") !=
                0)
            fail_msg("a window of %zu bytes: %s %s", window, seen.names, seen.members);
    }
}

/* Its damage is looked at before it is known that nothing follows, from a file as from memory. */
static void a_text_that_just_fills_the_window_is_read_alike(void **state)
{
    static const char BEGIN[] = "{\"a\": [{\"id\": \x80}], \"b\": {\"c\": 2}, \"t\", \"d\": 5";
    static const char END[] = "aceEvents\": [{\"name\": \"a\", \"ph\": \"M\", \"pid\": \"p\"}}]}";
    char text[RKT_JSON_WINDOW_BYTES_MIN];
    struct rkt_json_stats stats;

    (void)state;
    memset(text, 0xff, sizeof(text));
    memcpy(text, BEGIN, sizeof(BEGIN) - 1);
    memcpy(text + sizeof(text) - sizeof(END) + 1, END, sizeof(END) - 1);
    assert_rkt_status(walk(text, sizeof(text), sizeof(text), &seen, &stats, NULL), RKT_OK);
    assert_true(stats.damaged_count > 0);
}

static void every_cut_keeps_the_events_before_it(void **state)
{
    static char json[65536];
    size_t len = make_awkward(json, 12);
    uint64_t events_before = 0;

    (void)state;
    for (size_t cut = 1; cut < len; cut++) {
        struct rkt_json_stats stats;

        assert_rkt_status(walk(json, cut, 256, &seen, &stats, NULL), RKT_OK);
        if (stats.event_count < events_before || (!stats.is_cut && cut + 1 < len))
            fail_msg("cut at %zu: %llu events after %llu, cut %d", cut,
                     (unsigned long long)stats.event_count, (unsigned long long)events_before,
                     stats.is_cut);
        events_before = stats.event_count;
    }
    assert_int_equal(events_before, 12);
}

static void a_broken_byte_costs_at_most_its_own_event(void **state)
{
    static const char BYTES[] = {'"', '{', '}', '\\', '\0', '\n', ',', '[', ']', (char)0xff};
    static char json[65536];
    size_t len = make_awkward(json, 12);
    size_t first = (size_t)(strstr(json, "{\"ph\": \"X\", \"name\": \"e3\"") - json);
    size_t last = (size_t)(strstr(json, ",\n{\"ph\": \"X\", \"name\": \"e4\"") - json);

    (void)state;
    for (size_t at = first + 1; at + 1 < last; at++) {
        char before = json[at];

        for (size_t i = 0; i < sizeof(BYTES); i++) {
            struct rkt_json_stats stats;

            json[at] = BYTES[i];
            assert_rkt_status(walk(json, len, 512, &seen, &stats, NULL), RKT_OK);
            /* the closing quote of e3's text may move so that the next event's is gone too */
            if (stats.event_count < 11 || stats.event_count > 13)
                fail_msg("byte 0x%02x at %zu: %llu events, damaged %llu: %s",
                         (unsigned char)BYTES[i], at - first, (unsigned long long)stats.event_count,
                         (unsigned long long)stats.damaged_count, seen.names);
            if (stats.event_count < 12 && stats.damaged_count == 0)
                fail_msg("byte 0x%02x at %zu: an event is lost without a count",
                         (unsigned char)BYTES[i], at - first);
        }
        json[at] = before;
    }
}

static void args_that_nobody_wants_are_skipped(void **state)
{
    static char json[65536];
    size_t len = make_awkward(json, 20);
    struct rkt_json_stats stats;

    (void)state;
    seen.refuses_args = true;
    assert_rkt_status(walk(json, len, 0, &seen, &stats, NULL), RKT_OK);
    seen.refuses_args = false;
    assert_int_equal(stats.event_count, 20);
    assert_int_equal(seen.args_count, 0);
}

/* With flush_bytes a flush block is ended after so many bytes, as writers do that stream. */
static size_t gzip_in_blocks(char *text, size_t len, size_t flush_bytes, unsigned char *out,
                             size_t cap)
{
    z_stream zlib = {0};
    size_t used;

    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    zlib.next_in = (Bytef *)text;
    zlib.next_out = out;
    zlib.avail_out = (uInt)cap;
    for (size_t at = 0; at + flush_bytes < len; at += flush_bytes) {
        zlib.avail_in = (uInt)flush_bytes;
        assert_int_equal(deflate(&zlib, Z_SYNC_FLUSH), Z_OK);
    }
    zlib.avail_in = (uInt)(len - zlib.total_in);
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    used = cap - zlib.avail_out;
    deflateEnd(&zlib);
    return used;
}

static size_t gzip(char *text, size_t len, unsigned char *out, size_t cap)
{
    return gzip_in_blocks(text, len, len, out, cap);
}

static void br_14_a_gzip_file_of_flush_blocks_is_read_to_its_real_end(void **state)
{
    static char json[65536];
    static unsigned char packed[65536];
    size_t len = make_awkward(json, 100);
    size_t used = gzip_in_blocks(json, len, 500, packed, sizeof(packed));
    struct rkt_text_damage damage;
    struct rkt_json_stats stats;

    (void)state;
    assert_rkt_status(walk(packed, used, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_false(damage.is_damaged || stats.is_cut);
}

static void br_13_all_members_of_a_gzip_file_are_read(void **state)
{
    static char json[65536];
    static unsigned char packed[65536];
    size_t len = make_awkward(json, 100);
    size_t used = 0;
    struct rkt_text_damage damage;
    struct rkt_json_stats stats;

    (void)state;
    for (size_t at = 0; at < len; at += 1000)
        used += gzip(json + at, len - at < 1000 ? len - at : 1000, packed + used,
                     sizeof(packed) - used);
    memset(packed + used, 0, 512); /* zero padding, as of tape blocks */
    assert_rkt_status(walk(packed, used + 512, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_int_equal(stats.json_bytes, len);
    assert_false(damage.is_damaged);
}

static void br_15_a_damaged_gzip_file_keeps_what_came_before_and_says_where(void **state)
{
    static char json[65536];
    static unsigned char packed[65536];
    size_t len = make_awkward(json, 100);
    size_t used = gzip(json, len, packed, sizeof(packed));
    struct rkt_text_damage damage;
    struct rkt_json_stats stats;

    (void)state;
    memset(packed + used, 'g', 7);
    assert_rkt_status(walk(packed, used + 7, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_true(damage.is_damaged);
    assert_int_equal(damage.file_offset, used);

    assert_rkt_status(walk(packed, used * 3 / 4, 0, &seen, &stats, &damage), RKT_OK);
    assert_true(stats.event_count > 10 && stats.event_count < 100);
    assert_true(damage.is_damaged && stats.is_cut);
    assert_int_equal(damage.file_offset, used * 3 / 4);

    packed[used - 6] ^= 1; /* the crc at the end */
    assert_rkt_status(walk(packed, used, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_true(damage.is_damaged);
}

static void all_frames_of_a_zstd_file_are_read_and_a_cut_one_is_said(void **state)
{
    static char json[65536];
    static unsigned char packed[65536];
    size_t len = make_awkward(json, 100);
    size_t used = 0;
    struct rkt_text_damage damage;
    struct rkt_json_stats stats;

    (void)state;
    for (size_t at = 0; at < len; at += 3000)
        used += ZSTD_compress(packed + used, sizeof(packed) - used, json + at,
                              len - at < 3000 ? len - at : 3000, 3);
    assert_rkt_status(walk(packed, used, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_int_equal(stats.json_bytes, len);
    assert_false(damage.is_damaged);

    memset(packed + used, 'g', 7);
    assert_rkt_status(walk(packed, used + 7, 0, &seen, &stats, &damage), RKT_OK);
    assert_int_equal(stats.event_count, 100);
    assert_true(damage.is_damaged);
    assert_int_equal(damage.file_offset, used);

    assert_rkt_status(walk(packed, used / 2, 0, &seen, &stats, &damage), RKT_OK);
    assert_true(stats.event_count > 10 && stats.event_count < 100);
    assert_true(damage.is_damaged && stats.is_cut);
    assert_int_equal(damage.file_offset, used / 2);

    used = ZSTD_findFrameCompressedSize(packed, used);
    packed[used] ^= 0x55; /* the second frame is none */
    assert_rkt_status(walk(packed, used + 100, 0, &seen, &stats, &damage), RKT_OK);
    assert_true(damage.is_damaged && stats.is_cut);
    assert_int_equal(damage.file_offset, used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_given_out_and_all_damage_is_counted),
        cmocka_unit_test(an_event_is_found_by_whatever_key_it_has_first),
        cmocka_unit_test(what_two_damaged_events_lose_is_said_with_its_place),
        cmocka_unit_test(what_is_no_json_is_refused_by_name),
        cmocka_unit_test(windows_of_every_size_give_the_same_events),
        cmocka_unit_test(a_text_that_just_fills_the_window_is_read_alike),
        cmocka_unit_test(every_cut_keeps_the_events_before_it),
        cmocka_unit_test(a_broken_byte_costs_at_most_its_own_event),
        cmocka_unit_test(args_that_nobody_wants_are_skipped),
        cmocka_unit_test(br_14_a_gzip_file_of_flush_blocks_is_read_to_its_real_end),
        cmocka_unit_test(br_13_all_members_of_a_gzip_file_are_read),
        cmocka_unit_test(br_15_a_damaged_gzip_file_keeps_what_came_before_and_says_where),
        cmocka_unit_test(all_frames_of_a_zstd_file_are_read_and_a_cut_one_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
