#include "src/border/postgres.hpp"

#include "src/pg/wait.hpp"

#include "src/generator/clock.hpp"
#include "src/pg/settings.hpp"

namespace snowflake {

namespace {

constexpr int64 ns_per_ms = 1'000'000;

// Latches wait in whole milliseconds; below this, nanosleep is used.
constexpr int64 latch_from_ns = 2 * ns_per_ms;

// The longest sleep at once. The clock may be set right while this process sleeps, and a sleep is
// counted by another clock.
constexpr int64 latch_at_most_ms = 10;

} // namespace

void wait_for_ms(int64 until_ms)
{
    static uint32 event = 0;
    if (event == 0)
        event = wait_event("SnowflakeTick");

    const int64 left = SystemClock{epoch_unix_ms()}.ns_until(until_ms);
    if (left >= latch_from_ns) {
        (void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                         Min(left / ns_per_ms, latch_at_most_ms), event);
        ResetLatch(MyLatch);
    } else if (left > 0) {
        const timespec sleep = {0, static_cast<long>(left)};
        pgstat_report_wait_start(event);
        (void) nanosleep(&sleep, nullptr); // a signal ends it early
        pgstat_report_wait_end();
    }
    CHECK_FOR_INTERRUPTS();
}

} // namespace snowflake
