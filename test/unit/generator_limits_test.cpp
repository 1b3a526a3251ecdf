// The generator where it must not issue: the clock has gone back or left the 41 bits, or the
// grant begins or ends.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/generator.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr int per_ms = 64; // ids per millisecond with 16 machine bits

// Calls that are given up ------------------------------------------------------------------------

TEST(GivenUp, HoweverManyCallsWaitAndAreGivenUpTheWordStaysNearTheClock)
{
    Server server(max_machine_bits);
    server.grant(5);
    Caller storm = server.caller();
    for (int i = 0; i < 10'000; i++)
        storm.begin(per_ms);

    Caller caller = server.caller();
    server.now += Caller::max_lead_ms + 2;
    EXPECT_EQ(caller.begin(1).verdict, Verdict::issued);
}

TEST(GivenUp, ACallThatWaitsWithoutATicketGetsOneWhenTheWordIsNear)
{
    Server server(max_machine_bits);
    server.grant(5);
    Caller storm = server.caller();
    while (storm.begin(per_ms).batch.left > 0)
        ;

    Caller caller = server.caller();
    const Answer waits = caller.begin(2);
    ASSERT_EQ(waits.verdict, Verdict::wait);
    EXPECT_EQ(waits.reason, Reason::tick);
    EXPECT_EQ(waits.batch.left, 0u);
    server.now = waits.ms + 1;
    const Answer served = caller.resume();
    EXPECT_EQ(served.verdict, Verdict::issued);
    EXPECT_EQ(served.batch.left, 2u);
}

// The clock goes back ----------------------------------------------------------------------------

// A server whose clock has read `start_ms` and which has issued an id there.
class ClockBack : public testing::Test {
protected:
    ClockBack()
    {
        server.grant(5);
        first = issue(caller);
    }

    Server server;
    Caller caller = server.caller();
    Caller other = server.caller();
    std::int64_t first = 0;
    const std::int64_t newest = Server::start_ms;
};

TEST_F(ClockBack, WithinTheToleranceIsWaitedOut)
{
    server.now = newest - 1000;
    expect_wait(ask(caller), Reason::tick, newest);
    expect_wait(ask(other), Reason::tick, newest);
    server.now = newest - 1;
    expect_wait(caller.resume(), Reason::tick, newest);
    server.now = newest;
    EXPECT_EQ(id_of(caller.resume()), server.id(newest, 5, 1));
    EXPECT_EQ(id_of(other.resume()), server.id(newest, 5, 2));
    EXPECT_EQ(issue(caller), server.id(newest, 5, 3));
}

TEST_F(ClockBack, ByMoreThanTheToleranceIsRefusedWithTheSizeOfTheStep)
{
    server.now = newest - 1001;
    expect_refused(ask(caller), Reason::clock_back, newest, newest - 1001);
    expect_refused(ask(other), Reason::clock_back, newest, newest - 1001);
    expect_refused(other.begin(50), Reason::clock_back, newest, newest - 1001);
    server.now = newest - 500'000;
    expect_refused(ask(caller), Reason::clock_back, newest, newest - 500'000);
}

TEST_F(ClockBack, ByMoreThanTheToleranceTakesNoTicket)
{
    const std::uint64_t word = server.word();
    server.now = newest - 2000;
    for (int turn = 0; turn < 100; turn++)
        ask(turn % 2 == 0 ? caller : other);
    EXPECT_EQ(server.word(), word);
}

TEST_F(ClockBack, IsOverWhenTheClockIsThereAgainAndNothingIsIssuedTwice)
{
    std::set<std::int64_t> ids{first};
    server.now = newest - 5000;
    EXPECT_EQ(ask(caller).verdict, Verdict::refused);
    server.now = newest;
    EXPECT_TRUE(ids.insert(issue(caller)).second);
    EXPECT_TRUE(ids.insert(issue(other)).second);
    server.now = newest + 1;
    EXPECT_EQ(issue(caller), server.id(newest + 1, 5, 0));
}

TEST_F(ClockBack, IsMeasuredAgainstTheNewestReadingOfAnyCaller)
{
    server.now = newest + 10'000;
    issue(other);
    server.now = newest + 1;
    expect_refused(ask(caller), Reason::clock_back, newest + 10'000, newest + 1);
}

// The caller that finds the clock exactly where it last saw it takes its common path, which does
// not look at the newest reading. It must not get an id; it hears of the step when it asks again.
TEST_F(ClockBack, ToTheMillisecondThatACallerSawLastIsRefusedAtTheLatestWhenItAsksAgain)
{
    server.now = newest + 10'000;
    issue(other);
    server.now = newest;
    if (ask(caller).verdict == Verdict::wait)
        expect_refused(caller.resume(), Reason::clock_back, newest + 10'000, newest);
    expect_refused(ask(caller), Reason::clock_back, newest + 10'000, newest);
}

TEST_F(ClockBack, ToTheMillisecondThatACallerSawLastIsRefusedAlsoIfItGaveUpWaiting)
{
    server.now = newest + 10'000;
    issue(other);
    server.now = newest;
    EXPECT_NE(ask(caller).verdict, Verdict::issued);
    expect_refused(ask(caller), Reason::clock_back, newest + 10'000, newest);
}

TEST_F(ClockBack, IsJudgedByTheToleranceOfTheMoment)
{
    server.now = newest - 3000;
    EXPECT_EQ(ask(caller).reason, Reason::clock_back);
    server.tolerance_ms = 3000;
    EXPECT_EQ(ask(caller).reason, Reason::tick);
    server.tolerance_ms = 0;
    server.now = newest - 1;
    EXPECT_EQ(ask(caller).reason, Reason::clock_back);
}

TEST_F(ClockBack, ByMoreThanTheToleranceWhileATicketIsHeldVoidsIt)
{
    server.now = newest - 10;
    expect_wait(ask(caller), Reason::tick, newest); // holds sequence 1
    server.now = newest - 2000;
    expect_refused(caller.resume(), Reason::clock_back, newest, newest - 2000);
    server.now = newest;
    EXPECT_EQ(issue(caller), server.id(newest, 5, 2));
}

TEST_F(ClockBack, WithinTheToleranceWhileATicketIsHeldKeepsIt)
{
    server.now = newest - 10;
    expect_wait(ask(caller), Reason::tick, newest);
    server.now = newest - 900;
    expect_wait(caller.resume(), Reason::tick, newest);
    server.now = newest;
    EXPECT_EQ(id_of(caller.resume()), server.id(newest, 5, 1));
}

TEST_F(ClockBack, AndForthManyTimesNeverIssuesAnIdTwice)
{
    std::set<std::int64_t> ids{first};
    for (int turn = 0; turn < 2000; turn++) {
        server.now = newest + turn / 4 - (turn % 7 == 0 ? turn % 5 : 0);
        Caller &one = turn % 2 == 0 ? caller : other;
        std::int64_t id = -1;
        if (ask(one, id).verdict == Verdict::issued) {
            EXPECT_TRUE(ids.insert(id).second) << id;
            EXPECT_LE(id >> timestamp_shift, server.now);
        }
    }
    EXPECT_GT(ids.size(), 1000u);
}

// The ends of time -------------------------------------------------------------------------------

TEST(Time, BeforeTheEpochIsRefused)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    for (const std::int64_t now : {-1, -1'000'000}) {
        server.now = now;
        expect_refused(ask(caller), Reason::before_epoch, 0, now);
    }
    server.now = 0;
    EXPECT_EQ(issue(caller), server.id(0, 5, 0));
    server.now = -1; // also within the tolerance of a reading
    expect_refused(ask(caller), Reason::before_epoch, 0, -1);
}

TEST(Time, AtTheEpochItselfIssuesFromTheFirstIdThatIsNotReserved)
{
    Server server;
    Caller caller = server.caller();
    server.grant(0);
    server.now = 0;
    EXPECT_EQ(issue(caller), 1);
}

TEST(Time, PastTheEndIsRefused)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    server.now = end_of_time_ms - 1;
    EXPECT_EQ(issue(caller), server.id(end_of_time_ms - 1, 5, 0));
    for (const std::int64_t now : {end_of_time_ms, max_ms, max_ms + 1, max_ms * 1000}) {
        server.now = now;
        expect_refused(ask(caller), Reason::used_up, end_of_time_ms, now);
    }
}

TEST(Time, PastTheEndIsForgottenOnceTheClockIsRight)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1000);
    server.now = max_ms * 2;
    expect_refused(ask(caller), Reason::used_up, end_of_time_ms, max_ms * 2);
    server.now = Server::start_ms;
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0));
    EXPECT_EQ(server.stats().clock_steps, 0u);
}

TEST(Time, EndsWithRefusalsAndNeverWithANegativeId)
{
    Server server(1);
    std::vector<Caller> callers = server.callers(1000);
    server.grant({0, 1});
    server.now = end_of_time_ms - 1;
    const auto most = static_cast<std::uint32_t>(server.layout.max_sequence()) + 1;
    for (int round = 0; round < 3; round++)
        for (Caller &caller : callers) {
            Answer answer = caller.begin(most);
            if (answer.verdict == Verdict::refused) {
                EXPECT_EQ(answer.reason, Reason::used_up);
                continue;
            }
            std::int64_t id = 0;
            ASSERT_EQ(answer.verdict, Verdict::issued);
            ASSERT_TRUE(answer.batch.next(id));
            ASSERT_GT(id, 0);
        }
    EXPECT_LT(server.word(), closed_bit);
    EXPECT_LE(server.close(), max_ms);
}

// The grant's ceiling ----------------------------------------------------------------------------

TEST(Ceiling, IsNeverReachedByAnId)
{
    Server server(16);
    Caller caller = server.caller();
    const std::int64_t ceiling = server.now + 3;
    server.grant(5, 0, ceiling);
    int count = 0;
    for (int turn = 0; turn < 10 * per_ms; turn++) {
        server.now = Server::start_ms + turn / per_ms;
        std::int64_t id = -1;
        if (ask(caller, id).verdict == Verdict::issued) {
            EXPECT_LT(id >> timestamp_shift, ceiling);
            count++;
        }
    }
    EXPECT_EQ(count, 3 * per_ms);
}

TEST(Ceiling, IsNamedInTheRefusalByTime)
{
    Server server;
    Caller caller = server.caller();
    const std::int64_t ceiling = server.now + 3;
    server.grant(5, 0, ceiling);
    issue(caller);
    server.now = ceiling;
    expect_refused(ask(caller), Reason::ceiling, ceiling, ceiling);
    server.now = ceiling + 100;
    expect_refused(ask(caller), Reason::ceiling, ceiling, ceiling + 100);
}

TEST(Ceiling, IsNamedInTheRefusalOfACallThatWouldCarryIntoIt)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1);
    use_up_millisecond(server, caller);
    expect_refused(ask(caller), Reason::ceiling, server.now + 1, server.now);
}

TEST(Ceiling, RefusesABatchThatWouldReachIt)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1);
    EXPECT_EQ(ids_of(caller.begin(per_ms - 1)).size(), per_ms - 1u);
    expect_refused(caller.begin(2), Reason::ceiling, server.now + 1, server.now);
}

TEST(Ceiling, LetsIdsFlowAgainOnceItIsRaised)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1);
    use_up_millisecond(server, caller);
    EXPECT_EQ(ask(caller).reason, Reason::ceiling);
    server.now += 1;
    EXPECT_EQ(ask(caller).reason, Reason::ceiling);
    extend_grant(server.state, server.now + 1);
    EXPECT_EQ(issue(caller) >> timestamp_shift, server.now);
}

TEST(Ceiling, IsLookedUpAgainByACallerThatRemembersALowerOne)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5, 0, server.now + 1);
    use_up_millisecond(server, caller);
    extend_grant(server.state, server.now + 2);
    expect_wait(ask(caller), Reason::tick, server.now + 1); // the carry goes below the new one
    server.now += 1;
    EXPECT_EQ(id_of(caller.resume()), server.id(server.now, 5, 0));
    extend_grant(server.state, server.now + 2);
    server.now += 1;
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0)); // and so does a move
}

TEST(Ceiling, TakesNoTicketsWhileItRefuses)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(4);
    server.grant(5, 0, server.now + 1);
    for (Caller &caller : callers)
        issue(caller);
    for (int i = 4; i < per_ms; i++)
        issue(callers[0]);
    for (Caller &caller : callers) // each may find out by one ticket
        EXPECT_EQ(ask(caller).reason, Reason::ceiling);
    const std::uint64_t word = server.word();
    EXPECT_LE(word & (per_ms - 1), 4u);
    for (int turn = 0; turn < 1000; turn++)
        EXPECT_EQ(ask(callers[turn % 4]).reason, Reason::ceiling);
    server.now += 5;
    for (int turn = 0; turn < 1000; turn++)
        EXPECT_EQ(ask(callers[turn % 4]).reason, Reason::ceiling);
    EXPECT_EQ(server.word(), word);
}

// A clock that goes on right after a call has found it in the millisecond that it knows.
struct HastyClock {
    std::atomic<std::int64_t> *ms;
    const bool *is_hasty;

    std::int64_t now_ms() const noexcept { return ms->load(); }
    bool reads(std::int64_t this_ms) const noexcept
    {
        const bool reads = ms->load() == this_ms;
        if (reads && *is_hasty)
            ms->fetch_add(1);
        return reads;
    }
};

TEST(Ceiling, HoldsForATicketWhoseMillisecondBeginsDuringTheCall)
{
    Server server;
    server.grant(5, 0, Server::start_ms + 1);
    bool is_hasty = false;
    Generator<HastyClock> caller;
    caller.attach(server.state, server.layout, {&server.now, &is_hasty}, server.tolerance_ms);
    for (std::int32_t sequence = 0; sequence <= server.layout.max_sequence(); sequence++)
        ASSERT_EQ(issue(caller), server.id(Server::start_ms, 5, sequence));
    is_hasty = true;
    expect_refused(ask(caller), Reason::ceiling, Server::start_ms + 1, Server::start_ms);
}

TEST(Ceiling, AtTheFloorIsAGrantOfNoTime)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5, server.now, server.now);
    expect_refused(ask(caller), Reason::ceiling, server.now, server.now);
    server.now -= 5;
    Caller early = server.caller();
    expect_refused(ask(early), Reason::ceiling, server.now + 5, server.now);
}

// The grant's floor ------------------------------------------------------------------------------

// The granter extends a ceiling that is near the clock; until then it would be asked in vain.
TEST(Ceiling, AtAFloorFarAheadIsAskedForOnlyWhenTheClockIsNear)
{
    Server server;
    server.grant(5, Server::start_ms + 500, Server::start_ms + 500);
    Caller caller = server.caller();
    expect_wait(ask(caller), Reason::tick, Server::start_ms + 500);
    server.now += 300;
    expect_wait(caller.resume(), Reason::tick, Server::start_ms + 500);
    server.now += 200 - Caller::max_lead_ms;
    expect_refused(caller.resume(), Reason::ceiling, Server::start_ms + 500, server.now);
}

TEST(Floor, IsWaitedForAndNoIdLiesBelowIt)
{
    Server server;
    Caller caller = server.caller();
    const std::int64_t floor = server.now + 1000;
    server.grant(5, floor);
    expect_wait(ask(caller), Reason::tick, floor);
    server.now = floor - 1;
    expect_wait(caller.resume(), Reason::tick, floor);
    server.now = floor;
    EXPECT_EQ(id_of(caller.resume()), server.id(floor, 5, 0));
}

TEST(Floor, FurtherAwayThanTheToleranceIsRefusedWithItsDistance)
{
    Server server;
    Caller caller = server.caller();
    const std::int64_t floor = server.now + 1001;
    server.grant(5, floor);
    const std::uint64_t word = server.word();
    expect_refused(ask(caller), Reason::below_floor, floor, server.now);
    EXPECT_EQ(server.word(), word);
    server.now += 1;
    expect_wait(ask(caller), Reason::tick, floor);
}

TEST(Floor, IsWaitedForLongerByTheGrantsSlack)
{
    Server server;
    Caller caller = server.caller();
    const std::int64_t floor = server.now + 1501;
    server.grant(5, floor, end_of_time_ms, 500);
    expect_refused(ask(caller), Reason::below_floor, floor, server.now);
    server.now += 1;
    expect_wait(ask(caller), Reason::tick, floor);
}

TEST(Floor, InThePastChangesNothing)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5, server.now - 100);
    EXPECT_EQ(issue(caller), server.id(server.now, 5, 0));
}

} // namespace

} // namespace snowflake
