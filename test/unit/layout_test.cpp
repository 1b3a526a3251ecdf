// What stands where in an id, and which ids bound a span of time.
#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/id/layout.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr std::int64_t discord_epoch = 1420070400000;
constexpr std::int64_t twitter_epoch = 1288834974657;

// All of it is usable at compile time; what the compiler evaluates has no undefined behaviour.
static_assert(Layout{}.machine_bits == 10);
static_assert(Layout{}.max_machine() == 1023 && Layout{}.max_sequence() == 4095);
static_assert(Layout{1}.max_machine() == 1 && Layout{1}.max_sequence() == 2097151);
static_assert(Layout{16}.max_machine() == 65535 && Layout{16}.max_sequence() == 63);
static_assert(Layout{}.encode({max_ms, 1023, 4095}) == INT64_MAX);
static_assert(Layout{5}.decode(INT64_MAX) == Parts{max_ms, 31, (1 << 17) - 1});
static_assert(floor_div(-1, 1000) == -1 && floor_div(-1000, 1000) == -1);
static_assert(floor_id(INT64_MIN) == 0 && floor_id(INT64_MAX) == max_id);
static_assert(ceil_id(INT64_MIN) == -1 && ceil_id(INT64_MAX) == max_id);
static_assert(range_of({INT64_MIN, false}, {INT64_MAX, true}) == IdRange{0, 0, true});
static_assert(range_of({INT64_MAX, false}, {INT64_MAX, true}).empty());
static_assert(range_of({INT64_MIN, true}, {INT64_MIN, true}).empty());

// 0, the largest value, and every power of two with its neighbours.
std::vector<std::int64_t> extremes(std::int64_t largest)
{
    std::set<std::int64_t> values{0, largest};
    for (std::int64_t power = 1; power <= largest; power *= 2)
        for (const std::int64_t value : {power - 1, power, power + 1})
            if (value <= largest)
                values.insert(value);
    return {values.begin(), values.end()};
}

class EveryLayout : public testing::TestWithParam<int> {
protected:
    const Layout layout{GetParam()};

    void expect_round_trip(const Parts &parts) const
    {
        const std::int64_t id = layout.encode(parts);
        ASSERT_GE(id, 0);
        ASSERT_EQ(layout.decode(id), parts);
        ASSERT_EQ(id >> 22, parts.ms);
        ASSERT_EQ(layout.encode(layout.decode(id)), id);
    }
};

TEST_P(EveryLayout, DecodesWhatItEncodes)
{
    const auto machines = extremes(layout.max_machine());
    const auto sequences = extremes(layout.max_sequence());
    for (const std::int64_t ms : extremes(max_ms))
        for (const std::int64_t machine : machines)
            for (const std::int64_t sequence : sequences) {
                expect_round_trip(
                    {ms, static_cast<std::int32_t>(machine), static_cast<std::int32_t>(sequence)});
                if (HasFatalFailure())
                    return;
            }
}

TEST_P(EveryLayout, UsesAll63BitsAndNoneTwice)
{
    const std::int64_t ms = layout.encode({max_ms, 0, 0});
    const std::int64_t machine = layout.encode({0, layout.max_machine(), 0});
    const std::int64_t sequence = layout.encode({0, 0, layout.max_sequence()});
    EXPECT_EQ(ms ^ machine ^ sequence, INT64_MAX);
    EXPECT_EQ(ms + machine + sequence, INT64_MAX);
    EXPECT_EQ(machine | sequence, low_mask);
}

TEST_P(EveryLayout, OrdersIdsByTimeThenMachineThenSequence)
{
    const std::int32_t machine = layout.max_machine();
    const std::int32_t sequence = layout.max_sequence();
    EXPECT_LT(layout.encode({7, 0, 0}), layout.encode({7, 0, sequence}));
    EXPECT_EQ(layout.encode({7, 0, sequence}) + 1, layout.encode({7, 1, 0}));
    EXPECT_EQ(layout.encode({7, machine, sequence}) + 1, layout.encode({8, 0, 0}));
}

TEST_P(EveryLayout, KeepsEveryIdOfAMillisecondBetweenItsFloorAndItsCeil)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 10000; round++) {
        const auto id = static_cast<std::int64_t>(random() >> 1);
        const Parts parts = layout.decode(id);
        ASSERT_LE(floor_id(parts.ms), id);
        ASSERT_GE(ceil_id(parts.ms), id);
        ASSERT_GT(floor_id(parts.ms), ceil_id(parts.ms - 1));
        ASSERT_EQ(layout.decode(floor_id(parts.ms)), (Parts{parts.ms, 0, 0}));
        ASSERT_EQ(layout.decode(ceil_id(parts.ms)),
                  (Parts{parts.ms, layout.max_machine(), layout.max_sequence()}));
    }
}

INSTANTIATE_TEST_SUITE_P(MachineBits, EveryLayout,
                         testing::Range(min_machine_bits, max_machine_bits + 1));

TEST(Layout, ReadsAnIdOfDiscord)
{
    // The example of Discord's own documentation, whose 5 + 5 bits are one machine id here.
    const Parts parts = Layout{}.decode(175928847299117063);
    EXPECT_EQ(parts.ms + discord_epoch, 1462015105796);
    EXPECT_EQ(parts.machine, 32);
    EXPECT_EQ(parts.sequence, 7);
}

TEST(Layout, ReadsAnIdOfTwitter)
{
    // 2022-06-28 16:07:40.105 UTC, the example of Wikipedia's article.
    const Parts parts = Layout{}.decode(1541815603606036480);
    EXPECT_EQ(parts.ms + twitter_epoch, 1656432460105);
    EXPECT_EQ(parts.machine, 378);
    EXPECT_EQ(parts.sequence, 0);
}

TEST(Layout, ReservesTheFirstIdOfEachMillisecondAndNoOther)
{
    const Layout layout;
    EXPECT_TRUE(is_reserved(0));
    EXPECT_TRUE(is_reserved(floor_id(12345)));
    EXPECT_TRUE(is_reserved(floor_id(max_ms)));
    EXPECT_FALSE(is_reserved(layout.encode({12345, 0, 1})));
    EXPECT_FALSE(is_reserved(layout.encode({12345, 1, 0})));
    EXPECT_FALSE(is_reserved(ceil_id(12345)));
    EXPECT_FALSE(is_reserved(max_id));
}

TEST(FloorDiv, RoundsDownOnBothSidesOfZero)
{
    EXPECT_EQ(floor_div(0, 1000), 0);
    EXPECT_EQ(floor_div(999, 1000), 0);
    EXPECT_EQ(floor_div(1000, 1000), 1);
    EXPECT_EQ(floor_div(-1, 1000), -1);
    EXPECT_EQ(floor_div(-999, 1000), -1);
    EXPECT_EQ(floor_div(-1000, 1000), -1);
    EXPECT_EQ(floor_div(-1001, 1000), -2);
}

TEST(FloorDiv, HoldsAtTheEndsOf64Bits)
{
    EXPECT_EQ(floor_div(INT64_MAX, 1000), INT64_MAX / 1000);
    EXPECT_EQ(floor_div(INT64_MIN, 1000), INT64_MIN / 1000 - 1);
    EXPECT_EQ(floor_div(INT64_MIN, 1), INT64_MIN);
}

TEST(FloorDiv, IsTheLargestMultipleThatIsNotLarger)
{
    std::mt19937_64 random(2);
    for (int round = 0; round < 10000; round++) {
        const auto value = static_cast<std::int64_t>(random()) / 2;
        const auto divisor = static_cast<std::int64_t>(random() % 1'000'000 + 1);
        const std::int64_t quotient = floor_div(value, divisor);
        ASSERT_LE(quotient * divisor, value);
        ASSERT_GT(quotient * divisor + divisor, value);
    }
}

TEST(Bounds, LieAtZeroAndBelowForTimesBeforeTheEpoch)
{
    for (const std::int64_t ms : {std::int64_t{-1}, std::int64_t{-86400000}, INT64_MIN}) {
        EXPECT_EQ(floor_id(ms), 0);
        EXPECT_EQ(ceil_id(ms), -1);
    }
}

TEST(Bounds, HoldFirstAndLastMillisecond)
{
    EXPECT_EQ(floor_id(0), 0);
    EXPECT_EQ(ceil_id(0), low_mask);
    EXPECT_EQ(floor_id(1), low_mask + 1);
    EXPECT_EQ(floor_id(max_ms), max_id - low_mask);
    EXPECT_EQ(ceil_id(max_ms), max_id);
}

TEST(Bounds, AreTheLargestIdForTimesPastTheEnd)
{
    for (const std::int64_t ms : {max_ms + 1, max_ms * 2, INT64_MAX}) {
        EXPECT_EQ(floor_id(ms), max_id);
        EXPECT_EQ(ceil_id(ms), max_id);
    }
}

constexpr TimeBound in(std::int64_t ms) { return {ms, true}; }
constexpr TimeBound out(std::int64_t ms) { return {ms, false}; }

TEST(Range, TakesEachKindOfBound)
{
    const std::int64_t floor5 = floor_id(5), floor6 = floor_id(6), floor9 = floor_id(9);
    EXPECT_EQ(range_of(in(5), out(9)), (IdRange{floor5, floor9, false}));
    EXPECT_EQ(range_of(in(5), in(9)), (IdRange{floor5, floor_id(10), false}));
    EXPECT_EQ(range_of(out(5), out(9)), (IdRange{floor6, floor9, false}));
    EXPECT_EQ(range_of(out(5), in(9)), (IdRange{floor6, floor_id(10), false}));
    EXPECT_EQ(range_of(in(5), in(5)), (IdRange{floor5, floor6, false}));
}

TEST(Range, IsEmptyIfNoMillisecondIsInIt)
{
    EXPECT_TRUE(range_of(in(5), out(5)).empty());
    EXPECT_TRUE(range_of(out(5), in(5)).empty());
    EXPECT_TRUE(range_of(out(5), out(6)).empty());
    EXPECT_TRUE(range_of(in(9), in(5)).empty());
    EXPECT_TRUE(range_of(in(-9), out(0)).empty());
    EXPECT_TRUE(range_of(in(INT64_MIN), in(-1)).empty());
    EXPECT_FALSE(range_of(in(-9), in(0)).empty());
}

TEST(Range, StartsAtZeroForTimesBeforeTheEpochAndMinusInfinity)
{
    EXPECT_EQ(range_of(in(-9), out(9)), (IdRange{0, floor_id(9), false}));
    EXPECT_EQ(range_of(in(INT64_MIN), out(9)), (IdRange{0, floor_id(9), false}));
    EXPECT_EQ(range_of(out(INT64_MIN), out(9)), (IdRange{0, floor_id(9), false}));
}

TEST(Range, HasNoUpperEndPastTheLastMillisecondAndAtInfinity)
{
    EXPECT_EQ(range_of(in(5), in(max_ms)), (IdRange{floor_id(5), 0, true}));
    EXPECT_EQ(range_of(in(5), out(max_ms + 1)), (IdRange{floor_id(5), 0, true}));
    EXPECT_EQ(range_of(in(5), out(INT64_MAX)), (IdRange{floor_id(5), 0, true}));
    EXPECT_EQ(range_of(in(5), in(INT64_MAX)), (IdRange{floor_id(5), 0, true}));
    EXPECT_EQ(range_of(in(5), out(max_ms)), (IdRange{floor_id(5), floor_id(max_ms), false}));
}

TEST(Range, IsEmptyIfItStartsPastTheEnd)
{
    EXPECT_TRUE(range_of(in(max_ms + 1), in(INT64_MAX)).empty());
    EXPECT_TRUE(range_of(out(max_ms), out(INT64_MAX)).empty());
    EXPECT_TRUE(range_of(in(INT64_MAX), in(INT64_MAX)).empty());
    EXPECT_EQ(range_of(in(max_ms), out(INT64_MAX)), (IdRange{floor_id(max_ms), 0, true}));
}

bool contains(const IdRange &range, std::int64_t id)
{
    return id >= range.lower && (range.unbounded || id < range.upper);
}

bool contains(TimeBound lower, TimeBound upper, std::int64_t ms)
{
    return (lower.inclusive ? ms >= lower.ms : ms > lower.ms) &&
           (upper.inclusive ? ms <= upper.ms : ms < upper.ms);
}

// Bounds at every place where the arithmetic could turn, against the definition of the range.
TEST(Range, HoldsTheIdsOfItsMillisecondsAndNoOthers)
{
    std::vector<TimeBound> bounds;
    for (const std::int64_t ms : {INT64_MIN, INT64_MIN + 1, std::int64_t{-2}, std::int64_t{-1},
                                  std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, max_ms - 1,
                                  max_ms, max_ms + 1, max_ms + 2, INT64_MAX - 1, INT64_MAX})
        for (const bool inclusive : {false, true})
            bounds.push_back({ms, inclusive});

    for (const TimeBound lower : bounds)
        for (const TimeBound upper : bounds)
            for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                                          max_ms / 2, max_ms - 1, max_ms}) {
                const IdRange range = range_of(lower, upper);
                const bool inside = contains(lower, upper, ms);
                ASSERT_EQ(contains(range, floor_id(ms)), inside) << lower.ms << " " << upper.ms;
                ASSERT_EQ(contains(range, ceil_id(ms)), inside) << lower.ms << " " << upper.ms;
            }
}

TEST(Range, TilesWithTheOneThatFollows)
{
    std::mt19937_64 random(3);
    for (int round = 0; round < 10000; round++) {
        const auto from = static_cast<std::int64_t>(random() % (1ull << 41));
        const auto middle = from + static_cast<std::int64_t>(random() % 1000 + 1);
        const auto to = middle + static_cast<std::int64_t>(random() % 1000 + 1);
        const IdRange first = range_of(in(from), out(middle));
        const IdRange second = range_of(in(middle), out(to));
        const IdRange both = range_of(in(from), out(to));
        if (middle > max_ms) {
            ASSERT_EQ(first, both);
            ASSERT_TRUE(second.empty());
            continue;
        }
        ASSERT_EQ(first.upper, second.lower);
        ASSERT_EQ(first.lower, both.lower);
        ASSERT_EQ(second.upper, both.upper);
        ASSERT_EQ(second.unbounded, both.unbounded);
    }
}

} // namespace

} // namespace snowflake
