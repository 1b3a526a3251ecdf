// Opening, extending and closing grants, seen from the granter.
#include <cstdint>

#include <gtest/gtest.h>

#include "src/generator/grant.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

static_assert(first_ticket_of(0, 12, 0) == 1);
static_assert(first_ticket_of(0, 12, 1 << 12) == 0);
static_assert(first_ticket_of(5, 12, 0) == (5 << 12) + 1);
static_assert(first_ticket_of(5, 14, 8 << 12) == 5 << 14);
static_assert(end_of_time_ms < max_ms);

TEST(CloseGrant, ReturnsZeroIfThereIsNone)
{
    Server server;
    EXPECT_EQ(server.close(), 0);
}

TEST(CloseGrant, OfWhichNothingWasIssuedReturnsItsFloor)
{
    Server server;
    server.grant(7, 5000);
    EXPECT_EQ(server.close(), 5000);
    server.grant({8, 2}, 6000);
    EXPECT_EQ(server.close(), 6000);
}

TEST(CloseGrant, OfWhichNothingWasIssuedReturnsItsFloorAlsoIfThatIsTheEpoch)
{
    Server server;
    server.grant(7, 0);
    EXPECT_EQ(server.close(), 0);
}

// Its first ticket is not the first of its millisecond, so that one may count as begun.
TEST(CloseGrant, OfMachineZeroMayReturnTheMillisecondAfterItsFloor)
{
    Server server;
    server.grant(0, 5000);
    const std::int64_t end_ms = server.close();
    EXPECT_GE(end_ms, 5000);
    EXPECT_LE(end_ms, 5001);
}

TEST(CloseGrant, ReturnsTheMillisecondAfterTheNewestId)
{
    for (const int machine : {0, 5}) {
        Server server;
        Caller caller = server.caller();
        server.grant(machine);
        issue(caller);
        EXPECT_EQ(server.close(), server.now + 1);
    }
}

TEST(CloseGrant, ReturnsTheNextMillisecondWhenThePresentOneIsUsedUp)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    EXPECT_EQ(server.close(), server.now + 1);
}

TEST(CloseGrant, CoversTicketsThatAreStillWaitedFor)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    const Answer answer = ask(caller);
    expect_wait(answer, Reason::tick, server.now + 1);
    EXPECT_EQ(server.close(), server.now + 2);
}

TEST(CloseGrant, MeasuresABlockByItsOwnWidth)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant({8, 2});
    for (int count = 0; count < 64 * 4; count++)
        issue(caller);
    EXPECT_EQ(server.close(), server.now + 1);
}

TEST(CloseGrant, ReturnsNoLessTheSecondTime)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(100);
    server.grant(5);
    for (Caller &caller : callers)
        ask(caller);
    const std::int64_t end_ms = server.close();
    for (Caller &caller : callers)
        EXPECT_EQ(ask(caller).reason, Reason::changing);
    EXPECT_GE(server.close(), end_ms);
    EXPECT_LE(server.close(), end_ms + 2);
}

TEST(CloseGrant, VoidsWhatCallersTakeAfterIt)
{
    Server server;
    Caller fresh = server.caller();
    Caller busy = server.caller();
    server.grant(5);
    issue(busy);
    server.close();
    const Answer answer = ask(busy);
    expect_wait(answer, Reason::changing, server.now + 1);
    expect_wait(ask(fresh), Reason::changing, server.now + 1);
    expect_wait(busy.resume(), Reason::changing, server.now + 1);
}

TEST(PublishGrant, LetsCallsThatWaitedForItGoOnWithAsManyIdsAsTheyWanted)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    issue(caller);
    server.close();
    expect_wait(caller.begin(3), Reason::changing, server.now + 1);
    server.grant(9);
    const std::vector<std::int64_t> ids = ids_of(caller.resume());
    ASSERT_EQ(ids.size(), 3u);
    for (const std::int64_t id : ids)
        EXPECT_EQ(server.layout.decode(id).machine, 9);
}

TEST(PublishNone, RefusesCalls)
{
    Server server;
    Caller caller = server.caller();
    expect_refused(ask(caller), Reason::no_grant, 0, server.now);

    server.grant(5);
    issue(caller);
    server.close();
    publish_none(server.state, server.layout);
    expect_refused(ask(caller), Reason::no_grant, 0, server.now);
    expect_refused(caller.begin(100), Reason::no_grant, 0, server.now);
    EXPECT_EQ(server.close(), 0);

    server.grant(5, server.now);
    issue(caller);
}

TEST(PublishNone, RefusesACallThatHoldsATicket)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    ask(caller);
    server.close();
    publish_none(server.state, server.layout);
    server.now += 1;
    EXPECT_EQ(caller.resume().reason, Reason::no_grant);
}

TEST(ExtendGrant, RaisesTheCeilingAndNeverLowersIt)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5, 0, server.now);
    expect_refused(ask(caller), Reason::ceiling, server.now, server.now);
    extend_grant(server.state, server.now + 10);
    issue(caller);
    extend_grant(server.state, server.now + 5);
    server.now += 9;
    issue(caller);
    server.now += 1;
    expect_refused(ask(caller), Reason::ceiling, server.now, server.now);
}

TEST(ExtendGrant, LeavesTheNextGrantAlone)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1);
    extend_grant(server.state, server.now + 100);
    server.close();
    server.grant(9, server.now + 1, server.now + 2);
    server.now += 2;
    expect_refused(ask(caller), Reason::ceiling, server.now, server.now);
}

} // namespace

} // namespace snowflake
