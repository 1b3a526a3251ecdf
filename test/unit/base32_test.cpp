// The short text form of ids.
#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "src/id/base32.hpp"
#include "src/id/layout.hpp"

namespace snowflake {
namespace {

std::string encode(std::int64_t id)
{
    const auto text = encode_base32(id);
    return {text.begin(), text.end()};
}

void expect_id(std::string_view text, std::int64_t id)
{
    SCOPED_TRACE(text);
    const Base32 base32 = parse_base32(text);
    EXPECT_EQ(base32.error, Base32Error::none);
    EXPECT_EQ(base32.id, id);
}

void expect_error(std::string_view text, Base32Error error, std::size_t where)
{
    SCOPED_TRACE(text);
    const Base32 base32 = parse_base32(text);
    EXPECT_EQ(base32.error, error);
    EXPECT_EQ(base32.where, where);
}

// Ids of all sizes: every power of two, its neighbours, and random ones.
std::vector<std::int64_t> some_ids()
{
    std::vector<std::int64_t> ids{0, max_id};
    for (int bit = 1; bit < 63; bit++)
        for (const int offset : {-1, 0, 1})
            ids.push_back((std::int64_t{1} << bit) + offset);
    std::mt19937_64 random{20250101};
    for (int i = 0; i < 10000; i++)
        ids.push_back(static_cast<std::int64_t>(random() >> (1 + i % 63)));
    return ids;
}

TEST(Base32, IsCrockfords)
{
    EXPECT_EQ(encode(0), "0000000000000");
    EXPECT_EQ(encode(31), "000000000000Z");
    EXPECT_EQ(encode(32), "0000000000010");
    EXPECT_EQ(encode(1234567890123456789), "128GGYHYYK08N");
    EXPECT_EQ(encode(max_id), "7ZZZZZZZZZZZZ");
    const std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    for (std::int64_t id = 0; id < 32; id++)
        EXPECT_EQ(encode(id).back(), digits[static_cast<std::size_t>(id)]);
}

TEST(Base32, GoesThereAndBack)
{
    for (const std::int64_t id : some_ids())
        expect_id(encode(id), id);
}

TEST(Base32, SortsAsTheIdsDo)
{
    std::vector<std::int64_t> ids = some_ids();
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (std::size_t i = 1; i < ids.size(); i++)
        EXPECT_LT(encode(ids[i - 1]), encode(ids[i]));
}

TEST(Base32, TakesEitherCaseAndWhatDigitsAreMistakenFor)
{
    expect_id("7zzzzzzzzzzzz", max_id);
    expect_id("128ggyHYYK08n", 1234567890123456789);
    expect_id("I000000000000", std::int64_t{1} << 60);
    expect_id("00000000000IL", 33);
    expect_id("00000000000il", 33);
    expect_id("OoOoOoOoOoOo1", 1);
}

TEST(Base32, TakesHyphensAnywhere)
{
    expect_id("128-GGYH-YYK0-8N", 1234567890123456789);
    expect_id("--0000000000001--", 1);
}

TEST(Base32, RefusesEveryOtherCharacter)
{
    const std::string_view taken =
        "0123456789ABCDEFGHIJKLMNOPQRSTVWXYZabcdefghijklmnopqrstvwxyz-"; // neither U nor u
    for (int c = 0; c < 256; c++) {
        std::string text = "0000000000000";
        text[6] = static_cast<char>(c);
        if (taken.find(text[6]) == std::string_view::npos)
            expect_error(text, Base32Error::digit, 6);
        else
            EXPECT_NE(parse_base32(text).error, Base32Error::digit) << text;
    }
}

TEST(Base32, Has13Digits)
{
    expect_error("", Base32Error::length, 0);
    expect_error("-", Base32Error::length, 0);
    expect_error("000000000001", Base32Error::length, 12);
    expect_error("00000000000001", Base32Error::length, 14);
    expect_error("0000-0000-0000", Base32Error::length, 12);
    expect_error(std::string(100000, '0'), Base32Error::length, 100000);
}

TEST(Base32, HasAtMost63Bits)
{
    for (const std::string_view text :
         {"8000000000000", "GZZZZZZZZZZZZ", "ZZZZZZZZZZZZZ", "-8000000000000"})
        expect_error(text, Base32Error::out_of_range, 0);
}

static_assert(parse_base32("0000000000010").id == 32); // usable in constant expressions

} // namespace
} // namespace snowflake
