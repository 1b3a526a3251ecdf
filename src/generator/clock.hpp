// What time it is, in milliseconds since the epoch: the system's clock, and one that a test drives.
//
// The generator is a template over its clock, so a call costs one clock read and no indirection.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace snowflake {

// CLOCK_REALTIME. Reading it is a call into the vDSO, not into the kernel.
struct SystemClock {
    std::int64_t epoch_unix_ms = 0; // the epoch, in milliseconds since 1970-01-01 00:00 UTC

    // Milliseconds since the epoch, rounded down; negative before it.
    std::int64_t now_ms() const noexcept
    {
        const timespec now = read();
        return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / ns_per_ms - epoch_unix_ms;
    }

    // Whether it reads this millisecond: now_ms() == ms, but cheaper, for a millisecond that is
    // less than 2^42 away from 1970 and from the epoch.
    bool reads(std::int64_t ms) const noexcept
    {
        const timespec now = read();
        const std::uint64_t now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                     static_cast<std::uint64_t>(now.tv_nsec);
        return now_ns - static_cast<std::uint64_t>((ms + epoch_unix_ms) * ns_per_ms) < ns_per_ms;
    }

    // Nanoseconds until this millisecond begins; zero or negative once it has begun. Meant for
    // waits of seconds: a distance of more than 292 years overflows.
    std::int64_t ns_until(std::int64_t ms) const noexcept
    {
        const timespec now = read();
        return (ms + epoch_unix_ms - std::int64_t{now.tv_sec} * 1000) * ns_per_ms - now.tv_nsec;
    }

private:
    static constexpr std::int64_t ns_per_ms = 1'000'000;

    static timespec read() noexcept
    {
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now); // cannot fail for this clock
        return now;
    }
};

// A clock that stands still until somebody moves it, forward or back, from any thread.
struct ManualClock {
    std::atomic<std::int64_t> *ms;

    std::int64_t now_ms() const noexcept { return ms->load(std::memory_order_acquire); }
    bool reads(std::int64_t this_ms) const noexcept { return now_ms() == this_ms; }
};

} // namespace snowflake
