// A server without PostgreSQL, for the tests: the shared state, a clock that the test drives, any
// number of callers, and the granter's three moves.
#pragma once

#include <atomic>
#include <cstdint>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/clock.hpp"
#include "src/generator/generator.hpp"
#include "src/generator/grant.hpp"
#include "src/generator/shared_state.hpp"
#include "src/generator/stats.hpp"
#include "src/id/layout.hpp"
#include "src/id/machine_block.hpp"

namespace snowflake {

// How GoogleTest shows our types when a test fails.
inline void PrintTo(Verdict verdict, std::ostream *out)
{
    constexpr const char *names[] = {"issued", "wait", "refused"};
    *out << names[static_cast<int>(verdict)];
}

inline void PrintTo(Reason reason, std::ostream *out)
{
    constexpr const char *names[] = {"none",       "tick",         "changing",
                                     "no_grant",   "before_epoch", "used_up",
                                     "clock_back", "below_floor",  "ceiling"};
    *out << names[static_cast<int>(reason)];
}

inline void PrintTo(const MachineBlock &machines, std::ostream *out)
{
    *out << machines.first << "-" << machines.last();
}

inline void PrintTo(const Parts &parts, std::ostream *out)
{
    *out << "ms " << parts.ms << " machine " << parts.machine << " sequence " << parts.sequence;
}

inline void PrintTo(const IdRange &range, std::ostream *out)
{
    *out << "[" << range.lower << ", ";
    if (!range.unbounded)
        *out << range.upper;
    *out << ")";
}

using Caller = Generator<ManualClock>;

class Server {
public:
    // 16 machine bits leave a sequence of 6: a millisecond is used up after 64 ids.
    explicit Server(int machine_bits = default_machine_bits) : layout{machine_bits}
    {
        publish_none(state, layout);
    }

    Caller caller()
    {
        Caller caller;
        caller.attach(state, layout, ManualClock{&now}, tolerance_ms, spread);
        return caller;
    }

    std::vector<Caller> callers(int count)
    {
        return std::vector<Caller>(static_cast<std::size_t>(count), caller());
    }

    void grant(MachineBlock machines, std::int64_t floor_ms = 0,
               std::int64_t ceiling_ms = end_of_time_ms, std::int64_t floor_slack_ms = 0)
    {
        publish_grant(state, layout, {machines, floor_ms, ceiling_ms, floor_slack_ms});
    }

    void grant(std::int32_t machine, std::int64_t floor_ms = 0,
               std::int64_t ceiling_ms = end_of_time_ms, std::int64_t floor_slack_ms = 0)
    {
        grant(MachineBlock{machine, 0}, floor_ms, ceiling_ms, floor_slack_ms);
    }

    std::int64_t close() { return close_grant(state, layout); }

    // Closes the current grant and grants this machine instead, from the end of the old one on.
    std::int64_t change_to(MachineBlock machines)
    {
        const std::int64_t end_ms = close();
        grant(machines, end_ms);
        return end_ms;
    }

    std::int64_t change_to(std::int32_t machine) { return change_to(MachineBlock{machine, 0}); }

    Stats stats() const { return read_stats(state, layout); }

    std::uint64_t word() const
    {
        return state.slot(state.version.load(std::memory_order_relaxed))
            .word.load(std::memory_order_relaxed);
    }

    std::int64_t id(std::int64_t ms, std::int32_t machine, std::int32_t sequence) const
    {
        return layout.encode({ms, machine, sequence});
    }

    SharedState state{};
    Layout layout;
    std::atomic<std::int64_t> now{start_ms};
    int tolerance_ms = 1000;
    int spread = no_spread;

    static constexpr std::int64_t start_ms = 1'000'000;
};

// All ids of an answer.
inline std::vector<std::int64_t> ids_of(Answer answer)
{
    std::vector<std::int64_t> ids;
    std::int64_t id = 0;
    if (answer.verdict == Verdict::issued)
        while (answer.batch.next(id))
            ids.push_back(id);
    return ids;
}

// What next() says if it does not issue on the common path; that path's id goes to `id`.
template <class Clock> Answer ask(Generator<Clock> &caller, std::int64_t &id)
{
    Answer answer{};
    if (caller.next(id, answer))
        return {Verdict::issued, Reason::none, {}, id >> timestamp_shift, id >> timestamp_shift};
    if (answer.verdict == Verdict::issued) {
        EXPECT_TRUE(answer.batch.next(id));
    }
    return answer;
}

template <class Clock> Answer ask(Generator<Clock> &caller)
{
    std::int64_t id = 0;
    return ask(caller, id);
}

// One id, by next(). A wait or a refusal fails the test, and the result is -1.
template <class Clock> std::int64_t issue(Generator<Clock> &caller)
{
    std::int64_t id = -1;
    const Answer answer = ask(caller, id);
    EXPECT_EQ(answer.verdict, Verdict::issued);
    EXPECT_EQ(answer.reason, Reason::none);
    return answer.verdict == Verdict::issued ? id : -1;
}

// The one id of an answer that should carry it.
inline std::int64_t id_of(const Answer &answer)
{
    EXPECT_EQ(answer.verdict, Verdict::issued);
    EXPECT_EQ(answer.reason, Reason::none);
    const std::vector<std::int64_t> ids = ids_of(answer);
    EXPECT_EQ(ids.size(), 1u);
    return ids.empty() ? -1 : ids.front();
}

// Issues ids until the next ticket is for the next millisecond.
inline void use_up_millisecond(const Server &server, Caller &caller)
{
    const int width = server.layout.sequence_bits() + server.stats().machines.bits;
    do
        issue(caller);
    while (server.word() << (64 - width) != 0);
}

inline void expect_wait(const Answer &answer, Reason reason, std::int64_t until_ms)
{
    EXPECT_EQ(answer.verdict, Verdict::wait);
    EXPECT_EQ(answer.reason, reason);
    EXPECT_EQ(answer.ms, until_ms);
}

inline void expect_refused(const Answer &answer, Reason reason, std::int64_t ms,
                           std::int64_t now_ms)
{
    EXPECT_EQ(answer.verdict, Verdict::refused);
    EXPECT_EQ(answer.reason, reason);
    EXPECT_EQ(answer.ms, ms);
    EXPECT_EQ(answer.now_ms, now_ms);
}

} // namespace snowflake
