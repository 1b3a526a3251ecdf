// The horizon: an id below which nothing new can appear. What running transactions leave for its
// readers, and what ended ones leave behind.
//
// A transaction is all processes that draw ids for it. Each possible one has a bound: no id that it
// has drawn, or will draw before its end, lies below. A reader has a snapshot, which is older than
// its question: a transaction may end in between, and its rows are not in the snapshot, while its
// bound is gone. So one that ends with rows leaves (xid, bound) in a ring before its bound goes.
//
// The protocol
//  Writer: W1 lowers its bound to the word as it has seen it,  W2 takes tickets,
//          W3 makes its rows visible to new snapshots,  W4 claims a place in the ring and fills it,
//          W5 takes its bound away.
//  Reader: R0 has a snapshot,  R1 reads the word,  R2 the bounds,  R3 the ring's count,
//          R4 the places of the ring,  R5 the count again.
//  The horizon is the lowest of the word, the bounds, and the ring's bounds of transactions that
//  the snapshot does not see.
//
// The invariant: a transaction that the snapshot does not see has no id below the horizon, and gets
// none. For suppose that it has the id i. Its W1 was seen by the reader's R2, or not.
//  a. Seen, and the bound still there: the bound is at most i.
//  b. Not seen. Then i is not below the word of R1: if it were, R1 had seen the addition W2 that
//     took it, or a later change of the word, and that releases what was written before it (the
//     granter passes it on from one word to the next: it closes the one before it publishes the
//     other), so R2 would have seen W1.
//  c. Taken away. Then W4 is seen as well, W5 releasing it: R3 counts its place. The snapshot does
//     not see the transaction, so W3 came after R0. The places claimed after its own are of
//     transactions whose W4 came after R0: of each process at most one whose W3 came before R0, and
//     else only of transactions that the snapshot does not see either and that had an xid at R3.
//     The reader knows how many those can be, and looks at so many places. R5 tells whether one of
//     them was claimed again in between; then the answer is "unknown".
//
// A transaction that rolls back, or that has never had an xid, leaves no rows, and nothing in the
// ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/generator/shared_state.hpp"
#include "src/id/layout.hpp"

namespace snowflake {

// The lower bound of a running transaction's ids.
using Bound = std::atomic<std::int64_t>;

// Of a transaction that has drawn no id.
inline constexpr std::int64_t no_bound = INT64_MAX;

// Lowers a bound to this id; several processes may do so for one transaction. release: who sees the
// bound of a transaction sees what the one before it has left in the ring.
inline void lower(Bound &bound, std::int64_t id) noexcept
{
    std::int64_t before = bound.load(std::memory_order_relaxed);
    while (id < before && !bound.compare_exchange_weak(before, id, std::memory_order_release,
                                                       std::memory_order_relaxed))
        ;
}

// An id that is not above that of this ticket, nor of any later one; nor, if it is the first ticket
// of its millisecond and still to be had, of any ticket of a later grant, which may begin in that
// millisecond with a smaller machine id.
constexpr std::int64_t lowest_id_from(std::uint64_t ticket, std::int32_t width,
                                      std::int64_t machine_field) noexcept
{
    const std::int64_t floor = floor_id(static_cast<std::int64_t>(ticket >> width));
    const auto low = static_cast<std::int64_t>(ticket & ((std::uint64_t{1} << width) - 1));
    return low == 0 ? floor : floor | machine_field | low;
}

// R1: an id below which no ticket will be taken any more. False while there is no open grant.
inline bool lowest_id_to_come(const SharedState &shared, Layout layout, std::int64_t &id) noexcept
{
    for (;;) {
        // acquire: with this grant everything that was done under the earlier ones is seen.
        const std::uint64_t version = shared.version.load(std::memory_order_acquire);
        const GrantSlot &slot = shared.slot(version);
        const std::int32_t first = slot.machine_first.load(std::memory_order_acquire);
        const std::int32_t width =
            layout.sequence_bits() + slot.machine_bits.load(std::memory_order_acquire);
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);
        if (shared.version.load(std::memory_order_acquire) != version)
            continue;
        if (first < 0 || (word & closed_bit))
            return false;
        id = lowest_id_from(word, width, std::int64_t{first} << layout.sequence_bits());
        return true;
    }
}

// A transaction that has ended, in the ring.
struct Ended {
    std::atomic<std::uint64_t> xid; // with its epoch, so that it does not come again
    Bound bound;
};

// In shared memory, followed by the ring and the bounds.
struct HorizonState {
    alignas(line_size) std::atomic<std::uint64_t> ended_count; // places claimed, ever
    std::uint64_t ring_size;                                   // a power of two
    std::uint64_t bound_count;

    static constexpr std::size_t size_for(std::uint64_t ring_size, std::uint64_t bound_count)
    {
        return sizeof(HorizonState) + ring_size * sizeof(Ended) + bound_count * sizeof(Bound);
    }

    Ended *ring() noexcept { return reinterpret_cast<Ended *>(this + 1); }
    Bound *bounds() noexcept { return reinterpret_cast<Bound *>(ring() + ring_size); }

    // W4: a transaction with this xid and bound has ended.
    void remember(std::uint64_t xid, std::int64_t bound) noexcept
    {
        // acq_rel: whoever sees a place being filled sees that it was claimed.
        const std::uint64_t at = ended_count.fetch_add(1, std::memory_order_acq_rel);
        Ended &place = ring()[at & (ring_size - 1)];
        // Who reads the new xid reads the new bound.
        place.bound.store(bound, std::memory_order_release);
        place.xid.store(xid, std::memory_order_release);
    }

    // W4 and W5, of a transaction that is visible to new snapshots by now; xid 0 if it has no rows.
    void end(Bound &bound, std::uint64_t xid) noexcept
    {
        const std::int64_t id = bound.load(std::memory_order_relaxed);
        if (id == no_bound)
            return;
        if (xid != 0)
            remember(xid, id);
        bound.store(no_bound, std::memory_order_release);
    }

    // R2: lowers the id to the lowest bound.
    void lower_to_running(std::int64_t &id) noexcept
    {
        for (std::uint64_t i = 0; i < bound_count; i++) {
            const std::int64_t bound = bounds()[i].load(std::memory_order_acquire);
            id = bound < id ? bound : id;
        }
    }

    // R3
    std::uint64_t ended() const noexcept { return ended_count.load(std::memory_order_acquire); }

    // R4 and R5: lowers the id to the bounds of those transactions that `is_invisible(xid)`, among
    // the `newest` ones of the first `ended` that have ended. False if the ring does not go back so
    // far.
    template <class IsInvisible> bool lower_to_ended(std::int64_t &id, std::uint64_t ended,
                                                     std::uint64_t newest,
                                                     IsInvisible is_invisible) noexcept
    {
        const std::uint64_t from = ended > newest ? ended - newest : 0;
        if (ended - from > ring_size)
            return false;
        for (std::uint64_t at = from; at < ended; at++) {
            const Ended &place = ring()[at & (ring_size - 1)];
            const std::uint64_t xid = place.xid.load(std::memory_order_acquire);
            const std::int64_t bound = place.bound.load(std::memory_order_acquire);
            // A place that is being filled belongs to a transaction that still has its bound, or
            // that began after R2: whatever is read of it can only make the answer lower.
            if (bound < id && is_invisible(xid))
                id = bound;
        }
        return ended_count.load(std::memory_order_acquire) - from <= ring_size;
    }
};

// R1, and then R2: an id below which no running transaction has one, and below which none will be
// drawn. False while there is no open grant.
inline bool lowest_running(const SharedState &shared, Layout layout, HorizonState &horizon,
                           std::int64_t &id) noexcept
{
    if (!lowest_id_to_come(shared, layout, id))
        return false;
    horizon.lower_to_running(id);
    return true;
}

static_assert(sizeof(HorizonState) == line_size && alignof(Ended) <= line_size);
static_assert(std::is_trivially_copyable_v<Ended> && std::is_trivially_copyable_v<HorizonState>);

} // namespace snowflake
