#include "src/border/postgres.hpp"

#include "src/pg/worker.hpp"

#include "src/pg/grant.hpp"
#include "src/pg/shmem.hpp"

namespace snowflake {

void register_worker()
{
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker.bgw_start_time = BgWorkerStart_PostmasterStart; // a standby's setting changes as well
    worker.bgw_restart_time = 1;                           // seconds
    strlcpy(worker.bgw_library_name, "snowflake", BGW_MAXLEN);
    strlcpy(worker.bgw_function_name, "snowflake_worker_main", BGW_MAXLEN);
    strlcpy(worker.bgw_name, "snowflake", BGW_MAXLEN);
    strlcpy(worker.bgw_type, "snowflake", BGW_MAXLEN);
    RegisterBackgroundWorker(&worker);
}

} // namespace snowflake

// Sleeps until it is signalled, without a time-out: an idle server has no wake-ups from it. It
// looks at the setting once when it starts, for a reload may have come while it was away.
extern "C" PGDLLEXPORT void snowflake_worker_main(Datum)
{
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    const uint32 wait = snowflake::wait_event("SnowflakeWorker");

    for (;;) {
        if (ShutdownRequestPending)
            proc_exit(1); // by anyone but the shutting postmaster: to be started again
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
        snowflake::follow_setting(*snowflake::shared());
        (void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, wait);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}
