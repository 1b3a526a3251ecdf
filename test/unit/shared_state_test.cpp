// The memory that callers share.
#include <cstdint>

#include <gtest/gtest.h>

#include "src/generator/shared_state.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

// The widest ticket, of the last millisecond that 41 bits hold, leaves the closed bit alone.
static_assert(first_ticket_of(max_ms, timestamp_shift, 1) + low_mask == closed_bit - 1);

TEST(SharedState, ReusesItsSlotsInTurn)
{
    SharedState state{};
    for (std::uint64_t version = 0; version < 3 * slot_count; version++) {
        EXPECT_EQ(&state.slot(version), &state.slots[version % slot_count]);
        EXPECT_EQ(&state.slot(version), &state.slot(version + slot_count));
        EXPECT_NE(&state.slot(version), &state.slot(version + 1));
    }
}

// Zeroed memory looks like a grant of machine 0, but one that ends where it starts.
TEST(SharedState, OfZeroesIssuesNothing)
{
    SharedState state{};
    std::atomic<std::int64_t> now{0};
    const int tolerance_ms = 1000;
    Caller caller;
    caller.attach(state, Layout{}, ManualClock{&now}, tolerance_ms);
    EXPECT_EQ(ask(caller).verdict, Verdict::refused);
    now = 1'000'000;
    EXPECT_EQ(ask(caller).verdict, Verdict::refused);
    EXPECT_EQ(read_stats(state, Layout{}).issued, 0u);
}

} // namespace

} // namespace snowflake
