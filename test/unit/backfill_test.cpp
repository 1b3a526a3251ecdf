// Which ids shares are, what the file says of them, and how used ones are counted.
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/lease/backfill.hpp"

namespace snowflake {

namespace {

constexpr std::int64_t some_ms = (std::int64_t{12345} << span_bits) + 678;

TEST(BackfillSpan, CoversAllMilliseconds)
{
    EXPECT_EQ(span_of(0), 0U);
    EXPECT_EQ(span_of(1'048'575), 0U);
    EXPECT_EQ(span_of(1'048'576), 1U);
    EXPECT_EQ(span_of(max_ms), span_count - 1);
    EXPECT_EQ(offset_of(1'048'575), 1'048'575U);
    EXPECT_EQ(offset_of(1'048'576), 0U);
}

// All shares of all machine ids of a block are all its ids, each once.
TEST(BackfillShares, AreAllIdsOfAMillisecond)
{
    for (int bits = min_machine_bits; bits <= max_machine_bits; bits++) {
        SCOPED_TRACE(bits);
        const Layout layout{bits};
        std::set<std::int64_t> ids;
        for (std::int32_t machine = 0; machine < 2; machine++) {
            for (std::int32_t share = 0; share < share_count(layout); share++) {
                const ShareRun run{machine, share, 1};
                for (std::int32_t n = 0; n < ids_per_share(layout); n++)
                    ids.insert(nth_id(layout, some_ms, &run, static_cast<std::uint32_t>(n)));
            }
        }
        EXPECT_EQ(ids.size(), std::size_t{2} << layout.sequence_bits());
        EXPECT_EQ(*ids.begin(), layout.encode({some_ms, 0, 0}));
        EXPECT_EQ(*ids.rbegin(), layout.encode({some_ms, 1, layout.max_sequence()}));
    }
}

TEST(BackfillShares, RunsFollowEachOther)
{
    const Layout layout{10};
    const ShareRun runs[] = {{7, 3, 1}, {7, 200, 2}, {6, 0, 1}};
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 0)), (Parts{some_ms, 7, 48}));
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 15)), (Parts{some_ms, 7, 63}));
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 16)), (Parts{some_ms, 7, 3200}));
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 47)), (Parts{some_ms, 7, 3231}));
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 48)), (Parts{some_ms, 6, 0}));
    EXPECT_EQ(layout.decode(nth_id(layout, some_ms, runs, 63)), (Parts{some_ms, 6, 15}));
}

TEST(BackfillEntry, SaysWhatWasWritten)
{
    const Layout layout{10};
    EXPECT_EQ(decode_taken(0, layout), 0);
    for (std::int32_t taken = 0; taken <= share_count(layout); taken++)
        EXPECT_EQ(decode_taken(encode_taken(taken), layout), taken);
    EXPECT_EQ(decode_taken(encode_taken(257), layout), -1);
    for (int bit = 0; bit < 32; bit++)
        EXPECT_EQ(decode_taken(encode_taken(100) ^ std::uint32_t{1} << bit, layout), -1) << bit;
}

// The counts of a whole span, or of a part of it, are those of a std::map, whatever the order.
TEST(BackfillCounts, AreThoseOfEachMillisecond)
{
    std::mt19937 random{1};
    for (const std::uint32_t range : {10U, 1000U, 1U << span_bits}) {
        SCOPED_TRACE(range);
        MsCounts counts;
        std::vector<MsCount> places;
        std::map<std::uint32_t, std::uint32_t> expected;
        for (int call = 0; call < 300'000; call++) {
            const std::uint32_t offset =
                range == 10U ? (1U << span_bits) - 1 - random() % range : random() % range;
            if (counts.is_full()) {
                std::vector<MsCount> more(counts.next_capacity());
                const MsCount *old = counts.grow(more.data());
                ASSERT_EQ(old, places.empty() ? nullptr : places.data());
                places = std::move(more);
            }
            ASSERT_EQ(counts.used(offset)++, expected[offset]++);
        }
    }
}

} // namespace

} // namespace snowflake
