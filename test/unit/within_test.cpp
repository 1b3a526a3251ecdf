// Which ids lie within a span of time, to the microsecond.
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "src/id/within.hpp"

namespace snowflake {

namespace {

constexpr Moment at(std::int64_t us) { return {us, true}; }
constexpr Moment not_at(std::int64_t us) { return {us, false}; }
constexpr Moment no_lower = at(INT64_MIN), no_upper = at(INT64_MAX);

// All of it is usable at compile time, where overflow would be an error.
static_assert(ids_within(no_lower, no_upper, 0) == IdSpan{0, max_id});
static_assert(last_id(at(INT64_MIN), INT64_C(1) << 62) == no_id);
static_assert(last_id(not_at(INT64_MIN), -(INT64_C(1) << 62)) == max_id);
static_assert(last_id(at(INT64_MAX), -(INT64_C(1) << 62)) == max_id);
static_assert(last_id(not_at(INT64_MAX), INT64_C(1) << 62) == no_id);
static_assert(no_ids.last < no_ids.first && !no_ids.contains(0) && !no_ids.contains(-1));

TEST(LastId, IsTheLastOneOfTheMillisecondThatHasBegun)
{
    EXPECT_EQ(last_id(at(5000), 0), ceil_id(5));
    EXPECT_EQ(last_id(not_at(5000), 0), ceil_id(4));
    for (const std::int64_t us : {5001, 5500, 5999}) {
        EXPECT_EQ(last_id(at(us), 0), ceil_id(5));
        EXPECT_EQ(last_id(not_at(us), 0), ceil_id(5));
    }
}

TEST(LastId, RoundsDownBeforeZeroToo)
{
    constexpr std::int64_t epoch_ms = -10;
    EXPECT_EQ(last_id(at(-1), epoch_ms), ceil_id(9));
    EXPECT_EQ(last_id(at(-999), epoch_ms), ceil_id(9));
    EXPECT_EQ(last_id(at(-1000), epoch_ms), ceil_id(9));
    EXPECT_EQ(last_id(not_at(-1000), epoch_ms), ceil_id(8));
    EXPECT_EQ(last_id(not_at(-1001), epoch_ms), ceil_id(8));
}

TEST(LastId, IsNoneBeforeTheEpochAndTheLargestPastTheEnd)
{
    constexpr std::int64_t epoch_ms = 1000, end_us = (epoch_ms + max_ms + 1) * 1000;
    EXPECT_EQ(last_id(not_at(1000000), epoch_ms), no_id);
    EXPECT_EQ(last_id(at(1000000), epoch_ms), ceil_id(0));
    EXPECT_EQ(last_id(not_at(1000001), epoch_ms), ceil_id(0));
    EXPECT_EQ(last_id(not_at(end_us - 1000), epoch_ms), ceil_id(max_ms - 1));
    EXPECT_EQ(last_id(at(end_us - 1000), epoch_ms), max_id);
    EXPECT_EQ(last_id(not_at(end_us), epoch_ms), max_id);
    EXPECT_EQ(last_id(at(INT64_MAX), epoch_ms), max_id);
}

TEST(Within, TakesEachKindOfBound)
{
    EXPECT_EQ(ids_within(at(5000), not_at(9000), 0), (IdSpan{floor_id(5), ceil_id(8)}));
    EXPECT_EQ(ids_within(at(5000), at(9000), 0), (IdSpan{floor_id(5), ceil_id(9)}));
    EXPECT_EQ(ids_within(not_at(5000), not_at(9000), 0), (IdSpan{floor_id(6), ceil_id(8)}));
    EXPECT_EQ(ids_within(not_at(5000), at(9000), 0), (IdSpan{floor_id(6), ceil_id(9)}));
    EXPECT_EQ(ids_within(at(5001), not_at(9001), 0), (IdSpan{floor_id(6), ceil_id(9)}));
    EXPECT_EQ(ids_within(no_lower, not_at(9000), 0), (IdSpan{0, ceil_id(8)}));
    EXPECT_EQ(ids_within(at(5000), no_upper, 0), (IdSpan{floor_id(5), max_id}));
}

TEST(Within, IsNoIdWhereNoMillisecondBegins)
{
    EXPECT_EQ(ids_within(at(5001), at(5999), 0), no_ids);
    EXPECT_EQ(ids_within(not_at(5000), not_at(6000), 0), no_ids);
    EXPECT_EQ(ids_within(at(5000), not_at(5000), 0), no_ids);
    EXPECT_EQ(ids_within(at(9000), at(5000), 0), no_ids);
    EXPECT_EQ(ids_within(no_lower, at(-1), 0), no_ids);
    EXPECT_EQ(ids_within(no_lower, not_at(0), 0), no_ids);
    EXPECT_EQ(ids_within(at((max_ms + 1) * 1000), no_upper, 0), no_ids);
    EXPECT_EQ(ids_within(at(max_ms * 1000 + 1), no_upper, 0), no_ids);
    EXPECT_EQ(ids_within(at(max_ms * 1000), no_upper, 0), (IdSpan{floor_id(max_ms), max_id}));
}

// Bounds at every place where the arithmetic could turn, and random ones near ids, against the
// definition: the moment at which an id's millisecond begins lies between the bounds.
class Definition : public testing::TestWithParam<std::int64_t> {
protected:
    const std::int64_t epoch_ms = GetParam();
    std::mt19937_64 random{7};

    // Microseconds in the same count as the bounds, for milliseconds near the ends and in between.
    std::vector<std::int64_t> moments(std::initializer_list<std::int64_t> offsets) const
    {
        std::vector<std::int64_t> all;
        for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1}, max_ms / 3, max_ms})
            for (const std::int64_t offset : offsets)
                all.push_back((epoch_ms + ms) * 1000 + offset);
        return all;
    }

    bool is_between(std::int64_t id, Moment lower, Moment upper) const
    {
        const std::int64_t us = (epoch_ms + (id >> timestamp_shift)) * 1000;
        return (lower.inclusive ? us >= lower.us : us > lower.us) &&
               (upper.inclusive ? us <= upper.us : us < upper.us);
    }

    void expect_definition(std::int64_t id, Moment lower, Moment upper) const
    {
        const bool expected = is_between(id, lower, upper);
        ASSERT_EQ(ids_within(lower, upper, epoch_ms).contains(id), expected)
            << id << " in " << (lower.inclusive ? '[' : '(') << lower.us << ',' << upper.us
            << (upper.inclusive ? ']' : ')');
    }

    Moment random_moment(std::int64_t id)
    {
        const std::int64_t us = (epoch_ms + (id >> timestamp_shift)) * 1000;
        const auto near = static_cast<std::int64_t>(random() % 8001) - 4000;
        return {us + near, random() % 2 == 0};
    }
};

TEST_P(Definition, HoldsAtTheEdges)
{
    std::vector<Moment> bounds{no_lower,          no_upper,          not_at(INT64_MIN),
                               not_at(INT64_MAX), at(INT64_MIN + 1), at(INT64_MAX - 1)};
    for (const std::int64_t us : moments({-1000, -999, -1, 0, 1, 999, 1000, 1001})) {
        bounds.push_back(at(us));
        bounds.push_back(not_at(us));
    }
    for (const Moment lower : bounds)
        for (const Moment upper : bounds)
            for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                                          max_ms / 3, max_ms - 1, max_ms})
                for (const std::int64_t id : {floor_id(ms), ceil_id(ms)}) {
                    expect_definition(id, lower, upper);
                    if (HasFatalFailure())
                        return;
                }
}

TEST_P(Definition, HoldsForRandomSpans)
{
    for (int round = 0; round < 200000 && !HasFatalFailure(); round++) {
        const auto id = static_cast<std::int64_t>(random() >> 1);
        expect_definition(id, random_moment(id), random_moment(id));
    }
}

TEST_P(Definition, HasNoNegativeId)
{
    for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{-4194304}, INT64_MIN})
        for (const std::int64_t us : moments({-1000, 0, 1000})) {
            EXPECT_FALSE(ids_within(no_lower, at(us), epoch_ms).contains(id));
            EXPECT_FALSE(ids_within(at(us), no_upper, epoch_ms).contains(id));
        }
}

// PostgreSQL counts from 2000: the epochs unix, twitter, the default, and zero itself.
INSTANTIATE_TEST_SUITE_P(Epochs, Definition,
                         testing::Values(-946684800000, 342150174657, 788918400000, 0));

} // namespace

} // namespace snowflake
