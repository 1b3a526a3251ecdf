// Random events on one server, with a book of what was granted and issued that must balance after
// each: callers that draw, wait, give up and come back late, a clock that goes on, jumps and goes
// back, and a granter that extends, closes and changes the grant.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "test/unit/server.hpp"

namespace snowflake {

namespace {

class Trial {
public:
    Trial(std::uint64_t seed, int machine_bits, std::int64_t start_ms)
        : server_(machine_bits), random_(seed), clients_(6)
    {
        server_.now = newest_ms_ = start_ms;
        server_.tolerance_ms = 30;
        for (Client &client : clients_)
            client.caller = server_.caller();
    }

    void step()
    {
        const std::uint64_t event = pick(100);
        if (event < 70)
            call(clients_[pick(clients_.size())]);
        else if (event < 90)
            move_clock();
        else if (event < 97)
            extend();
        else
            change();
        check_stats();
    }

    // Once the clock is right and there is a grant, everybody gets ids again.
    void finish()
    {
        close();
        open({3, 0}, end_of_time_ms);
        server_.now = std::max(newest_ms_, floor_ms_) + 1000;
        for (Client &client : clients_) {
            server_.now += 1; // what the one before took may have used the millisecond up
            answer(client, client.waiting ? client.caller.resume() : client.caller.begin(1));
            EXPECT_FALSE(client.waiting);
        }
        check_stats();
    }

    std::size_t issued() const { return ids_.size(); }

private:
    struct Client {
        Caller caller;
        bool waiting = false;
        Batch held{};
    };

    std::uint64_t pick(std::uint64_t below) { return random_() % below; }
    std::int64_t now() const { return server_.now; }
    std::int64_t random_ms(std::int64_t from, std::int64_t to)
    {
        return from + static_cast<std::int64_t>(pick(static_cast<std::uint64_t>(to - from + 1)));
    }

    void move_clock()
    {
        const std::uint64_t kind = pick(100);
        if (kind < 60)
            server_.now += random_ms(0, 2);
        else if (kind < 75)
            server_.now -= random_ms(0, server_.tolerance_ms);
        else if (kind < 78)
            server_.now -= random_ms(server_.tolerance_ms, 2000);
        else if (kind < 80)
            server_.now += random_ms(0, 2000);
        else
            server_.now = std::max(newest_ms_, now()); // somebody sets it right
        newest_ms_ = std::max(newest_ms_, now());
    }

    void extend()
    {
        if (!open_)
            return;
        const std::int64_t ceiling_ms = std::max(floor_ms_, newest_ms_) + random_ms(-5, 20);
        extend_grant(server_.state, ceiling_ms);
        ceiling_ms_ = std::max(ceiling_ms_, ceiling_ms);
    }

    // Half a change leaves the grant closed, and the next one opens another.
    void change()
    {
        if (open_) {
            close();
            if (pick(2) == 0)
                return;
        }
        if (pick(10) == 0) {
            publish_none(server_.state, server_.layout);
            granted_ = false;
            return;
        }
        const auto bits = static_cast<std::int32_t>(pick(3));
        const auto first = static_cast<std::int32_t>(pick(16)) >> bits << bits;
        open({first, bits}, std::max(floor_of({first, bits}), now()) + random_ms(0, 20));
    }

    std::int64_t floor_of(MachineBlock machines) const
    {
        return *std::max_element(ends_ + machines.first, ends_ + machines.last() + 1);
    }

    void open(MachineBlock machines, std::int64_t ceiling_ms)
    {
        machines_ = machines;
        floor_ms_ = floor_of(machines);
        ceiling_ms_ = ceiling_ms;
        slack_ms_ = random_ms(0, 20);
        open_ = granted_ = true;
        ticket_end_ = 0;
        last_id_ = 0;
        server_.grant(machines_, floor_ms_, ceiling_ms_, slack_ms_);
    }

    void close()
    {
        const std::int64_t end_ms = server_.close();
        if (!granted_)
            return;
        for (std::int32_t id = machines_.first; id <= machines_.last(); id++)
            ends_[id] = std::max(ends_[id], end_ms);
        open_ = false;
    }

    void call(Client &client)
    {
        if (client.waiting && pick(10) != 0) {
            answer(client, client.caller.resume());
            return;
        }
        client.waiting = false; // or it was given up
        if (pick(2) == 0) {
            next(client);
            return;
        }
        const auto most = static_cast<std::uint64_t>(server_.layout.max_sequence()) + 1;
        answer(client, client.caller.begin(static_cast<std::uint32_t>(pick(most) + 1)));
    }

    void next(Client &client)
    {
        std::int64_t id = 0;
        Answer got{};
        if (!client.caller.next(id, got)) {
            answer(client, got);
            return;
        }
        check_taken(rank(id), 1);
        check_id(id);
    }

    void answer(Client &client, Answer got)
    {
        const bool held = client.waiting && client.held.left > 0;
        const Batch before = client.held;
        client.waiting = got.verdict == Verdict::wait;
        client.held = client.waiting ? got.batch : Batch{};
        if (got.verdict == Verdict::refused) {
            check_refusal(got);
            return;
        }
        if (got.reason == Reason::changing) {
            ASSERT_TRUE(granted_ && !open_);
            return;
        }
        if (got.verdict == Verdict::wait && got.batch.left == 0) { // without a ticket
            ASSERT_GT(got.ms - got.now_ms, Generator<ManualClock>::max_lead_ms);
            return;
        }
        if (!(held && before.ticket == got.batch.ticket && before.left == got.batch.left &&
              before.machine_field == got.batch.machine_field))
            check_taken(got.batch.ticket, got.batch.left);
        if (got.verdict == Verdict::wait)
            check_wait(got);
        else
            check_ids(got);
    }

    // Where an id stands in the wide sequence of the present grant.
    std::uint64_t rank(std::int64_t id) const
    {
        const int width = server_.layout.sequence_bits() + machines_.bits;
        const std::int64_t field = std::int64_t{machines_.first} << server_.layout.sequence_bits();
        return static_cast<std::uint64_t>(id >> timestamp_shift) << width |
               static_cast<std::uint64_t>((id & low_mask) - field);
    }

    // Tickets are taken from left to right.
    void check_taken(std::uint64_t ticket, std::uint32_t count)
    {
        ASSERT_GE(ticket, ticket_end_);
        ticket_end_ = ticket + count;
    }

    void check_ids(Answer got)
    {
        std::uint64_t ticket = got.batch.ticket;
        std::int64_t id = 0;
        std::uint32_t count = 0;
        while (got.batch.next(id)) {
            ASSERT_GE(rank(id), ticket);
            ASSERT_LE(rank(id), ticket + 1); // past the reserved id
            ticket = rank(id) + 1;
            check_id(id);
            count++;
        }
        ASSERT_GE(count, 1u);
    }

    void check_id(std::int64_t id)
    {
        const Parts parts = server_.layout.decode(id);
        ASSERT_TRUE(granted_);
        ASSERT_TRUE(ids_.insert(id).second) << "issued twice: " << id;
        ASSERT_FALSE(is_reserved(id));
        ASSERT_LE(parts.ms, now());
        ASSERT_GE(parts.ms, floor_ms_);
        ASSERT_LT(parts.ms, ceiling_ms_);
        ASSERT_GE(parts.machine, machines_.first);
        ASSERT_LE(parts.machine, machines_.last());
        last_id_ = std::max(last_id_, id);
    }

    void check_wait(const Answer &got)
    {
        ASSERT_TRUE(granted_);
        ASSERT_EQ(got.now_ms, now());
        ASSERT_GT(got.ms, now());
        ASSERT_GE(got.ms, floor_ms_);
        ASSERT_LT(got.ms, ceiling_ms_);
    }

    void check_refusal(const Answer &got)
    {
        ASSERT_EQ(got.now_ms, now());
        switch (got.reason) {
        case Reason::no_grant:
            ASSERT_FALSE(granted_);
            break;
        case Reason::before_epoch:
            ASSERT_LT(now(), 0);
            break;
        case Reason::clock_back:
            ASSERT_LE(got.ms, newest_ms_);
            ASSERT_GT(got.ms - now(), server_.tolerance_ms);
            break;
        case Reason::below_floor:
            ASSERT_EQ(got.ms, floor_ms_);
            ASSERT_GT(floor_ms_ - now(), server_.tolerance_ms + slack_ms_);
            break;
        case Reason::ceiling:
            ASSERT_EQ(got.ms, ceiling_ms_);
            break;
        default:
            FAIL() << "refused for reason " << static_cast<int>(got.reason);
        }
    }

    void check_stats()
    {
        const Stats stats = server_.stats();
        ASSERT_EQ(stats.issued, ids_.size());
        ASSERT_EQ(stats.granted, granted_);
        if (!granted_)
            return;
        ASSERT_EQ(stats.machines, machines_);
        ASSERT_GE(stats.last_id, last_id_);
        ASSERT_LE(stats.last_id >> timestamp_shift, stats.newest_ms);
        ASSERT_TRUE(stats.last_id == 0 || stats.last_id >> timestamp_shift < ceiling_ms_);
    }

    Server server_;
    std::mt19937_64 random_;
    std::vector<Client> clients_;

    std::unordered_set<std::int64_t> ids_;
    std::int64_t newest_ms_ = 0; // the furthest that the clock has been
    std::int64_t ends_[16] = {}; // per machine id, the end of its latest grant

    // the present grant
    bool granted_ = false;
    bool open_ = false;
    MachineBlock machines_{};
    std::int64_t floor_ms_ = 0;
    std::int64_t ceiling_ms_ = 0;
    std::int64_t slack_ms_ = 0;
    std::uint64_t ticket_end_ = 0;
    std::int64_t last_id_ = 0;
};

std::uint64_t seed()
{
    const char *text = std::getenv("SNOWFLAKE_SEED");
    return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class Model : public testing::TestWithParam<int> {};

TEST_P(Model, BalancesAfterEveryEvent)
{
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed()));
    std::size_t issued = 0;
    for (std::uint64_t round = 0; round < 400; round++) {
        SCOPED_TRACE(testing::Message() << "seed " << seed() << " round " << round);
        // Every tenth starts so early that the clock may go back to before the epoch.
        Trial trial(seed() * 1000 + round, GetParam(), round % 10 == 0 ? 100 : Server::start_ms);
        for (int step = 0; step < 1000; step++) {
            trial.step();
            if (HasFatalFailure())
                return;
        }
        trial.finish();
        if (HasFailure())
            return;
        issued += trial.issued();
    }
    EXPECT_GT(issued, 400'000u);
}

INSTANTIATE_TEST_SUITE_P(MachineBits, Model, testing::Values(14, 16));

} // namespace

} // namespace snowflake
