// PostgreSQL's timestamps (microseconds since 2000) and ours (milliseconds since the epoch).
#pragma once

#include "src/border/postgres.hpp"

#include "src/generator/clock.hpp"
#include "src/id/layout.hpp"
#include "src/pg/settings.hpp"

namespace snowflake {

// 2000-01-01 00:00 UTC in milliseconds since 1970.
inline constexpr int64 postgres_epoch_unix_ms =
    (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86'400'000);

// The clock's reading, in milliseconds since the epoch; negative before it.
inline int64 now_ms() { return SystemClock{epoch_unix_ms()}.now_ms(); }

// The millisecond of a timestamp, rounded down, counted from the epoch; negative before it. Minus
// and plus infinity are INT64_MIN and INT64_MAX.
inline int64 ms_of(TimestampTz timestamp)
{
    if (TIMESTAMP_NOT_FINITE(timestamp))
        return TIMESTAMP_IS_NOBEGIN(timestamp) ? INT64_MIN : INT64_MAX;
    return floor_div(timestamp, 1000) + postgres_epoch_unix_ms - epoch_unix_ms();
}

// The timestamp at which a millisecond begins, for -2^41 .. 2^41 ms around the epoch.
inline TimestampTz timestamp_of(int64 ms)
{
    return (ms + epoch_unix_ms() - postgres_epoch_unix_ms) * 1000;
}

} // namespace snowflake
