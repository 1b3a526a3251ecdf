// Who grants: which machine ids this server issues under, and from which millisecond on.
//
// One process at a time calls these: the postmaster while it sets up shared memory, and then the
// worker. The marks that decide a grant's floor live in shared memory, so they hold for as long as
// the server runs; across a restart the clock is trusted.
#pragma once

#include "src/border/postgres.hpp"

#include "src/pg/shmem.hpp"

namespace snowflake {

// The first grant of fresh shared memory, by snowflake.machine_id.
void begin_granting(Shared &shared);

// Switches the whole server to what snowflake.machine_id says in this process, if it says something
// else than the current grant. Logs the switch.
void follow_setting(Shared &shared);

// The last year before ids end, in milliseconds since the epoch, and the warning that it has begun.
inline constexpr int64 ms_per_day = 86'400'000;
inline constexpr int64 last_year_ms = end_of_time_ms - 366 * ms_per_day;
void log_the_end();

// A machine block as snowflake.machine_id writes it: "7" or "8-11".
struct BlockText {
    char text[24];
};
BlockText block_text(MachineBlock machines);

} // namespace snowflake
