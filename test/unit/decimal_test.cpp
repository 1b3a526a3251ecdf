// How an id is read from decimal digits.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "src/id/decimal.hpp"
#include "src/id/layout.hpp"

namespace snowflake {
namespace {

void expect_id(std::string_view text, std::int64_t id)
{
    SCOPED_TRACE(text);
    const Decimal decimal = parse_decimal(text);
    EXPECT_EQ(decimal.error, DecimalError::none);
    EXPECT_EQ(decimal.id, id);
}

void expect_error(std::string_view text, DecimalError error)
{
    SCOPED_TRACE(text);
    EXPECT_EQ(parse_decimal(text).error, error);
}

TEST(Decimal, IsARunOfDigits)
{
    expect_id("0", 0);
    expect_id("7", 7);
    expect_id("9007199254740993", 9007199254740993);
    expect_id("9223372036854775807", max_id);
}

TEST(Decimal, ReadsEveryPowerOfTwoAndItsNeighbours)
{
    for (int bit = 1; bit < 63; bit++)
        for (const int offset : {-1, 0, 1}) {
            const std::int64_t id = (std::int64_t{1} << bit) + offset;
            expect_id(std::to_string(id), id);
        }
}

TEST(Decimal, MayHaveLeadingZerosAndBlanksAround)
{
    expect_id("000", 0);
    expect_id(std::string(100, '0') + "42", 42);
    expect_id(" \t\n\v\f\r42 \t\n\v\f\r", 42);
}

TEST(Decimal, HasAtMost63Bits)
{
    expect_error("9223372036854775808", DecimalError::out_of_range);
    expect_error("18446744073709551616", DecimalError::out_of_range); // 2^64: 0, if it wrapped
    expect_error("36893488147419103239", DecimalError::out_of_range); // 2^65 + 7
    expect_error(std::string(1000, '9'), DecimalError::out_of_range);
}

TEST(Decimal, IsNotNegative)
{
    for (const std::string_view text :
         {"-1", " -1 ", "-0", "-9223372036854775808", "-99999999999999999999999999"})
        expect_error(text, DecimalError::negative);
}

TEST(Decimal, IsNothingElse)
{
    using namespace std::string_view_literals;
    for (const std::string_view text :
         {""sv,    " "sv,   "-"sv,   "- 1"sv,    "--1"sv,     "+1"sv,      "-+1"sv,      "1-"sv,
          "1 2"sv, "1.5"sv, "1."sv,  ".5"sv,     "1e3"sv,     "0x10"sv,    "-0x10"sv,    "0b1"sv,
          "0o7"sv, "1_0"sv, "1,0"sv, "1a"sv,     "a1"sv,      "nan"sv,     "Infinity"sv, "1\0"sv,
          "\0"sv,  "/"sv,   ":"sv,   "\u0663"sv, "\u00a01"sv, "1\u20011"sv})
        expect_error(text, DecimalError::syntax);
}

} // namespace
} // namespace snowflake
