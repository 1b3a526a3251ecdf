// Where this data directory lives, and whether it is still where it was.
#pragma once

#include "src/border/postgres.hpp"

#include "src/lease/state.hpp"

namespace snowflake {

// This host and this data directory. What cannot be found out is left empty.
Place place_here();

// Whether a directory that was at `then` and is at `now` may be a copy, whose original still runs:
// on another host (neither its name nor the system's machine id is the same), or at another path
// and not merely renamed (another inode).
bool is_copied(const Place &then, const Place &now);

} // namespace snowflake
