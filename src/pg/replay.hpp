// Watches what recovery replays, on a standby, in a restore and after a crash: the newest time at
// which a transaction ended, by the clock of the server that wrote the WAL. No id in what was
// replayed is younger.
#pragma once

namespace snowflake {

// For _PG_init.
void watch_replay();

} // namespace snowflake
