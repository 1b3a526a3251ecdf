// The clocks: which millisecond it is, and how long until another one.
#include <atomic>
#include <cstdint>
#include <ctime>

#include <gtest/gtest.h>

#include "src/generator/clock.hpp"

namespace snowflake {

namespace {

constexpr std::int64_t epoch_2025 = 1735689600000;

std::int64_t unix_ns()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Readings taken before and after in the same millisecond leave no choice but that one: a clock
// that rounds to the nearest would be off in half of them.
TEST(SystemClock, RoundsDownToTheMillisecond)
{
    int sure = 0;
    for (int round = 0; round < 200'000; round++) {
        const std::int64_t before = unix_ns() / 1'000'000;
        const std::int64_t reading = SystemClock{}.now_ms();
        const std::int64_t after = unix_ns() / 1'000'000;
        if (after < before) // the machine's clock was set back
            continue;
        ASSERT_GE(reading, before);
        ASSERT_LE(reading, after);
        sure += before == after ? 1 : 0;
    }
    EXPECT_GT(sure, 1000);
}

TEST(SystemClock, CountsFromItsEpoch)
{
    const std::int64_t before = unix_ns() / 1'000'000;
    const std::int64_t reading = SystemClock{epoch_2025}.now_ms();
    const std::int64_t after = unix_ns() / 1'000'000;
    EXPECT_GE(reading, before - epoch_2025);
    EXPECT_LE(reading, after - epoch_2025);
}

TEST(SystemClock, IsNegativeBeforeItsEpoch)
{
    const std::int64_t year_3000 = 32503680000000;
    EXPECT_LT(SystemClock{year_3000}.now_ms(), 0);
}

TEST(SystemClock, KnowsTheMillisecondThatItReads)
{
    for (const std::int64_t epoch : {std::int64_t{0}, epoch_2025}) {
        const SystemClock clock{epoch};
        int sure = 0;
        for (int round = 0; round < 200'000; round++) {
            const std::int64_t before = clock.now_ms();
            const bool reads_before = clock.reads(before);
            const bool reads_next = clock.reads(before + 1);
            const bool reads_last = clock.reads(before - 1);
            if (clock.now_ms() != before)
                continue;
            ASSERT_TRUE(reads_before);
            ASSERT_FALSE(reads_next);
            ASSERT_FALSE(reads_last);
            sure++;
        }
        EXPECT_GT(sure, 1000);
    }
}

// A generator that has seen no millisecond yet asks for this one.
TEST(SystemClock, NeverReadsAMillisecondOfLongAgo)
{
    for (const std::int64_t epoch : {std::int64_t{0}, epoch_2025})
        EXPECT_FALSE(SystemClock{epoch}.reads(1 - (std::int64_t{1} << 42)));
}

TEST(SystemClock, TellsTheNanosecondsUntilAMillisecondBegins)
{
    for (const std::int64_t epoch : {std::int64_t{0}, epoch_2025}) {
        const SystemClock clock{epoch};
        const std::int64_t ms = clock.now_ms() + 1000;
        const std::int64_t begins = (ms + epoch) * 1'000'000;
        const std::int64_t before = unix_ns();
        const std::int64_t left = clock.ns_until(ms);
        const std::int64_t after = unix_ns();
        EXPECT_LE(left, begins - before);
        EXPECT_GE(left, begins - after);
    }
}

TEST(SystemClock, HasNothingLeftUntilAMillisecondThatHasBegun)
{
    const SystemClock clock{epoch_2025};
    EXPECT_LE(clock.ns_until(clock.now_ms()), 0);
    EXPECT_LE(clock.ns_until(clock.now_ms() - 5000), -4'900'000'000);
}

TEST(SystemClock, ReadsTheMillisecondOnceNothingIsLeftUntilIt)
{
    const SystemClock clock{epoch_2025};
    const std::int64_t ms = clock.now_ms() + 3;
    while (clock.ns_until(ms) > 0)
        ;
    EXPECT_GE(clock.now_ms(), ms);
}

TEST(ManualClock, ReadsWhatItWasSetTo)
{
    std::atomic<std::int64_t> ms{17};
    const ManualClock clock{&ms};
    EXPECT_EQ(clock.now_ms(), 17);
    ms = -3;
    EXPECT_EQ(clock.now_ms(), -3);
}

} // namespace

} // namespace snowflake
