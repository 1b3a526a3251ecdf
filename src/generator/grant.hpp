// Opening and closing grants: the right to issue ids of a machine block between a floor and a
// ceiling. One process at a time, the granter, may call these; callers of the generator go on.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/generator/shared_state.hpp"
#include "src/id/layout.hpp"
#include "src/id/machine_block.hpp"

namespace snowflake {

// The generator leaves the last 2^20 ms (17 minutes) of the 41 bits alone. Tickets run ahead of the
// clock by what waits, at most a millisecond's worth a connection, and PostgreSQL has fewer than
// 2^18 connections: so no ticket can ever carry into the closed bit.
inline constexpr std::int64_t end_of_time_ms = max_ms + 1 - (std::int64_t{1} << 20);

struct Grant {
    MachineBlock machines;
    std::int64_t floor_ms;       // ids lie in [floor_ms, ceiling_ms)
    std::int64_t ceiling_ms;     // at most end_of_time_ms
    std::int64_t floor_slack_ms; // see GrantSlot
};

// The first ticket of a millisecond. Machine 0's sequence starts at 1: sequence 0 would be the
// reserved id.
constexpr std::uint64_t first_ticket_of(std::int64_t ms, std::int32_t width,
                                        std::int64_t machine_field) noexcept
{
    return static_cast<std::uint64_t>(ms) << width | (machine_field == 0 ? 1 : 0);
}

// Voids every later ticket of the current grant. Returns the end of what it has handed out: every
// id that was issued under it, and every one still waited for, lies in a millisecond before that
// one. Zero if there was no grant. Calls wait (Reason::changing) until publish_grant() or
// publish_none().
inline std::int64_t close_grant(SharedState &shared, Layout layout) noexcept
{
    GrantSlot &slot = shared.slot(shared.version.load(std::memory_order_relaxed));
    if (slot.machine_first.load(std::memory_order_relaxed) < 0)
        return 0;

    // acq_rel: nothing that follows may be seen before the word is closed.
    const std::uint64_t word = slot.word.fetch_or(closed_bit, std::memory_order_acq_rel);
    const std::uint64_t first = slot.first_ticket.load(std::memory_order_relaxed);
    if (!(word & closed_bit)) {
        slot.end_ticket.store(word, std::memory_order_release);
        shared.closed_tickets.fetch_add(word - first, std::memory_order_relaxed);
    }
    const std::uint64_t end = slot.end_ticket.load(std::memory_order_relaxed);
    if (end == first) // nothing was handed out; at the epoch there is no ticket before it, either
        return slot.floor_ms.load(std::memory_order_relaxed);
    const int width = layout.sequence_bits() + slot.machine_bits.load(std::memory_order_relaxed);
    return static_cast<std::int64_t>((end - 1) >> width) + 1;
}

namespace detail {

inline void publish(SharedState &shared, Layout layout, const Grant &grant,
                    bool of_nothing) noexcept
{
    const std::uint64_t version = shared.version.load(std::memory_order_relaxed) + 1;
    GrantSlot &slot = shared.slot(version);
    const std::int64_t machine_field = std::int64_t{grant.machines.first} << layout.sequence_bits();
    const std::uint64_t first = first_ticket_of(
        grant.floor_ms, layout.sequence_bits() + grant.machines.bits, machine_field);

    slot.ceiling_ms.store(grant.ceiling_ms, std::memory_order_relaxed);
    slot.floor_ms.store(grant.floor_ms, std::memory_order_relaxed);
    slot.floor_slack_ms.store(grant.floor_slack_ms, std::memory_order_relaxed);
    slot.first_ticket.store(first, std::memory_order_relaxed);
    slot.machine_first.store(of_nothing ? -1 : grant.machines.first, std::memory_order_relaxed);
    slot.machine_bits.store(grant.machines.bits, std::memory_order_relaxed);
    slot.end_ticket.store(0, std::memory_order_relaxed);
    slot.newest_ms.store(0, std::memory_order_relaxed);
    // release: a caller that slept since this slot was last current, and takes a ticket now, then
    // sees that the version has changed.
    slot.word.store(of_nothing ? closed_bit : first, std::memory_order_release);
    // release: whoever reads this version sees the slot as written above.
    shared.version.store(version, std::memory_order_release);
}

} // namespace detail

// Makes this grant the current one. The one before it must have been closed, and this one's floor
// be at or above the end of all earlier grants of the same machine ids.
inline void publish_grant(SharedState &shared, Layout layout, const Grant &grant) noexcept
{
    detail::publish(shared, layout, grant, false);
}

// Makes "no grant" current: calls are refused with Reason::no_grant.
inline void publish_none(SharedState &shared, Layout layout) noexcept
{
    detail::publish(shared, layout, {}, true);
}

// Raises the current grant's ceiling; a lower one is ignored.
inline void extend_grant(SharedState &shared, std::int64_t ceiling_ms) noexcept
{
    GrantSlot &slot = shared.slot(shared.version.load(std::memory_order_relaxed));
    if (ceiling_ms > slot.ceiling_ms.load(std::memory_order_relaxed))
        slot.ceiling_ms.store(ceiling_ms, std::memory_order_release);
}

} // namespace snowflake
