// The local mark store: pg_snowflake/state in the data directory.
//
// The file is written anew each time, synced, and renamed over the old one, so that a crash leaves
// the old one or the new one. What is in it was on disk before any id that it allows was issued.
#pragma once

#include "src/border/postgres.hpp"

#include "src/lease/state.hpp"

namespace snowflake {

inline constexpr const char *state_directory = "pg_snowflake";
inline constexpr const char *state_file = "pg_snowflake/state";

// What went wrong, as text for a message; empty if nothing.
struct StoreProblem {
    char text[256];

    bool happened() const { return text[0] != '\0'; }
};

// A state in the current memory context, all zero.
State *allocate_state();

// Reads the file. False, and a zero state, if the data directory has no pg_snowflake: nothing was
// ever granted in it. A file that is damaged, missing or unreadable raises an error.
bool read_state(State *state);

// Writes the file, and the directory if it is not there yet. Raises no error: what went wrong is
// the result, and the file is then the old one.
StoreProblem write_state(const State *state);

} // namespace snowflake
