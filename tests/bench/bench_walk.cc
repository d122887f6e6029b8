/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench_walk.h"

#include <simdjson.h>

namespace ondemand = simdjson::ondemand;

namespace
{

struct walker {
    bool enters_args;
    size_t bytes; /* so that nothing is optimised away */
};

bool walk_object(walker &walker, ondemand::object object, bool is_event);

bool walk_value(walker &walker, ondemand::value value)
{
    ondemand::json_type type;

    if (value.type().get(type))
        return false;
    if (type == ondemand::json_type::object) {
        ondemand::object object;

        return !value.get_object().get(object) && walk_object(walker, object, false);
    }
    if (type == ondemand::json_type::array) {
        ondemand::array array;

        if (value.get_array().get(array))
            return false;
        for (auto result : array) {
            ondemand::value element;

            if (std::move(result).get(element) || !walk_value(walker, element))
                return false;
        }
        return true;
    }
    walker.bytes += value.raw_json_token().size();
    return true;
}

bool walk_object(walker &walker, ondemand::object object, bool is_event)
{
    for (auto result : object) {
        ondemand::field field;

        if (std::move(result).get(field))
            return false;
        if (is_event && !walker.enters_args)
            walker.bytes += field.value().raw_json_token().size(); /* the iterator skips the rest */
        else if (!walk_value(walker, field.value()))
            return false;
    }
    return true;
}

size_t walk(walker &walker, ondemand::parser &parser, simdjson::padded_string_view text)
{
    ondemand::document document;
    ondemand::array events;
    size_t count = 0;

    if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(events))
        return 0;
    for (auto result : events) {
        ondemand::object event;

        if (result.get_object().get(event) || !walk_object(walker, event, true))
            return 0;
        count++;
    }
    return walker.bytes > 0 ? count : 0;
}

} // namespace

extern "C" size_t rkt_bench_walk(const char *text, size_t len, bool enters_args)
{
    ondemand::parser parser;
    walker walker = {enters_args, 0};

    return walk(walker, parser,
                simdjson::padded_string_view(text, len, len + simdjson::SIMDJSON_PADDING));
}
