// Ids of times that are past: which of a millisecond's ids a session may take.
//
// The clock does not say which ids of a past millisecond there are already. So what is remembered
// durably is this: time is cut into spans, and the ids that each millisecond of a span has under
// one machine id into shares. A session takes shares of a span, and within them counts, per
// millisecond, the ids that it has used. No id comes twice, because
//  1. a share is taken once: how many are taken is on disk before the first id of one leaves, it
//     only grows, and what is taken and not used up when the session ends, or the server, is lost;
//  2. within a session the count of a millisecond only grows, whatever transactions do;
//  3. different counts of a millisecond, and the same count in different shares, are different ids.
// The price is that so many sessions only can have ids of one span.
//
// Pure: the caller gives the memory, and writes the file.
#pragma once

#include <cstdint>

#include "src/id/layout.hpp"

namespace snowflake {

// 2^20 ms, 17 minutes: long enough for one write to disk to serve many rows, short enough for many
// sessions to work on a table, each on rows of other times.
inline constexpr int span_bits = 20;
inline constexpr std::uint32_t span_count = std::uint32_t{1} << (timestamp_bits - span_bits);

constexpr std::uint32_t span_of(std::int64_t ms) noexcept
{
    return static_cast<std::uint32_t>(ms >> span_bits);
}

// The place of a millisecond in its span.
constexpr std::uint32_t offset_of(std::int64_t ms) noexcept
{
    return static_cast<std::uint32_t>(ms & ((std::int64_t{1} << span_bits) - 1));
}

// How many shares a machine id has, and how many ids of a millisecond are in one.
constexpr std::int32_t share_count(Layout layout) noexcept
{
    constexpr int share_bits = 8;
    return 1 << (layout.sequence_bits() < share_bits ? layout.sequence_bits() : share_bits);
}
constexpr std::int32_t ids_per_share(Layout layout) noexcept
{
    return (layout.max_sequence() + 1) / share_count(layout);
}

// Shares in a row, of one machine id and span.
struct ShareRun {
    std::int32_t machine;
    std::int32_t first; // 0 .. share_count() - 1
    std::int32_t count;
};

// The n-th id, from 0 on, that these runs have in a millisecond of their span. There must be as
// many.
constexpr std::int64_t nth_id(Layout layout, std::int64_t ms, const ShareRun *runs,
                              std::uint32_t n) noexcept
{
    const auto size = static_cast<std::uint32_t>(ids_per_share(layout));
    for (; n >= static_cast<std::uint32_t>(runs->count) * size; runs++)
        n -= static_cast<std::uint32_t>(runs->count) * size;
    const auto first = static_cast<std::uint32_t>(runs->first) * size;
    return layout.encode({ms, runs->machine, static_cast<std::int32_t>(first + n)});
}

// What the file of a machine id says of a span: the number of shares that are taken, and its
// complement, by which a damaged entry is told. A span that the file does not reach, or that was
// never written, is zero.
constexpr std::uint32_t encode_taken(std::int32_t taken) noexcept
{
    const auto low = static_cast<std::uint32_t>(taken);
    return low | (~low << 16);
}

// -1 if the entry is damaged.
constexpr std::int32_t decode_taken(std::uint32_t entry, Layout layout) noexcept
{
    if (entry == 0)
        return 0;
    const auto taken = static_cast<std::int32_t>(entry & 0xFFFF);
    return entry == encode_taken(taken) && taken <= share_count(layout) ? taken : -1;
}

// How many ids of each millisecond of a span are used: a hash table with linear probing, in memory
// that the caller gives it.
struct MsCount {
    std::uint32_t key; // offset_of() + 1; 0: a free place
    std::uint32_t used;
};

class MsCounts {
public:
    // Whether it must grow before used() may be called for another millisecond.
    bool is_full() const noexcept { return filled_ * 4 >= capacity_ * 3; }

    std::uint32_t next_capacity() const noexcept { return capacity_ == 0 ? 64 : capacity_ * 2; }

    // Moves to `places`, next_capacity() of them, all zero. Returns the old ones, which may be
    // freed.
    MsCount *grow(MsCount *places) noexcept
    {
        MsCount *old = places_;
        const std::uint32_t old_capacity = capacity_;
        places_ = places;
        capacity_ = next_capacity();
        for (std::uint32_t i = 0; i < old_capacity; i++)
            if (old[i].key != 0)
                find(old[i].key) = old[i];
        return old;
    }

    // The count of a millisecond, 0 at first.
    std::uint32_t &used(std::uint32_t offset) noexcept
    {
        MsCount &place = find(offset + 1);
        if (place.key == 0) {
            place.key = offset + 1;
            filled_++;
        }
        return place.used;
    }

private:
    MsCount &find(std::uint32_t key) noexcept
    {
        // 2^32 divided by the golden ratio spreads keys that follow each other.
        std::uint32_t at = (key * 2'654'435'769U >> 8) & (capacity_ - 1);
        while (places_[at].key != 0 && places_[at].key != key)
            at = (at + 1) & (capacity_ - 1);
        return places_[at];
    }

    MsCount *places_ = nullptr;
    std::uint32_t capacity_ = 0; // a power of two, at most 2^21: at most 2^20 are filled
    std::uint32_t filled_ = 0;
};

} // namespace snowflake
