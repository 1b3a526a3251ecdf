// snowflake.sequence_spread: where a millisecond's sequence starts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "test/unit/server.hpp"

namespace snowflake {

namespace {

std::int32_t sequence_of(const Server &server, std::int64_t id)
{
    return server.layout.decode(id).sequence;
}

TEST(Spread, IsZeroWithoutOneAndBelowItWithOne)
{
    for (std::int64_t ms = 0; ms < 10'000; ms++) {
        EXPECT_EQ(spread_of(ms, 0), 0u);
        EXPECT_EQ(spread_of(ms, 1), 0u);
        EXPECT_LT(spread_of(ms, 1000), 1000u);
        EXPECT_LT(spread_of(max_ms - ms, 1 << 21), std::uint64_t{1} << 21);
    }
}

// Also of every tenth millisecond, and of every thousandth, as of a job that runs by the second.
TEST(Spread, GivesAllRemaindersEquallyOften)
{
    for (const std::int64_t step : {1, 10, 1000}) {
        std::array<int, 16> counts{};
        for (std::int64_t i = 0; i < 16'000; i++)
            counts[spread_of(5'000'000'000 + i * step, 256) % counts.size()]++;
        EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 800) << "step " << step;
        EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 1200) << "step " << step;
    }
}

TEST(Spread, IsWhereAMillisecondStartsAndIdsFollowOneAnother)
{
    Server server;
    server.spread = 4096;
    server.grant(5);
    Caller one = server.caller();
    Caller other = server.caller();
    std::set<std::int32_t> starts;
    std::int64_t last = 0;
    for (int i = 0; i < 100; i++, server.now++) {
        const auto start = static_cast<std::int32_t>(spread_of(server.now, 4096));
        if (start + 4 > server.layout.max_sequence())
            continue;
        starts.insert(start);
        for (std::int32_t k = 0; k < 4; k++) {
            const std::int64_t id = issue(k % 2 == 0 ? one : other);
            EXPECT_EQ(id, server.id(server.now, 5, start + k));
            EXPECT_GT(id, last);
            last = id;
        }
    }
    EXPECT_GT(starts.size(), 90u);
    EXPECT_EQ(server.stats().issued, 4 * starts.size());
}

TEST(Spread, IsNotAppliedToAMillisecondThatFollowsAFullOne)
{
    Server server;
    server.spread = 4096;
    server.grant(5);
    Caller caller = server.caller();
    issue(caller);
    use_up_millisecond(server, caller);
    expect_wait(ask(caller), Reason::tick, server.now + 1);
    server.now++;
    ASSERT_NE(spread_of(server.now, 4096), 0u);
    EXPECT_EQ(id_of(caller.resume()), server.id(server.now, 5, 0));
    for (std::int32_t sequence = 1; sequence <= server.layout.max_sequence(); sequence++)
        ASSERT_EQ(issue(caller), server.id(server.now, 5, sequence));
    expect_wait(ask(caller), Reason::tick, server.now + 1);
}

TEST(Spread, LeavesTheReservedIdOut)
{
    Server server;
    server.spread = 4;
    server.grant(0);
    Caller caller = server.caller();
    std::set<std::int32_t> starts;
    for (int i = 0; i < 1000; i++, server.now++) {
        const std::int64_t id = issue(caller);
        ASSERT_FALSE(is_reserved(id));
        starts.insert(sequence_of(server, id));
    }
    EXPECT_EQ(starts, (std::set<std::int32_t>{1, 2, 3}));
}

TEST(Spread, IsReadAnewEachTime)
{
    Server server;
    server.grant(5);
    Caller caller = server.caller();
    EXPECT_EQ(sequence_of(server, issue(caller)), 0);
    server.spread = 4096;
    server.now++;
    EXPECT_EQ(sequence_of(server, issue(caller)),
              static_cast<std::int32_t>(spread_of(server.now, 4096)));
    server.spread = 0;
    server.now++;
    EXPECT_EQ(sequence_of(server, issue(caller)), 0);
}

} // namespace

} // namespace snowflake
