// Which ids the generator issues, in which order, and when a millisecond is used up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/generator.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr int per_ms = 64; // ids per millisecond with 16 machine bits

// Order ------------------------------------------------------------------------------------------

TEST(Generator, IssuesAscendingIdsOfItsMachineAtTheClocksTime)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    std::int64_t last = 0;
    for (int step = 0; step < 1000; step++) {
        server.now += step % 3;
        const std::int64_t id = issue(caller);
        EXPECT_GT(id, last);
        EXPECT_EQ(server.layout.decode(id).ms, server.now);
        EXPECT_EQ(server.layout.decode(id).machine, 5);
        last = id;
    }
}

TEST(Generator, StartsEachMillisecondAtSequenceZero)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0));
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 1));
    server.now += 1;
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0));
}

TEST(Generator, IssuesIdsAboveAllThatReturnedBeforeToWhomever)
{
    Server server;
    std::vector<Caller> callers = server.callers(7);
    server.grant(5);
    std::int64_t last = 0;
    for (int turn = 0; turn < 500; turn++) {
        server.now += turn % 5 == 0;
        const std::int64_t id = issue(callers[turn * 3 % 7]);
        EXPECT_GT(id, last);
        last = id;
    }
}

TEST(Generator, IssuesABatchInARow)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    const std::vector<std::int64_t> ids = ids_of(caller.begin(100));
    ASSERT_EQ(ids.size(), 100u);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(ids[i], server.id(server.now, 5, i));
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 100));
}

TEST(Generator, SaysSoTooWhenItIsAskedTwoWays)
{
    Server server;
    Caller one = server.caller();
    Caller other = server.caller();
    server.grant(5);
    EXPECT_EQ(issue(one), server.id(server.now, 5, 0));
    EXPECT_EQ(id_of(other.begin(1)), server.id(server.now, 5, 1));
    EXPECT_EQ(issue(other), server.id(server.now, 5, 2));
    EXPECT_EQ(id_of(one.begin(1)), server.id(server.now, 5, 3));
}

// The sequence -----------------------------------------------------------------------------------

class Capacity : public testing::TestWithParam<int> {};

TEST_P(Capacity, OfAMillisecondIsTheWholeSequence)
{
    Server server(GetParam());
    Caller caller = server.caller();
    server.grant(1);
    const std::int32_t last = server.layout.max_sequence();
    for (std::int32_t sequence = 0; sequence <= last; sequence++)
        ASSERT_EQ(issue(caller), server.id(server.now, 1, sequence));
    expect_wait(ask(caller), Reason::tick, server.now + 1);
}

TEST_P(Capacity, OfMachineZeroIsOneLess)
{
    Server server(GetParam());
    Caller caller = server.caller();
    server.grant(0);
    for (std::int32_t sequence = 1; sequence <= server.layout.max_sequence(); sequence++)
        ASSERT_EQ(issue(caller), server.id(server.now, 0, sequence));
    expect_wait(ask(caller), Reason::tick, server.now + 1);
}

TEST_P(Capacity, FitsIntoOneBatch)
{
    Server server(GetParam());
    Caller caller = server.caller();
    server.grant(1);
    const auto count = static_cast<std::uint32_t>(server.layout.max_sequence()) + 1;
    const std::vector<std::int64_t> ids = ids_of(caller.begin(count));
    ASSERT_EQ(ids.size(), count);
    EXPECT_EQ(ids.front(), server.id(server.now, 1, 0));
    EXPECT_EQ(ids.back(), server.id(server.now, 1, server.layout.max_sequence()));
    expect_wait(caller.begin(count), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(ids_of(caller.resume()).size(), count);
}

INSTANTIATE_TEST_SUITE_P(MachineBits, Capacity, testing::Values(1, 4, 10, 13, 16));

TEST(Generator, WaitsForExactlyTheNextMillisecondAndThenIssuesTheVeryTicket)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    const std::int64_t next_ms = server.now + 1;
    expect_wait(ask(caller), Reason::tick, next_ms);
    expect_wait(caller.resume(), Reason::tick, next_ms); // the clock has not moved
    server.now = next_ms;
    EXPECT_EQ(id_of(caller.resume()), server.id(next_ms, 5, 0));
    EXPECT_EQ(issue(caller), server.id(next_ms, 5, 1));
}

TEST(Generator, IssuesTheTicketAlsoIfTheCallerWakesUpLate)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    const std::int64_t next_ms = server.now + 1;
    ask(caller);
    server.now += 500;
    EXPECT_EQ(id_of(caller.resume()), server.id(next_ms, 5, 0));
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0));
}

TEST(Generator, WaitsForTheMillisecondOfABatchesLastId)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    EXPECT_EQ(ids_of(caller.begin(per_ms - 1)).size(), per_ms - 1u);
    expect_wait(caller.begin(2), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(ids_of(caller.resume()),
              (std::vector<std::int64_t>{server.id(server.now - 1, 5, per_ms - 1),
                                         server.id(server.now, 5, 0)}));
}

TEST(Generator, ServesCallersInTheOrderInWhichTheyCame)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(5);
    server.grant(5);
    use_up_millisecond(server, callers[0]);
    for (Caller &caller : callers)
        expect_wait(ask(caller), Reason::tick, server.now + 1);
    server.now += 1;
    for (int i = 4; i >= 0; i--) // they wake up in any order
        EXPECT_EQ(id_of(callers[i].resume()), server.id(server.now, 5, i));
}

TEST(Generator, LetsAQueueLongerThanAMillisecondFillTheNextOnes)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(3 * per_ms);
    server.grant(5);
    use_up_millisecond(server, callers[0]);
    for (int i = 0; i < 3 * per_ms; i++)
        expect_wait(ask(callers[i]), Reason::tick, server.now + 1 + i / per_ms);
    server.now += 1;
    EXPECT_EQ(id_of(callers[per_ms - 1].resume()), server.id(server.now, 5, per_ms - 1));
    expect_wait(callers[per_ms].resume(), Reason::tick, server.now + 1);
}

TEST(Generator, LosesTheTicketsOfAWaitThatIsGivenUp)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    expect_wait(caller.begin(10), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 10)); // 0 to 9 are a gap
}

TEST(Generator, TreatsABlockOfMachineIdsAsOneWiderSequence)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(3);
    server.grant({8, 2});
    std::int64_t last = 0;
    for (int i = 0; i < 4 * per_ms; i++) {
        const std::int64_t id = issue(callers[i % 3]);
        EXPECT_EQ(id, server.id(server.now, 8 + i / per_ms, i % per_ms));
        EXPECT_GT(id, last);
        last = id;
    }
    expect_wait(ask(callers[0]), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(id_of(callers[0].resume()), server.id(server.now, 8, 0));
}

TEST(Generator, TakesTheWidestBlockOfTheWidestSequence)
{
    Server server(1);
    Caller caller = server.caller();
    server.grant({0, 1});
    EXPECT_EQ(issue(caller), server.id(server.now, 0, 1));
    const auto count = static_cast<std::uint32_t>(server.layout.max_sequence()) + 1;
    EXPECT_EQ(ids_of(caller.begin(count)).back(), server.id(server.now, 1, 1));
}

// The reserved id --------------------------------------------------------------------------------

TEST(ReservedId, IsPassedOverAtTheStartOfAMillisecond)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(0);
    EXPECT_EQ(issue(caller), server.id(server.now, 0, 1));
    server.now += 1;
    EXPECT_EQ(id_of(caller.begin(1)), server.id(server.now, 0, 1));
}

TEST(ReservedId, IsPassedOverAtTheFloor)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(0, server.now);
    EXPECT_EQ(issue(caller), server.id(server.now, 0, 1));
}

TEST(ReservedId, IsPassedOverWhenACallCarriesIntoAMillisecond)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(0);
    use_up_millisecond(server, caller);
    expect_wait(ask(caller), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(id_of(caller.resume()), server.id(server.now, 0, 1));
}

TEST(ReservedId, IsPassedOverWhenTheWordStandsAtItAlready)
{
    Server server(16);
    Caller caller = server.caller();
    Caller other = server.caller();
    server.grant(0);
    use_up_millisecond(server, caller);
    server.now += 1;
    EXPECT_EQ(id_of(other.begin(1)), server.id(server.now, 0, 1));
    EXPECT_EQ(issue(caller), server.id(server.now, 0, 2));
}

TEST(ReservedId, IsLeftOutOfABatchThatCarries)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(0);
    EXPECT_EQ(ids_of(caller.begin(per_ms - 2)).size(), per_ms - 2u);
    expect_wait(caller.begin(3), Reason::tick, server.now + 1);
    server.now += 1;
    EXPECT_EQ(ids_of(caller.resume()),
              (std::vector<std::int64_t>{server.id(server.now - 1, 0, per_ms - 1),
                                         server.id(server.now, 0, 1)}));
}

TEST(ReservedId, IsNeverIssuedWhateverIsDrawn)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(3);
    server.grant({0, 1});
    for (int turn = 0; turn < 5000; turn++) {
        Caller &caller = callers[turn % 3];
        Answer answer = caller.begin(turn % 13 + 1);
        while (answer.verdict == Verdict::wait) {
            server.now = answer.ms;
            answer = caller.resume();
        }
        ASSERT_EQ(answer.verdict, Verdict::issued);
        const std::vector<std::int64_t> ids = ids_of(answer);
        ASSERT_GE(ids.size(), turn % 13 == 0 ? 1u : turn % 13u);
        for (const std::int64_t id : ids)
            ASSERT_FALSE(is_reserved(id)) << id;
    }
}

} // namespace

} // namespace snowflake
