// What snowflake.machine_id says: the sources of a server's machine ids.
//
// Pure: text in, a value or the reason why not out. Nothing here allocates or throws.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/id/layout.hpp"
#include "src/id/machine_block.hpp"

namespace snowflake {

enum class MachineIdError : std::uint8_t {
    none,
    syntax,       // neither a number nor two joined by a hyphen
    out_of_range, // a number above the largest machine id
    reversed,     // the block ends before it starts
    not_a_power,  // the block does not have 2^k machine ids
    not_aligned,  // the block does not start at a multiple of its size
};

struct MachineIds {
    bool configured = false; // false: the setting is empty
    MachineBlock machines{};
    MachineIdError error = MachineIdError::none;
    std::string_view offender{}; // the part of the text that the error is about
    std::int32_t size = 0;       // not_a_power, not_aligned: the size of the block asked for
};

namespace detail {

constexpr std::string_view trim(std::string_view text) noexcept
{
    constexpr std::string_view blanks = " \t\r\n\f\v";
    while (!text.empty() && blanks.find(text.front()) != std::string_view::npos)
        text.remove_prefix(1);
    while (!text.empty() && blanks.find(text.back()) != std::string_view::npos)
        text.remove_suffix(1);
    return text;
}

// A run of decimal digits, all of `text`, as a machine id of the layout.
inline MachineIdError parse_machine_id(std::string_view text, Layout layout,
                                       std::int32_t &id) noexcept
{
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
        return MachineIdError::syntax;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error == std::errc::result_out_of_range || id > layout.max_machine())
        return MachineIdError::out_of_range;
    return MachineIdError::none;
}

} // namespace detail

// Parses the setting: empty, `7`, or an aligned block of a power of two, `8-11`. Blanks around the
// whole and around the hyphen are allowed. The range of machine ids is the layout's. The views in
// the result point into `text`.
inline MachineIds parse_machine_ids(std::string_view text, Layout layout) noexcept
{
    MachineIds result;
    text = detail::trim(text);
    if (text.empty())
        return result;

    std::string_view first_text = text;
    std::string_view last_text = text;
    if (const auto hyphen = text.find('-'); hyphen != std::string_view::npos) {
        first_text.remove_suffix(text.size() - hyphen);
        last_text.remove_prefix(hyphen + 1);
    }
    first_text = detail::trim(first_text);
    last_text = detail::trim(last_text);
    std::int32_t first = 0;
    std::int32_t last = 0;
    for (const auto &[part, id] : {std::pair{first_text, &first}, std::pair{last_text, &last}}) {
        result.error = detail::parse_machine_id(part, layout, *id);
        if (result.error != MachineIdError::none) {
            result.offender = result.error == MachineIdError::syntax ? text : part;
            return result;
        }
    }

    result.offender = text;
    result.size = last - first + 1;
    if (last < first)
        result.error = MachineIdError::reversed;
    else if ((result.size & (result.size - 1)) != 0)
        result.error = MachineIdError::not_a_power;
    else if (first % result.size != 0)
        result.error = MachineIdError::not_aligned;
    if (result.error != MachineIdError::none)
        return result;

    result.configured = true;
    result.machines.first = first;
    while (result.machines.count() < result.size)
        result.machines.bits++;
    return result;
}

} // namespace snowflake
