// What the setting of the machine ids may say, and what is said about one that it may not.
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "src/lease/machine_ids.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

void PrintTo(MachineIdError error, std::ostream *out)
{
    constexpr const char *names[] = {"none",     "syntax",      "out_of_range",
                                     "reversed", "not_a_power", "not_aligned"};
    *out << names[static_cast<int>(error)];
}

namespace {

MachineIds parse(std::string_view text, int machine_bits = default_machine_bits)
{
    return parse_machine_ids(text, Layout{machine_bits});
}

void expect_block(std::string_view text, MachineBlock machines,
                  int machine_bits = default_machine_bits)
{
    SCOPED_TRACE(text);
    const MachineIds ids = parse(text, machine_bits);
    EXPECT_EQ(ids.error, MachineIdError::none);
    EXPECT_TRUE(ids.configured);
    EXPECT_EQ(ids.machines, machines);
}

void expect_error(std::string_view text, MachineIdError error, std::string_view offender,
                  int machine_bits = default_machine_bits)
{
    SCOPED_TRACE(text);
    const MachineIds ids = parse(text, machine_bits);
    EXPECT_EQ(ids.error, error);
    EXPECT_EQ(ids.offender, offender);
    EXPECT_FALSE(ids.configured);
}

TEST(MachineIds, AreNotConfiguredByAnEmptySetting)
{
    for (const std::string_view text : {"", " ", "\t \n"}) {
        const MachineIds ids = parse(text);
        EXPECT_FALSE(ids.configured);
        EXPECT_EQ(ids.error, MachineIdError::none);
    }
}

TEST(MachineIds, MayBeOneNumber)
{
    expect_block("0", {0, 0});
    expect_block("7", {7, 0});
    expect_block("1023", {1023, 0});
    expect_block("007", {7, 0});
}

TEST(MachineIds, MayBeAnAlignedBlockOfAPowerOfTwo)
{
    expect_block("8-11", {8, 2});
    expect_block("8-9", {8, 1});
    expect_block("8-15", {8, 3});
    expect_block("5-5", {5, 0});
    expect_block("0-1023", {0, 10});
    expect_block("512-1023", {512, 9});
}

TEST(MachineIds, MayHaveBlanksAroundNumbersAndHyphen)
{
    expect_block("  7 ", {7, 0});
    expect_block("\t8 -\n11\v\f\r", {8, 2});
    expect_block(" 8- 11", {8, 2});
}

TEST(MachineIds, GoUpToTheLayoutsLargest)
{
    for (int bits = min_machine_bits; bits <= max_machine_bits; bits++) {
        const std::int32_t largest = Layout{bits}.max_machine();
        const std::string last = std::to_string(largest);
        const std::string beyond = std::to_string(largest + 1);
        expect_block(last, {largest, 0}, bits);
        expect_block("0-" + last, {0, bits}, bits);
        expect_error(beyond, MachineIdError::out_of_range, beyond, bits);
        expect_error("0-" + beyond, MachineIdError::out_of_range, beyond, bits);
    }
}

TEST(MachineIds, OutOfRangeNameTheNumber)
{
    expect_error("1024", MachineIdError::out_of_range, "1024");
    expect_error(" 1024 - 1025", MachineIdError::out_of_range, "1024");
    expect_error("8 - 2000 ", MachineIdError::out_of_range, "2000");
    expect_error("2147483648", MachineIdError::out_of_range, "2147483648");
    expect_error("99999999999999999999", MachineIdError::out_of_range, "99999999999999999999");
    expect_error("0-4294967297", MachineIdError::out_of_range, "4294967297");
}

TEST(MachineIds, ThatAreNeitherANumberNorTwoAreSyntaxErrorsOfTheWholeText)
{
    for (const std::string_view text : {"seven", "7x", "x7", "+7", "-7", "7-", "-", "7--8", "1-2-3",
                                        "7 8", "7,8", "0x7", "7.0", "8-11x", "8-eleven", "1e2"})
        expect_error(text, MachineIdError::syntax, text);
    expect_error("  7x ", MachineIdError::syntax, "7x");
    expect_error(" a - 3 ", MachineIdError::syntax, "a - 3");
}

TEST(MachineIds, ThatEndBeforeTheyStartAreReversed)
{
    expect_error("11-8", MachineIdError::reversed, "11-8");
    expect_error(" 1 - 0 ", MachineIdError::reversed, "1 - 0");
    expect_error("1023-0", MachineIdError::reversed, "1023-0");
}

TEST(MachineIds, OfAnotherCountThanAPowerOfTwoNameTheCount)
{
    expect_error("8-10", MachineIdError::not_a_power, "8-10");
    EXPECT_EQ(parse("8-10").size, 3);
    expect_error("0-1022", MachineIdError::not_a_power, "0-1022");
    EXPECT_EQ(parse("0-1022").size, 1023);
}

TEST(MachineIds, ThatDoNotStartAtAMultipleOfTheirCountAreNotAligned)
{
    expect_error("9-12", MachineIdError::not_aligned, "9-12");
    EXPECT_EQ(parse("9-12").size, 4);
    expect_error("1-2", MachineIdError::not_aligned, "1-2");
    expect_error("4-11", MachineIdError::not_aligned, "4-11");
}

TEST(MachineIds, AreReadFromTheGivenTextAndNotBeyondIt)
{
    const std::string_view text = "8-119";
    expect_block(text.substr(0, 4), {8, 2});
    expect_block(text.substr(0, 1), {8, 0});
}

// Every pair of machine ids of a small layout, against the definition of an aligned block.
TEST(MachineIds, AreAcceptedExactlyIfTheyAreAnAlignedBlock)
{
    for (std::int32_t first = 0; first < 32; first++)
        for (std::int32_t last = 0; last < 32; last++) {
            bool aligned = false;
            for (std::int32_t size = 1; size <= 32; size *= 2)
                aligned |= last - first + 1 == size && first % size == 0;
            const std::string text = std::to_string(first) + "-" + std::to_string(last);
            const MachineIds ids = parse(text, 5);
            ASSERT_EQ(ids.configured, aligned) << text;
            if (aligned) {
                ASSERT_EQ(ids.machines.first, first) << text;
                ASSERT_EQ(ids.machines.last(), last) << text;
            }
        }
}

} // namespace

} // namespace snowflake
