// The granter: which machine ids this server issues under, from which millisecond on, and up to
// which.
//
// It runs in the worker, and in nothing else (but in a standalone backend, which has no worker).
// What it publishes to the backends it has put into the local state first: so an id that leaves
// lies below a ceiling that is on disk, and whoever is granted the same machine id next starts at
// that ceiling.
#pragma once

#include "src/border/postgres.hpp"

#include "src/pg/shmem.hpp"

namespace snowflake {

// In the postmaster, before any process exists: refuses a state file that is damaged, or of another
// epoch or layout, and warns of one that was copied from elsewhere. Publishes "no grant yet". Where
// another server's WAL is about to be replayed, the state says so from then on.
void check_state_at_start(Shared &shared);

// Reads the state, and takes over what an earlier granter of this server has left open.
void granter_start();

// Does what is due: claims, switches, extends, records. Returns after how many milliseconds it
// wants to be called again, or -1 for when somebody wakes it.
long granter_step();

// In the startup process, when all is replayed and the server is not promoted yet: puts the newest
// time that was replayed into the state, so that it is known whenever the server ends.
void record_replay();

// Closes the grant and records its true end, so that the next start waits for nothing.
void granter_stop();

// Waits, interruptibly, until the granter has acted, or until `deadline_ms` of monotonic_ms().
// False if the time is over.
bool wait_for_granter(int64 deadline_ms);
int64 monotonic_ms();

// The granter's newest error, empty if its last attempt succeeded, and when that was.
struct GranterError {
    char text[256];
    TimestampTz at;
};
GranterError granter_error();

// Why a call has waited for the granter in vain, for an error's detail and hint; in the current
// memory context.
struct GranterExcuse {
    const char *detail;
    const char *hint;
};
GranterExcuse granter_excuse();

// A machine block as snowflake.machine_id writes it: "7" or "8-11".
struct BlockText {
    char text[24];
};
BlockText block_text(MachineBlock machines);

// The last year before ids end, in milliseconds since the epoch, and the warning that it has begun.
inline constexpr int64 ms_per_day = 86'400'000;
inline constexpr int64 last_year_ms = end_of_time_ms - 366 * ms_per_day;
void log_the_end();

} // namespace snowflake
