// The horizon: what a transaction's bound is, the ring, and the whole protocol under load, where
// transactions end while a reader is at work. Built a second time under ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/horizon.hpp"
#include "test/unit/server.hpp"

#ifndef STRESS_IDS
#define STRESS_IDS 400'000
#endif

namespace snowflake {

namespace {

// A HorizonState with its ring and bounds.
class Memory {
public:
    Memory(std::uint64_t ring_size, std::uint64_t bound_count)
        : bytes_(HorizonState::size_for(ring_size, bound_count) + line_size)
    {
        void *at = bytes_.data();
        std::size_t room = bytes_.size();
        state_ = new (std::align(line_size, 1, at, room)) HorizonState{};
        state_->ring_size = ring_size;
        state_->bound_count = bound_count;
        for (std::uint64_t i = 0; i < ring_size; i++)
            new (&state_->ring()[i]) Ended{};
        for (std::uint64_t i = 0; i < bound_count; i++)
            new (&state_->bounds()[i]) Bound{no_bound};
    }

    HorizonState *operator->() { return state_; }
    HorizonState *state() { return state_; }
    Bound &bound(std::uint64_t i) { return state_->bounds()[i]; }

private:
    std::vector<unsigned char> bytes_;
    HorizonState *state_;
};

constexpr auto all_invisible = [](std::uint64_t) { return true; };

TEST(TransactionBound, AreTheWordBeforeTheFirstTicketOfATransaction)
{
    Server server;
    server.grant(7);
    Bound bound{no_bound};
    Caller other = server.caller();
    Caller caller = server.caller();
    caller.bind(bound);

    const std::int64_t before = issue(other);
    const std::int64_t first = issue(caller);
    EXPECT_GT(bound, before);
    EXPECT_LE(bound, first);

    // It stays for all that follow, also in other milliseconds, and in batches.
    const std::int64_t lowest = bound;
    issue(caller);
    server.now++;
    issue(caller);
    EXPECT_EQ(ids_of(caller.begin(10)).size(), 10u);
    EXPECT_EQ(bound, lowest);
}

TEST(TransactionBound, AreSetAnewByEachTransaction)
{
    Server server;
    server.grant(7);
    Bound bound{no_bound};
    Caller caller = server.caller();
    caller.bind(bound);

    const std::int64_t last = issue(caller);
    bound = no_bound;
    caller.end_transaction();
    EXPECT_EQ(bound, no_bound);
    const std::int64_t next = issue(caller); // in the same millisecond
    EXPECT_GT(bound, last);
    EXPECT_LE(bound, next);

    bound = no_bound;
    caller.end_transaction();
    const std::vector<std::int64_t> batch = ids_of(caller.begin(3));
    EXPECT_GT(bound, next);
    EXPECT_LE(bound, batch.front());
}

TEST(TransactionBound, AreNotSetByACallThatTakesNoTicket)
{
    Server server;
    Bound bound{no_bound};
    Caller caller = server.caller();
    caller.bind(bound);
    EXPECT_EQ(ask(caller).verdict, Verdict::refused);
    EXPECT_EQ(bound, no_bound);
}

TEST(TransactionBound, HoldForACallThatWaits)
{
    Server server(16);
    server.grant(7);
    Bound bound{no_bound};
    Caller other = server.caller();
    Caller caller = server.caller();
    caller.bind(bound);
    use_up_millisecond(server, other);
    expect_wait(caller.begin(1), Reason::tick, server.now + 1);
    EXPECT_LE(bound, floor_id(server.now + 1));
    server.now++;
    EXPECT_GE(id_of(caller.resume()), bound);
}

// A clock that ran ahead is set right, and the server gets another machine id: ids begin lower.
TEST(TransactionBound, AreLoweredUnderAGrantWithLowerIds)
{
    Server server;
    server.grant(7);
    Bound bound{no_bound};
    Caller caller = server.caller();
    caller.bind(bound);
    server.now += 1'000'000;
    issue(caller);
    server.now -= 1'000'000;
    server.close();
    server.grant(9);
    const std::int64_t id = issue(caller);
    EXPECT_LE(bound, id);
}

TEST(TransactionBound, OfAWorkerAreItsLeaders)
{
    Server server;
    server.grant(7);
    Bound bound{no_bound};
    Caller leader = server.caller();
    Caller worker = server.caller();
    leader.bind(bound);
    worker.bind(bound);
    const std::int64_t first = issue(worker);
    issue(leader);
    EXPECT_LE(bound, first);
}

TEST(Word, TellsWhereIdsWillCome)
{
    Server server;
    std::int64_t horizon = 0;
    EXPECT_FALSE(lowest_id_to_come(server.state, server.layout, horizon));
    server.grant(7, 500);
    ASSERT_TRUE(lowest_id_to_come(server.state, server.layout, horizon));
    EXPECT_EQ(horizon, floor_id(500));

    Caller caller = server.caller();
    const std::int64_t last = issue(caller);
    ASSERT_TRUE(lowest_id_to_come(server.state, server.layout, horizon));
    EXPECT_EQ(horizon, last + 1);

    server.close();
    EXPECT_FALSE(lowest_id_to_come(server.state, server.layout, horizon));
}

// The word has come to a millisecond, but no ticket of it was taken: the next grant may begin in
// that millisecond, with a smaller machine id.
TEST(Word, DoesNotPassAnIdOfASmallerMachineId)
{
    Server server(16);
    server.grant(9);
    Caller caller = server.caller();
    use_up_millisecond(server, caller);
    std::int64_t horizon = 0;
    ASSERT_TRUE(lowest_id_to_come(server.state, server.layout, horizon));
    EXPECT_EQ(horizon, floor_id(server.now + 1));
    EXPECT_EQ(server.change_to(7), server.now + 1);
    server.now++;
    EXPECT_GE(issue(caller), horizon);
}

TEST(Ring, RemembersThoseThatASnapshotDoesNotSee)
{
    Memory memory(4, 2);
    memory.bound(0) = 50;
    memory->end(memory.bound(0), 1);
    EXPECT_EQ(memory.bound(0), no_bound);
    memory.bound(1) = 40;
    memory->end(memory.bound(1), 2);

    std::int64_t horizon = 100;
    EXPECT_TRUE(memory->lower_to_ended(horizon, 2, 10, [](std::uint64_t) { return false; }));
    EXPECT_EQ(horizon, 100);
    EXPECT_TRUE(memory->lower_to_ended(horizon, 2, 10, [](std::uint64_t xid) { return xid == 1; }));
    EXPECT_EQ(horizon, 50);
    EXPECT_TRUE(memory->lower_to_ended(horizon, 2, 10, all_invisible));
    EXPECT_EQ(horizon, 40);
}

TEST(Ring, ForgetsThoseWithoutRowsOrIds)
{
    Memory memory(4, 1);
    memory->end(memory.bound(0), 1); // has drawn no id
    memory.bound(0) = 50;
    memory->end(memory.bound(0), 0); // rolled back
    EXPECT_EQ(memory->ended(), 0u);
    EXPECT_EQ(memory.bound(0), no_bound);
}

TEST(Ring, LooksAtTheNewestOnly)
{
    Memory memory(8, 1);
    for (std::int64_t bound : {10, 20, 30, 40, 50})
        memory->remember(1, bound);
    std::int64_t horizon = 100;
    EXPECT_TRUE(memory->lower_to_ended(horizon, 5, 2, all_invisible));
    EXPECT_EQ(horizon, 40);
}

TEST(Ring, SaysWhenItDoesNotGoBackSoFar)
{
    Memory memory(4, 1);
    std::int64_t horizon = 100;
    for (int i = 0; i < 4; i++)
        memory->remember(1, 50);
    EXPECT_TRUE(memory->lower_to_ended(horizon, 4, 4, all_invisible));
    EXPECT_TRUE(memory->lower_to_ended(horizon, 4, 1000, all_invisible));
    memory->remember(1, 50);
    EXPECT_FALSE(memory->lower_to_ended(horizon, 5, 5, all_invisible));
    EXPECT_TRUE(memory->lower_to_ended(horizon, 5, 4, all_invisible));
    // Claimed again after the reader's count.
    EXPECT_FALSE(memory->lower_to_ended(horizon, 4, 4, all_invisible));
    EXPECT_TRUE(memory->lower_to_ended(horizon, 4, 3, all_invisible));
}

// Runs both, the second until the first is done.
template <class Writer, class Reader> void race(Writer write, Reader read)
{
    std::atomic<bool> done{false};
    std::thread writer([&] {
        write();
        done = true;
    });
    while (!done)
        read();
    writer.join();
}

// Who draws an id below what a reader was told has shown its bound.
TEST(Race, BetweenTheFirstIdOfATransactionAndAReader)
{
    constexpr std::uint64_t bound_count = 64;
    Memory memory(4, bound_count);
    Server server(1);
    server.grant(0);
    std::atomic<std::int64_t> drawn{0}; // of the transaction that runs
    int wrong = 0;
    race(
        [&] {
            Caller caller = server.caller();
            caller.bind(memory.bound(0));
            for (int turn = 0; turn < STRESS_IDS; turn++) {
                drawn = issue(caller);
                drawn = 0;
                memory->end(memory.bound(0), 0);
                caller.end_transaction();
                if (turn % 1000 == 0)
                    server.now++;
            }
        },
        [&] {
            std::int64_t horizon = 0;
            ASSERT_TRUE(lowest_running(server.state, server.layout, *memory.state(), horizon));
            const std::int64_t id = drawn;
            wrong += id != 0 && id < horizon ? 1 : 0;
        });
    EXPECT_EQ(wrong, 0);
}

// Who has taken its bound away is in the ring.
TEST(Race, BetweenTheEndOfATransactionAndAReader)
{
    Memory memory(4, 1);
    std::atomic<std::uint64_t> begun{0};
    int wrong = 0;
    race(
        [&] {
            for (std::uint64_t xid = 1; xid <= 10 * STRESS_IDS; xid++) {
                lower(memory.bound(0), static_cast<std::int64_t>(xid));
                begun = xid;
                memory->end(memory.bound(0), xid);
            }
        },
        [&] {
            const std::uint64_t xid = begun;
            std::int64_t lowest = no_bound;
            memory->lower_to_running(lowest);
            if (lowest > static_cast<std::int64_t>(xid)) // its bound is gone, or is another's
                wrong += memory->ended() < xid ? 1 : 0;
        });
    EXPECT_EQ(wrong, 0);
}

// A table without PostgreSQL: rows that become visible when their transaction leaves the list of
// those that run, and snapshots.
class Table {
public:
    struct Snapshot {
        std::uint64_t xmax;
        std::set<std::uint64_t> running;
        std::size_t rows; // the first of `rows_` are visible

        bool cannot_see(std::uint64_t xid) const { return xid >= xmax || running.count(xid) > 0; }
    };

    std::uint64_t begin()
    {
        const std::lock_guard lock(mutex_);
        running_.insert(next_xid_);
        return next_xid_++;
    }

    void end(std::uint64_t xid, const std::vector<std::int64_t> &ids)
    {
        const std::lock_guard lock(mutex_);
        rows_.insert(rows_.end(), ids.begin(), ids.end());
        running_.erase(xid);
    }

    Snapshot snapshot()
    {
        const std::lock_guard lock(mutex_);
        return {next_xid_, running_, rows_.size()};
    }

    std::uint64_t next_xid()
    {
        const std::lock_guard lock(mutex_);
        return next_xid_;
    }

    // The rows that a snapshot sees between these ids, in order.
    std::vector<std::int64_t> read(const Snapshot &snapshot, std::int64_t from, std::int64_t to)
    {
        std::vector<std::int64_t> ids;
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < snapshot.rows; i++)
            if (rows_[i] > from && rows_[i] < to)
                ids.push_back(rows_[i]);
        std::sort(ids.begin(), ids.end());
        return ids;
    }

    std::vector<std::int64_t> all()
    {
        const std::lock_guard lock(mutex_);
        std::vector<std::int64_t> ids = rows_;
        std::sort(ids.begin(), ids.end());
        return ids;
    }

private:
    std::mutex mutex_;
    std::uint64_t next_xid_ = 1;
    std::set<std::uint64_t> running_;
    std::vector<std::int64_t> rows_;
};

constexpr int writer_count = 8;
constexpr int transactions = STRESS_IDS / 400;

class Poll {
public:
    explicit Poll(std::uint64_t ring_size) : memory_(ring_size, writer_count), server_(14)
    {
        server_.grant(9);
    }

    void run()
    {
        std::vector<std::thread> writers;
        for (int i = 0; i < writer_count; i++)
            writers.emplace_back([this, i] { write(i); });
        std::thread clock([this] { move_clock(); });
        std::thread poller([this] {
            while (!done_)
                poll();
        });
        for (std::thread &writer : writers)
            writer.join();
        done_ = true;
        clock.join();
        poller.join();
        poll(); // the rest
    }

    void check()
    {
        EXPECT_TRUE(std::is_sorted(seen_.begin(), seen_.end()));
        EXPECT_EQ(seen_, table_.all());
        EXPECT_GT(answers_, 10);
    }

    int unknown() const { return unknown_; }

private:
    // A writer's transactions: some draw before they get an xid, some roll back, and all pause here
    // and there.
    void write(int index)
    {
        std::minstd_rand random(static_cast<unsigned>(index + 1));
        Bound &bound = memory_.bound(static_cast<std::uint64_t>(index));
        Caller caller = server_.caller();
        caller.bind(bound);
        for (int turn = 0; turn < transactions; turn++) {
            std::vector<std::int64_t> ids;
            draw(caller, random, ids);
            const std::uint64_t xid = table_.begin();
            draw(caller, random, ids);
            pause(random);
            const bool commits = random() % 8 != 0;
            table_.end(xid, commits ? ids : std::vector<std::int64_t>{});
            pause(random);
            memory_->end(bound, commits ? xid : 0);
            caller.end_transaction();
        }
    }

    static void pause(std::minstd_rand &random)
    {
        if (random() % 4 == 0)
            std::this_thread::yield();
    }

    void draw(Caller &caller, std::minstd_rand &random, std::vector<std::int64_t> &ids)
    {
        for (unsigned left = random() % 4; left > 0; left--) {
            std::int64_t id = 0;
            Answer answer = ask(caller, id);
            while (answer.verdict == Verdict::wait) {
                std::this_thread::yield();
                answer = caller.resume();
                if (answer.verdict == Verdict::issued)
                    (void) answer.batch.next(id);
            }
            ASSERT_EQ(answer.verdict, Verdict::issued);
            ids.push_back(id);
        }
    }

    // On and, a little, back; the machine id changes now and then.
    void move_clock()
    {
        std::minstd_rand random(99);
        std::int32_t machine = 9;
        while (!done_) {
            if (random() % 50 == 0)
                server_.now -= 3;
            if (random() % 20 == 0)
                server_.change_to(machine = 16 - machine);
            server_.now++;
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        server_.now += 10;
    }

    void poll()
    {
        const Table::Snapshot snapshot = table_.snapshot();
        std::minstd_rand random(static_cast<unsigned>(snapshot.xmax));
        pause(random);
        std::int64_t horizon = 0;
        if (!lowest_running(server_.state, server_.layout, *memory_.state(), horizon))
            return;
        const std::uint64_t ended = memory_->ended();
        const std::uint64_t newest =
            snapshot.running.size() + (table_.next_xid() - snapshot.xmax) + writer_count + 1;
        if (!memory_->lower_to_ended(horizon, ended, newest, [&snapshot](std::uint64_t xid) {
                return snapshot.cannot_see(xid);
            })) {
            unknown_++;
            return;
        }
        answers_++;
        const std::int64_t last = seen_.empty() ? 0 : seen_.back();
        // It holds for every later snapshot as well.
        const bool again = snapshot.xmax % 2 == 0;
        for (const std::int64_t id :
             table_.read(again ? table_.snapshot() : snapshot, last, horizon))
            seen_.push_back(id);
    }

    Memory memory_;
    Server server_;
    Table table_;
    std::atomic<bool> done_{false};

    // the poller's own
    std::vector<std::int64_t> seen_;
    int answers_ = 0;
    int unknown_ = 0;
};

TEST(Horizon, MissesNothingAndRepeatsNothing)
{
    Poll poll(1024);
    poll.run();
    poll.check();
}

// The ring is so small that it does not always go back far enough.
TEST(Horizon, MissesNothingThatTheRingHasForgotten)
{
    Poll poll(16);
    poll.run();
    poll.check();
    EXPECT_GT(poll.unknown(), 0);
}

} // namespace

} // namespace snowflake
