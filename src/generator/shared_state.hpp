// What the backends of one server share: the ticket words and the counters.
//
// Lives in PostgreSQL's shared memory (in the unit tests: anywhere). Lock-free: any number of
// processes may call Generator::begin() while one, the granter, opens and closes grants
// (grant.hpp).
//
// A ticket is `ms << width | wide sequence`: width is sequence_bits plus the bits of the machine
// block. Bit 63 of a word says that it is closed and every later ticket of it void.
//
// Invariants
//  1. A word only grows, except that the granter resets it while its slot is not the current one.
//  2. A ticket is good only if `version` is still the one under which its taker read the slot: then
//     it came from the word of that grant, whatever was opened and closed in between.
//  3. An id leaves only when the clock has reached its millisecond and that is below the ceiling.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace snowflake {

// Two lines of 64 bytes, since processors fetch them in pairs.
inline constexpr std::size_t line_size = 128;

inline constexpr std::uint64_t closed_bit = std::uint64_t{1} << 63;

// One grant: the ticket word, and what its tickets mean. The fields of the second line are written
// by the granter before it publishes the slot; only ceiling_ms changes after that, and it only
// grows.
struct GrantSlot {
    alignas(line_size) std::atomic<std::uint64_t> word; // the next ticket

    alignas(line_size) std::atomic<std::int64_t> ceiling_ms; // ids lie below it
    std::atomic<std::int64_t> floor_ms;                      // ids lie at or above it
    std::atomic<std::int64_t> floor_slack_ms; // how far below the floor the clock may stand, beyond
                                              // the tolerance, and be waited for
    std::atomic<std::uint64_t> first_ticket;  // the word when the grant was opened,
    std::atomic<std::uint64_t> end_ticket;    //   and when it was closed; 0 before that
    std::atomic<std::int32_t> machine_first;  // MachineBlock::first, or -1: a grant of nothing
    std::atomic<std::int32_t> machine_bits;   // MachineBlock::bits

    // Written by the first caller of a millisecond, not by every call.
    alignas(
        line_size) std::atomic<std::int64_t> newest_ms; // the newest clock reading of any caller
};

// Slots are reused in turn. A caller that slept through all of them notices by the version.
inline constexpr std::uint64_t slot_count = 8;

struct SharedState {
    alignas(
        line_size) std::atomic<std::uint64_t> version; // the current slot is version % slot_count

    // The counters cost nothing per id: what the words have advanced, less what their moves to the
    // clock skipped, less the void tickets, is the number of ids issued.
    alignas(line_size) std::atomic<std::uint64_t> closed_tickets; // advance of the closed words
    std::atomic<std::uint64_t> moves_begun; // equal to moves_ended: no move is between its word
    std::atomic<std::uint64_t> skipped; //   and this count of the tickets that moves passed over
    std::atomic<std::uint64_t> moves_ended;
    std::atomic<std::uint64_t> void_tickets; // taken, but not (or not yet) issued
    std::atomic<std::uint64_t> tick_waits;   // calls that waited for a millisecond
    std::atomic<std::uint64_t> clock_steps;  // steps back that callers met
    std::atomic<std::int64_t> largest_step_ms;
    std::atomic<std::int64_t> counted_step_from_ms; // newest_ms of the step that was counted last

    GrantSlot slots[slot_count];

    GrantSlot &slot(std::uint64_t at_version) noexcept { return slots[at_version % slot_count]; }
    const GrantSlot &slot(std::uint64_t at_version) const noexcept
    {
        return slots[at_version % slot_count];
    }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<std::int32_t>::is_always_lock_free);
static_assert(std::is_trivially_copyable_v<SharedState> && std::is_standard_layout_v<SharedState>);
static_assert(offsetof(GrantSlot, ceiling_ms) == line_size);
static_assert(offsetof(GrantSlot, newest_ms) == 2 * line_size);
static_assert(sizeof(GrantSlot) == 3 * line_size);

} // namespace snowflake
