// One caller's end of the generator: next() and begin() take tickets, resume() asks again after a
// wait.
//
// The common call, next(), is one clock read, one fetch-and-add on the word of the current grant,
// and one load of the version. Only the first call of a millisecond does more: it checks the clock
// and the grant, and moves the word up to the clock by compare-and-swap. When a millisecond is used
// up the fetch-and-add carries into the next one, and the caller waits for that: callers are served
// in the order in which they came.
//
// A Generator belongs to one thread of one process; what is shared is SharedState.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "src/generator/answer.hpp"
#include "src/generator/clock.hpp"
#include "src/generator/grant.hpp"
#include "src/generator/horizon.hpp"
#include "src/generator/shared_state.hpp"
#include "src/id/layout.hpp"

namespace snowflake {

// The sequence that a millisecond starts with if it does not follow a full one: 0 without a spread,
// else a value below it that varies from millisecond to millisecond. At low rates nearly all ids
// are the first of their millisecond, and id % n would pile up if all of them had sequence 0. The
// value is the high half of a Fibonacci hash (Knuth, The Art of Computer Programming 3, 6.4),
// scaled.
constexpr std::uint64_t spread_of(std::int64_t ms, int spread) noexcept
{
    const std::uint64_t hash = static_cast<std::uint64_t>(ms) * 0x9E3779B97F4A7C15U >> 32;
    return hash * static_cast<std::uint64_t>(spread) >> 32;
}

inline constexpr int no_spread = 0;

template <class Clock> class Generator {
public:
    // Must be called once before anything else. `tolerance_ms` is how far the clock may have gone
    // back to be waited for; `spread` is below which sequence a millisecond starts (spread_of), at
    // most layout.max_sequence() + 1. Both are read when they are needed, and may change between
    // calls.
    constexpr void attach(SharedState &shared, Layout layout, Clock clock, const int &tolerance_ms,
                          const int &spread = no_spread) noexcept
    {
        tolerance_ms_ = &tolerance_ms;
        spread_ = &spread;
        shared_ = &shared;
        layout_ = layout;
        clock_ = clock;
    }

    // From now on each transaction lowers this bound before it takes its first ticket
    // (horizon.hpp).
    constexpr void bind(Bound &bound) noexcept { bound_ = &bound; }

    // The transaction is over: the next call belongs to another one.
    constexpr void end_transaction() noexcept
    {
        seen_ms_ = unseen; // so that it comes by where the bound is lowered
        bounded_version_ = UINT64_MAX;
    }

    // The common case of begin(1), and nothing else: the next id, if the clock still reads the
    // millisecond at which this caller found the word, and no wait or refusal stands in the way. If
    // not, `answer` is what begin(1) would have said, and the result is false.
    [[gnu::always_inline]] bool next(std::int64_t &id, Answer &answer) noexcept
    {
        if (!clock_.reads(seen_ms_)) [[unlikely]] {
            answer = begin(1);
            return false;
        }
        // acq_rel: acquire for is_replaced(); release, so that whoever closes the word sees what
        // this caller did before.
        const std::uint64_t ticket = slot_->word.fetch_add(1, std::memory_order_acq_rel);
        const std::uint64_t offset = ticket - seen_ticket_;
        if (offset > seen_span_ || is_replaced()) [[unlikely]] {
            answer = begin_with(ticket);
            return false;
        }
        id = seen_id_ + static_cast<std::int64_t>(offset);
        return true;
    }

    // How far ahead of the clock the word may be for a call to take tickets there and wait for
    // them. If it is further, calls wait without any: so calls that are cancelled while they wait,
    // however many, cannot push the word on, and those that follow still find it within this of the
    // clock.
    static constexpr std::int64_t max_lead_ms = 10;

    // Takes `count` tickets: at least 1, at most layout.max_sequence() + 1, so that a call never
    // holds more than a millisecond's worth. Tickets of an earlier answer to wait that was never
    // resumed are lost.
    Answer begin(std::uint32_t count) noexcept
    {
        const Answer answer = take(count);
        if (answer.verdict == Verdict::wait && answer.reason == Reason::tick)
            shared_->tick_waits.fetch_add(1, std::memory_order_relaxed);
        return answer;
    }

    // After an answer to wait, once the clock is there or the waiting was given up for the moment:
    // the tickets held, or wait on, or a refusal.
    Answer resume() noexcept
    {
        const Batch batch = held_;
        if (batch.left == 0) // it waited without a ticket
            return take(wanted_);
        if (is_replaced())
            return take(batch.left);

        const Answer checked = check_clock(clock_.now_ms());
        if (checked.verdict == Verdict::refused)
            return checked;
        const auto last_ms =
            static_cast<std::int64_t>((batch.ticket + batch.left - 1) >> batch.width);
        if (checked.now_ms < last_ms)
            return wait(Reason::tick, batch, last_ms, checked.now_ms);

        // The last look before the ids leave: the switch to another grant is one moment, for calls
        // that waited as well.
        if (is_replaced())
            return take(batch.left);
        held_.left = 0;
        const std::uint32_t reserved = reserved_in(batch);
        shared_->void_tickets.fetch_sub(batch.left - reserved, std::memory_order_relaxed);
        if (reserved == batch.left)
            return take(batch.left);
        return {Verdict::issued, Reason::none, batch, last_ms, checked.now_ms};
    }

    // The grant under which the newest answer was given; ids of a Batch that outlives it are void.
    std::uint64_t version() const noexcept { return version_; }

    // Counts the rest of a batch that will not be issued.
    void give_up(Batch &batch) noexcept
    {
        shared_->void_tickets.fetch_add(batch.left, std::memory_order_relaxed);
        batch.left = 0;
    }

    // Whether another grant has been published since this version.
    bool is_replaced_since(std::uint64_t version) const noexcept
    {
        return shared_->version.load(std::memory_order_acquire) != version;
    }

private:
    // begin(1), for a caller that has taken its ticket while the clock read seen_ms_. (It may read
    // more by now; but only up to there is it known that the grant reaches.)
    [[gnu::noinline]] Answer begin_with(std::uint64_t ticket) noexcept
    {
        Answer answer;
        if (!examine(ticket, 1, seen_ms_, answer))
            return begin(1);
        if (answer.verdict == Verdict::wait)
            shared_->tick_waits.fetch_add(1, std::memory_order_relaxed);
        return answer;
    }

    // begin(), but for counting a wait.
    Answer take(std::uint32_t count) noexcept
    {
        wanted_ = count;
        held_.left = 0;
        for (;;) {
            Answer answer;
            std::int64_t now = clock_.now_ms();
            if (now != seen_ms_) {
                answer = arrive(now);
                if (answer.verdict != Verdict::issued)
                    return answer;
                now = answer.now_ms;
            }
            const std::uint64_t ticket = slot_->word.fetch_add(count, std::memory_order_acq_rel);
            if (examine(ticket, count, now, answer))
                return answer;
        }
    }

    // What these tickets, just taken, are worth. False if they are void.
    [[gnu::noinline]] bool examine(std::uint64_t ticket, std::uint32_t count, std::int64_t now,
                                   Answer &answer) noexcept
    {
        if (is_replaced() || (ticket & closed_bit)) {
            if (!(ticket & closed_bit))
                shared_->void_tickets.fetch_add(count, std::memory_order_relaxed);
            seen_ms_ = unseen;
            return false;
        }
        const Batch batch{ticket, count, width_, machine_field_};
        const auto last_ms = static_cast<std::int64_t>((ticket + count - 1) >> width_);
        if (last_ms > now) {
            answer = hold(batch, last_ms, now);
            return true;
        }
        const std::uint32_t reserved = reserved_in(batch);
        if (reserved != 0)
            shared_->void_tickets.fetch_add(reserved, std::memory_order_relaxed);
        answer = {Verdict::issued, Reason::none, batch, last_ms, now};
        return reserved != count;
    }

    // The first call of a millisecond, or of a clock that went back. An answer of "issued" carries
    // no ids: it says that the word may be used, and at what time.
    Answer arrive(std::int64_t now) noexcept
    {
        read_grant();
        if (slot_->machine_first.load(std::memory_order_relaxed) < 0)
            return refuse(Reason::no_grant, 0, now);
        const Answer checked = check_clock(now);
        if (checked.verdict == Verdict::refused)
            return checked;
        now = checked.now_ms;

        const std::int64_t floor_ms = slot_->floor_ms.load(std::memory_order_relaxed);
        if (floor_ms - now > *tolerance_ms_ + slot_->floor_slack_ms.load(std::memory_order_relaxed))
            return refuse(Reason::below_floor, floor_ms, now);
        return move_word(now);
    }

    // Brings the word up to the clock, if the grant lets it.
    Answer move_word(std::int64_t now) noexcept
    {
        const std::uint64_t first = first_ticket_of(now, width_, machine_field_);
        const std::uint64_t to =
            std::max(first, (first & ~std::uint64_t{1}) + spread_of(now, *spread_));
        std::uint64_t word = slot_->word.load(std::memory_order_acquire);
        for (;;) {
            // A word of another grant may have another width; it must not be measured with this
            // one.
            if (is_replaced() || (word & closed_bit))
                return wait(Reason::changing, {}, now + 1, now);
            const std::int64_t ms = static_cast<std::int64_t>(word >> width_);
            if (ms - now > max_lead_ms)
                return wait(Reason::tick, {}, ms, now);
            if ((ms > now ? ms : now) >= ceiling_ms_) {
                ceiling_ms_ = slot_->ceiling_ms.load(std::memory_order_acquire);
                if ((ms > now ? ms : now) >= ceiling_ms_)
                    return refuse_at_ceiling(now);
            }
            if (ms >= now)
                break;
            shared_->moves_begun.fetch_add(1, std::memory_order_acq_rel);
            const bool moved = slot_->word.compare_exchange_strong(
                word, to, std::memory_order_acq_rel, std::memory_order_acquire);
            if (moved)
                shared_->skipped.fetch_add(to - word, std::memory_order_release);
            shared_->moves_ended.fetch_add(1, std::memory_order_release);
            if (moved) {
                word = to;
                break;
            }
        }
        lower_bound_to(word);
        seen_ms_ = now;
        seen_ticket_ = first;
        seen_id_ = now << timestamp_shift | machine_field_ | (first & 1);
        seen_span_ = (std::uint64_t{1} << width_) - 1 - (first & 1);
        return {Verdict::issued, Reason::none, {}, now, now};
    }

    // Before the first ticket of a transaction, and of each grant that it meets: its tickets will
    // not be below this one, which the word has reached. (Ids of a later grant may be lower, if the
    // clock was set right in between.)
    void lower_bound_to(std::uint64_t ticket) noexcept
    {
        if (bounded_version_ == version_ || bound_ == nullptr)
            return;
        lower(*bound_, lowest_id_from(ticket, width_, machine_field_));
        bounded_version_ = version_;
    }

    // Compares a reading with the newest one of any caller, which only grows. An answer of "issued"
    // says that the clock will do, and carries the reading to go on with.
    Answer check_clock(std::int64_t now) noexcept
    {
        if (now < 0)
            return refuse(Reason::before_epoch, 0, now);
        if (now >= end_of_time_ms)
            return refuse(Reason::used_up, end_of_time_ms, now);

        std::int64_t newest = slot_->newest_ms.load(std::memory_order_acquire);
        while (now > newest)
            if (slot_->newest_ms.compare_exchange_weak(newest, now, std::memory_order_acq_rel,
                                                       std::memory_order_acquire))
                return {Verdict::issued, Reason::none, {}, now, now};
        if (now < newest) {
            // Perhaps this process was only held up between its reading and this line; a reading
            // taken after the load of the newest one tells.
            now = clock_.now_ms();
            if (now < newest) {
                count_step(newest, newest - now);
                if (newest - now > *tolerance_ms_)
                    return refuse(now < 0 ? Reason::before_epoch : Reason::clock_back, newest, now);
            } else if (now >= end_of_time_ms) {
                return refuse(Reason::used_up, end_of_time_ms, now);
            }
        }
        return {Verdict::issued, Reason::none, {}, now, now};
    }

    // All callers meet the same step; the first one counts it.
    void count_step(std::int64_t from_ms, std::int64_t step_ms) noexcept
    {
        if (shared_->counted_step_from_ms.exchange(from_ms, std::memory_order_relaxed) != from_ms)
            shared_->clock_steps.fetch_add(1, std::memory_order_relaxed);
        std::int64_t largest = shared_->largest_step_ms.load(std::memory_order_relaxed);
        while (step_ms > largest && !shared_->largest_step_ms.compare_exchange_weak(
                                        largest, step_ms, std::memory_order_relaxed))
            ;
    }

    // Keeps tickets whose millisecond has not begun, unless it lies beyond the grant.
    [[gnu::noinline]] Answer hold(const Batch &batch, std::int64_t last_ms,
                                  std::int64_t now) noexcept
    {
        shared_->void_tickets.fetch_add(batch.left, std::memory_order_relaxed);
        if (last_ms >= ceiling_ms_)
            ceiling_ms_ = slot_->ceiling_ms.load(std::memory_order_acquire);
        if (last_ms >= ceiling_ms_)
            return refuse_at_ceiling(now);
        held_ = batch;
        return wait(Reason::tick, batch, last_ms, now);
    }

    // Whether another grant has been published since this caller read the current one. acquire:
    // with a ticket of a slot that was reopened meanwhile, the new version is seen too.
    bool is_replaced() const noexcept { return is_replaced_since(version_); }

    // Reads the current grant, which must be published whole: again if it changed in between.
    void read_grant() noexcept
    {
        std::uint64_t version = shared_->version.load(std::memory_order_acquire);
        while (version != version_) {
            slot_ = &shared_->slot(version);
            const std::int32_t first = slot_->machine_first.load(std::memory_order_acquire);
            width_ = layout_.sequence_bits() + slot_->machine_bits.load(std::memory_order_acquire);
            machine_field_ = std::int64_t{first} << layout_.sequence_bits();
            ceiling_ms_ = slot_->ceiling_ms.load(std::memory_order_acquire);
            seen_ms_ = unseen;
            version_ = version;
            version = shared_->version.load(std::memory_order_acquire);
        }
    }

    Answer wait(Reason reason, const Batch &batch, std::int64_t ms, std::int64_t now) noexcept
    {
        seen_ms_ = unseen; // the next call shall look at the clock and the word first
        return {Verdict::wait, reason, batch, ms, now};
    }

    Answer refuse(Reason reason, std::int64_t ms, std::int64_t now) noexcept
    {
        seen_ms_ = unseen;
        return {Verdict::refused, reason, {}, ms, now};
    }

    Answer refuse_at_ceiling(std::int64_t now) noexcept
    {
        return refuse(ceiling_ms_ < end_of_time_ms ? Reason::ceiling : Reason::used_up, ceiling_ms_,
                      now);
    }

    // How many of these tickets are for the reserved id, which machine 0 alone has: 0 or 1. Only a
    // carry brings it up, for a move of the word passes it over (first_ticket_of).
    static constexpr std::uint32_t reserved_in(const Batch &batch) noexcept
    {
        const bool carried =
            (batch.ticket + batch.left - 1) >> batch.width != (batch.ticket - 1) >> batch.width;
        return batch.machine_field == 0 && carried ? 1 : 0;
    }

    static constexpr std::int64_t unseen = 1 - (std::int64_t{1} << 42); // no clock is so far back

    // The first line of memory is what every call needs.
    alignas(64) std::int64_t seen_ms_ =
        unseen;                     // the word is at this millisecond or later, and both
                                    // it and this millisecond are below the ceiling
    std::uint64_t seen_ticket_ = 0; // the first ticket of that millisecond,
    std::uint64_t seen_span_ = 0;   //   how far the last one is from it,
    std::int64_t seen_id_ = 0;      //   and the first one's id
    SharedState *shared_ = nullptr;
    GrantSlot *slot_ = nullptr;
    std::uint64_t version_ = UINT64_MAX; // of the grant that slot_ and what follows belong to
    Clock clock_{};

    std::int64_t ceiling_ms_ = 0; // as last read: the grant's own is the same or higher
    std::int64_t machine_field_ = 0;
    std::int32_t width_ = 0;
    Layout layout_{};
    const int *tolerance_ms_ = nullptr;
    const int *spread_ = nullptr;
    Bound *bound_ = nullptr;                     // of the transaction that this caller draws for
    std::uint64_t bounded_version_ = UINT64_MAX; // the grant under which it was lowered last
    Batch held_{};
    std::uint32_t wanted_ = 1; // what begin() was asked for when it last left the common path
};

} // namespace snowflake
