// The background worker: the one process that changes the grant while the server runs.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

// For _PG_init in shared_preload_libraries.
void register_worker();

} // namespace snowflake
