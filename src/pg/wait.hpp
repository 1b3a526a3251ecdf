// Waiting for the clock, interruptibly.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

// Sleeps until the clock reads `until_ms` (milliseconds since the epoch) or, if that is further
// away, for a few milliseconds: the caller looks at the clock and asks again. Shows the wait event
// SnowflakeTick (before PostgreSQL 17 Extension), and raises the error of a query cancel, a
// time-out or a termination at once.
void wait_for_ms(int64 until_ms);

} // namespace snowflake
