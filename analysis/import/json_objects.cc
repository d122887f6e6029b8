/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_objects.h"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <simdjson.h>

static_assert(RKT_JSON_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads past the text");

namespace
{

constexpr size_t FIELDS_AT_FIRST = 64;
constexpr size_t KEY_BYTES_MAX = 32; /* of keys that are kept */
constexpr size_t KEY_SLOTS = 512;
constexpr size_t KEYS_MAX = KEY_SLOTS / 2; /* a trace has some 60 */
constexpr size_t KINDS = 16;
constexpr size_t WORD_BYTES = sizeof(uint64_t);
constexpr size_t SPELLED_MORE = 3; /* quotes and colon */

/*
 * A key as it is mostly written, "key":, and which one followed it last time in an object of the
 * same kind: what comes next is then only compared. Slot 0 is the start of an object, and any key
 * that is not kept: it is spelled like nothing.
 */
struct known_key {
    char spelling[KEY_BYTES_MAX + WORD_BYTES]; /* with zeros behind it */
    uint64_t head_mask;                        /* of its first word */
    uint32_t spelled_bytes;                    /* 0: the slot is free */
    uint32_t key_bytes;
    uint16_t meaning;
    bool in_args;
    bool is_args;
    uint16_t next[KINDS]; /* slots */
};

} // namespace

struct rkt_json_parser {
    rkt_json_meaning_fn meaning_of;
    std::unique_ptr<simdjson::internal::dom_parser_implementation> simd;
    simdjson::dom::parser strict;
    std::vector<rkt_json_field> fields;
    known_key keys[KEY_SLOTS]; /* open addressing */
    size_t key_count;
};

namespace
{

bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

uint64_t word_at(const char *text)
{
    uint64_t word;

    memcpy(&word, text, WORD_BYTES);
    return word;
}

/* More text than a word follows every key. */
bool is_spelled_at(const known_key &known, const char *text)
{
    size_t bytes = known.spelled_bytes;

    if ((word_at(text) & known.head_mask) != word_at(known.spelling))
        return false;
    if (bytes <= WORD_BYTES)
        return true;
    return word_at(text + bytes - WORD_BYTES) == word_at(known.spelling + bytes - WORD_BYTES) &&
           (bytes <= 2 * WORD_BYTES ||
            memcmp(text + WORD_BYTES, known.spelling + WORD_BYTES, bytes - 2 * WORD_BYTES) == 0);
}

void describe_key(rkt_json_parser &parser, known_key &known, const char *key, size_t bytes,
                  bool in_args)
{
    known.key_bytes = static_cast<uint32_t>(bytes);
    known.meaning = parser.meaning_of ? parser.meaning_of(key, bytes, in_args) : uint16_t(0);
    known.in_args = in_args;
    known.is_args = !in_args && bytes == 4 && memcmp(key, "args", 4) == 0;
}

void spell_key(known_key &known, const char *key, size_t bytes)
{
    known.spelling[0] = '"';
    memcpy(known.spelling + 1, key, bytes);
    memcpy(known.spelling + 1 + bytes, "\":", 2);
    known.spelled_bytes = static_cast<uint32_t>(bytes + SPELLED_MORE);
    known.head_mask = known.spelled_bytes < WORD_BYTES
                          ? (uint64_t(1) << 8 * known.spelled_bytes) - 1
                          : UINT64_MAX;
}

/* The slot of the key, which is kept from now on if there is room; else 0, which describes it. */
size_t find_key(rkt_json_parser &parser, const char *key, size_t bytes, bool in_args)
{
    size_t slot = in_args + bytes;

    if (bytes > KEY_BYTES_MAX) {
        describe_key(parser, parser.keys[0], key, bytes, in_args);
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        slot = 31 * slot + static_cast<unsigned char>(key[i]);
    for (slot = slot % KEY_SLOTS;; slot = (slot + 1) % KEY_SLOTS) {
        known_key &known = parser.keys[slot];

        if (slot == 0)
            continue;
        if (known.spelled_bytes == 0)
            break;
        if (known.key_bytes == bytes && known.in_args == in_args &&
            memcmp(known.spelling + 1, key, bytes) == 0)
            return slot;
    }
    if (parser.key_count == KEYS_MAX)
        slot = 0;
    else
        parser.key_count++;
    describe_key(parser, parser.keys[slot], key, bytes, in_args);
    if (slot != 0)
        spell_key(parser.keys[slot], key, bytes);
    return slot;
}

/* Within the fields of one object. */
struct fields_place {
    const uint32_t *at;
    const char *key;
    known_key *known; /* the last key */
    size_t count;     /* of fields */
    size_t kind;      /* of the object, by the texts in its first two fields: ph and cat */
    bool in_args;
};

/*
 * The tokens of a text, each as the place where it begins. Steps take the place of a token and
 * return that behind what they passed, or nullptr where the text is not what it should be.
 */
struct walk {
    rkt_json_parser &parser;
    const rkt_json_object_visitor &visitor;
    const char *text;
    const uint32_t *end; /* here the text ends */
    size_t field_count;
    const char *unread;

    bool is_at(const uint32_t *at, char c) const
    {
        return at < end && text[*at] == c;
    }

    /* Behind the last byte before the token that is no blank. */
    const char *end_before(const uint32_t *at) const
    {
        const char *behind = text + *at;

        while (is_blank(behind[-1]))
            behind--;
        return behind;
    }

    /* From an opening bracket to behind the one that closes it. */
    const uint32_t *pass_nested(const uint32_t *at) const
    {
        size_t depth = 0;

        while (at < end) {
            char c = text[*at++];

            if (c == '{' || c == '[')
                depth++;
            else if ((c == '}' || c == ']') && --depth == 0)
                return at;
        }
        return nullptr;
    }

    /* The slot of the key at `at`, where another was foreseen behind `before`; KEY_SLOTS: none. */
    size_t look_up_key(const uint32_t *at, bool in_args, known_key &before, size_t kind)
    {
        const char *key = text + at[0] + 1;
        size_t slot;

        if (key[-1] != '"' || text[at[1]] != ':')
            return KEY_SLOTS;
        slot = find_key(parser, key, static_cast<size_t>(end_before(at + 1) - 1 - key), in_args);
        before.next[kind] = static_cast<uint16_t>(slot);
        return slot;
    }

    /* To the value behind it: with what ends the field, these are four tokens. */
    simdjson_inline bool pass_key(fields_place &place)
    {
        known_key &before = *place.known;

        if (end - place.at < 4)
            return false;
        place.known = &parser.keys[before.next[place.kind]];
        place.key = text + *place.at + 1;
        if (!is_spelled_at(*place.known, text + *place.at) ||
            place.known->in_args != place.in_args) {
            size_t slot = look_up_key(place.at, place.in_args, before, place.kind);

            if (slot == KEY_SLOTS)
                return false;
            place.known = &parser.keys[slot];
        }
        place.at += 2;
        return true;
    }

    /* Args that nobody wants are passed; else the place is behind their '{'. */
    simdjson_inline bool enter_args(fields_place &place)
    {
        place.in_args = !visitor.wants_args ||
                        visitor.wants_args(visitor.ctx, parser.fields.data(), place.count);
        if (!place.in_args && !unread) /* damage makes two args of one event */
            unread = text + *place.at;
        place.at = place.in_args ? place.at + 1 : pass_nested(place.at);
        return place.at != nullptr;
    }

    simdjson_inline rkt_json_field &new_field(fields_place &place)
    {
        if (place.count == parser.fields.size())
            parser.fields.resize(2 * place.count);
        return parser.fields[place.count++];
    }

    simdjson_inline bool pass_value(fields_place &place)
    {
        const char *value = text + *place.at;
        bool is_text = *value == '"';
        rkt_json_field &field = new_field(place);
        const char *value_end;

        if (*value == '{' || *value == '[') {
            place.at = pass_nested(place.at);
            if (!place.at)
                return false;
            value_end = text + place.at[-1] + 1;
        } else if (*value == '}' || *value == ']' || *value == ',' || *value == ':') {
            return false;
        } else {
            value_end = end_before(++place.at) - is_text;
        }
        field.key = place.key;
        field.value = value + is_text;
        field.value_bytes = static_cast<size_t>(value_end - field.value);
        field.key_bytes = place.known->key_bytes;
        field.meaning = place.known->meaning;
        field.kind = 0;
        field.shape = RKT_JSON_ANYTHING;
        field.is_text = is_text;
        field.in_args = place.in_args;
        if (place.count <= 2 && is_text)
            place.kind =
                (place.kind + field.value_bytes + static_cast<unsigned char>(*field.value)) % KINDS;
        return true;
    }

    simdjson_inline bool pass_field(fields_place &place)
    {
        if (!pass_key(place))
            return false;
        if (!place.known->is_args || text[*place.at] != '{')
            return pass_value(place);
        if (!enter_args(place))
            return false;
        return !place.in_args || is_at(place.at, '}') || (pass_key(place) && pass_value(place));
    }

    /* From behind a '{' to behind its '}'. Those of args come in the same loop, and all that
     * changes stays in registers: this is where the time goes. */
    const uint32_t *pass_fields(const uint32_t *at)
    {
        fields_place place = {at, nullptr, &parser.keys[0], 0, 0, false};

        if (is_at(at, '}'))
            return at + 1;
        while (pass_field(place)) {
            if (place.in_args && is_at(place.at, '}')) {
                place.in_args = false;
                place.at++;
            }
            if (!is_at(place.at, ',')) {
                field_count = place.count;
                return !place.in_args && is_at(place.at, '}') ? place.at + 1 : nullptr;
            }
            place.at++;
        }
        return nullptr;
    }

    /* The value at the place, which should be an object. */
    rkt_json_outcome pass_object(const uint32_t *&at)
    {
        rkt_json_object flat;

        flat.text = text + *at;
        field_count = 0;
        unread = nullptr;
        at = is_at(at, '{') ? pass_fields(at + 1) : nullptr;
        if (!at)
            return RKT_JSON_WRONG;
        flat.fields = parser.fields.data();
        flat.count = field_count;
        flat.text_end = text + at[-1] + 1;
        flat.unread = unread;
        return visitor.object(visitor.ctx, &flat) ? RKT_JSON_DONE : RKT_JSON_STOPPED;
    }

    rkt_json_outcome pass_array(const uint32_t *at, rkt_json_progress *progress)
    {
        if (!is_at(at, '['))
            return RKT_JSON_WRONG;
        at++;
        if (!is_at(at, ']'))
            at--; /* as if the bracket were a comma */
        while (at < end && text[*at] != ']') {
            rkt_json_outcome outcome;

            at++;
            if (at == end)
                return RKT_JSON_WRONG;
            progress->last = text + *at;
            progress->was_given = false;
            outcome = pass_object(at);
            if (outcome != RKT_JSON_DONE)
                return outcome;
            progress->was_given = true;
            if (!is_at(at, ',') && !is_at(at, ']'))
                return RKT_JSON_WRONG;
        }
        return at + 1 >= end ? RKT_JSON_DONE : RKT_JSON_ENDED;
    }
};

/* Finds all tokens; WRONG when the text is none of JSON's by its characters. */
rkt_json_outcome find_tokens(rkt_json_parser &parser, const char *text, size_t len)
{
    simdjson::error_code error = simdjson::SUCCESS;

    if (!parser.simd)
        error = simdjson::get_active_implementation()->create_dom_parser_implementation(
            len, 1, parser.simd);
    else if (parser.simd->capacity() < len)
        error = parser.simd->allocate(len, 1);
    if (!error)
        error = parser.simd->stage1(reinterpret_cast<const uint8_t *>(text), len,
                                    simdjson::stage1_mode::regular);
    if (error == simdjson::MEMALLOC)
        return RKT_JSON_NOMEM;
    return error ? RKT_JSON_WRONG : RKT_JSON_DONE;
}

walk walk_of(rkt_json_parser &parser, const char *text, const rkt_json_object_visitor &visitor)
{
    const simdjson::internal::dom_parser_implementation &simd = *parser.simd;

    return {parser, visitor, text, simd.structural_indexes.get() + simd.n_structural_indexes,
            0,      nullptr};
}

rkt_json_outcome parse_array(rkt_json_parser &parser, const char *text, size_t len,
                             const rkt_json_object_visitor &visitor, rkt_json_progress *progress)
{
    rkt_json_outcome outcome = find_tokens(parser, text, len);

    if (outcome != RKT_JSON_DONE)
        return outcome;
    return walk_of(parser, text, visitor)
        .pass_array(parser.simd->structural_indexes.get(), progress);
}

rkt_json_outcome parse_object(rkt_json_parser &parser, const char *text, size_t len,
                              const rkt_json_object_visitor &visitor, size_t *end_out)
{
    rkt_json_outcome outcome = find_tokens(parser, text, len);
    const uint32_t *at;
    const uint32_t *end;

    if (outcome != RKT_JSON_DONE)
        return outcome;
    at = parser.simd->structural_indexes.get();
    end = at + parser.simd->n_structural_indexes;
    outcome = walk_of(parser, text, visitor).pass_object(at);
    if (outcome != RKT_JSON_DONE || at == end)
        return outcome;
    *end_out = *at;
    return RKT_JSON_ENDED;
}

} // namespace

extern "C" {

/* No exception may pass into C: memory is all that can throw here and below. */
struct rkt_json_parser *rkt_json_parser_create(rkt_json_meaning_fn meaning_of)
{
    try {
        std::unique_ptr<rkt_json_parser> parser(new rkt_json_parser());

        parser->meaning_of = meaning_of;
        parser->fields.resize(FIELDS_AT_FIRST);
        parser->keys[0].spelling[0] = '"'; /* under a mask of nothing: never found */
        return parser.release();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void rkt_json_parser_destroy(struct rkt_json_parser *parser)
{
    delete parser;
}

enum rkt_json_outcome rkt_json_parse_array(struct rkt_json_parser *parser, const char *text,
                                           size_t len,
                                           const struct rkt_json_object_visitor *visitor,
                                           struct rkt_json_progress *progress_out)
{
    progress_out->last = nullptr;
    progress_out->was_given = false;
    try {
        return parse_array(*parser, text, len, *visitor, progress_out);
    } catch (const std::bad_alloc &) {
        return RKT_JSON_NOMEM;
    }
}

enum rkt_json_outcome rkt_json_parse_object(struct rkt_json_parser *parser, const char *text,
                                            size_t len,
                                            const struct rkt_json_object_visitor *visitor,
                                            size_t *end_out)
{
    try {
        return parse_object(*parser, text, len, *visitor, end_out);
    } catch (const std::bad_alloc &) {
        return RKT_JSON_NOMEM;
    }
}

bool rkt_json_is_object(struct rkt_json_parser *parser, const char *text, size_t len)
{
    simdjson::dom::object object;

    /* the bytes behind the text are there, but are not its own: copied, as this is rare */
    return !parser->strict.parse(text, len, true).get(object);
}
}
