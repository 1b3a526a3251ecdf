#include "src/border/postgres.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/pg/backfill_store.hpp"

#include "src/pg/settings.hpp"
#include "src/pg/shmem.hpp"

namespace snowflake {

namespace {

constexpr const char *directory = "pg_snowflake_backfill";
constexpr const char *message_prefix = "snowflake_backfill";

// The message in the WAL: so many shares of the span are taken.
struct Taken {
    int32 machine;
    uint32 span;
    int32 count;
};

void (*core_redo)(XLogReaderState *record);

[[noreturn]] void fail(const char *doing, const char *path)
{
    ereport(ERROR, errcode_for_file_access(), errmsg("could not %s \"%s\": %m", doing, path),
            errhint("No id of the past is generated before the file can be read and written."));
    pg_unreachable();
}

[[noreturn]] void refuse_damaged(const char *path, uint32 span, int32 machine)
{
    ereport(
        ERROR, errcode(ERRCODE_DATA_CORRUPTED), errmsg("file \"%s\" is damaged", path),
        errdetail("Its entry %u cannot be.", span),
        errhint("Remove the file, and set snowflake.backfill_machine_id to a machine id that was "
                "never used: which ids of machine id %d there are is not known any more.",
                machine));
    pg_unreachable();
}

void put_path(char *path, int32 machine) { snprintf(path, MAXPGPATH, "%s/%d", directory, machine); }

// Where the file of a machine id is after something that was replayed could not be put into it.
void put_lost_path(char *path, int32 machine)
{
    snprintf(path, MAXPGPATH, "%s/%d.lost", directory, machine);
}

bool is_lost(int32 machine)
{
    char path[MAXPGPATH];
    put_lost_path(path, machine);
    return access(path, F_OK) == 0;
}

void require_not_lost(int32 machine)
{
    if (is_lost(machine))
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("cannot generate an id of the past: it is not known which there are"),
                errdetail("When this server replayed the WAL of another one, it could not write "
                          "down which ids of machine id %d are taken.",
                          machine),
                errhint("Set snowflake.backfill_machine_id to one that no server has or had as "
                        "machine id, and reload the configuration."));
}

// A file that is empty may be new, and its name not on disk yet.
int open_file(const char *path)
{
    if (MakePGDirectory(directory) != 0 && errno != EEXIST)
        fail("create directory", directory);
    const int file = OpenTransientFile(path, O_RDWR | O_CREAT | PG_BINARY);
    if (file < 0)
        fail("open file", path);
    struct stat status;
    if (fstat(file, &status) != 0)
        fail("look at file", path);
    if (status.st_size == 0) {
        fsync_fname(directory, true);
        fsync_fname(".", true);
    }
    return file;
}

// Has the count of a span's shares that are taken raised by `more`, or to `at_least`, up to all
// that there are. Returns it as it was. The caller holds the lock.
int32 raise_taken(int32 machine, uint32 span, int32 more, int32 at_least, int32 *now)
{
    char path[MAXPGPATH];
    put_path(path, machine);
    const int file = open_file(path);
    const off_t offset = static_cast<off_t>(span) * static_cast<off_t>(sizeof(uint32));
    uint32 entry = 0;
    const ssize_t got = pg_pread(file, &entry, sizeof(entry), offset);
    if (got < 0)
        fail("read file", path);
    const int32 before = decode_taken(entry, layout());
    if ((got != 0 && got != sizeof(entry)) || before < 0)
        refuse_damaged(path, span, machine);

    *now = Min(Max(before + more, at_least), share_count(layout()));
    if (*now > before) {
        entry = encode_taken(*now);
        errno = 0;
        if (pg_pwrite(file, &entry, sizeof(entry), offset) != sizeof(entry)) {
            if (errno == 0)
                errno = ENOSPC; // as PostgreSQL does where write() says nothing
            fail("write file", path);
        }
        // After a failed sync the entry may or may not be on disk. No share of it is used, and
        // whoever comes next writes the same place again.
        if (pg_fdatasync(file) != 0)
            fail("sync file", path);
    }
    if (CloseTransientFile(file) != 0)
        fail("close file", path);
    return before;
}

// What cannot be written down must not stop recovery: the machine id is given up instead.
void give_up(int32 machine, const char *reason)
{
    char path[MAXPGPATH];
    char lost[MAXPGPATH];
    put_path(path, machine);
    put_lost_path(lost, machine);
    const bool is_marked = rename(path, lost) == 0;
    ereport(WARNING, errmsg("no id of the past will be generated under machine id %d", machine),
            errdetail("What was replayed could not be written down: %s.", reason),
            is_marked ? 0
                      : errhint("File \"%s\" could not be renamed: set "
                                "snowflake.backfill_machine_id to another one before this server "
                                "is promoted.",
                                path));
}

void replay_taken(const Taken &taken)
{
    const MemoryContext context = CurrentMemoryContext;
    if (is_lost(taken.machine))
        return;
    LWLockAcquire(shared()->backfill_lock, LW_EXCLUSIVE);
    const uint32 holdoff = InterruptHoldoffCount; // which an error sets to 0
    PG_TRY();
    {
        int32 now;
        (void) raise_taken(taken.machine, taken.span, 0, taken.count, &now);
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        InterruptHoldoffCount = holdoff;
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        give_up(taken.machine, error->message);
        FreeErrorData(error);
    }
    PG_END_TRY();
    LWLockRelease(shared()->backfill_lock);
}

// In the startup process. A record that crash recovery replays is in the file already.
void redo(XLogReaderState *record)
{
    const xl_logical_message *message =
        reinterpret_cast<const xl_logical_message *>(XLogRecGetData(record));
    const uint8 info = XLogRecGetInfo(record) & static_cast<uint8>(~XLR_INFO_MASK);
    Taken taken;
    if (info == XLOG_LOGICAL_MESSAGE && message->prefix_size == strlen(message_prefix) + 1 &&
        strcmp(message->message, message_prefix) == 0 && message->message_size == sizeof(taken)) {
        memcpy(&taken, message->message + message->prefix_size, sizeof(taken));
        // Anybody who may call pg_logical_emit_message() can write such a message.
        if (taken.machine >= 0 && taken.machine <= layout().max_machine() &&
            taken.span < span_count)
            replay_taken(taken);
    }
    core_redo(record);
}

} // namespace

ShareRun take_shares(MachineBlock machines, uint32 span, int32 wanted)
{
    for (int32 machine = machines.first; machine <= machines.last(); machine++) {
        int32 now;
        require_not_lost(machine);
        LWLockAcquire(shared()->backfill_lock, LW_EXCLUSIVE);
        const int32 before = raise_taken(machine, span, wanted, 0, &now);
        LWLockRelease(shared()->backfill_lock);
        if (now == before)
            continue;
        // After the file: a base backup whose WAL begins behind this message has the file with it.
        // Flushed: no transaction need commit, and a crash must not take back what standbys are to
        // know.
        const Taken taken{machine, span, now};
        XLogFlush(
            log_message(message_prefix, reinterpret_cast<const char *>(&taken), sizeof(taken)));
        return {machine, before, now - before};
    }
    return {machines.first, 0, 0};
}

void watch_backfill_replay()
{
    RmgrData &messages = RmgrTable[RM_LOGICALMSG_ID];
    core_redo = messages.rm_redo;
    messages.rm_redo = redo;
}

} // namespace snowflake
