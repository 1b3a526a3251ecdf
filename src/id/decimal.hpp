// The decimal form of an id, as the type snowflake reads it: digits and nothing else but blanks
// around them. What other integers may be written with (a sign, 0x, underscores) would only hide a
// mistake.
//
// Pure: text in, a value or the reason why not out. Nothing here allocates or throws.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace snowflake {

enum class DecimalError : std::uint8_t {
    none,
    syntax,       // not a run of digits
    negative,     // a run of digits behind a minus sign
    out_of_range, // more than 63 bits
};

struct Decimal {
    std::int64_t id = 0; // 0 .. max_id, if there is no error
    DecimalError error = DecimalError::none;
};

// Parses an id in decimal; leading zeros are allowed, and blanks (those of isspace() in the C
// locale) at both ends.
inline Decimal parse_decimal(std::string_view text) noexcept
{
    constexpr std::string_view blanks = " \t\n\v\f\r";
    while (!text.empty() && blanks.find(text.front()) != std::string_view::npos)
        text.remove_prefix(1);
    while (!text.empty() && blanks.find(text.back()) != std::string_view::npos)
        text.remove_suffix(1);

    const bool minus = text.starts_with('-');
    if (minus)
        text.remove_prefix(1);
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
        return {0, DecimalError::syntax};
    if (minus)
        return {0, DecimalError::negative};

    Decimal result;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.id);
    if (error != std::errc{})
        return {0, DecimalError::out_of_range};
    return result;
}

} // namespace snowflake
