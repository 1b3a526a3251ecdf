// The short text form of an id: 13 digits of Crockford's base 32, most significant first.
//
// The alphabet (https://www.crockford.com/base32.html) is in ascending order of ASCII and the
// length is fixed, so the texts sort as the ids do wherever they are compared byte by byte. 13
// digits hold 65 bits and an id has 63: the first digit is at most 7.
//
// Pure: nothing here allocates or throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace snowflake {

inline constexpr std::size_t base32_digits = 13;
inline constexpr std::string_view base32_alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// The text form of an id that is not negative.
constexpr std::array<char, base32_digits> encode_base32(std::int64_t id) noexcept
{
    std::array<char, base32_digits> text{};
    for (std::size_t i = base32_digits; i-- > 0; id >>= 5)
        text[i] = base32_alphabet[static_cast<std::size_t>(id & 31)];
    return text;
}

// The value of a digit, or -1: either case, and I and L for 1 and O for 0, which they are mistaken
// for.
constexpr int base32_value(char digit) noexcept
{
    if (digit >= 'a' && digit <= 'z')
        digit = static_cast<char>(digit - 'a' + 'A');
    if (digit == 'I' || digit == 'L')
        return 1;
    if (digit == 'O')
        return 0;
    const std::size_t value = base32_alphabet.find(digit);
    return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

enum class Base32Error : std::uint8_t {
    none,
    digit,        // a character that is no digit
    length,       // more or fewer than 13 digits
    out_of_range, // the first digit is above 7
};

struct Base32 {
    std::int64_t id = 0; // 0 .. max_id, if there is no error
    Base32Error error = Base32Error::none;
    std::size_t where = 0; // digit: the offset of the character; length: how many digits there are
};

// Parses the text form. Hyphens may stand anywhere and mean nothing, as the alphabet's author has
// it; check symbols (*, ~, $, =, U) are not part of the form.
constexpr Base32 parse_base32(std::string_view text) noexcept
{
    std::uint64_t bits = 0;
    std::size_t digits = 0;
    bool fits = true;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] == '-')
            continue;
        const int value = base32_value(text[i]);
        if (value < 0)
            return {0, Base32Error::digit, i};
        if (digits++ == 0)
            fits = value <= 7;
        bits = bits << 5 | static_cast<std::uint64_t>(value);
    }
    if (digits != base32_digits)
        return {0, Base32Error::length, digits};
    if (!fits)
        return {0, Base32Error::out_of_range, 0};
    return {static_cast<std::int64_t>(bits), Base32Error::none, 0};
}

} // namespace snowflake
