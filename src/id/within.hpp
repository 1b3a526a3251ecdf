// Which ids lie within a span of time, exactly: the time of an id is the moment at which its
// millisecond begins, and bounds are microseconds, as PostgreSQL's are.
//
// Both ends are one question: which id is the last one up to a moment? What is within the span
// comes after the last id that is too early, and not after the last one that is not too late. (To
// ask for the first id from a moment on would need an answer for "none": an id above the largest
// bigint.)
//
// Microseconds may be any number; INT64_MIN and INT64_MAX serve as minus and plus infinity. The
// epoch is in milliseconds of the same count, within 2^62 of its zero.
#pragma once

#include <cstdint>

#include "src/id/layout.hpp"

namespace snowflake {

inline constexpr std::int64_t no_id = -1; // before the first one

// A bound of a span of time. No bound at all is INT64_MIN or INT64_MAX, inclusive.
struct Moment {
    std::int64_t us;
    bool inclusive;
};

// The ids from first to last, both included; none if last < first.
struct IdSpan {
    std::int64_t first;
    std::int64_t last;

    constexpr bool contains(std::int64_t id) const noexcept { return id >= first && id <= last; }
    constexpr bool operator==(const IdSpan &) const noexcept = default;
};

inline constexpr IdSpan no_ids{0, no_id};

// The last id of a time before a moment or, if that is inclusive, up to it; no_id if there is none.
constexpr std::int64_t last_id(Moment moment, std::int64_t epoch_ms) noexcept
{
    const bool before_its_own = moment.us % 1000 == 0 && !moment.inclusive;
    return ceil_id(floor_div(moment.us, 1000) - (before_its_own ? 1 : 0) - epoch_ms);
}

// The ids whose time lies between two bounds; no_ids if there is none.
constexpr IdSpan ids_within(Moment lower, Moment upper, std::int64_t epoch_ms) noexcept
{
    const std::int64_t too_early = last_id({lower.us, !lower.inclusive}, epoch_ms);
    const std::int64_t last = last_id(upper, epoch_ms);
    return too_early < last ? IdSpan{too_early + 1, last} : no_ids;
}

} // namespace snowflake
