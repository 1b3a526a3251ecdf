// Eight callers, a clock that goes on and sometimes back, and a granter that extends and changes
// the grant, each in a thread of its own. Built a second time under ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "test/unit/server.hpp"

#ifndef STRESS_IDS
#define STRESS_IDS 400'000
#endif

namespace snowflake {

namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int caller_count = 8;
constexpr std::size_t ids_per_caller = STRESS_IDS;
constexpr int machine_count = 256;

using Ids = std::vector<std::int64_t>;

// What all callers got, sorted, after making sure that nobody got what another one got.
Ids all_of(const Ids (&of_callers)[caller_count])
{
    Ids all;
    for (const Ids &ids : of_callers)
        all.insert(all.end(), ids.begin(), ids.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "issued twice";
    return all;
}

// A grant that is over: its ids lie in [floor_ms, end_ms) and below ceiling_ms.
struct Past {
    MachineBlock machines;
    std::int64_t floor_ms;
    std::int64_t end_ms;
    std::int64_t ceiling_ms;
};

class Stress {
public:
    // How many ids each caller wants, and the longest time between two moves of the granter.
    Stress(std::size_t wanted, unsigned granter_pause_us)
        : server_(14), wanted_(wanted), granter_pause_us_(granter_pause_us),
          high_ms_(server_.now.load())
    {
        server_.tolerance_ms = 50;
    }

    void run()
    {
        std::vector<std::thread> callers;
        for (int index = 0; index < caller_count; index++)
            callers.emplace_back([this, index] { draw(index); });
        std::thread clock([this] { move_clock(); });
        std::thread granter([this] { change_grants(); });
        for (std::thread &caller : callers)
            caller.join();
        done_ = true;
        clock.join();
        granter.join();
    }

    void check()
    {
        EXPECT_EQ(ahead_of_clock_, 0) << "ids issued before the clock had reached their time";
        for (const Ids &ids : ids_) {
            EXPECT_GE(ids.size(), wanted_) << "a caller gave up";
            check_order(ids);
        }
        const Ids all = all_of(ids_);
        EXPECT_EQ(server_.stats().issued, all.size());
        EXPECT_GT(pasts_.size(), 20u);
        check_bounds(all);
    }

private:
    // One caller: single ids and batches, until it has enough of them.
    void draw(int index)
    {
        Ids &ids = ids_[index];
        std::minstd_rand random(static_cast<unsigned>(index + 1));
        Caller caller = server_.caller();
        const auto give_up = steady_clock::now() + std::chrono::seconds(60);
        while (ids.size() < wanted_ && steady_clock::now() < give_up)
            for (int turn = 0; turn < 100; turn++)
                draw_once(caller, random, ids);
    }

    void draw_once(Caller &caller, std::minstd_rand &random, Ids &ids)
    {
        Answer answer{};
        std::int64_t id = 0;
        if (random() % 4 == 0) {
            answer = caller.begin(random() % 40 + 1);
        } else if (caller.next(id, answer)) {
            collect(id, ids);
            return;
        }
        while (answer.verdict == Verdict::wait) {
            std::this_thread::yield();
            if (random() % 50 == 0)
                return; // gives up
            answer = caller.resume();
        }
        if (answer.verdict == Verdict::refused) {
            std::this_thread::yield();
            return;
        }
        while (answer.batch.next(id))
            collect(id, ids);
    }

    void collect(std::int64_t id, Ids &ids)
    {
        if (id >> timestamp_shift > high_ms_.load(std::memory_order_acquire))
            ahead_of_clock_++;
        ids.push_back(id);
    }

    void move_clock()
    {
        std::minstd_rand random(99);
        while (!done_) {
            const std::int64_t now = server_.now;
            const unsigned kind = random() % 1000;
            if (kind < 2)
                step_back_and_set_right(now, 51 + random() % 5000);
            else if (kind < 7)
                server_.now = now - 1 - random() % 50;
            else
                set_clock(now + 1);
            std::this_thread::sleep_for(microseconds(20));
        }
    }

    void step_back_and_set_right(std::int64_t now, std::int64_t by_ms)
    {
        for (int tick = 0; tick < 10; tick++) {
            server_.now = now - by_ms + tick;
            std::this_thread::sleep_for(microseconds(20));
        }
        set_clock(high_ms_);
    }

    void set_clock(std::int64_t now)
    {
        high_ms_ = std::max<std::int64_t>(high_ms_, now);
        server_.now = now;
    }

    // The granter: mostly extends, sometimes too late; and changes the grant, often to one of
    // machine ids that it had before.
    void change_grants()
    {
        std::minstd_rand random(77);
        open(random);
        while (!done_) {
            if (granter_pause_us_ > 0)
                std::this_thread::sleep_for(microseconds(random() % granter_pause_us_));
            if (random() % 4 != 0) {
                present_.ceiling_ms =
                    std::max<std::int64_t>(present_.ceiling_ms, high_ms_ + random() % 8);
                extend_grant(server_.state, present_.ceiling_ms);
                continue;
            }
            close();
            if (random() % 8 == 0) {
                std::this_thread::yield();
                publish_none(server_.state, server_.layout);
            }
            open(random);
        }
        close();
    }

    void open(std::minstd_rand &random)
    {
        const int bits = static_cast<int>(random() % 3);
        const int first = static_cast<int>(random() % machine_count) >> bits << bits;
        present_.machines = {first, bits};
        present_.floor_ms = *std::max_element(ends_ + first, ends_ + present_.machines.last() + 1);
        present_.ceiling_ms = std::max<std::int64_t>(present_.floor_ms, high_ms_) + random() % 10;
        server_.grant(present_.machines, present_.floor_ms, present_.ceiling_ms);
    }

    void close()
    {
        present_.end_ms = server_.close();
        for (int id = present_.machines.first; id <= present_.machines.last(); id++)
            ends_[id] = std::max(ends_[id], present_.end_ms);
        pasts_.push_back(present_);
    }

    // What one caller got from one machine id came in ascending order.
    void check_order(const Ids &ids) const
    {
        std::int64_t last[machine_count] = {};
        int wrong = 0;
        for (const std::int64_t id : ids) {
            std::int64_t &before = last[server_.layout.decode(id).machine];
            wrong += id <= before ? 1 : 0;
            before = id;
        }
        EXPECT_EQ(wrong, 0) << "ids of a caller that do not ascend";
    }

    // Each id lies within a grant of its machine id. Those follow each other in time.
    void check_bounds(const Ids &ids) const
    {
        std::vector<Past> of_machine[machine_count];
        for (const Past &past : pasts_)
            for (int id = past.machines.first; id <= past.machines.last(); id++)
                of_machine[id].push_back(past);
        int wrong = 0;
        for (const std::int64_t id : ids)
            wrong += within(of_machine[server_.layout.decode(id).machine], id) ? 0 : 1;
        EXPECT_EQ(wrong, 0) << "ids outside the grants of their machine ids";
    }

    static bool within(const std::vector<Past> &pasts, std::int64_t id)
    {
        const std::int64_t ms = id >> timestamp_shift;
        const auto grant = std::partition_point(
            pasts.begin(), pasts.end(), [ms](const Past &past) { return past.end_ms <= ms; });
        return !is_reserved(id) && grant != pasts.end() && ms >= grant->floor_ms &&
               ms < grant->ceiling_ms;
    }

    Server server_;
    const std::size_t wanted_;
    const unsigned granter_pause_us_;
    std::atomic<std::int64_t> high_ms_; // the furthest that the clock has been
    std::atomic<bool> done_{false};
    std::atomic<int> ahead_of_clock_{0};
    Ids ids_[caller_count];

    // the granter's own
    Past present_{};
    std::vector<Past> pasts_;
    std::int64_t ends_[machine_count] = {};
};

TEST(Stress, IssuesEveryIdOnceAndWithinItsGrant)
{
    Stress stress(ids_per_caller, 100);
    stress.run();
    stress.check();
}

// The grant changes while most calls are at work, so that they meet every moment of a change.
TEST(Stress, IssuesEveryIdOnceAlsoWhileTheGrantChangesAllTheTime)
{
    Stress stress(ids_per_caller / 60, 0);
    stress.run();
    stress.check();
}

// Callers that push the clock on themselves, so that most calls move the word, and all at once.
TEST(Stress, MovesTheWordInOnePieceHoweverManyCallersMoveIt)
{
    Server server(14);
    server.grant(5);
    Ids ids[caller_count];
    std::vector<std::thread> threads;
    for (Ids &mine : ids)
        threads.emplace_back([&server, &mine] {
            Caller caller = server.caller();
            while (mine.size() < ids_per_caller / 4) {
                std::int64_t id = 0;
                if (ask(caller, id).verdict == Verdict::issued)
                    mine.push_back(id);
                if (mine.size() % 3 == 0)
                    server.now++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();

    for (const Ids &mine : ids)
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    const Ids all = all_of(ids);
    EXPECT_EQ(server.stats().issued, all.size());
}

} // namespace

} // namespace snowflake
