// What the generator says to a call: here are your ids, wait, or no, and why.
#pragma once

#include <cstdint>

#include "src/id/layout.hpp"

namespace snowflake {

enum class Verdict : std::uint8_t { issued, wait, refused };

enum class Reason : std::uint8_t {
    none,
    // why to wait
    tick,     // the call's ticket is for a millisecond that has not begun
    changing, // the grant is being changed at this moment
    // why not
    no_grant,     // this server holds no machine id
    before_epoch, // the clock is before the epoch
    used_up,      // the clock is past the last millisecond that 41 bits hold
    clock_back,   // the clock went back by more than the tolerance
    below_floor,  // the clock is further below the grant's floor than would be waited for
    ceiling,      // the grant ends here
};

// Tickets in a row, all of one grant, and all of milliseconds that have begun.
struct Batch {
    std::uint64_t ticket; // the next one
    std::uint32_t left;
    std::int32_t width;         // bits of the wide sequence
    std::int64_t machine_field; // the first machine id, where it stands in an id

    // Takes the next id out. False when there is none left; the reserved id (layout.hpp) is left
    // out.
    constexpr bool next(std::int64_t &id) noexcept
    {
        while (left > 0) {
            const auto ms = static_cast<std::int64_t>(ticket >> width);
            const auto low = static_cast<std::int64_t>(ticket & ((std::uint64_t{1} << width) - 1));
            id = ms << timestamp_shift | machine_field | low;
            ticket++;
            left--;
            if (!is_reserved(id)) [[likely]]
                return true;
        }
        return false;
    }
};

struct Answer {
    Verdict verdict;
    Reason reason;
    Batch batch;         // if issued
    std::int64_t ms;     // wait: until the clock reads this; refused: the millisecond in question
                         // (newest issued, floor, ceiling or last one)
    std::int64_t now_ms; // the clock's reading behind the answer
};

} // namespace snowflake
