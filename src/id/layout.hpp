// The bits of a snowflake id: what stands where, and the ids that bound a span of time.
//
//     63  62                              22 21          12 11           0
//     +--+----------------------------------+--------------+-------------+
//     | 0| 41 bits: milliseconds since epoch | machine id   | sequence    |
//     +--+----------------------------------+--------------+-------------+
//
// The timestamp always starts at bit 22; only the split of the low 22 bits between machine id and
// sequence varies (Layout::machine_bits). Everything here is integer arithmetic on milliseconds
// since the epoch of the layout's owner; it neither allocates nor fails.
#pragma once

#include <cstdint>

namespace snowflake {

inline constexpr int timestamp_bits = 41;
inline constexpr int timestamp_shift = 22; // machine id and sequence share the bits below
inline constexpr int min_machine_bits = 1;
inline constexpr int max_machine_bits = 16;
inline constexpr int default_machine_bits = 10;

inline constexpr std::int64_t max_ms = (std::int64_t{1} << timestamp_bits) - 1;
inline constexpr std::int64_t low_mask = (std::int64_t{1} << timestamp_shift) - 1;
inline constexpr std::int64_t max_id = INT64_MAX;

// The three fields of an id.
struct Parts {
    std::int64_t ms;       // milliseconds since the epoch, 0 .. max_ms
    std::int32_t machine;  // 0 .. Layout::max_machine()
    std::int32_t sequence; // 0 .. Layout::max_sequence()

    constexpr bool operator==(const Parts &) const noexcept = default;
};

// How the low 22 bits are shared out. machine_bits must be in min_machine_bits .. max_machine_bits.
struct Layout {
    int machine_bits = default_machine_bits;

    constexpr int sequence_bits() const noexcept { return timestamp_shift - machine_bits; }
    constexpr std::int32_t max_machine() const noexcept { return (1 << machine_bits) - 1; }
    constexpr std::int32_t max_sequence() const noexcept { return (1 << sequence_bits()) - 1; }

    // The id made of these parts, each within its range.
    constexpr std::int64_t encode(const Parts &parts) const noexcept
    {
        return parts.ms << timestamp_shift |
               static_cast<std::int64_t>(parts.machine) << sequence_bits() | parts.sequence;
    }

    // The parts of an id that is not negative.
    constexpr Parts decode(std::int64_t id) const noexcept
    {
        return {id >> timestamp_shift,
                static_cast<std::int32_t>((id & low_mask) >> sequence_bits()),
                static_cast<std::int32_t>(id & max_sequence())};
    }
};

// The quotient rounded down, for a positive divisor: the millisecond that holds a microsecond, also
// where both are negative (before 1970, or before 2000 in PostgreSQL's count).
constexpr std::int64_t floor_div(std::int64_t value, std::int64_t divisor) noexcept
{
    return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// True for the one id of each millisecond that is never issued: the one that floor_id() returns, so
// that "id > floor" and "id >= floor" select the same rows.
constexpr bool is_reserved(std::int64_t id) noexcept { return (id & low_mask) == 0; }

// The smallest id of a millisecond. Any number of milliseconds may be asked for: before the epoch
// the answer is 0, past the end of the 41 bits max_id.
constexpr std::int64_t floor_id(std::int64_t ms) noexcept
{
    if (ms < 0)
        return 0;
    return ms > max_ms ? max_id : ms << timestamp_shift;
}

// The largest id of a millisecond; before the epoch -1 (no id is that small), past the end max_id.
constexpr std::int64_t ceil_id(std::int64_t ms) noexcept
{
    if (ms < 0)
        return -1;
    return ms > max_ms ? max_id : ms << timestamp_shift | low_mask;
}

// A bound of a span of time, in milliseconds since the epoch. INT64_MIN and INT64_MAX stand for
// minus and plus infinity.
struct TimeBound {
    std::int64_t ms;
    bool inclusive;
};

// The ids in [lower, upper), without an upper end if unbounded.
struct IdRange {
    std::int64_t lower;
    std::int64_t upper;
    bool unbounded;

    constexpr bool empty() const noexcept { return !unbounded && upper <= lower; }
    constexpr bool operator==(const IdRange &) const noexcept = default;
};

// The ids whose millisecond lies between the bounds. Spans that meet in time meet in ids: the
// floor_id() of a bound ends the one and starts the other. Ids are never negative, so the lower end
// is always finite; past the end of the 41 bits there is no upper one (max_id itself is an id, and
// nothing in 64 bits lies above it).
constexpr IdRange range_of(TimeBound lower, TimeBound upper) noexcept
{
    // The first millisecond that is in (lower) or out (upper): the bound's own, or the next one.
    const bool next_lower = !lower.inclusive && lower.ms != INT64_MAX;
    const bool next_upper = upper.inclusive && upper.ms != INT64_MAX;
    const std::int64_t first = lower.ms + (next_lower ? 1 : 0);
    const std::int64_t end = upper.ms + (next_upper ? 1 : 0);
    if (first > max_ms || end <= first)
        return {0, 0, false};
    return {floor_id(first), end > max_ms ? 0 : floor_id(end), end > max_ms};
}

} // namespace snowflake
