// The library's entry point, as a table of contents.
#include "src/border/postgres.hpp"

#include "src/pg/backfill_store.hpp"
#include "src/pg/horizon.hpp"
#include "src/pg/replay.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/shmem.hpp"
#include "src/pg/worker.hpp"

extern "C" {

SNOWFLAKE_MODULE_MAGIC;

// Without shared_preload_libraries (CREATE EXTENSION, pg_restore, LOAD) there is nothing to set up:
// the functions can be created, and say what is missing when they are called.
PGDLLEXPORT void _PG_init(void)
{
    if (!process_shared_preload_libraries_in_progress)
        return;
    snowflake::define_settings();
    snowflake::request_shared_memory();
    snowflake::register_worker();
    snowflake::watch_replay();
    snowflake::watch_transactions();
    snowflake::watch_backfill_replay();
}
}
