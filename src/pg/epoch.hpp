// The epoch as text: a preset's name, milliseconds since 1970, or a date and time in ISO 8601.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

struct EpochText {
    int64 unix_ms;     // milliseconds since 1970-01-01 00:00 UTC, if there is no error
    const char *error; // what is wrong, for an error's detail, or NULL
    const char *hint;  // or NULL
};

// Parses snowflake.epoch. Presets: unix, twitter, discord, pgedge. A date and time has the form of
// ISO 8601, so that no other setting can change its meaning, perhaps an offset from UTC (without
// one it is in UTC), and whole milliseconds. An epoch before 2000 (but for unix) is refused, which
// catches seconds given for milliseconds; so is one in the future. `now_unix_ms` is the clock's
// reading. Does not raise errors.
EpochText parse_epoch(const char *text, int64 now_unix_ms);

} // namespace snowflake
