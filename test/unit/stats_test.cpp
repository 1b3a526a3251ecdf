// What monitoring is told.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/stats.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr int per_ms = 64; // ids per millisecond with 16 machine bits

// A server that counts what it was given.
class StatsTest : public testing::Test {
protected:
    void draw(Caller &one, std::uint32_t count)
    {
        Answer answer = one.begin(count);
        while (answer.verdict == Verdict::wait) {
            server.now = answer.ms;
            answer = one.resume();
        }
        ASSERT_EQ(answer.verdict, Verdict::issued);
        for (const std::int64_t id : ids_of(answer)) {
            issued++;
            last_id = id;
        }
    }

    // Uses the millisecond up and takes tickets of the next one.
    void hold(Caller &one, std::uint32_t count)
    {
        while (server.word() / per_ms <= static_cast<std::uint64_t>(server.now))
            draw(caller, 1);
        expect_wait(one.begin(count), Reason::tick, server.now + 1);
    }

    void expect_exact()
    {
        EXPECT_EQ(server.stats().issued, issued);
        EXPECT_EQ(server.stats().last_id, last_id);
    }

    Server server{16};
    Caller caller = server.caller();
    Caller other = server.caller();
    std::uint64_t issued = 0;
    std::int64_t last_id = 0;
};

TEST_F(StatsTest, SayWhetherThereIsAGrantAndOfWhat)
{
    EXPECT_FALSE(server.stats().granted);
    server.grant({8, 2});
    EXPECT_TRUE(server.stats().granted);
    EXPECT_EQ(server.stats().machines, (MachineBlock{8, 2}));
    server.close();
    publish_none(server.state, server.layout);
    EXPECT_FALSE(server.stats().granted);
}

TEST_F(StatsTest, AreZeroBeforeTheFirstId)
{
    server.grant(5, server.now);
    expect_exact();
    EXPECT_EQ(server.stats().newest_ms, 0);
}

TEST_F(StatsTest, CountSingleIdsAndBatches)
{
    server.grant(5);
    draw(caller, 1);
    expect_exact();
    draw(other, 20);
    expect_exact();
    for (int i = 0; i < 10; i++, issued++)
        last_id = issue(caller);
    expect_exact();
}

TEST_F(StatsTest, DoNotCountWhatMovesToTheClockSkip)
{
    server.grant(5, server.now - 12345);
    for (int step = 1; step < 100; step++) {
        server.now += step * step;
        draw(step % 2 == 0 ? caller : other, 3);
        expect_exact();
    }
}

TEST_F(StatsTest, CountUnderAllGrantsAndWidths)
{
    for (int change = 0; change < 30; change++) {
        server.grant({change * 4 % 64, change % 3}, server.now - change % 4);
        draw(caller, 10);
        server.now += change;
        draw(other, 5);
        expect_exact();
        server.now = server.close();
        EXPECT_EQ(server.stats().issued, issued);
    }
}

TEST_F(StatsTest, KeepTheCountWhileThereIsNoGrant)
{
    server.grant(5);
    draw(caller, 10);
    server.close();
    publish_none(server.state, server.layout);
    EXPECT_EQ(server.stats().issued, 10u);
    EXPECT_EQ(server.stats().last_id, 0);
    server.grant(5, server.now + 1);
    EXPECT_EQ(server.stats().issued, 10u);
}

TEST_F(StatsTest, DoNotCountTicketsThatAreStillWaitedFor)
{
    server.grant(5);
    hold(caller, 1);
    hold(other, 10);
    expect_exact();
    server.now += 1;
    EXPECT_EQ(ids_of(other.resume()).size(), 10u);
    EXPECT_EQ(server.stats().issued, issued + 10);
    EXPECT_EQ(ids_of(caller.resume()).size(), 1u);
    EXPECT_EQ(server.stats().issued, issued + 11);
}

TEST_F(StatsTest, DoNotCountTicketsOfAWaitThatWasGivenUp)
{
    server.grant(5);
    hold(caller, 10);
    server.now += 1;
    draw(caller, 1);
    expect_exact();
}

TEST_F(StatsTest, DoNotCountTicketsThatAChangeOfTheGrantVoided)
{
    server.grant(5);
    hold(caller, 10);
    const std::int64_t end_ms = server.change_to(9);
    EXPECT_EQ(server.stats().issued, issued);
    server.now = end_ms;
    EXPECT_EQ(ids_of(caller.resume()).size(), 10u);
    EXPECT_EQ(server.stats().issued, issued + 10);
}

TEST_F(StatsTest, DoNotCountTicketsThatAStepOfTheClockVoided)
{
    server.grant(5);
    hold(caller, 10);
    server.now -= 5000;
    EXPECT_EQ(caller.resume().verdict, Verdict::refused);
    EXPECT_EQ(server.stats().issued, issued);
}

TEST_F(StatsTest, DoNotCountTicketsThatTheCeilingVoided)
{
    server.grant(5, 0, server.now + 1);
    draw(caller, per_ms - 5);
    EXPECT_EQ(other.begin(10).reason, Reason::ceiling);
    EXPECT_EQ(server.stats().issued, issued);
}

TEST_F(StatsTest, DoNotCountTicketsTakenAfterTheGrantWasClosed)
{
    server.grant(5, server.now);
    draw(caller, 1);
    server.close();
    for (int turn = 0; turn < 10; turn++) {
        EXPECT_EQ(ask(caller).reason, Reason::changing);
        EXPECT_EQ(caller.begin(7).reason, Reason::changing);
    }
    EXPECT_EQ(server.stats().issued, issued);
    server.grant(9, server.now);
    EXPECT_EQ(server.stats().issued, issued);
}

TEST_F(StatsTest, DoNotCountTicketsOfASlotThatWasReopened)
{
    server.grant(5, server.now);
    draw(caller, 1);
    for (std::uint64_t change = 0; change < slot_count; change++) {
        server.close();
        server.grant(9, server.now);
    }
    draw(caller, 1);
    EXPECT_EQ(server.stats().issued, issued);
}

TEST_F(StatsTest, DoNotCountTheReservedId)
{
    server.grant(0, server.now);
    for (int turn = 0; turn < 50; turn++) {
        draw(caller, 13);
        expect_exact();
        for (int single = 0; single < 40; single++)
            draw(other, 1);
        expect_exact();
    }
    EXPECT_GT(issued, 2500u);
}

TEST_F(StatsTest, DoNotCountTheReservedIdOfABlock)
{
    server.grant({0, 1}, server.now);
    for (int turn = 0; turn < 1000; turn++)
        draw(caller, 1);
    expect_exact();
}

TEST_F(StatsTest, DoNotCountAReservedIdThatWasWaitedForAndGivenUp)
{
    server.grant(0);
    draw(caller, per_ms - 1);
    expect_wait(caller.begin(1), Reason::tick, server.now + 1); // its ticket is the reserved id
    expect_exact();
    server.now += 1;
    draw(caller, 1);
    expect_exact();
}

TEST_F(StatsTest, NameTheLastIdInEveryWidth)
{
    server.grant({8, 2});
    draw(caller, per_ms + 3);
    EXPECT_EQ(server.stats().last_id, server.id(server.now, 9, 2));
}

TEST_F(StatsTest, NeverNameATicketThatIsStillWaitedFor)
{
    server.grant(5);
    hold(caller, 3);
    hold(other, 3);
    EXPECT_EQ(server.stats().last_id, server.id(server.now, 5, per_ms - 1));

    Server below_floor(16);
    Caller early = below_floor.caller();
    below_floor.grant(5, below_floor.now + 500);
    expect_wait(ask(early), Reason::tick, below_floor.now + 500);
    EXPECT_EQ(below_floor.stats().last_id, 0);
}

TEST_F(StatsTest, NeverNameAnIdAtTheCeiling)
{
    const std::int64_t ceiling = server.now + 1;
    server.grant(5, 0, ceiling);
    draw(caller, per_ms - 1);
    EXPECT_EQ(other.begin(3).reason, Reason::ceiling); // two of these lie beyond it
    EXPECT_LT(server.stats().last_id, floor_id(ceiling));
    server.now = ceiling;
    EXPECT_EQ(other.begin(3).reason, Reason::ceiling);
    EXPECT_LT(server.stats().last_id, floor_id(ceiling));
}

TEST_F(StatsTest, KeepTheLastIdWhenAClosedGrantIsAskedForMore)
{
    server.grant(5, server.now);
    draw(caller, 3);
    server.close();
    EXPECT_EQ(server.stats().last_id, last_id);
    EXPECT_EQ(ask(caller).reason, Reason::changing);
    EXPECT_EQ(server.stats().last_id, last_id);
}

TEST_F(StatsTest, CountCallsThatWaitForAMillisecondOnce)
{
    server.grant(5);
    draw(caller, per_ms);
    EXPECT_EQ(server.stats().tick_waits, 0u);
    expect_wait(ask(caller), Reason::tick, server.now + 1);
    EXPECT_EQ(server.stats().tick_waits, 1u);
    caller.resume();
    caller.resume();
    EXPECT_EQ(server.stats().tick_waits, 1u);
    expect_wait(other.begin(5), Reason::tick, server.now + 1);
    EXPECT_EQ(server.stats().tick_waits, 2u);
    server.now += 1;
    caller.resume();
    EXPECT_EQ(server.stats().tick_waits, 2u);
}

TEST_F(StatsTest, CountAStepOfTheClockOnceHoweverManyCallersMeetIt)
{
    std::vector<Caller> callers = server.callers(5);
    server.grant(5);
    const std::int64_t newest = server.now;
    draw(caller, 1);
    EXPECT_EQ(server.stats().clock_steps, 0u);
    EXPECT_EQ(server.stats().largest_step_ms, 0);
    for (const int step : {5000, 5000, 4000, 1}) {
        server.now = newest - step;
        for (Caller &one : callers)
            ask(one);
        EXPECT_EQ(server.stats().clock_steps, 1u);
        EXPECT_EQ(server.stats().largest_step_ms, 5000);
    }
}

TEST_F(StatsTest, CountEachStepAndKeepTheLargest)
{
    server.grant(5);
    const int steps[] = {3, 700, 20, 5000, 1};
    std::uint64_t count = 0;
    std::int64_t largest = 0;
    for (const int step : steps) {
        server.now += 10'000;
        draw(caller, 1);
        server.now -= step;
        ask(other);
        ask(caller);
        count++;
        largest = std::max<std::int64_t>(largest, step);
        EXPECT_EQ(server.stats().clock_steps, count);
        EXPECT_EQ(server.stats().largest_step_ms, largest);
    }
}

TEST_F(StatsTest, CountAStepThatTheHolderOfATicketMeets)
{
    server.grant(5);
    hold(caller, 1);
    server.now -= 500;
    caller.resume();
    EXPECT_EQ(server.stats().clock_steps, 1u);
    EXPECT_EQ(server.stats().largest_step_ms, 500);
}

TEST_F(StatsTest, TellTheNewestReadingUnderTheGrant)
{
    server.grant(5);
    draw(caller, 1);
    const std::int64_t newest = server.now;
    EXPECT_EQ(server.stats().newest_ms, newest);
    server.now -= 300;
    ask(caller);
    EXPECT_EQ(server.stats().newest_ms, newest);
}

} // namespace

} // namespace snowflake
