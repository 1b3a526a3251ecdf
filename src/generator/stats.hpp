// What monitoring sees of the generator, read without disturbing anybody.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/generator/shared_state.hpp"
#include "src/id/layout.hpp"
#include "src/id/machine_block.hpp"

namespace snowflake {

struct Stats {
    bool granted;          // false: no machine id, and the next two fields mean nothing
    MachineBlock machines; // of the current grant
    std::int64_t last_id;  // the id of its newest ticket whose millisecond has begun; 0 before that
    std::int64_t newest_ms;      // the newest clock reading of any caller under it
    std::int64_t floor_ms;       // its ids lie at or above this,
    std::int64_t floor_slack_ms; // and the clock is waited for so far below, beyond the tolerance
    std::int64_t ceiling_ms;     // they lie below this
    std::uint64_t issued;        // ids since the state was set up, under all grants
    std::uint64_t tick_waits;
    std::uint64_t clock_steps;
    std::int64_t largest_step_ms;
};

namespace detail {

// The id of the newest ticket below `next` whose millisecond has begun; 0 if there is none.
inline std::int64_t last_id_before(std::uint64_t next, std::uint64_t first, int width,
                                   std::int64_t begun_ms, std::int64_t machine_field) noexcept
{
    if (next <= first)
        return 0;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    std::uint64_t last = next - 1;
    if (static_cast<std::int64_t>(last >> width) > begun_ms) // a ticket that is being waited for
        last = static_cast<std::uint64_t>(begun_ms) << width | mask;
    if (last < first)
        return 0;
    return static_cast<std::int64_t>(last >> width) << timestamp_shift | machine_field |
           static_cast<std::int64_t>(last & mask);
}

} // namespace detail

inline Stats read_stats(const SharedState &shared, Layout layout) noexcept
{
    // A reading in the middle of a move of the word, or of a change of the grant, would be off by
    // what that skips, so such a reading is taken again. A thousand tries find a quiet moment even
    // while the word moves every millisecond; a process that was stopped within a move ends them.
    Stats seen{};
    for (int tries = 0; tries < 1000; tries++) {
        const std::uint64_t version = shared.version.load(std::memory_order_acquire);
        const GrantSlot &slot = shared.slot(version);
        const std::uint64_t ended = shared.moves_ended.load(std::memory_order_acquire);
        const std::uint64_t skipped = shared.skipped.load(std::memory_order_acquire);
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);
        const std::uint64_t first = slot.first_ticket.load(std::memory_order_acquire);
        const std::uint64_t closed_tickets = shared.closed_tickets.load(std::memory_order_acquire);
        const std::uint64_t voided = shared.void_tickets.load(std::memory_order_acquire);
        seen.machines = {slot.machine_first.load(std::memory_order_acquire),
                         slot.machine_bits.load(std::memory_order_acquire)};
        seen.granted = seen.machines.first >= 0;
        seen.ceiling_ms = slot.ceiling_ms.load(std::memory_order_acquire);
        seen.floor_ms = slot.floor_ms.load(std::memory_order_acquire);
        seen.floor_slack_ms = slot.floor_slack_ms.load(std::memory_order_acquire);
        seen.newest_ms = slot.newest_ms.load(std::memory_order_acquire);

        const bool closed = (word & closed_bit) != 0;
        const std::uint64_t advance = seen.granted && !closed ? word - first : 0;
        seen.issued = closed_tickets + advance - skipped - voided;
        // Tickets at or above the ceiling were refused; those after the end of a closed grant as
        // well.
        const std::uint64_t next = closed ? slot.end_ticket.load(std::memory_order_acquire) : word;
        const std::int64_t begun_ms =
            seen.newest_ms < seen.ceiling_ms ? seen.newest_ms : seen.ceiling_ms - 1;
        seen.last_id = 0;
        if (seen.granted)
            seen.last_id = detail::last_id_before(
                next, first, layout.sequence_bits() + seen.machines.bits, begun_ms,
                std::int64_t{seen.machines.first} << layout.sequence_bits());

        if (shared.moves_begun.load(std::memory_order_acquire) == ended &&
            shared.version.load(std::memory_order_acquire) == version &&
            !(seen.granted && closed && tries < 100))
            break;
    }
    seen.tick_waits = shared.tick_waits.load(std::memory_order_relaxed);
    seen.clock_steps = shared.clock_steps.load(std::memory_order_relaxed);
    seen.largest_step_ms = shared.largest_step_ms.load(std::memory_order_relaxed);
    return seen;
}

} // namespace snowflake
