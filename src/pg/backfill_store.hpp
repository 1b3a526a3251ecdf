// Which shares of past ids are taken (lease/backfill.hpp): pg_snowflake_backfill/MACHINE in the
// data directory, an array with an entry of four bytes for each span.
//
// A share that is taken is written and synced before it is used, so that a crash leaves it taken.
// It is also put into the WAL, as a message, which a standby and a restore write down in turn: rows
// that they have replayed have ids of shares that they know to be taken. Servers without the
// library pass over the message.
#pragma once

#include "src/border/postgres.hpp"

#include "src/id/machine_block.hpp"
#include "src/lease/backfill.hpp"

namespace snowflake {

// Takes shares of a span, `wanted` at most, all of one of these machine ids. The count is 0 if none
// is left. Raises an error if that cannot be recorded; nothing is taken then.
ShareRun take_shares(MachineBlock machines, uint32 span, int32 wanted);

// Has recovery write down what it replays. For _PG_init.
void watch_backfill_replay();

} // namespace snowflake
