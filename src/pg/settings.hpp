// The settings (GUCs) of the prefix "snowflake.", checked and in the form that the code uses.
#pragma once

#include "src/border/postgres.hpp"

#include "src/id/layout.hpp"
#include "src/lease/machine_ids.hpp"

namespace snowflake {

// Defines the settings and checks what the configuration file says; a value that is wrong stops the
// server's start. For _PG_init in shared_preload_libraries only.
void define_settings();

// False until define_settings() has run: the library was not preloaded.
bool settings_are_defined();

// Fixed at server start, so that decoding an id never changes its answer.
Layout layout();
int64 epoch_unix_ms(); // the epoch, in milliseconds since 1970-01-01 00:00 UTC

// snowflake.clock_tolerance, as of this process's last reload.
extern int clock_tolerance_ms;

// snowflake.sequence_spread, as of this process's last reload: see spread_of().
extern int sequence_spread;

// snowflake.reserve_ahead, as of this process's last reload: how far the ceiling runs ahead.
int64 reserve_ahead_ms();

// snowflake.grant_timeout: how long a call waits for the granter.
extern int grant_timeout_ms;

// snowflake.machine_id as of this process's last reload. Only the granter asks; everybody else
// takes the machine ids from shared memory.
MachineIds machine_ids_setting();

// snowflake.backfill_machine_id as of this process's last reload.
MachineIds backfill_machine_ids_setting();

// Raises an error unless the library was preloaded.
void require_preload();

} // namespace snowflake
