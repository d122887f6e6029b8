/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_objects.h"

#include <new>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace ondemand = simdjson::ondemand;

static_assert(RKT_JSON_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads past the text");

struct rkt_json_parser {
    ondemand::parser simd;
    simdjson::dom::parser strict;
    std::vector<rkt_json_field> fields;
    const char *unread;
};

namespace
{

/* What stands between the quotes of a token that begins with one. */
std::string_view inside_quotes(std::string_view token)
{
    size_t end = token.rfind('"');

    return end == 0 ? std::string_view() : token.substr(1, end - 1);
}

bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string_view without_blank(std::string_view token)
{
    while (!token.empty() && is_blank(token.back()))
        token.remove_suffix(1);
    return token;
}

/* From its first byte to the quote before the colon before the value. */
std::string_view key_of(ondemand::field &field, const char *value)
{
    const char *begin = field.key().raw();
    const char *end = value - 1;

    while (is_blank(*end) || *end == ':')
        end--;
    return std::string_view(begin, static_cast<size_t>(end - begin));
}

bool read_value(ondemand::value value, std::string_view token, rkt_json_field *out)
{
    simdjson::error_code error = simdjson::SUCCESS;

    out->is_text = token[0] == '"';
    if (out->is_text) {
        token = inside_quotes(token);
    } else if (token[0] == '{') {
        ondemand::object object;

        error = value.get_object().get(object);
        if (!error)
            error = object.raw_json().get(token);
    } else if (token[0] == '[') {
        ondemand::array array;

        error = value.get_array().get(array);
        if (!error)
            error = array.raw_json().get(token);
    }
    if (!out->is_text)
        token = without_blank(token); /* raw tokens run up to the next one */
    out->value = token.data();
    out->value_bytes = token.size();
    return !error;
}

bool read_fields(rkt_json_parser *parser, ondemand::object object, bool in_args,
                 const rkt_json_object_visitor *visitor);

bool read_args(rkt_json_parser *parser, ondemand::value value, const char *text,
               const rkt_json_object_visitor *visitor)
{
    ondemand::object args;

    if (visitor->wants_args &&
        !visitor->wants_args(visitor->ctx, parser->fields.data(), parser->fields.size())) {
        parser->unread = text;
        return true; /* the iterator skips what was not read */
    }
    if (value.get_object().get(args))
        return false;
    return read_fields(parser, args, true, visitor);
}

bool read_fields(rkt_json_parser *parser, ondemand::object object, bool in_args,
                 const rkt_json_object_visitor *visitor)
{
    for (auto result : object) {
        ondemand::field field;
        std::string_view token;
        std::string_view key;

        if (std::move(result).get(field))
            return false;
        token = field.value().raw_json_token();
        if (token.empty())
            return false;
        key = key_of(field, token.data());
        if (!in_args && key == "args" && token[0] == '{') {
            if (!read_args(parser, field.value(), token.data(), visitor))
                return false;
            continue;
        }
        /* in place: a copy would wait for what was just written */
        rkt_json_field &flat = parser->fields.emplace_back();

        flat.key = key.data();
        flat.key_bytes = key.size();
        flat.in_args = in_args;
        if (!read_value(field.value(), token, &flat))
            return false;
    }
    return true;
}

/* `end` is that of the whole text. */
rkt_json_outcome read_object(rkt_json_parser *parser, ondemand::document &document,
                             ondemand::object object, const char *text, const char *end,
                             const rkt_json_object_visitor *visitor)
{
    rkt_json_object flat;

    parser->fields.clear();
    parser->unread = nullptr;
    if (!read_fields(parser, object, false, visitor))
        return RKT_JSON_WRONG;
    flat.fields = parser->fields.data();
    flat.count = parser->fields.size();
    flat.text = text;
    flat.unread = parser->unread;
    if (document.current_location().get(flat.text_end))
        flat.text_end = end; /* nothing follows it */
    return visitor->object(visitor->ctx, &flat) ? RKT_JSON_DONE : RKT_JSON_STOPPED;
}

bool at_end(ondemand::document &document)
{
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

rkt_json_outcome read_array(rkt_json_parser *parser, ondemand::document &document, const char *end,
                            const rkt_json_object_visitor *visitor, rkt_json_progress *progress)
{
    ondemand::array array;

    if (document.get_array().get(array))
        return RKT_JSON_WRONG;
    for (auto result : array) {
        ondemand::value value;
        ondemand::object object;
        rkt_json_outcome outcome;

        if (std::move(result).get(value))
            return RKT_JSON_WRONG;
        progress->last = value.raw_json_token().data();
        progress->was_given = false;
        if (value.get_object().get(object))
            return RKT_JSON_WRONG;
        outcome = read_object(parser, document, object, progress->last, end, visitor);
        if (outcome != RKT_JSON_DONE)
            return outcome;
        progress->was_given = true;
    }
    return at_end(document) ? RKT_JSON_DONE : RKT_JSON_ENDED;
}

simdjson::error_code begin(rkt_json_parser *parser, const char *text, size_t len,
                           ondemand::document *document_out)
{
    return parser->simd.iterate(simdjson::padded_string_view(text, len, len + RKT_JSON_PADDING))
        .get(*document_out);
}

rkt_json_outcome parse_array(rkt_json_parser *parser, const char *text, size_t len,
                             const rkt_json_object_visitor *visitor, rkt_json_progress *progress)
{
    ondemand::document document;
    simdjson::error_code error = begin(parser, text, len, &document);

    if (error)
        return error == simdjson::MEMALLOC ? RKT_JSON_NOMEM : RKT_JSON_WRONG;
    return read_array(parser, document, text + len, visitor, progress);
}

rkt_json_outcome parse_object(rkt_json_parser *parser, const char *text, size_t len,
                              const rkt_json_object_visitor *visitor, size_t *end_out)
{
    const char *behind;
    ondemand::document document;
    ondemand::object object;
    rkt_json_outcome outcome;
    simdjson::error_code error = begin(parser, text, len, &document);

    if (error)
        return error == simdjson::MEMALLOC ? RKT_JSON_NOMEM : RKT_JSON_WRONG;
    if (document.get_object().get(object))
        return RKT_JSON_WRONG;
    outcome = read_object(parser, document, object, text, text + len, visitor);
    if (outcome != RKT_JSON_DONE || document.current_location().get(behind))
        return outcome;
    *end_out = static_cast<size_t>(behind - text);
    return RKT_JSON_ENDED;
}

} // namespace

extern "C" {

struct rkt_json_parser *rkt_json_parser_create(void)
{
    return new (std::nothrow) rkt_json_parser;
}

void rkt_json_parser_destroy(struct rkt_json_parser *parser)
{
    delete parser;
}

/* No exception may pass into C: memory is all that can throw here. */
enum rkt_json_outcome rkt_json_parse_array(struct rkt_json_parser *parser, const char *text,
                                           size_t len,
                                           const struct rkt_json_object_visitor *visitor,
                                           struct rkt_json_progress *progress_out)
{
    progress_out->last = nullptr;
    progress_out->was_given = false;
    try {
        return parse_array(parser, text, len, visitor, progress_out);
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
        return parse_object(parser, text, len, visitor, end_out);
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
