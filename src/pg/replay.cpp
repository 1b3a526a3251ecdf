#include "src/border/postgres.hpp"

#include "src/pg/replay.hpp"

#include "src/pg/granter.hpp"
#include "src/pg/shmem.hpp"

namespace snowflake {

namespace {

void (*core_redo)(XLogReaderState *record);
void (*core_cleanup)();

// When the transaction of this record ended or was prepared; 0 for a record that does not say.
TimestampTz time_of(XLogReaderState *record)
{
    const char *data = XLogRecGetData(record);
    TimestampTz time = 0;
    switch (XLogRecGetInfo(record) & XLOG_XACT_OPMASK) {
    case XLOG_XACT_COMMIT:
    case XLOG_XACT_COMMIT_PREPARED:
        memcpy(&time, data + offsetof(xl_xact_commit, xact_time), sizeof(time));
        break;
    case XLOG_XACT_ABORT:
    case XLOG_XACT_ABORT_PREPARED:
        memcpy(&time, data + offsetof(xl_xact_abort, xact_time), sizeof(time));
        break;
    case XLOG_XACT_PREPARE:
        memcpy(&time, data + offsetof(xl_xact_prepare, prepared_at), sizeof(time));
        break;
    }
    return time;
}

// In the startup process, which alone replays. GetLatestXTime() would not do: it knows the last end
// and not the newest, and nothing in crash recovery, which is also what a base backup without a
// signal file goes through.
void redo(XLogReaderState *record)
{
    std::atomic<TimestampTz> &newest = shared()->replayed_until;
    const TimestampTz time = time_of(record);
    if (time > newest.load(std::memory_order_relaxed))
        newest.store(time, std::memory_order_release);
    core_redo(record);
}

// All is replayed, and the server is not promoted yet: what was seen becomes durable first.
void cleanup()
{
    if (core_cleanup != nullptr)
        core_cleanup();
    if (shared()->started_as_replica)
        record_replay();
}

} // namespace

// The table of resource managers is writable, for extensions add theirs to it. Ours adds none, and
// writes no record: a server without the library replays the same WAL.
void watch_replay()
{
    RmgrData &transactions = RmgrTable[RM_XACT_ID];
    core_redo = transactions.rm_redo;
    core_cleanup = transactions.rm_cleanup;
    transactions.rm_redo = redo;
    transactions.rm_cleanup = cleanup;
}

} // namespace snowflake
