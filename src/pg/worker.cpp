#include "src/border/postgres.hpp"

#include "src/pg/worker.hpp"

#include "src/pg/granter.hpp"
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

namespace {

void forget_latch(int, Datum)
{
    snowflake::shared()->granter_latch.store(nullptr, std::memory_order_release);
}

} // namespace

// Runs the granter: when it asks to be called again, when a backend needs it, and after a reload.
// An idle server has no wake-ups from it.
extern "C" PGDLLEXPORT void snowflake_worker_main(Datum)
{
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    const uint32 wait = snowflake::wait_event("SnowflakeWorker");

    snowflake::granter_start();
    before_shmem_exit(forget_latch, 0);
    snowflake::shared()->granter_latch.store(MyLatch, std::memory_order_release);
    for (;;) {
        if (ShutdownRequestPending) {
            snowflake::granter_stop();
            proc_exit(1); // if it was not the shutting postmaster that asked: to be started again
        }
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
        const long next = snowflake::granter_step();
        (void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (next >= 0 ? WL_TIMEOUT : 0),
                         next, wait);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}
