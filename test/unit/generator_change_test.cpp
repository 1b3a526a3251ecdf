// The generator while the grant changes: between two calls, during a wait, while a caller sleeps
// through many changes, and in the middle of a call.
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/generator.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr int per_ms = 64; // ids per millisecond with 16 machine bits

// The grant changes ------------------------------------------------------------------------------

TEST(Change, MeansIdsOfTheNewMachineOnly)
{
    Server server;
    std::vector<Caller> callers = server.callers(3);
    server.grant(5);
    for (Caller &caller : callers)
        issue(caller);
    server.change_to(9);
    server.now += 1;
    for (int turn = 0; turn < 30; turn++)
        EXPECT_EQ(issue(callers[turn % 3]), server.id(server.now, 9, turn));
}

TEST(Change, WithinAMillisecondMovesOnToTheNext)
{
    Server server;
    Caller caller = server.caller();
    server.grant(5);
    issue(caller);
    EXPECT_EQ(server.change_to(9), server.now + 1);
    expect_wait(ask(caller), Reason::tick, server.now + 1);
}

TEST(Change, VoidsTicketsHeldFromTheOldGrant)
{
    Server server(16);
    Caller caller = server.caller();
    Caller batch = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    expect_wait(ask(caller), Reason::tick, server.now + 1);
    expect_wait(batch.begin(7), Reason::tick, server.now + 1);
    EXPECT_EQ(server.change_to(9), server.now + 2);
    server.now += 2;
    EXPECT_EQ(id_of(caller.resume()), server.id(server.now, 9, 0));
    const std::vector<std::int64_t> ids = ids_of(batch.resume());
    ASSERT_EQ(ids.size(), 7u);
    EXPECT_EQ(ids.front(), server.id(server.now, 9, 1));
    EXPECT_EQ(ids.back(), server.id(server.now, 9, 7));
}

TEST(Change, DoesNotKeepTheHolderOfAnOldTicketWaitingForItsMillisecond)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5, server.now + 900);
    expect_wait(ask(caller), Reason::tick, server.now + 900);
    server.close();
    server.grant(9);
    EXPECT_EQ(id_of(caller.resume()), server.id(server.now, 9, 0));
}

TEST(Change, LetsAHeldTicketGoWhileTheGrantIsOnlyClosed)
{
    Server server(16);
    Caller caller = server.caller();
    server.grant(5);
    use_up_millisecond(server, caller);
    ask(caller);
    const std::int64_t end_ms = server.close();
    server.now += 1;
    const std::int64_t id = id_of(caller.resume());
    EXPECT_EQ(id, server.id(server.now, 5, 0));
    EXPECT_LT(id >> timestamp_shift, end_ms);
}

TEST(Change, ThereAndBackNeverIssuesAnIdTwice)
{
    Server server(16);
    std::vector<Caller> callers = server.callers(3);
    std::set<std::int64_t> ids;
    std::int64_t floors[16] = {};
    std::int32_t machine = 5;
    server.grant(machine);
    for (int turn = 0; turn < 3000; turn++) {
        server.now += turn % 10 == 0;
        std::int64_t id = -1;
        if (ask(callers[turn % 3], id).verdict == Verdict::issued) {
            ASSERT_TRUE(ids.insert(id).second) << id;
            ASSERT_EQ(server.layout.decode(id).machine, machine);
        }
        if (turn % 7 == 0) {
            floors[machine] = server.close();
            machine = 14 - machine; // 5, 9, 5 …
            server.grant(machine, floors[machine]);
        }
    }
    EXPECT_GT(ids.size(), 1000u);
}

// What the hint of the error says: a machine id that was never ahead is a way to go on.
TEST(Change, ToAFreshMachineGoesOnAtOnceAfterAStepBack)
{
    Server server;
    Caller caller = server.caller();
    for (std::int32_t machine = 1; machine <= 3 * static_cast<int>(slot_count); machine++) {
        server.grant(machine);
        EXPECT_EQ(issue(caller), server.id(server.now, machine, 0));
        server.now += 3'600'000;
        issue(caller);
        server.now -= 3'600'000;
        EXPECT_EQ(ask(caller).reason, Reason::clock_back);
        server.close();
    }
}

// Callers in every state that a call can leave them in, asleep through that many changes.
class Sleepers : public testing::TestWithParam<int> {
protected:
    // Other callers work under each of the new grants, so that all words move.
    void change_grants(MachineBlock last)
    {
        for (int change = 1; change < GetParam(); change++) {
            server.close();
            server.grant(100 + change, server.now);
            Caller other = server.caller();
            issue(other);
        }
        server.close();
        server.grant(last, server.now);
    }

    Server server{16};
    Caller sleeper = server.caller();
};

// The clock stands still, so the sleeper finds the millisecond that it knows.
TEST_P(Sleepers, GetNothingOfTheOldGrantAtTheSameTime)
{
    server.grant(5, server.now);
    issue(sleeper);
    change_grants({9, 0});
    EXPECT_EQ(issue(sleeper) & ~std::int64_t{per_ms - 1}, server.id(server.now, 9, 0));
}

TEST_P(Sleepers, GetNothingOfTheOldGrantAsABatchAtTheSameTime)
{
    server.grant(5, server.now);
    issue(sleeper);
    change_grants({9, 0});
    const std::vector<std::int64_t> ids = ids_of(sleeper.begin(10));
    ASSERT_EQ(ids.size(), 10u);
    EXPECT_EQ(ids.front() & ~std::int64_t{per_ms - 1}, server.id(server.now, 9, 0));
}

TEST_P(Sleepers, GetNothingOfTheOldGrantLater)
{
    server.grant(5, server.now);
    issue(sleeper);
    change_grants({9, 0});
    server.now += 1;
    EXPECT_EQ(issue(sleeper), server.id(server.now, 9, 0));
}

TEST_P(Sleepers, GetNothingForATicketOfTheOldGrant)
{
    server.grant(5, server.now);
    use_up_millisecond(server, sleeper);
    expect_wait(ask(sleeper), Reason::tick, server.now + 1);
    server.now += 1;
    change_grants({9, 0});
    EXPECT_EQ(id_of(sleeper.resume()), server.id(server.now, 9, 0));
}

TEST_P(Sleepers, WhoWaitedForAChangeGoOnUnderTheNewestGrant)
{
    server.grant(5, server.now);
    issue(sleeper);
    server.close();
    EXPECT_EQ(ask(sleeper).reason, Reason::changing);
    change_grants({8, 2});
    EXPECT_EQ(id_of(sleeper.resume()), server.id(server.now, 8, 0));
}

INSTANTIATE_TEST_SUITE_P(ThroughChanges, Sleepers,
                         testing::Values(1, 2, 7, 8, 9, 15, 16, 17, 24, 80));

// In the middle of a call ------------------------------------------------------------------------

// A clock on which something happens at a certain reading: what other processes do meanwhile.
struct EventfulClock {
    std::vector<std::function<std::int64_t()>> *readings;

    std::int64_t now_ms() const
    {
        const auto reading = readings->front();
        if (readings->size() > 1)
            readings->erase(readings->begin());
        return reading();
    }

    bool reads(std::int64_t) const { return false; } // spends no reading: the call asks for one
};

// The call under test reads the clock a first time when it begins. That reading lies before the
// newest one, so it reads a second time, and by then it has read the grant.
class MidCall : public testing::Test {
protected:
    MidCall() { caller.attach(server.state, server.layout, {&readings}, server.tolerance_ms); }

    void reads(std::int64_t first, std::function<std::int64_t()> second)
    {
        readings = {[first] { return first; }, second};
    }

    Server server{16};
    std::vector<std::function<std::int64_t()>> readings;
    Generator<EventfulClock> caller;
    const std::int64_t newest = Server::start_ms;
};

TEST_F(MidCall, AReadingThatWasOnlyHeldUpIsNoStep)
{
    server.grant(5);
    Caller other = server.caller();
    issue(other);
    reads(newest - 5000, [this] { return newest; });
    EXPECT_EQ(caller.begin(1).verdict, Verdict::issued);
    EXPECT_EQ(server.stats().clock_steps, 0u);
}

TEST_F(MidCall, AStepIsMeasuredByTheSecondReading)
{
    server.grant(5);
    Caller other = server.caller();
    issue(other);
    reads(newest - 1, [this] { return newest - 7000; });
    expect_refused(caller.begin(1), Reason::clock_back, newest, newest - 7000);
}

TEST_F(MidCall, ASecondReadingAtTheEndOfTimeIsRefused)
{
    server.grant(5, 0, newest + 1000);
    Caller other = server.caller();
    issue(other);
    reads(newest - 1, [] { return end_of_time_ms; });
    expect_refused(caller.begin(1), Reason::used_up, end_of_time_ms, end_of_time_ms);
}

TEST_F(MidCall, ASecondReadingBeforeTheEpochIssuesNothing)
{
    server.grant(5);
    Caller other = server.caller();
    server.now = 500;
    issue(other);
    reads(499, [] { return -10; });
    EXPECT_NE(caller.begin(1).verdict, Verdict::issued);
    readings = {[] { return -2000; }};
    EXPECT_EQ(caller.begin(1).reason, Reason::before_epoch);
}

TEST_F(MidCall, AClosedGrantIsWaitedFor)
{
    server.grant(5);
    Caller other = server.caller();
    issue(other);
    reads(newest - 1, [this] {
        server.close();
        return newest + 1;
    });
    expect_wait(caller.begin(1), Reason::changing, newest + 2);
}

// The new grant is in the slot that the call has read, and its sequence is narrower: a move of its
// word by the old grant's measure would drive it 4 times as far as the clock.
TEST_F(MidCall, AWordIsNotMovedByTheMeasureOfAnOldGrant)
{
    server.grant({8, 2});
    Caller other = server.caller();
    issue(other);
    reads(newest - 1, [this] {
        for (std::uint64_t change = 0; change < slot_count; change++) {
            server.close();
            server.grant(9, 1);
        }
        return newest + 1;
    });
    expect_wait(caller.begin(1), Reason::changing, newest + 2);
    readings = {[this] { return newest + 1; }};
    EXPECT_EQ(id_of(caller.resume()), server.id(newest + 1, 9, 0));
    server.now = newest + 1;
    EXPECT_EQ(issue(other), server.id(newest + 1, 9, 1));
}

TEST_F(MidCall, AChangeDuringTheFirstReadingVoidsTheTicket)
{
    server.grant(5, newest);
    readings = {[this] { return newest; }};
    EXPECT_EQ(ask(caller).verdict, Verdict::issued);
    readings = {[this] {
                    for (std::uint64_t change = 0; change < slot_count; change++) {
                        server.close();
                        server.grant(9, newest);
                    }
                    return newest;
                },
                [this] { return newest; }};
    std::int64_t id = -1;
    EXPECT_EQ(ask(caller, id).verdict, Verdict::issued);
    EXPECT_EQ(server.layout.decode(id).machine, 9);
}

TEST_F(MidCall, AChangeWhileAWaitEndsVoidsTheTicket)
{
    server.grant(5, newest + 1);
    readings = {[this] { return newest; }};
    expect_wait(caller.begin(1), Reason::tick, newest + 1);
    readings = {[this] {
                    server.close();
                    server.grant(9);
                    return newest + 1;
                },
                [this] { return newest + 1; }};
    EXPECT_EQ(id_of(caller.resume()), server.id(newest + 1, 9, 0));
    EXPECT_EQ(server.stats().issued, 1u);
}

TEST_F(MidCall, AGrantIsReadWholeAgainIfItChangesBeforeTheCallBegins)
{
    server.grant(5, newest);
    readings = {[this] {
                    server.close();
                    server.grant({8, 2}, newest);
                    return newest;
                },
                [this] { return newest; }};
    EXPECT_EQ(id_of(caller.begin(1)), server.id(newest, 8, 0));
}

} // namespace

} // namespace snowflake
